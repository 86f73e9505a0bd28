// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_irq irq;

static const char *attach(struct km_run *r)
{
	(void)r;
	return port_irq_attach(&irq);
}

static void detach(struct km_run *r)
{
	(void)r;
	port_irq_detach(&irq);
}

static void interrupted(struct km_run *r)
{
	for_each_sample(r) {
		r->row[1] = port_irq_raise(&irq);
		r->row[0] = irq.at;
		check(r, port_irq_wait(&irq) == 1);
		record(r);
	}
}

static void waiter(struct km_run *r)
{
	for_each_sample(r) {
		uint32_t come;

		stamp(r, 0);
		come = port_irq_wait(&irq);
		stamp(r, 3);
		r->row[2] = irq.at;
		check(r, come == 1);
		record(r);
	}
}

static void raiser(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_irq_raise(&irq);
	}
}

KM_TABLE(isr) = {
	{
		.object = "isr",
		.about = "Return from an interrupt to the interrupted thread.",
		.via = PORT_VIA_IRQ,
		.needs = KM_IRQ,
		.setup = attach,
		.teardown = detach,
		.role = { { interrupted, KM_LOW, 0 } },
		.span = {
			{
				.name = "resume.interrupted.thread.{from}",
				.between = "from the last stamp before or in "
					   "the interrupt to the thread's "
					   "next stamp",
			},
		},
	},
	{
		.object = "isr",
		.about = "Wait for an interrupt; it interrupts a "
			 "lower-priority thread and returns to the waiting "
			 "one.",
		.via = PORT_VIA_IRQ,
		.needs = KM_IRQ | KM_THREADS | KM_PRIORITY,
		.setup = attach,
		.teardown = detach,
		.role = { { waiter, KM_HIGH, 0 }, { raiser, KM_LOW, 0 } },
		.span = {
			{
				.name = "resume.different.thread.{pass}",
				.switches = 1, .begin = 2, .end = 3,
				.from = 1, .to = 0,
				.between = "from the last stamp before or in "
					   "the interrupt to the return of "
					   "the wait in the woken thread",
			},
			{
				.name = "wait.blocking.{pass}", .switches = 1,
				.begin = 0, .end = 1, .from = 0, .to = 1,
				.between = "from the blocking wait to the "
					   "next instruction of the other "
					   "thread",
			},
		},
	},
	{ 0 },
};
