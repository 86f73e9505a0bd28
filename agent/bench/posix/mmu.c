// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "descriptors.h"

#include <sys/mman.h>

/* Maximum number of pages mapped one by one, or touched, per sample. */
#define PAGES_BATCH 64
/*
 * Minimum mappings, and faults: the kernel defers some work to do dozens at
 * once.
 */
#define MAPPINGS_LEAST 32
#define FAULTS_LEAST 64

static size_t page;
static int memory;
static char *pages;

/* Creates a memory object of n pages, all of them allocated. */
static const char *open_memory(uint32_t n)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = memfd_create("kernmark", MFD_CLOEXEC);
	if (memory < 0)
		return "memfd_create failed";
	if (fallocate(memory, 0, 0, (off_t)(n * page))) {
		close(memory);
		return "fallocate of a memfd failed";
	}
	return NULL;
}

static const char *open_pages(struct km_run *r)
{
	return open_memory(r->argument ? r->argument : 1);
}

static void close_pages(struct km_run *r)
{
	(void)r;
	close(memory);
}

KM_INLINE char *map(uint32_t n, int flags)
{
	return mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_SHARED | flags,
		    memory, 0);
}

/* Each is a separate mapping: the kernel does not merge them. */
static void map_unmap_one(struct km_run *r)
{
	static char *mapped[PAGES_BATCH];

	for_each_sample(r) {
		char **at = mapped;
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r) {
			*at = map(1, 0);
			right &= *at++ != MAP_FAILED;
		}
		stamp(r, 1);
		at = mapped;
		for_each_repeat(r)
			right &= !munmap(*at++, page);
		stamp(r, 2);
		check(r, right);
		record(r);
	}
}

static void map_unmap(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r) {
			char *at = map(r->argument, MAP_POPULATE);

			right &= at != MAP_FAILED;
			right &= !munmap(at, r->argument * page);
		}
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

/*
 * Writes, because reading a page in the cache may map its neighbours too.
 * Returns false and touches nothing if there is no mapping.
 */
KM_INLINE bool touch(char *at, uint32_t n)
{
	if (at == MAP_FAILED)
		return false;
	for (uint32_t i = 0; i < n; i++)
		((volatile char *)at)[i * page] = 1;
	return true;
}

/* Reads. The kernel decides how many other pages a fault maps. */
KM_INLINE bool look(const char *at, uint32_t n)
{
	if (at == MAP_FAILED)
		return false;
	for (uint32_t i = 0; i < n; i++)
		(void)((const volatile char *)at)[i * page];
	return true;
}

static void map_look_unmap(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r) {
			char *at = map(r->argument, 0);

			right &= look(at, r->argument);
			right &= !munmap(at, r->argument * page);
		}
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static void map_touch_unmap(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r) {
			char *at = map(r->argument, 0);

			right &= touch(at, r->argument);
			right &= !munmap(at, r->argument * page);
		}
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

/*
 * Pages that have been written to, each between two inaccessible ones. A change
 * therefore always affects a whole mapping, and none is split or merged.
 */
static const char *open_apart(struct km_run *r)
{
	size_t n = 2 * r->batch + 1;

	page = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, n * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return "mmap failed";
	for (uint32_t i = 0; i < r->batch; i++) {
		char *at = pages + (2 * i + 1) * page;

		if (mprotect(at, page, PROT_READ | PROT_WRITE)) {
			munmap(pages, n * page);
			return "mprotect failed";
		}
		*at = 1;
	}
	return NULL;
}

static void close_apart(struct km_run *r)
{
	munmap(pages, (2 * r->batch + 1) * page);
}

static void protect_unprotect(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;
		char *at = pages + page;

		stamp(r, 0);
		for_each_repeat(r) {
			right &= !mprotect(at, page, PROT_READ);
			at += 2 * page;
		}
		stamp(r, 1);
		at = pages + page;
		for_each_repeat(r) {
			right &= !mprotect(at, page, PROT_READ | PROT_WRITE);
			at += 2 * page;
		}
		stamp(r, 2);
		check(r, right);
		record(r);
	}
}

/* Maps the batch's pages so that each one faults separately. */
static const char *map_untouched(struct km_run *r, int flags)
{
	pages = mmap(NULL, r->batch * page, PROT_READ | PROT_WRITE, flags,
		     flags & MAP_ANONYMOUS ? -1 : memory, 0);
	if (pages == MAP_FAILED)
		return "mmap failed";
	/* Fails on kernels without huge pages, which does no harm. */
	madvise(pages, r->batch * page, MADV_NOHUGEPAGE);
	return NULL;
}

static const char *open_anonymous(struct km_run *r)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	return map_untouched(r, MAP_PRIVATE | MAP_ANONYMOUS);
}

static void close_anonymous(struct km_run *r)
{
	munmap(pages, r->batch * page);
}

static const char *open_file(struct km_run *r, int flags)
{
	const char *wrong = open_memory(r->batch);

	if (wrong)
		return wrong;
	wrong = map_untouched(r, flags);
	if (wrong)
		close(memory);
	return wrong;
}

static const char *open_shared(struct km_run *r)
{
	return open_file(r, MAP_SHARED);
}

static const char *open_private(struct km_run *r)
{
	return open_file(r, MAP_PRIVATE);
}

static void close_file(struct km_run *r)
{
	munmap(pages, r->batch * page);
	close(memory);
}

/* Drops the pages between samples, so that the next touch faults again. */
static void fault(struct km_run *r)
{
	for_each_sample(r) {
		bool right;

		stamp(r, 0);
		right = touch(pages, r->batch);
		stamp(r, 1);
		right &= !madvise(pages, r->batch * page, MADV_DONTNEED);
		check(r, right);
		record(r);
	}
}

static const uint32_t counts[] = { 1, 16, 256, 0 };
static const uint32_t many[] = { 256, 0 };

KM_TABLE(mmu) = {
	{
		.object = "mmu",
		.about = "Map one page of memory and unmap it, without "
			 "touching it.",
		.via = "mmap of a memfd, MAP_SHARED, and munmap",
		.batch = PAGES_BATCH,
		.batch_least = MAPPINGS_LEAST,
		.setup = open_pages,
		.teardown = close_pages,
		.role = { { map_unmap_one, KM_LOW, 0 } },
		.span = {
			{ .name = "map", .between = "one mmap" },
			{ .name = "unmap", .between = "one munmap" },
		},
	},
	{
		.object = "mmu",
		.about = "Map existing pages of memory, filling the page "
			 "table for all of them, and unmap them.",
		.via = "mmap of a memfd, MAP_SHARED and MAP_POPULATE, and munmap",
		.batch = 1024,
		.argument = counts,
		.unit = KM_ITEMS,
		.setup = open_pages,
		.teardown = close_pages,
		.role = { { map_unmap, KM_LOW, 0 } },
		.span = { { .name = "map_unmap", .between = "one mmap and one munmap" } },
	},
	{
		.object = "mmu",
		.about = "Map existing pages of memory, write to each one, "
			 "which faults, and unmap them.",
		.via = "mmap of a memfd, MAP_SHARED, a store to each page, and munmap",
		.batch = 1024,
		.argument = counts,
		.unit = KM_ITEMS,
		.faults_each = 1,
		.setup = open_pages,
		.teardown = close_pages,
		.role = { { map_touch_unmap, KM_LOW, 0 } },
		.span = {
			{
				.name = "map_unmap.faults",
				.between = "one mmap, one store to each page "
					   "and one munmap",
			},
		},
	},
	{
		.object = "mmu",
		.about = "Map existing pages of memory, read from each one "
			 "and unmap them; one page fault may map several "
			 "pages.",
		.via = "mmap of a memfd, MAP_SHARED, a load from each page, and munmap",
		.batch = 1024,
		.argument = many,
		.unit = KM_ITEMS,
		.setup = open_pages,
		.teardown = close_pages,
		.role = { { map_look_unmap, KM_LOW, 0 } },
		.span = {
			{
				.name = "map_unmap.reads",
				.between = "one mmap, one load from each page "
					   "and one munmap",
			},
		},
	},
	{
		.object = "mmu",
		.about = "Make a written page read-only, and writable again.",
		.via = "mprotect of a mapping of one page",
		.batch = PAGES_BATCH,
		.setup = open_apart,
		.teardown = close_apart,
		.role = { { protect_unprotect, KM_LOW, 0 } },
		.span = {
			{ .name = "protect", .between = "one mprotect to PROT_READ" },
			{
				.name = "unprotect",
				.between = "one mprotect to PROT_READ | PROT_WRITE",
			},
		},
	},
	{
		.object = "fault",
		.about = "Write to a page of anonymous memory for the first "
			 "time: the kernel supplies a zeroed page.",
		.via = "store to a private anonymous mapping",
		.batch = PAGES_BATCH,
		.batch_least = FAULTS_LEAST,
		.faults = 1,
		.setup = open_anonymous,
		.teardown = close_anonymous,
		.role = { { fault, KM_LOW, 0 } },
		.span = { { .name = "anonymous", .between = "one store" } },
	},
	{
		.object = "fault",
		.about = "Write to a page of a mapped file that is in the "
			 "page cache but not in the page table.",
		.via = "store to a shared mapping of a memfd",
		.batch = PAGES_BATCH,
		.batch_least = FAULTS_LEAST,
		.faults = 1,
		.setup = open_shared,
		.teardown = close_file,
		.role = { { fault, KM_LOW, 0 } },
		.span = { { .name = "file", .between = "one store" } },
	},
	{
		.object = "fault",
		.about = "Write to a page of a privately mapped file that is "
			 "in the page cache: the kernel copies it.",
		.via = "store to a private mapping of a memfd",
		.batch = PAGES_BATCH,
		.batch_least = FAULTS_LEAST,
		.faults = 1,
		.setup = open_private,
		.teardown = close_file,
		.role = { { fault, KM_LOW, 0 } },
		.span = { { .name = "cow", .between = "one store" } },
	},
	{ 0 },
};
