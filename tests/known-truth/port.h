/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A bare x86 processor in an emulator that counts instructions: a tick of its
 * time stamp counter is exactly one executed instruction.
 */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

typedef uint32_t port_ticks;

#define PORT_HAS KM_KERNEL
#define PORT_THREADS 1
#define PORT_CLOCK "tsc"

KM_INLINE port_ticks port_now(void)
{
	port_ticks low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return low;
}

#endif
