/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* STM32F205 and F405: USART1 on PA9 and PA10, TIM2 as the clock. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_FLASH	0x08000000
#define BOARD_FLASH_SIZE 0x100000
#define BOARD_RAM	0x20000000
#define BOARD_RAM_SIZE	0x20000

/*
 * TIM2 counts to 2^32. On the chip, which runs from its internal oscillator as
 * after reset, it counts the processor's cycles. In an emulator that counts 1
 * ns per instruction, it counts instructions.
 */
#define BOARD_CLOCK	"tim2"
#define BOARD_COUNTER	0x40000024
#define BOARD_HZ	16000000

#define BOARD_HEAP	(80 << 10)
#define BOARD_HEAP_MPU	(58 << 10)

#include "arm.h"

#endif
