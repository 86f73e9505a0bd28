// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_work work;
static struct km_run *run;
static volatile uint32_t done;

static void work_body(PORT_WORK_TAKES)
{
	stamp(run, 1);
	done++;
}

static const char *make(struct km_run *r)
{
	run = r;
	port_work_init(&work, work_body);
	return NULL;
}

static void submitter(struct km_run *r)
{
	for_each_sample(r) {
		done = 0;
		stamp(r, 0);
		port_work_submit(&work);
		stamp(r, 2);
		check(r, done == 1);
		record(r);
	}
}

KM_TABLE(workqueue) = {
	{
		.object = "workqueue",
		.about = "Submit work to a thread of the kernel with a higher "
			 "priority, which does it at once.",
		.via = PORT_VIA_WORK,
		.needs = KM_WORK,
		.setup = make,
		.role = { { submitter, KM_LOW, 0 } },
		.span = {
			{
				.name = "submit.wake+ctx.{from}", .switches = 1,
				.between = "from the submission to the first "
					   "instruction of the work",
			},
			{
				.name = "finish.ctx.{from}",
				.switches = PORT_WORK_SWITCHES,
				.between = "from the first instruction of the "
					   "work, which then ends, to the "
					   "return of the submission",
			},
		},
	},
	{ 0 },
};
