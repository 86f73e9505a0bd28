// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/kthread.h>
#include <linux/sched.h>

static int body(void *argument)
{
	struct km_run *r = argument;

	stamp(r, 3);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void creator(struct km_run *r)
{
	for_each_sample(r) {
		struct task_struct *thread;
		int result;

		stamp(r, 0);
		thread = kthread_create(body, r, "kernmark/made");
		stamp(r, 1);
		if (IS_ERR(thread)) {
			kernel_failed("kthread_create failed");
			return;
		}
		kthread_bind(thread, raw_smp_processor_id());
		sched_set_fifo(thread);
		stamp(r, 2);
		wake_up_process(thread);
		cond_resched();
		stamp(r, 4);
		result = kthread_stop(thread);
		stamp(r, 5);
		check(r, !result);
		record(r);
	}
}
#endif

KM_TABLE(kthread) = {
	{
		.object = "kthread",
		.about = "The life of a kernel thread with a higher priority "
			 "than its creator. The context switches of the "
			 "thread and of kthreadd, which creates it, are not "
			 "counted.",
		.via = "kthread_create; wake_up_process, cond_resched; schedule; "
		       "kthread_stop",
		.needs = KM_THREADS | KM_PRIORITY,
		.role = { { IN_KERNEL(creator), KM_LOW, 0 } },
		.span = {
			{
				/*
				 * None if another CPU creates the thread in
				 * time.
				 */
				.name = "create", .switches_most = 1,
				.between = "creating a thread that does not "
					   "run yet: asking kthreadd and "
					   "waiting for it",
			},
			{
				.name = "start", .switches = 1,
				.begin = 2, .end = 3,
				.between = "from the wake-up to the first "
					   "instruction of the thread's body",
			},
			{
				.name = "suspend", .begin = 3, .end = 4,
				.between = "from the thread suspending itself "
					   "to its creator's next instruction",
			},
			{
				.name = "stop", .switches = 1,
				.begin = 4, .end = 5,
				.between = "telling the thread to stop and "
					   "waiting until it has ended",
			},
		},
	},
	{ 0 },
};
