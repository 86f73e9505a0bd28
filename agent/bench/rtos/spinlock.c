// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_spinlock lock[PORT_OBJECTS];

static const char *make(struct km_run *r)
{
	(void)r;
	for (uint32_t i = 0; i < PORT_OBJECTS; i++)
		port_spinlock_init(&lock[i]);
	return NULL;
}

static void lock_unlock(struct km_run *r)
{
	for_each_sample(r) {
		struct port_spinlock *l = lock;

		stamp(r, 0);
		for_each_repeat(r)
			port_spinlock_lock(l++);
		stamp(r, 1);
		for_each_repeat(r)
			port_spinlock_unlock(--l);
		stamp(r, 2);
		record(r);
	}
}

static void lock_unlock_irq(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r) {
			port_spinlock_lock(lock);
			port_spinlock_unlock(lock);
		}
		stamp(r, 1);
		record(r);
	}
}

KM_TABLE(spinlock) = {
	{
		.object = "spinlock",
		.about = "Lock free spin locks one after the other, and "
			 "unlock them.",
		.via = PORT_VIA_SPINLOCK,
		.needs = KM_SPINLOCK,
		.batch = PORT_OBJECTS,
		.setup = make,
		.role = { { lock_unlock, KM_LOW, 0 } },
		.span = {
			{ .name = "lock.immediate", .between = "one lock" },
			{ .name = "unlock.immediate", .between = "one unlock" },
		},
	},
	{
		.object = "spinlock",
		.about = "Lock and unlock a free spin lock, with interrupts "
			 "disabled in between.",
		.via = PORT_VIA_SPINLOCK,
		.needs = KM_SPINLOCK,
		.batch = 4096,
		.setup = make,
		.role = { { lock_unlock_irq, KM_LOW, 0 } },
		.span = {
			{
				.name = "lock_unlock.irqsave",
				.between = "one lock and one unlock",
			},
		},
	},
	{ 0 },
};
