// SPDX-License-Identifier: MIT OR Apache-2.0
/* As bench/condvar.c, with waits that would time out much later. */
#include "kernmark.h"

static struct port_cond cond;
static struct port_mutex mutex;
static volatile uint32_t signals;

static const char *make(struct km_run *r)
{
	(void)r;
	port_cond_init(&cond);
	port_mutex_init(&mutex, PORT_PLAIN);
	signals = 0;
	return NULL;
}

static void waiter(struct km_run *r)
{
	uint32_t seen = 0;

	port_mutex_lock(&mutex);
	for_each_sample(r) {
		bool signalled = true;

		stamp(r, 0);
		while (signals == seen)
			signalled = port_cond_wait_timeout(&cond, &mutex);
		stamp(r, 3);
		check(r, signalled && signals == ++seen);
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
		port_mutex_lock(&mutex);
		signals++;
		port_mutex_unlock(&mutex);
		stamp(r, 2);
		port_cond_signal(&cond);
	}
}

KM_TABLE(condvar_timeout) = {
	{
		.object = "condvar",
		.about = "Wait on a condition variable with a timeout; a "
			 "lower-priority thread signals it before that.",
		.via = PORT_VIA_CONDVAR_TIMEOUT,
		.needs = KM_CONDVAR_TIMEOUT | KM_CONDVAR | KM_MUTEX |
			 KM_THREADS | KM_PRIORITY,
		.setup = make,
		.role = { { waiter, KM_HIGH, 0 }, { signaller, KM_LOW, 0 } },
		.span = {
			{
				.name = "wait.timeout.blocking.{pass}",
				.switches = 1, .begin = 0, .end = 1,
				.from = 0, .to = 1,
				.between = "from the wait, which unlocks the "
					   "mutex and blocks, to the next "
					   "instruction of the other thread",
			},
			{
				.name = "signal.timeout.wake+ctx.{pass}",
				.switches = 1, .begin = 2, .end = 3,
				.from = 1, .to = 0,
				.between = "from the signal to the return of "
					   "the wait in the woken thread, "
					   "which locks the free mutex again",
			},
		},
	},
	{ 0 },
};
