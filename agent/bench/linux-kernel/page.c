// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

/* Maximum number of blocks per sample. */
#define BLOCKS 16

#ifdef __KERNEL__
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

static void *block[BLOCKS];

/*
 * Whether all pages of a sample were allocated. If not, frees those that were.
 */
static bool all_pages(const struct km_run *r, unsigned int order)
{
	uint32_t missing = 0;

	for (uint32_t i = 0; i < r->batch; i++)
		missing += !block[i];
	for (uint32_t i = 0; missing && i < r->batch; i++)
		if (block[i])
			__free_pages(block[i], order);
	return !missing;
}

static void pages(struct km_run *r)
{
	unsigned int order = get_order(r->argument);

	for_each_sample(r) {
		struct page **page = (struct page **)block;

		stamp(r, 0);
		for_each_repeat(r)
			*page++ = alloc_pages(GFP_KERNEL, order);
		stamp(r, 1);
		if (!all_pages(r, order)) {
			kernel_failed("alloc_pages failed: no memory");
			return;
		}
		page = (struct page **)block;
		stamp(r, 2);
		for_each_repeat(r)
			__free_pages(*page++, order);
		stamp(r, 3);
		record(r);
	}
}

static void areas(struct km_run *r)
{
	for_each_sample(r) {
		char *area;

		stamp(r, 0);
		area = vmalloc(r->argument);
		stamp(r, 1);
		if (!area) {
			kernel_failed("vmalloc failed: no memory");
			return;
		}
		area[r->argument - 1] = 1;
		stamp(r, 2);
		vfree(area);
		stamp(r, 3);
		record(r);
	}
}
#endif

static const uint32_t page_sizes[] = { 4096, 16384, 65536, 0 };
static const uint32_t area_sizes[] = { 4096, 65536, 1048576, 0 };

KM_TABLE(page) = {
	{
		.object = "page",
		.about = "Allocate N bytes of contiguous pages, and free them.",
		.via = "alloc_pages(GFP_KERNEL), __free_pages",
		.batch = BLOCKS,
		.argument = page_sizes,
		.role = { { IN_KERNEL(pages), KM_LOW, 0 } },
		.span = {
			{
				.name = "alloc", .begin = 0, .end = 1,
				.between = "one alloc_pages",
			},
			{
				.name = "free", .begin = 2, .end = 3,
				.between = "one __free_pages",
			},
		},
	},
	{ 0 },
};

KM_TABLE(vmalloc) = {
	{
		.object = "vmalloc",
		.about = "Map N bytes of pages into the kernel's address "
			 "space, and free them.",
		.via = "vmalloc, vfree",
		.argument = area_sizes,
		.role = { { IN_KERNEL(areas), KM_LOW, 0 } },
		.span = {
			{
				.name = "alloc", .begin = 0, .end = 1,
				.between = "one vmalloc",
			},
			{
				.name = "free", .begin = 2, .end = 3,
				.between = "one vfree",
			},
		},
	},
	{ 0 },
};
