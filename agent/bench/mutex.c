// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_mutex mutex[PORT_OBJECTS];
static struct port_sem locked;

static void make(enum port_mutex_kind kind)
{
	for (uint32_t i = 0; i < PORT_OBJECTS; i++)
		port_mutex_init(&mutex[i], kind);
	port_sem_init(&locked, 0);
}

static const char *plain(struct km_run *r)
{
	(void)r;
	make(PORT_PLAIN);
	return NULL;
}

static const char *recursive(struct km_run *r)
{
	(void)r;
	make(PORT_RECURSIVE);
	return NULL;
}

static const char *inherit(struct km_run *r)
{
	(void)r;
	make(PORT_INHERIT);
	return NULL;
}

static void lock_unlock(struct km_run *r)
{
	for_each_sample(r) {
		struct port_mutex *m = mutex;

		stamp(r, 0);
		for_each_repeat(r)
			port_mutex_lock(m++);
		stamp(r, 1);
		for_each_repeat(r)
			port_mutex_unlock(--m);
		stamp(r, 2);
		record(r);
	}
}

static void relock_unlock(struct km_run *r)
{
	port_mutex_lock(mutex);
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			port_mutex_lock(mutex);
		stamp(r, 1);
		for_each_repeat(r)
			port_mutex_unlock(mutex);
		stamp(r, 2);
		record(r);
	}
	port_mutex_unlock(mutex);
}

static void contender(struct km_run *r)
{
	for_each_sample(r) {
		port_sem_take(&locked);
		stamp(r, 0);
		port_mutex_lock(mutex);
		stamp(r, 2);
		port_mutex_unlock(mutex);
		record(r);
	}
}

/* The give lets the contender run up to the lock, which the holder holds. */
static void holder(struct km_run *r)
{
	for_each_sample(r) {
		port_mutex_lock(mutex);
		port_sem_give(&locked);
		stamp(r, 1);
		port_mutex_unlock(mutex);
	}
}

KM_TABLE(mutex) = {
	{
		.object = "mutex",
		.about = "Lock free mutexes one after the other, and unlock them.",
		.via = PORT_VIA_MUTEX,
		.needs = KM_MUTEX,
		.batch = PORT_OBJECTS,
		.setup = plain,
		.role = { { lock_unlock, KM_LOW, 0 } },
		.span = {
			{ .name = "lock.immediate.{from}", .between = "one lock" },
			{ .name = "unlock.immediate.{from}", .between = "one unlock" },
		},
	},
	{
		.object = "mutex",
		.about = "Lock a recursive mutex that the thread already "
			 "holds, and unlock it as many times.",
		.via = PORT_VIA_MUTEX,
		.needs = KM_MUTEX,
		.batch = 4096,
		.setup = recursive,
		.role = { { relock_unlock, KM_LOW, 0 } },
		.span = {
			{
				.name = "lock.immediate.recursive.{from}",
				.between = "one lock of a mutex that the "
					   "thread holds",
			},
			{
				.name = "unlock.immediate.recursive.{from}",
				.between = "one unlock that leaves the mutex "
					   "locked",
			},
		},
	},
	{
		.object = "mutex",
		.about = "Lock free priority-inheriting mutexes one after the "
			 "other, and unlock them.",
		.via = PORT_VIA_MUTEX,
		.needs = KM_MUTEX,
		.batch = PORT_OBJECTS,
		.setup = inherit,
		.role = { { lock_unlock, KM_LOW, 0 } },
		.span = {
			{
				.name = "lock.immediate.inherit.{from}",
				.between = "one lock",
			},
			{
				.name = "unlock.immediate.inherit.{from}",
				.between = "one unlock",
			},
		},
	},
	{
		.object = "mutex",
		.about = "Block on a mutex that a lower-priority thread holds "
			 "and then unlocks.",
		.via = PORT_VIA_MUTEX,
		.needs = KM_MUTEX | KM_SEMAPHORE | KM_THREADS | KM_PRIORITY,
		.switches = 2,
		.setup = plain,
		.role = { { contender, KM_HIGH, 0 }, { holder, KM_LOW, 0 } },
		.span = {
			{
				.name = "lock.contended.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking lock to the "
					   "holder's next instruction",
			},
			{
				.name = "unlock.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the unlock to the return of "
					   "the lock in the waiting thread",
			},
		},
	},
	{
		.object = "mutex",
		.about = "Block on a priority-inheriting mutex that a "
			 "lower-priority thread holds and then unlocks.",
		.via = PORT_VIA_MUTEX,
		.needs = KM_MUTEX | KM_SEMAPHORE | KM_THREADS | KM_PRIORITY,
		.switches = 2,
		.setup = inherit,
		.role = { { contender, KM_HIGH, 0 }, { holder, KM_LOW, 0 } },
		.span = {
			{
				.name = "lock.contended.inherit.{pass}",
				.switches = 1, .from = 0, .to = 1,
				.between = "from the blocking lock, which "
					   "lends the holder its priority, to "
					   "the holder's next instruction",
			},
			{
				.name = "unlock.wake+ctx.inherit.{pass}",
				.switches = 1, .from = 1, .to = 0,
				.between = "from the unlock, which gives the "
					   "priority back, to the return of "
					   "the lock in the waiting thread",
			},
		},
	},
	{ 0 },
};
