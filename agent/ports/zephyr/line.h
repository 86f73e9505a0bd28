/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interrupt that a thread raises: line CONFIG_KERNMARK_LINE, which no device
 * uses. LINE_USER says whether user threads can raise it too.
 */
#ifndef LINE_H
#define LINE_H

#include <stdint.h>

#include <zephyr/irq.h>

#include "inline.h"

#if CONFIG_KERNMARK_LINE < 0
#define LINE_EXISTS 0
#define LINE_USER 0
#else
#define LINE_EXISTS 1

#ifdef CONFIG_CPU_CORTEX_M
#include <cmsis_core.h>

#ifdef CONFIG_ARMV7_M_ARMV8_M_MAINLINE
#define LINE_USER 1
#define LINE_VIA "an interrupt of the NVIC, raised with its register STIR"

KM_INLINE void line_raise(void)
{
	NVIC->STIR = CONFIG_KERNMARK_LINE;
	__DSB();
}
#else
#define LINE_USER 0
#define LINE_VIA "an interrupt of the NVIC, raised with its register ISPR"

KM_INLINE void line_raise(void)
{
	NVIC_SetPendingIRQ(CONFIG_KERNMARK_LINE);
	__DSB();
}
#endif

KM_INLINE void line_taken(void)
{
}

#elif defined(CONFIG_RISCV)
#define LINE_USER 0
#define LINE_VIA "the machine software interrupt, raised with a register of " \
	"the CLINT, which the handler clears first"

/* Of hart 0, on which Zephyr boots. */
#define LINE_MSIP \
	(*(volatile uint32_t *)DT_REG_ADDR(DT_INST(0, sifive_clint0)))

KM_INLINE void line_raise(void)
{
	LINE_MSIP = 1;
}

KM_INLINE void line_taken(void)
{
	LINE_MSIP = 0;
}

#elif defined(CONFIG_X86_64)
#include <zephyr/drivers/interrupt_controller/loapic.h>

#define LINE_USER 0
#define LINE_VIA "an interrupt that the local APIC sends to its own processor"

KM_INLINE void line_raise(void)
{
	/* To itself, by shorthand. */
	z_loapic_ipi(0, 0x44000,
		     Z_IRQ_TO_INTERRUPT_VECTOR(CONFIG_KERNMARK_LINE));
}

KM_INLINE void line_taken(void)
{
}

#elif defined(CONFIG_ARM64)
#include <zephyr/drivers/interrupt_controller/gic.h>

#define LINE_USER 0
#define LINE_VIA "a software-generated interrupt of the GIC: gic_raise_sgi"

KM_INLINE void line_raise(void)
{
	/* To the first processor of the first cluster. */
	gic_raise_sgi(CONFIG_KERNMARK_LINE, 0, 1);
}

KM_INLINE void line_taken(void)
{
}
#else
#error "CONFIG_KERNMARK_LINE: there is no code to raise an interrupt"
#endif
#endif

#endif
