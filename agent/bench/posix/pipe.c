// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "descriptors.h"

static int make(int *fd)
{
	return pipe(fd);
}

static void create_close(struct km_run *r)
{
	make_and_close(r, make, 2);
}

static struct ends ends;

/* Non-blocking, so that a full pipe is a wrong result instead of a hang. */
static const char *open_pipe(struct km_run *r)
{
	int fd[2], room = (int)(r->batch * r->argument);

	if (pipe2(fd, O_NONBLOCK | O_CLOEXEC))
		return "pipe2 failed";
	ends = (struct ends){ .to = fd[1], .from = fd[0] };
	if (fcntl(ends.to, F_GETPIPE_SZ) < room &&
	    fcntl(ends.to, F_SETPIPE_SZ, room) < room) {
		close_ends(&ends);
		return "needs a pipe of 256 KiB; allow it with: sudo sysctl "
		       "fs.pipe-max-size=1048576";
	}
	return NULL;
}

static void close_pipe(struct km_run *r)
{
	(void)r;
	close_ends(&ends);
}

static void write_read(struct km_run *r)
{
	write_and_read(r, &ends);
}

KM_TABLE(pipe) = {
	{
		.object = "pipe",
		.about = "Create a pipe and close both of its ends.",
		.via = "pipe (the C library may call pipe2), close",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.role = { { create_close, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "one pipe" },
			{ .name = "close", .between = "two closes, one per end" },
		},
	},
	{
		.object = "pipe",
		.about = "Write bytes into a pipe with no waiters, and read "
			 "them in the same thread.",
		.via = "write, read",
		.batch = SMALL_BATCH,
		.argument = small_sizes,
		.unit = KM_BYTES,
		.setup = open_pipe,
		.teardown = close_pipe,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write" },
			{ .name = "read", .between = "one read of the same "
						     "number of bytes" },
		},
	},
	{
		.object = "pipe",
		.about = "Write bytes into a pipe with no waiters, and read "
			 "them in the same thread.",
		.via = "write, read",
		.batch = LARGE_BATCH,
		.argument = large_sizes,
		.unit = KM_BYTES,
		.setup = open_pipe,
		.teardown = close_pipe,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write" },
			{ .name = "read", .between = "one read of the same "
						     "number of bytes" },
		},
	},
	{ 0 },
};
