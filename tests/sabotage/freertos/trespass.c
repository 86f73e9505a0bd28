// SPDX-License-Identifier: MIT OR Apache-2.0
/* A thread that reads and writes the kernel's heap. */
#include "kernmark.h"

extern uint8_t ucHeap[];

static void trespasser(struct km_run *r)
{
	for_each_sample(r) {
		volatile uint8_t *kernel = ucHeap + configTOTAL_HEAP_SIZE - 1;

		stamp(r, 0);
		*kernel = *kernel;
		stamp(r, 1);
		record(r);
	}
}

const struct km_bench km_clock[] = {
	{
		.object = "kernel",
		.about = "Read and write a byte of the kernel's heap.",
		.via = "a pointer",
		.role = { { trespasser, KM_LOW, 0 } },
		.span = { { .name = "touch.{from}", .between = "the byte" } },
	},
	{ 0 },
};

const struct km_bench km_thread[] = { { 0 } }, km_semaphore[] = { { 0 } },
	km_mutex[] = { { 0 } }, km_condvar[] = { { 0 } }, km_fifo[] = { { 0 } },
	km_lifo[] = { { 0 } }, km_stack[] = { { 0 } }, km_events[] = { { 0 } },
	km_heap[] = { { 0 } }, km_isr[] = { { 0 } };

#define NOTHING(name) const struct km_bench km_##name[] = { { 0 } };
KM_INTERRUPTS(NOTHING)
KM_RTOS(NOTHING)
