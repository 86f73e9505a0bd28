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

const struct km_bench km_semaphore[] = {
	{
		.object = "semaphore",
		.about = "Give a semaphore that nobody waits for, and take it.",
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
		.about = "Block on a semaphore; a thread of lower priority gives it.",
		.via = PORT_VIA_SEMAPHORE,
		.needs = KM_SEMAPHORE | KM_THREADS | KM_PRIORITY,
		.setup = empty,
		.role = { { taker, KM_HIGH, 0 }, { giver, KM_LOW, 0 } },
		.span = {
			{
				.name = "take.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "the take that blocks, to the next "
					   "instruction of the other thread",
			},
			{
				.name = "give.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "the give, to the return of the take "
					   "in the thread it woke",
			},
		},
	},
	{ 0 },
};
