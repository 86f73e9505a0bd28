// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/* Size in bytes of the heap, and of a block that fits into it only once. */
#define HEAP 2048
#define LARGE 1280
/* Maximum number of blocks in a sample. */
#define BLOCKS 4

static struct port_heap heap;
static void *block[BLOCKS];

static const char *make(struct km_run *r)
{
	(void)r;
	port_heap_init(&heap, HEAP);
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
		((uint8_t *)block[i])[r->argument - 1] = (uint8_t)~i;
	}
	for (uint32_t i = 0; i < r->batch; i++)
		right = right && *(uint32_t *)block[i] == i &&
			((uint8_t *)block[i])[r->argument - 1] == (uint8_t)~i;
	return right;
}

static void alloc_free(struct km_run *r)
{
	for_each_sample(r) {
		void **b = block;

		stamp(r, 0);
		for_each_repeat(r)
			*b++ = port_heap_alloc(&heap, r->argument);
		stamp(r, 1);
		check(r, apart(r));
		b = block;
		stamp(r, 2);
		for_each_repeat(r)
			port_heap_free(&heap, *b++);
		stamp(r, 3);
		record(r);
	}
}

static void waiter(struct km_run *r)
{
	block[0] = port_heap_alloc(&heap, LARGE);
	for_each_sample(r) {
		void *got;

		stamp(r, 0);
		got = port_heap_alloc(&heap, LARGE);
		stamp(r, 2);
		check(r, got);
		block[0] = got;
		record(r);
	}
}

static void freer(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_heap_free(&heap, block[0]);
	}
}

static const uint32_t sizes[] = { 16, 64, 256, 0 };

KM_TABLE(private_heap) = {
	{
		.object = "private_heap",
		.about = "Allocate blocks of N bytes from a heap of their own "
			 "and free them in the same order.",
		.via = PORT_VIA_PRIVATE_HEAP,
		.needs = KM_PRIVATE_HEAP,
		.batch = BLOCKS,
		.argument = sizes,
		.setup = make,
		.role = { { alloc_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "alloc.immediate.{from}",
				.begin = 0, .end = 1,
				.between = "one allocation of N bytes",
			},
			{
				.name = "free.immediate.{from}",
				.begin = 2, .end = 3,
				.between = "freeing one such block",
			},
		},
	},
	{
		.object = "private_heap",
		.about = "Block on a heap of 2,048 bytes that has no room for "
			 "another block of 1,280; a lower-priority thread "
			 "frees the first.",
		.via = PORT_VIA_PRIVATE_HEAP,
		.needs = KM_PRIVATE_HEAP | KM_THREADS | KM_PRIORITY,
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
