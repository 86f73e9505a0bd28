/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 32-bit RISC-V in machine mode: the clock, and the interrupt. */
#ifndef RISCV_H
#define RISCV_H

#define BOARD_ARCH	"rv32imac"

/*
 * Retired instructions, lower half: exact if the emulator counts them, in QEMU
 * with -icount shift=0.
 */
#define BOARD_CLOCK	"minstret"
/* Only used in an emulator, whose clock has no frequency. */
#define BOARD_HZ	0

/* rv32imac has no instruction to count leading zeros. */
#define BOARD_HAS_CLZ	0
#define BOARD_VIA_IRQ	"machine software interrupt"
#define BOARD_VIA_TICK	"machine timer interrupt, of a compare register set to 0"

/* The kernel's port sets up no timer, so the tick stays off. */
#define configMTIME_BASE_ADDRESS	0
#define configMTIMECMP_BASE_ADDRESS	0

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stdint.h>

#include "inline.h"
#include "mark.h"

#define BOARD_REGISTER(address) (*(volatile uint32_t *)(address))

/*
 * Lists each reading of the clock in the section .stamps, which is not loaded.
 */
KM_INLINE uint32_t board_now(void)
{
	uint32_t now;

	__asm__ volatile(KM_MARK(".stamps") "csrr %0, minstret"
			 : "=r"(now) : : "memory");
	return now;
}

/* Every thread runs in machine mode. */
KM_INLINE bool board_user(void)
{
	return false;
}

KM_INLINE void board_irq_pend(void)
{
	BOARD_REGISTER(BOARD_MSIP) = 1;
	__asm__ volatile("" : : : "memory");
}

KM_INLINE void board_irq_raise(void)
{
	board_irq_pend();
	/* The handler clears it when the processor takes the interrupt. */
	while (BOARD_REGISTER(BOARD_MSIP))
		;
	__asm__ volatile("" : : : "memory");
}

/*
 * The compare register of the timer: lower and upper half. The kernel sets it to
 * the time of the next tick, which never comes.
 */
KM_INLINE void board_tick(void)
{
	BOARD_REGISTER(BOARD_MTIMECMP) = 0;
	BOARD_REGISTER(BOARD_MTIMECMP + 4) = 0;
	while (!BOARD_REGISTER(BOARD_MTIMECMP + 4))
		;
	__asm__ volatile("" : : : "memory");
}

/* Semihosting: the call is three uncompressed instructions in one page. */
KM_INLINE int board_call_emulator(int call, void *argument)
{
	register int a0 __asm__("a0") = call;
	register void *a1 __asm__("a1") = argument;

	__asm__ volatile(".balign 16\n\t"
			 ".option push\n\t"
			 ".option norvc\n\t"
			 "slli x0, x0, 0x1f\n\t"
			 "ebreak\n\t"
			 "srai x0, x0, 7\n\t"
			 ".option pop"
			 : "+r"(a0) : "r"(a1) : "memory");
	return a0;
}
#endif

#endif
