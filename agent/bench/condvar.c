// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A wait may return without a signal. So what is waited for is a count of
 * signals, changed under the mutex: a waiter that returns early finds it
 * unchanged and waits again, which the count of switches shows; one that
 * comes late does not wait at all, and no signal is lost.
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

/* The mutex is free at the signal: the waiter, of higher priority, runs at once. */
static void signaller(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		count_signal();
		stamp(r, 2);
		port_cond_signal(&cond);
	}
}

/* All wait once more after the last sample: none ends while another is timed. */
static void one_of_many(struct km_run *r)
{
	uint32_t seen = 0;

	port_mutex_lock(&mutex);
	for (;;) {
		while (signals == seen)
			port_cond_wait(&cond, &mutex);
		if (seen == r->samples)
			break;
		/* All but the last write where the last one's stamp is to stand. */
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
		.about = "Wait for a condition variable; a thread of lower "
			 "priority signals it.",
		.via = PORT_VIA_CONDVAR,
		.needs = KM_CONDVAR | KM_MUTEX | KM_THREADS | KM_PRIORITY,
		.setup = make,
		.role = { { waiter, KM_HIGH, 0 }, { signaller, KM_LOW, 0 } },
		.span = {
			{
				.name = "wait.blocking.{pass}", .switches = 1,
				.begin = 0, .end = 1, .from = 0, .to = 1,
				.between = "the wait, which lets go of the mutex "
					   "and blocks, to the next instruction "
					   "of the other thread",
			},
			{
				.name = "signal.wake+ctx.{pass}", .switches = 1,
				.begin = 2, .end = 3, .from = 1, .to = 0,
				.between = "the signal, to the return of the wait, "
					   "which locks the free mutex again, in "
					   "the thread it woke",
			},
		},
	},
	{
		.object = "condvar",
		.about = "Wake so many threads of higher priority that wait for "
			 "a condition variable, all by one broadcast.",
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
				.between = "the broadcast, to the return of the "
					   "last wait; each thread woken before "
					   "has waited again",
			},
		},
	},
	{ 0 },
};
