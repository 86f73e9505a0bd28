// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/* Whether the thread that takes the first stamp has started. */
static volatile bool begun;

static const char *not_begun(struct km_run *r)
{
	(void)r;
	begun = false;
	return NULL;
}

static void yielder(struct km_run *r)
{
	begun = true;
	for_each_sample(r) {
		stamp(r, 0);
		port_yield();
	}
}

static void yielded_to(struct km_run *r)
{
	/* The port decides which of two equals starts first. */
	while (!begun)
		port_yield();
	for_each_sample(r) {
		stamp(r, 1);
		record(r);
		port_yield();
	}
}

/* The current turn, counted from 0, and the last one. */
static volatile uint32_t turn, last_turn;

static const char *first_turn(struct km_run *r)
{
	turn = 0;
	last_turn = r->samples;
	return NULL;
}

/*
 * A sample begins at the end of a thread's turn and ends in the next thread.
 * The distance between two turns of a thread must equal the number of threads,
 * which proves that all of them take turns.
 */
static void take_turns(struct km_run *r)
{
	uint32_t due = 0;

	for (;;) {
		stamp(r, 1);
		if (turn > last_turn)
			return;
		check(r, !due || turn == due);
		if (turn)
			record(r);
		due = turn + r->argument;
		if (turn++ == last_turn)
			return;
		stamp(r, 0);
		port_yield();
	}
}

static struct port_thread thread;

static void made_thread(struct km_run *r)
{
	stamp(r, 3);
	port_thread_suspend(&thread);
	stamp(r, 5);
}

/*
 * If the end of the thread is not measured, a row has 6 stamps. Stamp 6 then
 * goes where the next sample's first stamp goes, which overwrites it. The
 * runner keeps a spare row after the last.
 */
static void creator(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		stamp(r, 0);
		right = !port_thread_create(&thread, made_thread, r);
		stamp(r, 1);
		if (right)
			port_thread_arm(&thread);
		stamp(r, 2);
		right = right && !port_thread_start(&thread);
		stamp(r, 4);
		port_thread_resume(&thread);
		stamp(r, 6);
		check(r, right);
		port_thread_reap(&thread);
		record(r);
	}
}

static volatile bool ran, enough;

static void giving_way(struct km_run *r)
{
	(void)r;
	ran = true;
	while (!enough)
		port_yield();
}

static bool give_way(struct km_run *r)
{
	if (port_thread_create(&thread, giving_way, r))
		return false;
	port_thread_arm(&thread);
	return !port_thread_start(&thread);
}

/*
 * The threads are equals, so one runs when the other yields. A thread that was
 * not really aborted would run in the next sample too, and the count of
 * switches would show it.
 */
static void aborter(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		ran = false;
		right = give_way(r);
		port_yield();
		stamp(r, 0);
		port_thread_abort(&thread);
		stamp(r, 1);
		check(r, right && ran);
		record(r);
	}
	/*
	 * One returns, so that the port can check which mode these threads run
	 * in.
	 */
	enough = true;
	check(r, give_way(r));
	port_yield();
	port_thread_reap(&thread);
}

static const char *not_enough(struct km_run *r)
{
	(void)r;
	enough = false;
	return NULL;
}

static const uint32_t runnable[] = { 2, 4, 8, 16, 32, 64, 0 };

KM_TABLE(thread) = {
	{
		.object = "thread",
		.about = "Yield to another thread of the same priority; the "
			 "end of a time slice switches threads too.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.setup = not_begun,
		.role = { { yielder, KM_SLICED, 0 }, { yielded_to, KM_SLICED, 0 } },
		.span = {
			{
				.name = "yield.preemptive.ctx.{pass}",
				.switches = 1, .from = 0, .to = 1,
				.between = "from the yield to the other "
					   "thread's return from its own yield",
			},
		},
	},
	{
		.object = "thread",
		.about = "Yield to another thread of the same priority; only "
			 "a yield switches threads.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.setup = not_begun,
		.role = { { yielder, KM_EQUAL, 0 }, { yielded_to, KM_EQUAL, 0 } },
		.span = {
			{
				.name = "yield.cooperative.ctx.{pass}",
				.switches = 1, .from = 0, .to = 1,
				.between = "from the yield to the other "
					   "thread's return from its own yield",
			},
		},
	},
	{
		.object = "thread",
		.about = "Yield among N runnable threads of the same "
			 "priority, which run in turn.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.argument = runnable,
		.setup = first_turn,
		.role = { { take_turns, KM_EQUAL, KM_EACH } },
		.span = {
			{
				.name = "yield.runnable.{pass}", .switches = 1,
				.between = "from the yield to the next "
					   "thread's return from its own yield",
			},
		},
	},
	{
		.object = "thread",
		.about = "The life of a thread with a higher priority than "
			 "its creator: it is created and started, suspends "
			 "itself, and is resumed.",
		.via = PORT_VIA_THREAD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.role = { { creator, KM_LOW, 0 }, { made_thread, KM_HIGH, KM_MADE } },
		.span = {
			{
				.name = "create.{to}.from.{from}", .to = 1,
				.begin = 0, .end = 1,
				.between = "creating a thread that does not "
					   "run yet",
			},
			{
				.name = "start.{to}.from.{from}",
				.switches = 1, .to = 1, .begin = 2, .end = 3,
				.between = "from the start to the first "
					   "instruction of the thread's body",
			},
			{
				.name = "suspend.{to}.from.{from}",
				.switches = 1, .to = 1, .begin = 3, .end = 4,
				.between = "from the thread suspending itself "
					   "to the return of the start in its "
					   "creator",
			},
			{
				.name = "resume.{to}.from.{from}",
				.switches = 1, .to = 1, .begin = 4, .end = 5,
				.between = "from the resume to the return of "
					   "the suspend in the thread",
			},
		},
	},
	{
		.object = "thread",
		.about = "The end of a thread with a higher priority than its "
			 "creator.",
		.via = PORT_VIA_THREAD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 3,
		.role = {
			{ creator, KM_LOW, 0 },
			{ made_thread, KM_HIGH, KM_MADE | KM_ENDS },
		},
		.span = {
			{
				.name = "exit.{to}.from.{from}",
				.switches = 1, .to = 1, .begin = 5, .end = 6,
				.between = "from the thread ending itself to "
					   "the return of the resume in its "
					   "creator",
			},
		},
	},
	{
		.object = "thread",
		.about = "Abort another thread that has run and is ready to "
			 "run again.",
		.via = PORT_VIA_ABORT,
		.needs = KM_THREADS | KM_PRIORITY | KM_ABORT,
		.switches = 2,
		.setup = not_enough,
		.role = {
			{ aborter, KM_HIGH, 0 },
			{ giving_way, KM_HIGH, KM_MADE },
		},
		.span = {
			{
				.name = "abort.{to}.from.{from}", .to = 1,
				.between = "the abort, during which no other "
					   "thread runs",
			},
		},
	},
	{ 0 },
};
