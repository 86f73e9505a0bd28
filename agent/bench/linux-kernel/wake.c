// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/preempt.h>
#include <linux/semaphore.h>

static struct semaphore sem;

static const char *make(struct km_run *r)
{
	sema_init(&sem, 0);
	return NULL;
}

static void waiter(struct km_run *r)
{
	for_each_sample(r) {
		port_go_on(down_killable(&sem));
		stamp(r, 2);
		record(r);
	}
}

/* With preemption disabled, the wake-up returns first on every kernel. */
static void waker(struct km_run *r)
{
	for_each_sample(r) {
		preempt_disable();
		stamp(r, 0);
		up(&sem);
		stamp(r, 1);
		preempt_enable();
		cond_resched();
	}
}
#endif

KM_TABLE(wake) = {
	{
		.object = "semaphore",
		.about = "Give a semaphore that a higher-priority thread "
			 "waits for, with preemption disabled; then let that "
			 "thread run.",
		.via = "preempt_disable, up, preempt_enable, cond_resched; "
		       "down_killable",
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.setup = SETUP_IN_KERNEL(make),
		.role = {
			{ IN_KERNEL(waiter), KM_HIGH, 0 },
			{ IN_KERNEL(waker), KM_LOW, 0 },
		},
		.span = {
			{
				.name = "give.wake.preempt_off",
				.between = "from the give to its return in "
					   "the same thread",
			},
			{
				.name = "resched.ctx", .switches = 1,
				.from = 1, .to = 0,
				.between = "from enabling preemption to the "
					   "return of the take in the woken "
					   "thread",
			},
		},
	},
	{ 0 },
};
