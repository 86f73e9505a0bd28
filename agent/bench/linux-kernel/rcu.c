// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/rcupdate.h>

static void *pointer;

static void read_side(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		RCU_INIT_POINTER(pointer, r);
		stamp(r, 0);
		for_each_repeat(r) {
			rcu_read_lock();
			right &= rcu_dereference(pointer) == r;
			rcu_read_unlock();
		}
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}
#endif

KM_TABLE(rcu) = {
	{
		.object = "rcu",
		.about = "Read a pointer under RCU.",
		.via = "rcu_read_lock, rcu_dereference, rcu_read_unlock",
		.batch = 1 << 14,
		.role = { { IN_KERNEL(read_side), KM_LOW, 0 } },
		.span = {
			{ .name = "read", .between = "one read of the pointer" },
		},
	},
	{ 0 },
};
