// SPDX-License-Identifier: MIT OR Apache-2.0
/* A thread that reads and writes the kernel's heap. */
#include "../../known-truth/alone.h"

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
