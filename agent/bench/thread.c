// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/* Whether the thread that is to take the first stamp has begun. */
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
	/* Which of two equals begins is the port's affair. */
	while (!begun)
		port_yield();
	for_each_sample(r) {
		stamp(r, 1);
		record(r);
		port_yield();
	}
}

/* The turn that is being taken, counted from 0, and the last one. */
static volatile uint32_t turn, last_turn;

static const char *first_turn(struct km_run *r)
{
	turn = 0;
	last_turn = r->samples;
	return NULL;
}

/*
 * A sample begins in one thread, at the end of its turn, and ends in the next.
 * Each thread's turns must be as far apart as there are threads: so all of
 * them take turns.
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
	stamp(r, 2);
	port_thread_suspend(&thread);
	stamp(r, 4);
}

/*
 * Where the end of the thread is not measured, a row has 5 stamps. Stamp 5 then
 * falls on the first of the next sample, which replaces it; the runner keeps a
 * spare row behind the last.
 */
static void creator(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		stamp(r, 0);
		right = !port_thread_create(&thread, made_thread, r);
		stamp(r, 1);
		right = right && !port_thread_start(&thread);
		stamp(r, 3);
		port_thread_resume(&thread);
		stamp(r, 5);
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

/*
 * The threads are equals: each runs when the other yields. One that was not
 * aborted would run in the next sample too, and its switches would be counted.
 */
static void aborter(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		ran = false;
		right = !port_thread_create(&thread, giving_way, r) &&
			!port_thread_start(&thread);
		port_yield();
		stamp(r, 0);
		port_thread_abort(&thread);
		stamp(r, 1);
		check(r, right && ran);
		record(r);
	}
	/* One returns, so that the port can find out in which mode they run. */
	enough = true;
	check(r, !port_thread_create(&thread, giving_way, r) &&
		 !port_thread_start(&thread));
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
		.about = "Yield to another thread of the same priority, where "
			 "the end of a time slice would pass the CPU too.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.setup = not_begun,
		.role = { { yielder, KM_SLICED, 0 }, { yielded_to, KM_SLICED, 0 } },
		.span = {
			{
				.name = "yield.preemptive.ctx.{pass}",
				.switches = 1, .from = 0, .to = 1,
				.between = "the yield, to the return of the "
					   "other thread from its own",
			},
		},
	},
	{
		.object = "thread",
		.about = "Yield to another thread of the same priority, where "
			 "only a yield passes the CPU.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.setup = not_begun,
		.role = { { yielder, KM_EQUAL, 0 }, { yielded_to, KM_EQUAL, 0 } },
		.span = {
			{
				.name = "yield.cooperative.ctx.{pass}",
				.switches = 1, .from = 0, .to = 1,
				.between = "the yield, to the return of the "
					   "other thread from its own",
			},
		},
	},
	{
		.object = "thread",
		.about = "Yield among so many runnable threads of the same "
			 "priority, which all take turns.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.argument = runnable,
		.setup = first_turn,
		.role = { { take_turns, KM_EQUAL, KM_EACH } },
		.span = {
			{
				.name = "yield.runnable.{pass}", .switches = 1,
				.between = "the yield, to the return of the "
					   "next thread from its own",
			},
		},
	},
	{
		.object = "thread",
		.about = "The life of a thread of higher priority than its "
			 "creator: it is created, started, suspends itself, "
			 "and is resumed.",
		.via = PORT_VIA_THREAD,
		.needs = KM_THREADS | KM_PRIORITY,
		.switches = 1,
		.role = { { creator, KM_LOW, 0 }, { made_thread, KM_HIGH, KM_MADE } },
		.span = {
			{
				.name = "create.{to}.from.{from}", .to = 1,
				.between = "the creation of a thread that does "
					   "not run yet",
			},
			{
				.name = "start.{to}.from.{from}",
				.switches = 1, .to = 1,
				.between = "the start, to the first instruction "
					   "of the thread's body",
			},
			{
				.name = "suspend.{to}.from.{from}",
				.switches = 1, .to = 1,
				.between = "the thread suspends itself, to the "
					   "return of the start in its creator",
			},
			{
				.name = "resume.{to}.from.{from}",
				.switches = 1, .to = 1,
				.between = "the resume, to the return of the "
					   "suspend in the thread",
			},
		},
	},
	{
		.object = "thread",
		.about = "The end of a thread of higher priority than its "
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
				.name = "abort.{to}.from.{from}",
				.switches = 1, .to = 1, .begin = 4, .end = 5,
				.between = "the thread ends itself, to the "
					   "return of the resume in its creator",
			},
		},
	},
	{
		.object = "thread",
		.about = "Abort another thread, which has run and is ready to "
			 "run on.",
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
				.name = "abort.ready.{to}.from.{from}", .to = 1,
				.between = "the abort, in which nothing else runs",
			},
		},
	},
	{ 0 },
};
