/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* QEMU's RISC-V virt. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_RAM	0x80000000
#define BOARD_RAM_SIZE	0x40000
/* Software interrupt of the first hart, in the core-local interruptor. */
#define BOARD_MSIP	0x02000000
/* When its timer interrupts. */
#define BOARD_MTIMECMP	0x02004000

#define BOARD_HEAP	(80 << 10)

#include "riscv.h"

#endif
