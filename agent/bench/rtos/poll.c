// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The semaphore that is given is the last of those waited for: a kernel that
 * looks at one after the other finds it last.
 */
#include "kernmark.h"

static struct port_poll poll;

static const char *make(struct km_run *r)
{
	port_poll_init(&poll, r->argument);
	return NULL;
}

static void give_wait(struct km_run *r)
{
	for_each_sample(r) {
		port_poll_give(&poll, r->argument - 1);
		stamp(r, 0);
		port_poll_wait(&poll);
		stamp(r, 1);
		check(r, port_poll_take(&poll) == r->argument - 1);
		record(r);
	}
}

static void waiter(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_poll_wait(&poll);
		stamp(r, 2);
		check(r, port_poll_take(&poll) == r->argument - 1);
		record(r);
	}
}

static void giver(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_poll_give(&poll, r->argument - 1);
	}
}

static const uint32_t objects[] = { 1, 4, KM_POLLED, 0 };

KM_TABLE(poll) = {
	{
		.object = "poll",
		.about = "Wait for any of N semaphores, the last of which can "
			 "be taken.",
		.via = PORT_VIA_POLL,
		.needs = KM_POLL,
		.argument = objects,
		.setup = make,
		.role = { { give_wait, KM_LOW, 0 } },
		.span = {
			{ .name = "wait.immediate.{from}", .between = "one wait" },
		},
	},
	{
		.object = "poll",
		.about = "Block until any of N semaphores can be taken; a "
			 "lower-priority thread gives the last one.",
		.via = PORT_VIA_POLL,
		.needs = KM_POLL | KM_THREADS | KM_PRIORITY,
		.argument = objects,
		.setup = make,
		.role = { { waiter, KM_HIGH, 0 }, { giver, KM_LOW, 0 } },
		.span = {
			{
				.name = "wait.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking wait to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "give.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the give to the return of "
					   "the wait in the woken thread, "
					   "which has not taken the semaphore",
			},
		},
	},
	{ 0 },
};
