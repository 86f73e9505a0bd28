// SPDX-License-Identifier: MIT OR Apache-2.0
/* The overhead of the measurement itself. */
#include "kernmark.h"

static void read_clock(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			(void)port_now();
		stamp(r, 1);
		record(r);
	}
}

static void loop(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			__asm__ volatile("" : : : "memory");
		stamp(r, 1);
		record(r);
	}
}

KM_TABLE(clock) = {
	{
		.object = "clock",
		.about = "Read the clock that takes all stamps.",
		.via = PORT_CLOCK,
		.batch = 1 << 16,
		.role = { { read_clock, KM_LOW, 0 } },
		.span = { { .name = "read", .between = "one clock read" } },
	},
	{
		.object = "clock",
		.about = "One iteration of the empty loop that repeats an "
			 "operation.",
		.via = "for",
		.batch = 1 << 16,
		.role = { { loop, KM_LOW, 0 } },
		.span = { { .name = "loop", .between = "one iteration of an "
						       "empty loop" } },
	},
	{ 0 },
};
