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

static struct port_handler handler;
static volatile uint32_t runs;	/* of the handler in this sample */

static void handle(struct km_run *r)
{
	stamp(r, 1);
	runs++;
	stamp(r, 2);
}

static void handle_late(struct km_run *r)
{
	stamp(r, 1);
	runs++;
}

/* The second interrupt is pending when the handler of the first one returns. */
static void handle_twice(struct km_run *r)
{
	port_ticks first = port_now();

	r->row[2 * runs] = first;
	if (runs++)
		return;
	port_handler_raise(&handler);
	stamp(r, 1);
}

static const char *attach_handler(struct km_run *r)
{
	return port_handler_attach(&handler, handle, r);
}

static const char *attach_late(struct km_run *r)
{
	return port_handler_attach(&handler, handle_late, r);
}

static const char *attach_twice(struct km_run *r)
{
	return port_handler_attach(&handler, handle_twice, r);
}

static void detach_handler(struct km_run *r)
{
	(void)r;
	port_handler_detach(&handler);
}

/*
 * Waits until the handler has run this often. Returns false if it does not: an
 * interrupt was lost, and no further sample follows.
 */
static inline bool has_run(uint32_t times)
{
	uint32_t turns = 1 << 22;

	while (runs < times)
		if (!--turns)
			return false;
	return true;
}

static void interrupted_at_once(struct km_run *r)
{
	for_each_sample(r) {
		runs = 0;
		stamp(r, 0);
		port_handler_raise(&handler);
		if (!has_run(1))
			return;
		stamp(r, 3);
		check(r, runs == 1);
		record(r);
	}
}

static void interrupted_late(struct km_run *r)
{
	for_each_sample(r) {
		unsigned long key;

		runs = 0;
		key = port_irq_lock();
		port_handler_raise(&handler);
		stamp(r, 0);
		port_irq_unlock(key);
		if (!has_run(1))
			return;
		check(r, runs == 1);
		record(r);
	}
}

static void interrupted_twice(struct km_run *r)
{
	for_each_sample(r) {
		runs = 0;
		port_handler_raise(&handler);
		if (!has_run(2))
			return;
		check(r, runs == 2);
		record(r);
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

KM_TABLE(isr_entry) = {
	{
		.object = "isr",
		.about = "Raise an interrupt, which comes at once; its handler "
			 "does nothing else.",
		.via = PORT_VIA_HANDLER,
		.needs = KM_HANDLER,
		.setup = attach_handler,
		.teardown = detach_handler,
		.role = { { interrupted_at_once, KM_LOW, 0 } },
		.span = {
			{
				.name = "entry.{from}",
				.between = "from before the interrupt is "
					   "raised to the handler's first "
					   "instruction",
			},
			{
				.name = "exit.{from}", .begin = 2, .end = 3,
				.between = "from the handler's last "
					   "instruction to the interrupted "
					   "thread, which finds that the "
					   "handler has run",
			},
		},
	},
	{
		.object = "isr",
		.about = "Unlock interrupts while one is pending.",
		.via = PORT_VIA_IRQ_LOCK "; " PORT_VIA_HANDLER,
		.needs = KM_HANDLER | KM_IRQ_LOCK,
		.setup = attach_late,
		.teardown = detach_handler,
		.role = { { interrupted_late, KM_LOW, 0 } },
		.span = {
			{
				.name = "entry.unlock.{from}",
				.between = "from before the unlock to the "
					   "handler's first instruction",
			},
		},
	},
	{
		.object = "isr",
		.about = "Handle two interrupts in a row: the handler raises "
			 "the second one, which is pending when it returns.",
		.via = PORT_VIA_HANDLER,
		.needs = KM_HANDLER,
		.setup = attach_twice,
		.teardown = detach_handler,
		.role = { { interrupted_twice, KM_LOW, 0 } },
		.span = {
			{
				.name = "entry.back_to_back.{from}",
				.begin = 1, .end = 2,
				.between = "from the handler's last "
					   "instruction for the first "
					   "interrupt to its first for the "
					   "second",
			},
		},
	},
	{
		.object = "isr",
		.about = "Raise an interrupt whose handler wakes a "
			 "higher-priority thread.",
		.via = PORT_VIA_IRQ,
		.needs = KM_IRQ | KM_HANDLER | KM_THREADS | KM_PRIORITY,
		/* The wait, which is no span here. */
		.switches = 1,
		.setup = attach,
		.teardown = detach,
		.role = { { waiter, KM_HIGH, 0 }, { raiser, KM_LOW, 0 } },
		.span = {
			{
				.name = "raise.wake+ctx.{pass}",
				.switches = 1, .begin = 1, .end = 3,
				.from = 1, .to = 0,
				.between = "from before the interrupt is "
					   "raised to the return of the wait "
					   "in the woken thread",
			},
		},
	},
	{ 0 },
};
