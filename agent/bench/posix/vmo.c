// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "descriptors.h"

#include <sys/mman.h>

#define VMO_SIZE 4096

static int make(int *fd)
{
	fd[0] = memfd_create("kernmark", MFD_CLOEXEC);
	return ftruncate(fd[0], VMO_SIZE);
}

static void create_close(struct km_run *r)
{
	make_and_close(r, make, 1);
}

static char bytes[DESCRIPTORS_BYTES];
static int memory;

static const char *open_memory(struct km_run *r)
{
	ssize_t size = (ssize_t)r->argument;

	memory = memfd_create("kernmark", MFD_CLOEXEC);
	if (memory < 0)
		return "memfd_create failed";
	if (pwrite(memory, bytes, r->argument, 0) != size) {
		close(memory);
		return "pwrite to a memfd failed";
	}
	return NULL;
}

static void close_memory(struct km_run *r)
{
	(void)r;
	close(memory);
}

static void write_read(struct km_run *r)
{
	ssize_t size = (ssize_t)r->argument;

	for_each_sample(r) {
		port_ticks come = 0;
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= pwrite(memory, bytes, r->argument, 0) == size;
		stamp(r, 1);
		for_each_repeat(r) {
			ssize_t n = pread(memory, bytes, r->argument, 0);

			come += n > 0 ? (port_ticks)n : 0;
		}
		stamp(r, 2);
		check(r, right);
		r->bytes += come;
		record(r);
	}
}

static const uint32_t sizes[] = { 64, 1024, 32768, DESCRIPTORS_BYTES, 0 };

KM_TABLE(vmo) = {
	{
		.object = "vmo",
		.about = "Create a memory object of 4096 bytes, with no "
			 "memory allocated yet, and close it.",
		.via = "memfd_create and ftruncate, close",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.role = { { create_close, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "one memfd_create and one ftruncate" },
			{ .name = "close", .between = "one close" },
		},
	},
	{
		.object = "vmo",
		.about = "Write into a memory object with all pages "
			 "allocated, and read from it.",
		.via = "pwrite, pread of a memfd",
		.batch = 4096,
		.argument = sizes,
		.unit = KM_BYTES,
		.setup = open_memory,
		.teardown = close_memory,
		.role = { { write_read, KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one pwrite" },
			{ .name = "read", .between = "one pread" },
		},
	},
	{ 0 },
};
