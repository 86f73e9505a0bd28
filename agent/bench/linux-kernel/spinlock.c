// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/spinlock.h>

static spinlock_t lock[PORT_OBJECTS];

static const char *make(struct km_run *r)
{
	for (uint32_t i = 0; i < PORT_OBJECTS; i++) {
		spin_lock_init(&lock[i]);
		kernel_own_class(&lock[i]);
	}
	return NULL;
}

static void lock_unlock(struct km_run *r)
{
	for_each_sample(r) {
		spinlock_t *l = lock;

		stamp(r, 0);
		for_each_repeat(r)
			spin_lock(l++);
		stamp(r, 1);
		for_each_repeat(r)
			spin_unlock(--l);
		stamp(r, 2);
		record(r);
	}
}

static void lock_unlock_irq(struct km_run *r)
{
	for_each_sample(r) {
		unsigned long flags;

		stamp(r, 0);
		for_each_repeat(r) {
			spin_lock_irqsave(lock, flags);
			spin_unlock_irqrestore(lock, flags);
		}
		stamp(r, 1);
		record(r);
	}
}
#endif

KM_TABLE(spinlock) = {
	{
		.object = "spinlock",
		.about = "Lock free spin locks one after the other, and "
			 "unlock them.",
		.via = "spin_lock, spin_unlock",
		.batch = PORT_OBJECTS,
		.setup = SETUP_IN_KERNEL(make),
		.role = { { IN_KERNEL(lock_unlock), KM_LOW, 0 } },
		.span = {
			{ .name = "lock.immediate", .between = "one lock" },
			{ .name = "unlock.immediate", .between = "one unlock" },
		},
	},
	{
		.object = "spinlock",
		.about = "Lock and unlock a free spin lock, with interrupts "
			 "disabled in between.",
		.via = "spin_lock_irqsave, spin_unlock_irqrestore",
		.batch = 4096,
		.setup = SETUP_IN_KERNEL(make),
		.role = { { IN_KERNEL(lock_unlock_irq), KM_LOW, 0 } },
		.span = {
			{
				.name = "lock_unlock.irqsave",
				.between = "one lock and one unlock",
			},
		},
	},
	{ 0 },
};
