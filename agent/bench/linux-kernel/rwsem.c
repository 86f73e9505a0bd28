// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/rwsem.h>

static struct rw_semaphore sem[PORT_OBJECTS];

static const char *make(struct km_run *r)
{
	for (uint32_t i = 0; i < PORT_OBJECTS; i++) {
		init_rwsem(&sem[i]);
		kernel_own_class(&sem[i]);
	}
	return NULL;
}

static void read_write(struct km_run *r)
{
	for_each_sample(r) {
		struct rw_semaphore *s = sem;

		stamp(r, 0);
		for_each_repeat(r)
			down_read(s++);
		stamp(r, 1);
		for_each_repeat(r)
			up_read(--s);
		stamp(r, 2);
		for_each_repeat(r)
			down_write(s++);
		stamp(r, 3);
		for_each_repeat(r)
			up_write(--s);
		stamp(r, 4);
		record(r);
	}
}
#endif

KM_TABLE(rwsem) = {
	{
		.object = "rwsem",
		.about = "Lock and unlock free reader-writer semaphores one "
			 "after the other: for reading, then for writing.",
		.via = "down_read, up_read, down_write, up_write",
		.batch = PORT_OBJECTS,
		.setup = SETUP_IN_KERNEL(make),
		.role = { { IN_KERNEL(read_write), KM_LOW, 0 } },
		.span = {
			{ .name = "read.lock.immediate", .between = "one lock" },
			{ .name = "read.unlock.immediate", .between = "one unlock" },
			{ .name = "write.lock.immediate", .between = "one lock" },
			{ .name = "write.unlock.immediate", .between = "one unlock" },
		},
	},
	{ 0 },
};
