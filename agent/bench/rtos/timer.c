// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_timer timer;
static struct km_run *run;
static volatile uint32_t expiries;

static void expired(PORT_TIMER_TAKES)
{
	stamp(run, 1);
	expiries++;
}

static const char *make(struct km_run *r)
{
	run = r;
	port_timer_init(&timer, expired);
	return NULL;
}

static void start_stop(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_timer_start(&timer);
		stamp(r, 1);
		check(r, port_timer_active(&timer));
		stamp(r, 2);
		port_timer_stop(&timer);
		stamp(r, 3);
		check(r, !port_timer_active(&timer));
		record(r);
	}
}

static void ticker(struct km_run *r)
{
	for_each_sample(r) {
		expiries = 0;
		port_timer_start(&timer);
		stamp(r, 0);
		port_tick();
		stamp(r, 2);
		check(r, expiries == 1 && !port_timer_active(&timer));
		record(r);
	}
}

KM_TABLE(timer) = {
	{
		.object = "timer",
		.about = "Start a timer that calls a function when it "
			 "expires, and stop it before it does.",
		.via = PORT_VIA_TIMER,
		.needs = KM_TIMER,
		.setup = make,
		.role = { { start_stop, KM_LOW, 0 } },
		.span = {
			{
				.name = "start.immediate.{from}",
				.switches = PORT_TIMER_SWITCHES,
				.begin = 0, .end = 1, .between = "one start",
			},
			{
				.name = "stop.immediate.{from}",
				.switches = PORT_TIMER_SWITCHES,
				.begin = 2, .end = 3, .between = "one stop",
			},
		},
	},
	{
		.object = "timer",
		.about = "A tick at which a timer expires, so that the kernel "
			 "calls its function.",
		.via = PORT_VIA_TIMER "; " PORT_VIA_TICK,
		.needs = KM_TIMER | KM_TICK,
		/* The start. */
		.switches = PORT_TIMER_SWITCHES,
		.setup = make,
		.role = { { ticker, KM_LOW, KM_TICKS } },
		.span = {
			{
				.name = "expire.call.{from}",
				.switches = PORT_TIMER_SWITCHES / 2,
				.between = "from the request for the tick to "
					   "the first instruction of the "
					   "timer's function",
			},
			{
				.name = "expire.return.{from}",
				.switches = PORT_TIMER_SWITCHES / 2,
				.between = "from the first instruction of the "
					   "timer's function to the next of "
					   "the interrupted thread",
			},
		},
	},
	{ 0 },
};
