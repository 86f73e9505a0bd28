// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/* Size of a block in bytes, and maximum number of blocks. */
#define SIZE 64
#define BLOCKS 16

static struct port_slab slab;
static void *block[BLOCKS];

static const char *make(struct km_run *r)
{
	port_slab_init(&slab, SIZE, r->batch);
	return NULL;
}

/* Whether each block exists and overlaps no other. */
static bool apart(const struct km_run *r)
{
	bool right = true;

	for (uint32_t i = 0; i < r->batch; i++) {
		if (!block[i])
			return false;
		*(uint32_t *)block[i] = i;
		((uint8_t *)block[i])[SIZE - 1] = (uint8_t)~i;
	}
	for (uint32_t i = 0; i < r->batch; i++)
		right = right && *(uint32_t *)block[i] == i &&
			((uint8_t *)block[i])[SIZE - 1] == (uint8_t)~i;
	return right;
}

static void alloc_free(struct km_run *r)
{
	for_each_sample(r) {
		void **b = block;

		stamp(r, 0);
		for_each_repeat(r)
			*b++ = port_slab_alloc(&slab);
		stamp(r, 1);
		check(r, apart(r));
		b = block;
		stamp(r, 2);
		for_each_repeat(r)
			port_slab_free(&slab, *b++);
		stamp(r, 3);
		record(r);
	}
}

/* The slab has one block, which passes from one thread to the other. */
static void waiter(struct km_run *r)
{
	block[0] = port_slab_alloc(&slab);
	for_each_sample(r) {
		void *got;

		stamp(r, 0);
		got = port_slab_alloc(&slab);
		stamp(r, 2);
		check(r, got == block[0]);
		record(r);
	}
}

static void freer(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_slab_free(&slab, block[0]);
	}
}

KM_TABLE(slab) = {
	{
		.object = "slab",
		.about = "Allocate blocks of 64 bytes, the only size of this "
			 "slab, and free them in the same order.",
		.via = PORT_VIA_SLAB,
		.needs = KM_SLAB,
		.batch = BLOCKS,
		.setup = make,
		.role = { { alloc_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "alloc.immediate.{from}",
				.begin = 0, .end = 1,
				.between = "one allocation",
			},
			{
				.name = "free.immediate.{from}",
				.begin = 2, .end = 3,
				.between = "freeing one block",
			},
		},
	},
	{
		.object = "slab",
		.about = "Block on a slab with no free block; a "
			 "lower-priority thread frees one.",
		.via = PORT_VIA_SLAB,
		.needs = KM_SLAB | KM_THREADS | KM_PRIORITY,
		.setup = make,
		.role = { { waiter, KM_HIGH, 0 }, { freer, KM_LOW, 0 } },
		.span = {
			{
				.name = "alloc.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking allocation to "
					   "the next instruction of the other "
					   "thread",
			},
			{
				.name = "free.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from freeing the block to the "
					   "return of the allocation in the "
					   "woken thread",
			},
		},
	},
	{ 0 },
};
