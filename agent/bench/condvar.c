// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A wait may return without a signal. Waiters therefore wait for a count of
 * signals to change, and the count changes under the mutex. A waiter that
 * returns early finds it unchanged and waits again, which the number of
 * switches shows. A waiter that comes late does not wait at all, so no signal
 * is lost.
 */
#include "kernmark.h"

static struct port_cond cond;
static struct port_mutex mutex;
static volatile uint32_t signals, woken;

static const char *make(struct km_run *r)
{
	(void)r;
	port_cond_init(&cond);
	port_mutex_init(&mutex, PORT_PLAIN);
	signals = 0;
	woken = 0;
	return NULL;
}

static void count_signal(void)
{
	port_mutex_lock(&mutex);
	signals++;
	port_mutex_unlock(&mutex);
}

static void waiter(struct km_run *r)
{
	uint32_t seen = 0;

	port_mutex_lock(&mutex);
	for_each_sample(r) {
		stamp(r, 0);
		while (signals == seen)
			port_cond_wait(&cond, &mutex);
		stamp(r, 3);
		check(r, signals == ++seen);
		record(r);
	}
	port_mutex_unlock(&mutex);
}

/*
 * The mutex is free when the signal comes, so the higher-priority waiter runs
 * at once.
 */
static void signaller(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		count_signal();
		stamp(r, 2);
		port_cond_signal(&cond);
	}
}

/*
 * All wait once more after the last sample, so none ends while another is
 * timed.
 */
static void one_of_many(struct km_run *r)
{
	uint32_t seen = 0;

	port_mutex_lock(&mutex);
	for (;;) {
		while (signals == seen)
			port_cond_wait(&cond, &mutex);
		if (seen == r->samples)
			break;
		/* Every waiter writes stamp 1; the last one's remains. */
		stamp(r, 1);
		check(r, signals == ++seen);
		if (++woken < r->argument)
			continue;
		woken = 0;
		record(r);
	}
	port_mutex_unlock(&mutex);
}

static void broadcaster(struct km_run *r)
{
	for_each_sample(r) {
		count_signal();
		stamp(r, 0);
		port_cond_broadcast(&cond);
	}
	count_signal();
	port_cond_broadcast(&cond);
}

static const uint32_t waiters[] = { 1, 2, 4, 8, 16, 32, 64, 0 };

KM_TABLE(condvar) = {
	{
		.object = "condvar",
		.about = "Wait on a condition variable; a lower-priority "
			 "thread signals it.",
		.via = PORT_VIA_CONDVAR,
		.needs = KM_CONDVAR | KM_MUTEX | KM_THREADS | KM_PRIORITY,
		.setup = make,
		.role = { { waiter, KM_HIGH, 0 }, { signaller, KM_LOW, 0 } },
		.span = {
			{
				.name = "wait.blocking.{pass}", .switches = 1,
				.begin = 0, .end = 1, .from = 0, .to = 1,
				.between = "from the wait, which unlocks the "
					   "mutex and blocks, to the next "
					   "instruction of the other thread",
			},
			{
				.name = "signal.wake+ctx.{pass}", .switches = 1,
				.begin = 2, .end = 3, .from = 1, .to = 0,
				.between = "from the signal to the return of "
					   "the wait in the woken thread, "
					   "which locks the free mutex again",
			},
		},
	},
	{
		.object = "condvar",
		.about = "Wake N higher-priority threads that wait on a "
			 "condition variable with one broadcast.",
		.via = PORT_VIA_CONDVAR,
		.needs = KM_CONDVAR | KM_MUTEX | KM_THREADS | KM_PRIORITY,
		.argument = waiters,
		.switches = 1,
		.setup = make,
		.role = { { one_of_many, KM_HIGH, KM_EACH }, { broadcaster, KM_LOW, 0 } },
		.span = {
			{
				.name = "broadcast.wake_all.{pass}",
				.switches_each = 1, .from = 1, .to = 0,
				.between = "from the broadcast to the return "
					   "of the last wait; each thread "
					   "woken earlier waits again by then",
			},
		},
	},
	{ 0 },
};
