// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "unix_pair.h"

#include <semaphore.h>
#include <sys/mman.h>

static int make(int *fd)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd);
}

static void create_close(struct km_run *r)
{
	make_and_close(r, make, 2);
}

static struct ends ends;

static const char *open_channel(struct km_run *r)
{
	(void)r;
	return unix_pair(&ends, SOCK_SEQPACKET);
}

static void close_channel(struct km_run *r)
{
	(void)r;
	close_ends(&ends);
}

static void write_read(struct km_run *r)
{
	write_and_read(r, &ends);
}

/*
 * Lets two processes alternate. The hand-over is outside the timed part, so
 * that no write or read includes a wake-up or a context switch.
 */
static struct turns {
	sem_t writer, reader;
} *turns;

static const char *open_shared(struct km_run *r)
{
	const char *wrong = open_channel(r);

	if (wrong)
		return wrong;
	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turns == MAP_FAILED) {
		close_channel(r);
		return "mmap failed";
	}
	sem_init(&turns->writer, 1, 1);
	sem_init(&turns->reader, 1, 0);
	return NULL;
}

static void close_shared(struct km_run *r)
{
	munmap(turns, sizeof(*turns));
	close_channel(r);
}

static void writer(struct km_run *r)
{
	static char message[DESCRIPTORS_BYTES];

	for_each_sample(r) {
		bool right;

		sem_wait(&turns->writer);
		stamp(r, 0);
		right = write_all(r, &ends, message);
		stamp(r, 1);
		check(r, right);
		sem_post(&turns->reader);
	}
}

static void reader(struct km_run *r)
{
	static char message[DESCRIPTORS_BYTES];

	for_each_sample(r) {
		port_ticks bytes;

		sem_wait(&turns->reader);
		stamp(r, 2);
		bytes = read_all(r, &ends, message);
		stamp(r, 3);
		r->bytes += bytes;
		record(r);
		sem_post(&turns->writer);
	}
}

#define CHANNEL "socketpair(AF_UNIX, SOCK_SEQPACKET)"

KM_TABLE(channel) = {
	{
		.object = "channel",
		.about = "Create a channel and close both of its ends.",
		.via = CHANNEL ", close",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.setup = pairs_are_freed,
		.role = { { create_close, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "one socketpair" },
			{ .name = "close", .between = "two closes, one per end" },
		},
	},
	{
		.object = "channel",
		.about = "Write a message into a channel with no waiters, and "
			 "read it in the same thread.",
		.via = CHANNEL ", write, read",
		.batch = SMALL_BATCH,
		.argument = small_sizes,
		.unit = KM_BYTES,
		.setup = open_channel,
		.teardown = close_channel,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write of a whole message" },
			{ .name = "read", .between = "one read of a whole message" },
		},
	},
	{
		.object = "channel",
		.about = "Write a message into a channel with no waiters, and "
			 "read it in the same thread.",
		.via = CHANNEL ", write, read",
		.batch = LARGE_BATCH,
		.argument = large_sizes,
		.unit = KM_BYTES,
		.setup = open_channel,
		.teardown = close_channel,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write of a whole message" },
			{ .name = "read", .between = "one read of a whole message" },
		},
	},
	{
		.object = "channel",
		.about = "Write a message into a channel; another process on "
			 "the same CPU reads it, without waiting in the "
			 "channel.",
		.via = CHANNEL ", write, read; sem_post and sem_wait "
			       "alternate between the processes",
		.needs = KM_THREADS | KM_PROCESSES,
		.batch = SMALL_BATCH,
		.argument = small_sizes,
		.unit = KM_BYTES,
		.switches = 2,
		.setup = open_shared,
		.teardown = close_shared,
		.role = {
			{ writer, KM_LOW, 0 },
			{ reader, KM_LOW, KM_OWN_PROCESS },
		},
		.span = {
			{
				.name = "write.processes", .begin = 0, .end = 1,
				.between = "one write in the writing process",
			},
			{
				.name = "read.processes", .begin = 2, .end = 3,
				.from = 1, .to = 1,
				.between = "one read in the reading process",
			},
		},
	},
	{
		.object = "channel",
		.about = "Write a message into a channel; another process on "
			 "the same CPU reads it, without waiting in the "
			 "channel.",
		.via = CHANNEL ", write, read; sem_post and sem_wait "
			       "alternate between the processes",
		.needs = KM_THREADS | KM_PROCESSES,
		.batch = LARGE_BATCH,
		.argument = large_sizes,
		.unit = KM_BYTES,
		.switches = 2,
		.setup = open_shared,
		.teardown = close_shared,
		.role = {
			{ writer, KM_LOW, 0 },
			{ reader, KM_LOW, KM_OWN_PROCESS },
		},
		.span = {
			{
				.name = "write.processes", .begin = 0, .end = 1,
				.between = "one write in the writing process",
			},
			{
				.name = "read.processes", .begin = 2, .end = 3,
				.from = 1, .to = 1,
				.between = "one read in the reading process",
			},
		},
	},
	{ 0 },
};
