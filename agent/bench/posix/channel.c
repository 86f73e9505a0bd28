#define _GNU_SOURCE
#include "unix_pair.h"

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

/* Whose turn it is, in memory that both processes share. */
enum { WRITER, READER };
static uint32_t *turn;

static const char *open_shared(struct km_run *r)
{
	const char *wrong = open_channel(r);

	if (wrong)
		return wrong;
	turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turn == MAP_FAILED) {
		close_channel(r);
		return "mmap failed";
	}
	*turn = WRITER;
	return NULL;
}

static void close_shared(struct km_run *r)
{
	munmap(turn, sizeof(*turn));
	close_channel(r);
}

/* Waits without the kernel, so that no wake-up falls into what is timed. */
static void await_turn(uint32_t whose)
{
	while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != whose)
		;
}

static void pass_turn(uint32_t to)
{
	__atomic_store_n(turn, to, __ATOMIC_RELEASE);
}

static void writer(struct km_run *r)
{
	static char message[DESCRIPTORS_BYTES];

	for_each_sample(r) {
		bool right;

		await_turn(WRITER);
		stamp(r, 0);
		right = write_all(r, &ends, message);
		stamp(r, 1);
		check(r, right);
		pass_turn(READER);
	}
}

static void reader(struct km_run *r)
{
	static char message[DESCRIPTORS_BYTES];

	for_each_sample(r) {
		port_ticks bytes;

		await_turn(READER);
		stamp(r, 2);
		bytes = read_all(r, &ends, message);
		stamp(r, 3);
		r->bytes += bytes;
		record(r);
		pass_turn(WRITER);
	}
}

#define CHANNEL "socketpair(AF_UNIX, SOCK_SEQPACKET)"

const struct km_bench km_channel[] = {
	{
		.object = "channel",
		.about = "Make a channel, and close both of its ends.",
		.via = CHANNEL ", close",
		.batch = DESCRIPTORS_BATCH,
		.role = { { create_close, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "one socketpair" },
			{ .name = "close", .between = "two closes, one for each end" },
		},
	},
	{
		.object = "channel",
		.about = "Write a message into a channel that nobody waits for, "
			 "and read it in the same thread.",
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
		.about = "Write a message into a channel that nobody waits for, "
			 "and read it in the same thread.",
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
		.about = "Write a message into a channel; a process on another "
			 "CPU, which polls shared memory and is not woken, reads it.",
		.via = CHANNEL ", write, read; turns are passed through shared memory",
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.batch = SMALL_BATCH,
		.argument = small_sizes,
		.unit = KM_BYTES,
		.setup = open_shared,
		.teardown = close_shared,
		.role = {
			{ writer, KM_LOW, 0 },
			{ reader, KM_LOW, KM_OWN_PROCESS | KM_OTHER_CPU },
		},
		.span = {
			{
				.name = "write.processes", .begin = 0, .end = 1,
				.between = "one write in the writer's process",
			},
			{
				.name = "read.processes", .begin = 2, .end = 3,
				.from = 1, .to = 1,
				.between = "one read in the reader's process",
			},
		},
	},
	{
		.object = "channel",
		.about = "Write a message into a channel; a process on another "
			 "CPU, which polls shared memory and is not woken, reads it.",
		.via = CHANNEL ", write, read; turns are passed through shared memory",
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.batch = LARGE_BATCH,
		.argument = large_sizes,
		.unit = KM_BYTES,
		.setup = open_shared,
		.teardown = close_shared,
		.role = {
			{ writer, KM_LOW, 0 },
			{ reader, KM_LOW, KM_OWN_PROCESS | KM_OTHER_CPU },
		},
		.span = {
			{
				.name = "write.processes", .begin = 0, .end = 1,
				.between = "one write in the writer's process",
			},
			{
				.name = "read.processes", .begin = 2, .end = 3,
				.from = 1, .to = 1,
				.between = "one read in the reader's process",
			},
		},
	},
	{ 0 },
};
