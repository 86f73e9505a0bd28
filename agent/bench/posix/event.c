// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "descriptors.h"

#include <sys/eventfd.h>

static int make(int *fd)
{
	fd[0] = eventfd(0, 0);
	return fd[0] < 0 ? -1 : 0;
}

static void create_close(struct km_run *r)
{
	make_and_close(r, make, 1);
}

static int make_pair(int *fd)
{
	fd[0] = eventfd(0, 0);
	fd[1] = eventfd(0, 0);
	return fd[0] < 0 || fd[1] < 0 ? -1 : 0;
}

static void create_close_pair(struct km_run *r)
{
	make_and_close(r, make_pair, 2);
}

/* The event, and a second descriptor for it. */
static int event, second;

/* Non-blocking, so that a full counter is a wrong result instead of a hang. */
static const char *open_event(struct km_run *r)
{
	(void)r;
	event = eventfd(0, EFD_NONBLOCK);
	if (event < 0)
		return "eventfd failed";
	second = dup(event);
	if (second < 0) {
		close(event);
		return "dup failed";
	}
	return NULL;
}

static void close_event(struct km_run *r)
{
	(void)r;
	close(event);
	close(second);
}

/* The counter must hold all signals of a sample when it is read. */
static void signals(struct km_run *r)
{
	const uint64_t one = 1;

	for_each_sample(r) {
		bool right = true;
		uint64_t absorbed = 0;

		stamp(r, 0);
		for_each_repeat(r)
			right &= write(event, &one, sizeof(one)) == sizeof(one);
		stamp(r, 1);
		right &= read(event, &absorbed, sizeof(absorbed)) == sizeof(absorbed);
		check(r, right && absorbed == r->batch);
		record(r);
	}
}

static void duplicate(struct km_run *r)
{
	static int made[DESCRIPTORS_BATCH];

	for_each_sample(r) {
		bool right = true;
		int *fd = made;

		stamp(r, 0);
		for_each_repeat(r) {
			*fd = dup(event);
			right &= *fd++ >= 0;
		}
		stamp(r, 1);
		while (fd > made)
			right &= !close(*--fd);
		check(r, right);
		record(r);
	}
}

static void replace(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= dup2(event, second) == second;
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

KM_TABLE(event) = {
	{
		.object = "event",
		.about = "Create an event and close it.",
		.via = "eventfd, close",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.role = { { create_close, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "one eventfd" },
			{ .name = "close", .between = "one close" },
		},
	},
	{
		.object = "event",
		.about = "Signal an event with no waiters.",
		.via = "write of 1 to an eventfd, which adds it to a counter",
		.batch = 4096,
		.setup = open_event,
		.teardown = close_event,
		.role = { { signals, KM_LOW, 0 } },
		.span = { { .name = "signal", .between = "one write" } },
	},
	{
		.object = "event",
		.about = "Create another descriptor for an event.",
		.via = "dup of an eventfd",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.setup = open_event,
		.teardown = close_event,
		.role = { { duplicate, KM_LOW, 0 } },
		.span = { { .name = "duplicate", .between = "one dup" } },
	},
	{
		.object = "event",
		.about = "Replace one descriptor of an event with another one "
			 "for the same event.",
		.via = "dup2 over an open descriptor: it takes one reference "
		       "and drops one, as replacing a handle does",
		.batch = 4096,
		.setup = open_event,
		.teardown = close_event,
		.role = { { replace, KM_LOW, 0 } },
		.span = { { .name = "replace", .between = "one dup2" } },
	},
	{
		.object = "eventpair",
		.about = "Create two events, one for each direction between "
			 "two parties, and close them.",
		.via = "two eventfds: like an event pair, they hold signals "
		       "and no queue; unlike one, neither notices when the "
		       "other is closed",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.role = { { create_close_pair, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "two eventfds" },
			{ .name = "close", .between = "two closes" },
		},
	},
	{ 0 },
};
