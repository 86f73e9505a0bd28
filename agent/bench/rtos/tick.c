// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static void ticked(struct km_run *r)
{
	for_each_sample(r) {
		uint32_t before = port_tick_count();

		stamp(r, 0);
		port_tick();
		stamp(r, 1);
		check(r, port_tick_count() - before == 1);
		record(r);
	}
}

static void sleeper(struct km_run *r)
{
	for_each_sample(r) {
		uint32_t before = port_tick_count();

		stamp(r, 0);
		port_sleep_tick();
		stamp(r, 2);
		check(r, port_tick_count() - before == 1);
		record(r);
	}
}

static void ticker(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_tick();
	}
}

KM_TABLE(tick) = {
	{
		.object = "tick",
		.about = "A tick of the kernel's clock at which nothing is due.",
		.via = PORT_VIA_TICK,
		.needs = KM_TICK,
		.role = { { ticked, KM_LOW, KM_TICKS } },
		.span = {
			{
				.name = "handle.immediate.{from}",
				.between = "from the request for the tick to "
					   "the next instruction of the "
					   "interrupted thread",
			},
		},
	},
	{
		.object = "tick",
		.about = "Sleep until the next tick; it interrupts a "
			 "lower-priority thread and wakes the sleeping one.",
		.via = PORT_VIA_TICK,
		.needs = KM_TICK | KM_THREADS | KM_PRIORITY,
		.role = { { sleeper, KM_HIGH, 0 }, { ticker, KM_LOW, KM_TICKS } },
		.span = {
			{
				.name = "sleep.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the sleep to the next "
					   "instruction of the other thread",
			},
			{
				.name = "handle.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the request for the tick to "
					   "the return of the sleep in the "
					   "woken thread",
			},
		},
	},
	{ 0 },
};
