// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/completion.h>
#include <linux/workqueue.h>

static struct completion done;
static struct km_run *run;

static void work_body(struct work_struct *work)
{
	stamp(run, 2);
	complete(&done);
}

static DECLARE_WORK(work, work_body);

static const char *make(struct km_run *r)
{
	init_completion(&done);
	run = r;
	return NULL;
}

static void flush(struct km_run *r)
{
	flush_work(&work);
}

static void queuer(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		stamp(r, 0);
		right = queue_work_on(raw_smp_processor_id(), system_wq, &work);
		stamp(r, 1);
		port_go_on(wait_for_completion_killable(&done));
		stamp(r, 3);
		check(r, right);
		flush_work(&work);
		record(r);
	}
}
#endif

KM_TABLE(workqueue) = {
	{
		.object = "workqueue",
		.about = "Queue work for a worker thread of this CPU and wait "
			 "until it is done. The worker's own context switches "
			 "are not counted.",
		.via = "queue_work_on(system_wq); wait_for_completion_killable, "
		       "complete",
		.needs = KM_THREADS | KM_PRIORITY,
		.setup = SETUP_IN_KERNEL(make),
		.teardown = TEARDOWN_IN_KERNEL(flush),
		.role = { { IN_KERNEL(queuer), KM_LOW, 0 } },
		.span = {
			{ .name = "queue", .between = "one queue_work_on" },
			{
				.name = "work.ctx", .switches = 1,
				.between = "from the wait to the first "
					   "instruction of the work in the "
					   "worker",
			},
			{
				/*
				 * One more afterwards if the worker is
				 * preempted.
				 */
				.name = "done.wake+ctx", .switches_most = 1,
				.between = "from the first instruction of the "
					   "work, which completes the wait, "
					   "to the return of the wait",
			},
		},
	},
	{ 0 },
};
