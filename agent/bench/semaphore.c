// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_sem sem;

static const char *empty(struct km_run *r)
{
	(void)r;
	port_sem_init(&sem, 0);
	return NULL;
}

static void give_take(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			port_sem_give(&sem);
		stamp(r, 1);
		for_each_repeat(r)
			port_sem_take(&sem);
		stamp(r, 2);
		record(r);
	}
}

static void taker(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_sem_take(&sem);
		stamp(r, 2);
		record(r);
	}
}

static void giver(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_sem_give(&sem);
	}
}

/* The waiter that the next give must wake, and the number of waiters so far. */
static volatile uint32_t next, waiters;

static const char *no_waiters(struct km_run *r)
{
	next = 0;
	waiters = 0;
	return empty(r);
}

/*
 * Waiters of equal priority wake in the order in which they came, and each
 * waits again at once. So the number of waiters is the same in every sample.
 */
static void waiter(struct km_run *r)
{
	uint32_t number = waiters++;

	for (uint32_t k = number;; k += r->argument) {
		port_sem_take(&sem);
		if (k >= r->samples)
			return;
		stamp(r, 1);
		check(r, next == number);
		next = (number + 1) % r->argument;
		record(r);
	}
}

static void waited_for(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_sem_give(&sem);
	}
	for (uint32_t i = 0; i < r->argument; i++)
		port_sem_give(&sem);
}

static const uint32_t waiting[] = { 1, 2, 4, 8, 16, 32, 64, 0 };

KM_TABLE(semaphore) = {
	{
		.object = "semaphore",
		.about = "Give a semaphore with no waiters, and take it.",
		.via = PORT_VIA_SEMAPHORE,
		.needs = KM_SEMAPHORE,
		.batch = 4096,
		.setup = empty,
		.role = { { give_take, KM_LOW, 0 } },
		.span = {
			{ .name = "give.immediate.{from}", .between = "one give" },
			{ .name = "take.immediate.{from}", .between = "one take" },
		},
	},
	{
		.object = "semaphore",
		.about = "Block on a semaphore; a lower-priority thread gives it.",
		.via = PORT_VIA_SEMAPHORE,
		.needs = KM_SEMAPHORE | KM_THREADS | KM_PRIORITY,
		.setup = empty,
		.role = { { taker, KM_HIGH, 0 }, { giver, KM_LOW, 0 } },
		.span = {
			{
				.name = "take.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking take to the "
					   "next instruction of the other "
					   "thread",
			},
			{
				.name = "give.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the give to the return of "
					   "the take in the woken thread",
			},
		},
	},
	{
		.object = "semaphore",
		.about = "Give a semaphore with N higher-priority threads "
			 "waiting; the first one runs.",
		.via = PORT_VIA_SEMAPHORE,
		.needs = KM_SEMAPHORE | KM_THREADS | KM_PRIORITY,
		.argument = waiting,
		.switches = 1,
		.setup = no_waiters,
		.role = { { waiter, KM_HIGH, KM_EACH }, { waited_for, KM_LOW, 0 } },
		.span = {
			{
				.name = "give.wake+ctx.waiting.{pass}",
				.switches = 1, .from = 1, .to = 0,
				.between = "from the give to the return of "
					   "the take in the woken thread",
			},
		},
	},
	{ 0 },
};
