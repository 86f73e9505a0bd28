// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/* Two events that threads wait for, and one that no thread waits for. */
#define BOTH 0x3u
#define OTHER 0x4u

static struct port_events events;

static const char *none(struct km_run *r)
{
	(void)r;
	port_events_init(&events);
	return NULL;
}

static void change_wait(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			port_events_post(&events, OTHER);
		stamp(r, 1);
		for_each_repeat(r)
			port_events_set(&events, BOTH);
		stamp(r, 2);
		for_each_repeat(r)
			right &= port_events_wait(&events, BOTH | OTHER) == BOTH;
		stamp(r, 3);
		for_each_repeat(r)
			right &= port_events_wait_all(&events, BOTH) == BOTH;
		stamp(r, 4);
		check(r, right);
		record(r);
	}
}

static void waiter(struct km_run *r)
{
	for_each_sample(r) {
		uint32_t come;

		stamp(r, 0);
		come = port_events_wait(&events, BOTH | OTHER);
		stamp(r, 2);
		check(r, come == BOTH);
		port_events_set(&events, 0);
		record(r);
	}
}

static void setter(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_events_set(&events, BOTH);
	}
}

static void waiter_for_all(struct km_run *r)
{
	for_each_sample(r) {
		uint32_t come;

		stamp(r, 0);
		come = port_events_wait_all(&events, BOTH);
		stamp(r, 2);
		check(r, come == BOTH);
		port_events_set(&events, 0);
		record(r);
	}
}

static void poster(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_events_post(&events, BOTH);
	}
}

KM_TABLE(events) = {
	{
		.object = "events",
		.about = "Post and set events with no waiters; wait for one "
			 "or all of a set of pending events.",
		.via = PORT_VIA_EVENTS,
		.needs = KM_EVENTS,
		.batch = 4096,
		.setup = none,
		.role = { { change_wait, KM_LOW, 0 } },
		.span = {
			{
				.name = "post.immediate.{from}",
				.between = "one post, which adds an event",
			},
			{
				.name = "set.immediate.{from}",
				.between = "one set, which replaces all events",
			},
			{
				.name = "wait.immediate.{from}",
				.between = "one wait for any of three events, "
					   "two of them pending",
			},
			{
				.name = "wait_all.immediate.{from}",
				.between = "one wait for two events, both pending",
			},
		},
	},
	{
		.object = "events",
		.about = "Wait for any of several events; a lower-priority "
			 "thread sets them.",
		.via = PORT_VIA_EVENTS,
		.needs = KM_EVENTS | KM_THREADS | KM_PRIORITY,
		.setup = none,
		.role = { { waiter, KM_HIGH, 0 }, { setter, KM_LOW, 0 } },
		.span = {
			{
				.name = "wait.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking wait to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "set.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the set to the return of the "
					   "wait in the woken thread",
			},
		},
	},
	{
		.object = "events",
		.about = "Wait for all of several events; a lower-priority "
			 "thread posts them.",
		.via = PORT_VIA_EVENTS,
		.needs = KM_EVENTS | KM_THREADS | KM_PRIORITY,
		.setup = none,
		.role = { { waiter_for_all, KM_HIGH, 0 }, { poster, KM_LOW, 0 } },
		.span = {
			{
				.name = "wait_all.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking wait to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "post.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the post to the return of "
					   "the wait in the woken thread",
			},
		},
	},
	{ 0 },
};
