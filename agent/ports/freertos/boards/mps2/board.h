/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arm's MPS2 images: the free-running counter of the FPGA's I/O block. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_FLASH	0x00000000
#define BOARD_FLASH_SIZE 0x400000
#define BOARD_RAM	0x20000000
#define BOARD_RAM_SIZE	0x20000

/*
 * The counter runs at 25 MHz. If an emulator counts 2^7 ns per instruction, one
 * instruction takes 3.2 ticks. The counter rounds down, so PORT_COUNT() returns
 * the nearest number of instructions.
 */
#define BOARD_CLOCK	"fpgaio"
#define BOARD_COUNTER	0x40028018
#define BOARD_HZ	25000000
#define PORT_COUNT(ticks) ((5 * (ticks) + 8) >> 4)

#define BOARD_HEAP	(80 << 10)
#define BOARD_HEAP_MPU	(58 << 10)

#include "arm.h"

#endif
