// SPDX-License-Identifier: MIT OR Apache-2.0
#include "queue.h"

static uint32_t place(uint32_t i, uint32_t n)
{
	return n - 1 - i;
}

static const struct queue_order lifo = {
	.put = port_lifo_put,
	.get = port_lifo_get,
	.alloc_put = port_lifo_alloc_put,
	.get_free = port_lifo_get_free,
	.place = place,
};

static const char *empty(struct km_run *r)
{
	(void)r;
	return queue_empty(PORT_LIFO);
}

static const char *on_heap(struct km_run *r)
{
	return queue_on_heap(r, PORT_LIFO);
}

static void put_get(struct km_run *r)
{
	queue_put_get(r, lifo);
}

static void alloc_put_get_free(struct km_run *r)
{
	queue_alloc_put_get_free(r, lifo);
}

static void getter(struct km_run *r)
{
	queue_getter(r, lifo);
}

static void putter(struct km_run *r)
{
	queue_putter(r, lifo);
}

static void free_getter(struct km_run *r)
{
	queue_free_getter(r, lifo);
}

static void alloc_putter(struct km_run *r)
{
	queue_alloc_putter(r, lifo);
}

KM_TABLE(lifo) = {
	{
		.object = "lifo",
		.about = "Put items into a lifo with no waiters, and get them.",
		.via = PORT_VIA_QUEUE,
		.needs = KM_QUEUE,
		.batch = PORT_OBJECTS,
		.setup = empty,
		.role = { { put_get, KM_LOW, 0 } },
		.span = {
			{ .name = "put.immediate.{from}", .between = "one put" },
			{ .name = "get.immediate.{from}", .between = "one get" },
		},
	},
	{
		.object = "lifo",
		.about = "Put items allocated from the heap into a lifo with "
			 "no waiters; get and free them.",
		.via = PORT_VIA_QUEUE_ALLOC,
		.needs = KM_QUEUE | KM_HEAP,
		.batch = PORT_OBJECTS,
		.setup = on_heap,
		.role = { { alloc_put_get_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "put.alloc.immediate.{from}",
				.between = "one allocation and one put",
			},
			{
				.name = "get.free.immediate.{from}",
				.between = "one get, and freeing the item",
			},
		},
	},
	{
		.object = "lifo",
		.about = "Block on an empty lifo; a lower-priority thread "
			 "puts an item.",
		.via = PORT_VIA_QUEUE,
		.needs = KM_QUEUE | KM_THREADS | KM_PRIORITY,
		.setup = empty,
		.role = { { getter, KM_HIGH, 0 }, { putter, KM_LOW, 0 } },
		.span = {
			{
				.name = "get.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking get to the next "
					   "instruction of the other thread",
			},
			{
				.name = "put.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the put to the return of the "
					   "get in the woken thread",
			},
		},
	},
	{
		.object = "lifo",
		.about = "Block on an empty lifo; a lower-priority thread "
			 "allocates an item and puts it; the getter frees it.",
		.via = PORT_VIA_QUEUE_ALLOC,
		.needs = KM_QUEUE | KM_HEAP | KM_THREADS | KM_PRIORITY,
		.setup = on_heap,
		.role = { { free_getter, KM_HIGH, 0 }, { alloc_putter, KM_LOW, 0 } },
		.span = {
			{
				.name = "get.free.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking get to the next "
					   "instruction of the other thread",
			},
			{
				.name = "put.alloc.wake+ctx.{pass}",
				.switches = 1, .from = 1, .to = 0,
				.between = "from the allocation and the put "
					   "to the woken thread's return from "
					   "the get, after it freed the item",
			},
		},
	},
	{ 0 },
};
