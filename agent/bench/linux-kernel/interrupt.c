// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/hrtimer.h>
#include <linux/irq_work.h>

static volatile port_ticks at;	/* the handler's stamp; 0: not yet run */

static void on_irq_work(struct irq_work *work)
{
	at = port_now();
}

static struct irq_work work = IRQ_WORK_INIT_HARD(on_irq_work);

static void raiser(struct km_run *r)
{
	for_each_sample(r) {
		at = 0;
		stamp(r, 0);
		irq_work_queue(&work);
		while (!at)
			cpu_relax();
		stamp(r, 2);
		r->row[1] = at;
		record(r);
	}
}

static void sync_work(struct km_run *r)
{
	irq_work_sync(&work);
}

static struct hrtimer timer;

static enum hrtimer_restart on_timer(struct hrtimer *t)
{
	at = port_now();
	return HRTIMER_NORESTART;
}

static const char *make_timer(struct km_run *r)
{
	kernel_timer_init(&timer, on_timer);
	return NULL;
}

static void cancel_timer(struct km_run *r)
{
	hrtimer_cancel(&timer);
}

static void armer(struct km_run *r)
{
	for_each_sample(r) {
		port_ticks before, now;

		at = 0;
		stamp(r, 0);
		kernel_timer_start(&timer);
		stamp(r, 1);
		now = port_now();
		do {
			before = now;
			now = port_now();
		} while (!at);
		/* The handler ran after the last reading, or before it. */
		stamp(r, 4);
		if (now > at)
			r->row[4] = now;
		r->row[3] = at;
		r->row[2] = now > at ? before : now;
		record(r);
	}
}
#endif

KM_TABLE(irq_work) = {
	{
		.object = "irq_work",
		.about = "Handle an interrupt that the CPU sends itself.",
		.via = "irq_work_queue",
		.teardown = TEARDOWN_IN_KERNEL(sync_work),
		.role = { { IN_KERNEL(raiser), KM_LOW, 0 } },
		.span = {
			{
				.name = "entry",
				.between = "from irq_work_queue to the first "
					   "instruction of the handler",
			},
			{
				.name = "exit",
				.between = "from the last instruction of the "
					   "handler to the thread's next "
					   "instruction",
			},
		},
	},
	{ 0 },
};

KM_TABLE(hrtimer) = {
	{
		.object = "hrtimer",
		.about = "Arm a timer that interrupts the thread.",
		.via = "hrtimer_start(HRTIMER_MODE_REL_PINNED_HARD)",
		.setup = SETUP_IN_KERNEL(make_timer),
		.teardown = TEARDOWN_IN_KERNEL(cancel_timer),
		.role = { { IN_KERNEL(armer), KM_LOW, 0 } },
		.span = {
			{
				.name = "arm", .begin = 0, .end = 1,
				.between = "one hrtimer_start",
			},
			{
				.name = "entry", .begin = 2, .end = 3,
				.between = "from the thread's last stamp to "
					   "the first instruction of the "
					   "handler",
			},
			{
				.name = "exit", .begin = 3, .end = 4,
				.between = "from the last instruction of the "
					   "handler to the thread's next "
					   "instruction",
			},
		},
	},
	{ 0 },
};
