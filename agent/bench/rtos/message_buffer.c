// SPDX-License-Identifier: MIT OR Apache-2.0
#include "transfer.h"

static struct port_message_buffer buffer;

static const char *empty(struct km_run *r)
{
	port_message_buffer_init(&buffer, r->argument, r->batch);
	return NULL;
}

KM_INLINE void send(const void *message, uint32_t size)
{
	port_message_buffer_send(&buffer, message, size);
}

/* There is room for a longer message: the buffer tells where this one ends. */
KM_INLINE uint32_t receive(void *message, uint32_t size)
{
	(void)size;
	return port_message_buffer_receive(&buffer, message, TRANSFER_LONGEST);
}

static const struct transfer messages = {
	.send = send,
	.receive = receive,
	.holds = true,
};

static void both(struct km_run *r)
{
	transfer_both(r, messages);
}

static void receiver(struct km_run *r)
{
	transfer_receiver(r, messages);
}

static void sender(struct km_run *r)
{
	transfer_sender(r, messages);
}

static void blocked_sender(struct km_run *r)
{
	transfer_blocked_sender(r, messages);
}

static void late_receiver(struct km_run *r)
{
	transfer_late_receiver(r, messages);
}

KM_TABLE(message_buffer) = {
	{
		.object = "message_buffer",
		.about = "Send messages of N bytes, of any length that fits, "
			 "through a buffer with no waiters, and receive them.",
		.via = PORT_VIA_MESSAGE_BUFFER,
		.needs = KM_MESSAGE_BUFFER,
		.batch = TRANSFER_BATCH,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = { { both, KM_LOW, 0 } },
		.span = {
			{ .name = "send.immediate.{from}", .between = "one send" },
			{ .name = "receive.immediate.{from}", .between = "one receive" },
		},
	},
	{
		.object = "message_buffer",
		.about = "Block on an empty message buffer; a lower-priority "
			 "thread sends a message of N bytes.",
		.via = PORT_VIA_MESSAGE_BUFFER,
		.needs = KM_MESSAGE_BUFFER | KM_THREADS | KM_PRIORITY,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = { { receiver, KM_HIGH, 0 }, { sender, KM_LOW, 0 } },
		.span = {
			{
				.name = "receive.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking receive to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "send.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the send to the return of "
					   "the receive in the woken thread",
			},
		},
	},
	{
		.object = "message_buffer",
		.about = "Block on a full message buffer; a lower-priority "
			 "thread receives a message of N bytes.",
		.via = PORT_VIA_MESSAGE_BUFFER,
		.needs = KM_MESSAGE_BUFFER | KM_THREADS | KM_PRIORITY,
		.argument = transfer_sizes,
		.unit = KM_BYTES,
		.setup = empty,
		.role = {
			{ blocked_sender, KM_HIGH, 0 },
			{ late_receiver, KM_LOW, 0 },
		},
		.span = {
			{
				.name = "send.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking send to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "receive.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the receive to the return of "
					   "the send in the woken thread",
			},
		},
	},
	{ 0 },
};
