// SPDX-License-Identifier: MIT OR Apache-2.0
#include "transfer.h"

static struct port_mailbox mailbox;

static const char *empty(struct km_run *r)
{
	(void)r;
	port_mailbox_init(&mailbox);
	return NULL;
}

KM_INLINE void put(const void *message, uint32_t size)
{
	port_mailbox_put(&mailbox, message, size);
}

KM_INLINE uint32_t get(void *message, uint32_t size)
{
	return port_mailbox_get(&mailbox, message, size);
}

static const struct transfer exchange = {
	.send = put,
	.receive = get,
	.holds = false,
};

static void receiver(struct km_run *r)
{
	transfer_receiver(r, exchange);
}

static void sender(struct km_run *r)
{
	transfer_sender(r, exchange);
}

static void blocked_sender(struct km_run *r)
{
	transfer_blocked_sender(r, exchange);
}

static void late_receiver(struct km_run *r)
{
	transfer_late_receiver(r, exchange);
}

KM_TABLE(mailbox) = {
	{
		.object = "mailbox",
		.about = "Block on an empty mailbox; a lower-priority thread "
			 "puts a message of N bytes, which ends when it has "
			 "been received.",
		.via = PORT_VIA_MAILBOX,
		.needs = KM_MAILBOX | KM_THREADS | KM_PRIORITY,
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
		.object = "mailbox",
		.about = "Put a message of N bytes that nobody waits for; a "
			 "lower-priority thread gets it, which ends the put.",
		.via = PORT_VIA_MAILBOX,
		.needs = KM_MAILBOX | KM_THREADS | KM_PRIORITY,
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
