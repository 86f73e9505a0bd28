/* Arm's AN386, a Cortex-M4 in an FPGA, QEMU's mps2-an386. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_FLASH	0x00000000
#define BOARD_FLASH_SIZE 0x400000
#define BOARD_RAM	0x20000000
#define BOARD_RAM_SIZE	0x20000

#include "mps2.h"
#include "arm.h"

#endif
