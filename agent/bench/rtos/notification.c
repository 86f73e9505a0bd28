// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_notification notification;

static void give_take(struct km_run *r)
{
	port_notification_own(&notification);
	for_each_sample(r) {
		uint32_t count = 0;

		stamp(r, 0);
		for_each_repeat(r)
			port_notification_give(&notification);
		stamp(r, 1);
		for_each_repeat(r)
			count = port_notification_take(&notification);
		stamp(r, 2);
		check(r, count == 1);
		record(r);
	}
}

static void taker(struct km_run *r)
{
	port_notification_own(&notification);
	for_each_sample(r) {
		uint32_t count;

		stamp(r, 0);
		count = port_notification_take(&notification);
		stamp(r, 2);
		check(r, count == 1);
		record(r);
	}
}

static void giver(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_notification_give(&notification);
	}
}

KM_TABLE(notification) = {
	{
		.object = "notification",
		.about = "Notify the calling thread itself, and take the "
			 "notification.",
		.via = PORT_VIA_NOTIFICATION,
		.needs = KM_NOTIFICATION,
		.batch = 4096,
		.role = { { give_take, KM_LOW, 0 } },
		.span = {
			{ .name = "give.immediate.{from}", .between = "one give" },
			{ .name = "take.immediate.{from}", .between = "one take" },
		},
	},
	{
		.object = "notification",
		.about = "Block until notified; a lower-priority thread "
			 "notifies this thread without an object in between.",
		.via = PORT_VIA_NOTIFICATION,
		.needs = KM_NOTIFICATION | KM_THREADS | KM_PRIORITY,
		.role = { { taker, KM_HIGH, 0 }, { giver, KM_LOW, 0 } },
		.span = {
			{
				.name = "take.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking take to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "give.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the give to the return of "
					   "the take in the woken thread",
			},
		},
	},
	{ 0 },
};
