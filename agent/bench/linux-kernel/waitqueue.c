// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/wait.h>

static DECLARE_WAIT_QUEUE_HEAD(queue);
static bool come;

static const char *make(struct km_run *r)
{
	init_waitqueue_head(&queue);
	come = false;
	return NULL;
}

static void wake_nobody(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			wake_up(&queue);
		stamp(r, 1);
		record(r);
	}
}

static void waiter(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_go_on(wait_event_killable(queue, READ_ONCE(come)));
		stamp(r, 2);
		come = false;
		record(r);
	}
}

static void waker(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		WRITE_ONCE(come, true);
		wake_up(&queue);
		cond_resched();
	}
}
#endif

KM_TABLE(waitqueue) = {
	{
		.object = "waitqueue",
		.about = "Wake a wait queue with no waiters.",
		.via = "wake_up",
		.batch = 4096,
		.setup = SETUP_IN_KERNEL(make),
		.role = { { IN_KERNEL(wake_nobody), KM_LOW, 0 } },
		.span = {
			{ .name = "wake_up.immediate", .between = "one wake-up" },
		},
	},
	{
		.object = "waitqueue",
		.about = "Wait on a wait queue; a lower-priority thread wakes "
			 "it. With PREEMPT_RT, the woken thread blocks once "
			 "more, on the queue's lock.",
		.via = "wait_event_killable; wake_up, cond_resched",
		.needs = KM_THREADS | KM_PRIORITY,
		.setup = SETUP_IN_KERNEL(make),
		.role = {
			{ IN_KERNEL(waiter), KM_HIGH, 0 },
			{ IN_KERNEL(waker), KM_LOW, 0 },
		},
		.span = {
			{
				.name = "wait_event.blocking", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking wait to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "wake_up.wake+ctx", .switches = 1,
				.switches_most = 3, .from = 1, .to = 0,
				.between = "from the wake-up to the return of "
					   "the wait in the woken thread",
			},
		},
	},
	{ 0 },
};
