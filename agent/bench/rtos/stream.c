// SPDX-License-Identifier: MIT OR Apache-2.0
#include "transfer.h"

static struct port_stream stream;

static const char *empty(struct km_run *r)
{
	port_stream_init(&stream, r->argument, r->batch);
	return NULL;
}

KM_INLINE void write(const void *from, uint32_t size)
{
	port_stream_write(&stream, from, size);
}

KM_INLINE uint32_t read(void *to, uint32_t size)
{
	return port_stream_read(&stream, to, size);
}

static const struct transfer bytes = {
	.send = write,
	.receive = read,
	.holds = true,
};

static void both(struct km_run *r)
{
	transfer_both(r, bytes);
}

static void receiver(struct km_run *r)
{
	transfer_receiver(r, bytes);
}

static void sender(struct km_run *r)
{
	transfer_sender(r, bytes);
}

static void blocked_sender(struct km_run *r)
{
	transfer_blocked_sender(r, bytes);
}

static void late_receiver(struct km_run *r)
{
	transfer_late_receiver(r, bytes);
}

KM_TABLE(stream) = {
	{
		.object = "stream",
		.about = "Write N bytes into a stream with no waiters, and read "
			 "them; a stream keeps no boundaries.",
		.via = PORT_VIA_STREAM,
		.needs = KM_STREAM,
		.batch = TRANSFER_BATCH,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = { { both, KM_LOW, 0 } },
		.span = {
			{ .name = "write.immediate.{from}", .between = "one write" },
			{ .name = "read.immediate.{from}", .between = "one read" },
		},
	},
	{
		.object = "stream",
		.about = "Block on an empty stream; a lower-priority thread "
			 "writes N bytes.",
		.via = PORT_VIA_STREAM,
		.needs = KM_STREAM | KM_THREADS | KM_PRIORITY,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = { { receiver, KM_HIGH, 0 }, { sender, KM_LOW, 0 } },
		.span = {
			{
				.name = "read.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking read to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "write.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the write to the return of "
					   "the read in the woken thread",
			},
		},
	},
	{
		.object = "stream",
		.about = "Block on a full stream; a lower-priority thread reads "
			 "N bytes.",
		.via = PORT_VIA_STREAM,
		.needs = KM_STREAM | KM_THREADS | KM_PRIORITY,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = {
			{ blocked_sender, KM_HIGH, 0 },
			{ late_receiver, KM_LOW, 0 },
		},
		.span = {
			{
				.name = "write.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking write to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "read.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the read to the return of "
					   "the write in the woken thread",
			},
		},
	},
	{ 0 },
};
