// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/*
 * Maximum size in bytes of the blocks in one sample, which are allocated
 * together.
 */
#define HELD 65536
/* Maximum number of blocks in a sample. */
#define BLOCKS 256

static void *block[BLOCKS];

/* Detects a full heap here, where it can be reported. */
static const char *room(struct km_run *r)
{
	const char *wrong = NULL;
	uint32_t n = 0;

	while (n < r->batch && (block[n] = port_malloc(r->argument)))
		n++;
	if (n < r->batch)
		wrong = "the heap has no room for the blocks of one sample";
	while (n)
		port_free(block[--n]);
	return wrong;
}

/*
 * Whether each block exists, which setup does not guarantee, and overlaps no
 * other.
 */
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

static void malloc_free(struct km_run *r)
{
	for_each_sample(r) {
		void **b = block;

		stamp(r, 0);
		for_each_repeat(r)
			*b++ = port_malloc(r->argument);
		stamp(r, 1);
		check(r, apart(r));
		b = block;
		stamp(r, 2);
		for_each_repeat(r)
			port_free(*b++);
		stamp(r, 3);
		record(r);
	}
}

/* Each block is freed before the next one is allocated. */
static void malloc_free_alone(struct km_run *r)
{
	for_each_sample(r) {
		volatile uint8_t *only;

		stamp(r, 0);
		only = port_malloc(r->argument);
		stamp(r, 1);
		check(r, only);
		if (only)
			only[r->argument - 1] = 1;
		stamp(r, 2);
		port_free((void *)only);
		stamp(r, 3);
		record(r);
	}
}

static const uint32_t ten[] = { 10, 0 };
static const uint32_t small[] = { 16, 64, 256, 0 };
static const uint32_t middle[] = { 1024, 4096, 0 };
static const uint32_t large[] = { 16384, 0 };
static const uint32_t largest[] = { 65536, 0 };

#define ABOUT "Allocate blocks of N bytes and free them in the same " \
	"order; at most 64 KiB are allocated at a time."

KM_TABLE(heap) = {
	{
		.object = "heap",
		.about = ABOUT,
		.via = PORT_VIA_HEAP,
		.needs = KM_HEAP,
		.batch = HELD / 256,
		.argument = small,
		.setup = room,
		.role = { { malloc_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "malloc.immediate.{from}",
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
		.object = "heap",
		.about = ABOUT,
		.via = PORT_VIA_HEAP,
		.needs = KM_HEAP,
		.batch = HELD / 4096,
		.argument = middle,
		.setup = room,
		.role = { { malloc_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "malloc.immediate.{from}",
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
		.object = "heap",
		.about = ABOUT,
		.via = PORT_VIA_HEAP,
		.needs = KM_HEAP,
		.batch = HELD / 16384,
		.argument = large,
		.setup = room,
		.role = { { malloc_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "malloc.immediate.{from}",
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
		.object = "heap",
		.about = ABOUT,
		.via = PORT_VIA_HEAP,
		.needs = KM_HEAP,
		.argument = largest,
		.setup = room,
		.role = { { malloc_free, KM_LOW, 0 } },
		.span = {
			{
				.name = "malloc.immediate.{from}",
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
		.object = "heap",
		.about = "Allocate a block of N bytes and free it before "
			 "allocating the next one.",
		.via = PORT_VIA_HEAP,
		.needs = KM_HEAP,
		.argument = ten,
		.setup = room,
		.role = { { malloc_free_alone, KM_LOW, 0 } },
		.span = {
			{
				.name = "malloc.alone.{from}",
				.begin = 0, .end = 1,
				.between = "one allocation, timed alone",
			},
			{
				.name = "free.alone.{from}",
				.begin = 2, .end = 3,
				.between = "freeing that block, timed alone",
			},
		},
	},
	{ 0 },
};
