/* an STM32F205, QEMU's netduino2. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_FLASH	0x08000000
#define BOARD_FLASH_SIZE 0x100000
#define BOARD_RAM	0x20000000
#define BOARD_RAM_SIZE	0x20000

#include "stm32.h"
#include "arm.h"

#endif
