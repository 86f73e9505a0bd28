/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For benchmarks that replace the portable ones: all tables but the first, which is
 * theirs (km_clock), are empty.
 */
#include "kernmark.h"

#define NOTHING(name) const struct km_bench km_##name[] = { { 0 } };
NOTHING(thread) NOTHING(semaphore) NOTHING(mutex) NOTHING(condvar) NOTHING(fifo)
NOTHING(lifo) NOTHING(stack) NOTHING(events) NOTHING(heap) NOTHING(isr)
KM_INTERRUPTS(NOTHING)
KM_RTOS(NOTHING)
