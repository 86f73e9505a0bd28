/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The clock. In an emulator that counts instructions, every thread can read a
 * counter directly. Each reading is marked.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#include "inline.h"
#include "mark.h"

#ifndef CONFIG_KERNMARK_ICOUNT
#include <zephyr/timing/timing.h>

typedef uint64_t port_ticks;

#define PORT_CLOCK	"timing_counter_get"
#define CLOCK_UNIT	"cycles"
#define CLOCK_HZ	timing_freq_get()

KM_INLINE void clock_start(void)
{
	timing_init();
	timing_start();
}

KM_INLINE port_ticks clock_now(void)
{
	return timing_counter_get();
}

#else
#define CLOCK_UNIT	"instructions"
#define CLOCK_HZ	0

#ifdef CONFIG_BOARD_MPS2
/*
 * The counter runs at 25 MHz. If an instruction takes 2^7 ns, that is 3.2
 * ticks. The counter rounds down, so PORT_COUNT() returns the nearest number of
 * instructions.
 */
typedef uint32_t port_ticks;

#define PORT_CLOCK	"fpgaio"
#define PORT_COUNT(ticks) ((5 * (ticks) + 8) >> 4)

KM_INLINE void clock_start(void)
{
}

KM_INLINE port_ticks clock_now(void)
{
	port_ticks now;

	__asm__ volatile(KM_MARK(".stamps") "ldr %0, [%1]"
			 : "=r"(now) : "r"(0x40028018) : "memory");
	return now;
}

#elif defined(CONFIG_RISCV)
typedef unsigned long port_ticks;

#define PORT_CLOCK	"instret"

/* Lets supervisor and user mode read cycle, time and instret. */
KM_INLINE void clock_start(void)
{
	__asm__ volatile("csrw mcounteren, %0\n\tcsrw scounteren, %0" : : "r"(7));
}

KM_INLINE port_ticks clock_now(void)
{
	port_ticks now;

	__asm__ volatile(KM_MARK(".stamps") "csrr %0, instret"
			 : "=r"(now) : : "memory");
	return now;
}

#elif defined(CONFIG_X86_64)
typedef uint64_t port_ticks;

#define PORT_CLOCK	"tsc"

KM_INLINE void clock_start(void)
{
}

KM_INLINE port_ticks clock_now(void)
{
	uint32_t low, high;

	__asm__ volatile(KM_MARK(".stamps") "rdtsc"
			 : "=a"(low), "=d"(high) : : "memory");
	return low | (port_ticks)high << 32;
}

#elif defined(CONFIG_ARM64)
/* The counter runs at 62.5 MHz: a tick is 2^4 ns. */
typedef uint64_t port_ticks;

#define PORT_CLOCK	"cntvct"

/* Lets user mode read the virtual counter. */
KM_INLINE void clock_start(void)
{
	uint64_t control;

	__asm__ volatile("mrs %0, cntkctl_el1\n\t"
			 "orr %0, %0, #2\n\t"
			 "msr cntkctl_el1, %0\n\t"
			 "isb" : "=r"(control));
}

KM_INLINE port_ticks clock_now(void)
{
	port_ticks now;

	__asm__ volatile(KM_MARK(".stamps") "mrs %0, cntvct_el0"
			 : "=r"(now) : : "memory");
	return now;
}

#else
#error "CONFIG_KERNMARK_ICOUNT: there is no such clock for this processor"
#endif
#endif

#endif
