/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What agent/bench/posix may use from this port, besides POSIX and Linux. */
#ifndef PORT_LINUX_H
#define PORT_LINUX_H

#include "kernmark.h"

#define KM_POSIX(each) \
	each(syscall) each(time) each(channel) each(socket) each(pipe) \
	each(event) each(port) each(vmo) each(mmu) each(filesystem) \
	each(process) each(signal) each(futex) each(yield) each(timer) \
	each(uring) each(roundtrip) each(network)

KM_POSIX(KM_DECLARED)

/* Converts microseconds to ticks of port_now(). */
port_ticks port_ticks_of_us(uint32_t us);
/*
 * Whether the kernel has PREEMPT_RT: interrupts and the work after them run in
 * threads, some of them at the priority of KM_LOW.
 */
bool port_preempt_rt(void);
/*
 * Lets the kernel do what it has put off to its own threads (ksoftirqd), which a
 * benchmark's real-time threads keep off the CPU. Rests only where the clock counts
 * instructions: a rest cools the caches, and the next operation takes more time.
 */
void port_settle(void);

#endif
