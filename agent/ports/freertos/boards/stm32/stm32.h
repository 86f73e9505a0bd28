/* STM32F2 and F4: USART1 on PA9 and PA10, TIM2 as the clock. */
#ifndef STM32_H
#define STM32_H

/*
 * TIM2 counts to 2^32. On the chip, which runs from its internal oscillator as
 * it does after reset, it counts cycles of the processor; where an emulator
 * lets an instruction take 1 ns, it counts instructions.
 */
#define BOARD_CLOCK	"tim2"
#define BOARD_COUNTER	0x40000024
#define BOARD_HZ	16000000

#define BOARD_HEAP	(80 << 10)
#define BOARD_HEAP_MPU	(58 << 10)

#endif
