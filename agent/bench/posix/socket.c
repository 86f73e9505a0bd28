// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "unix_pair.h"

static int make(int *fd)
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
}

static void create_close(struct km_run *r)
{
	make_and_close(r, make, 2);
}

static struct ends ends;

static const char *open_socket(struct km_run *r)
{
	(void)r;
	return unix_pair(&ends, SOCK_STREAM);
}

static void close_socket(struct km_run *r)
{
	(void)r;
	close_ends(&ends);
}

static void write_read(struct km_run *r)
{
	write_and_read(r, &ends);
}

#define SOCKET "socketpair(AF_UNIX, SOCK_STREAM)"

KM_TABLE(socket) = {
	{
		.object = "socket",
		.about = "Create a pair of stream sockets and close both.",
		.via = SOCKET ", close",
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
		.object = "socket",
		.about = "Write bytes into a stream socket with no waiters, "
			 "and read them in the same thread.",
		.via = SOCKET ", write, read",
		.batch = SMALL_BATCH,
		.argument = small_sizes,
		.unit = KM_BYTES,
		.setup = open_socket,
		.teardown = close_socket,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write" },
			{ .name = "read", .between = "one read of the same "
						     "number of bytes" },
		},
	},
	{
		.object = "socket",
		.about = "Write bytes into a stream socket with no waiters, "
			 "and read them in the same thread.",
		.via = SOCKET ", write, read",
		.batch = LARGE_BATCH,
		.argument = large_sizes,
		.unit = KM_BYTES,
		.setup = open_socket,
		.teardown = close_socket,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write" },
			{ .name = "read", .between = "one read of the same "
						     "number of bytes" },
		},
	},
	{ 0 },
};
