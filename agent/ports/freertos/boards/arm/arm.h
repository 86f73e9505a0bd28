/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cortex-M: the clock, the interrupt, and the kernel settings they require. */
#ifndef ARM_H
#define ARM_H

#ifdef __ARM_FP
#define BOARD_ARCH	"cortex-m4f"
#else
#define BOARD_ARCH	"cortex-m3"
#endif

#define BOARD_HAS_CLZ	1
/*
 * The interrupt that a benchmark raises. None of these boards uses it
 * otherwise.
 */
#define BOARD_IRQ	31
#define BOARD_VIA_IRQ	"STIR"
#define BOARD_VIA_TICK	"SysTick, set pending in ICSR"

/* Interrupts of this or lower urgency may call the kernel. */
#define configMAX_SYSCALL_INTERRUPT_PRIORITY	0x50
#define configKERNEL_INTERRUPT_PRIORITY		0xff

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

	__asm__ volatile(KM_MARK(".stamps") "ldr %0, [%1]"
			 : "=r"(now) : "r"(BOARD_COUNTER) : "memory");
	return now;
}

/* Whether the calling thread runs unprivileged. */
KM_INLINE bool board_user(void)
{
	uint32_t control;

	__asm__ volatile("mrs %0, control" : "=r"(control));
	return control & 1;
}

/* Unprivileged threads may call this. */
KM_INLINE void board_irq_pend(void)
{
	/* Software trigger interrupt register. */
	BOARD_REGISTER(0xe000ef00) = BOARD_IRQ;
	__asm__ volatile("dsb" : : : "memory");
}

/* Returns after the interrupt. */
KM_INLINE void board_irq_raise(void)
{
	board_irq_pend();
	__asm__ volatile("isb" : : : "memory");
}

/* Returns after the tick. Unprivileged threads cannot access the register. */
KM_INLINE void board_tick(void)
{
	/* Interrupt control and state register: SysTick set-pending. */
	BOARD_REGISTER(0xe000ed04) = 1u << 26;
	__asm__ volatile("dsb\n\tisb" : : : "memory");
}

/* Enables the interrupt; for board_start(). */
void arm_enable_irq(void);

/* Semihosting. */
KM_INLINE int board_call_emulator(int call, void *argument)
{
	register int r0 __asm__("r0") = call;
	register void *r1 __asm__("r1") = argument;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}
#endif

#endif
