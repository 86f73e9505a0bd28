// SPDX-License-Identifier: MIT OR Apache-2.0
#include "transfer.h"

static struct port_msgq queue;

static const char *empty(struct km_run *r)
{
	port_msgq_init(&queue, r->argument, r->batch);
	return NULL;
}

KM_INLINE void put(const void *message, uint32_t size)
{
	(void)size;
	port_msgq_put(&queue, message);
}

KM_INLINE uint32_t get(void *message, uint32_t size)
{
	port_msgq_get(&queue, message);
	return size;
}

static const struct transfer copies = {
	.send = put,
	.receive = get,
	.holds = true,
};

static void both(struct km_run *r)
{
	transfer_both(r, copies);
}

static void receiver(struct km_run *r)
{
	transfer_receiver(r, copies);
}

static void sender(struct km_run *r)
{
	transfer_sender(r, copies);
}

static void blocked_sender(struct km_run *r)
{
	transfer_blocked_sender(r, copies);
}

static void late_receiver(struct km_run *r)
{
	transfer_late_receiver(r, copies);
}

KM_TABLE(message_queue) = {
	{
		.object = "message_queue",
		.about = "Put messages of N bytes into a queue with no "
			 "waiters, and get them; both copy the message.",
		.via = PORT_VIA_MSGQ,
		.needs = KM_MSGQ,
		.batch = TRANSFER_BATCH,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = { { both, KM_LOW, 0 } },
		.span = {
			{ .name = "put.immediate.{from}", .between = "one put" },
			{ .name = "get.immediate.{from}", .between = "one get" },
		},
	},
	{
		.object = "message_queue",
		.about = "Block on an empty queue of messages of N bytes; a "
			 "lower-priority thread puts one.",
		.via = PORT_VIA_MSGQ,
		.needs = KM_MSGQ | KM_THREADS | KM_PRIORITY,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = { { receiver, KM_HIGH, 0 }, { sender, KM_LOW, 0 } },
		.span = {
			{
				.name = "get.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking get to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "put.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the put to the return of "
					   "the get in the woken thread",
			},
		},
	},
	{
		.object = "message_queue",
		.about = "Block on a full queue of messages of N bytes; a "
			 "lower-priority thread gets one.",
		.via = PORT_VIA_MSGQ,
		.needs = KM_MSGQ | KM_THREADS | KM_PRIORITY,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = {
			{ blocked_sender, KM_HIGH, 0 },
			{ late_receiver, KM_LOW, 0 },
		},
		.span = {
			{
				.name = "put.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking put to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "get.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the get to the return of "
					   "the put in the woken thread",
			},
		},
	},
	{ 0 },
};
