// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/completion.h>

static struct completion done;

static const char *make(struct km_run *r)
{
	init_completion(&done);
	return NULL;
}

static void complete_wait(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			complete(&done);
		stamp(r, 1);
		for_each_repeat(r)
			port_go_on(wait_for_completion_killable(&done));
		stamp(r, 2);
		record(r);
	}
}

static void waiter(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_go_on(wait_for_completion_killable(&done));
		stamp(r, 2);
		record(r);
	}
}

static void completer(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		complete(&done);
		cond_resched();
	}
}
#endif

KM_TABLE(completion) = {
	{
		.object = "completion",
		.about = "Complete a completion with no waiters, and wait for it.",
		.via = "complete, wait_for_completion_killable",
		.batch = 4096,
		.setup = SETUP_IN_KERNEL(make),
		.role = { { IN_KERNEL(complete_wait), KM_LOW, 0 } },
		.span = {
			{ .name = "complete.immediate", .between = "one completion" },
			{ .name = "wait.immediate", .between = "one wait" },
		},
	},
	{
		.object = "completion",
		.about = "Wait for a completion; a lower-priority thread "
			 "completes it.",
		.via = "wait_for_completion_killable; complete, cond_resched",
		.needs = KM_THREADS | KM_PRIORITY,
		.setup = SETUP_IN_KERNEL(make),
		.role = {
			{ IN_KERNEL(waiter), KM_HIGH, 0 },
			{ IN_KERNEL(completer), KM_LOW, 0 },
		},
		.span = {
			{
				.name = "wait.blocking", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking wait to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "complete.wake+ctx", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the completion to the return "
					   "of the wait in the woken thread",
			},
		},
	},
	{ 0 },
};
