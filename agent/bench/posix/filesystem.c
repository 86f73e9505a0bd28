// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "descriptors.h"

#include <sys/stat.h>

/* Every system has this file, and opening it leaves nothing behind. */
#define PATH "/etc/passwd"

static struct stat before;
static int file;

static const char *open_file(struct km_run *r)
{
	(void)r;
	file = open(PATH, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return "needs " PATH " and permission to read it";
	if (fstat(file, &before)) {
		close(file);
		return "fstat of " PATH " failed";
	}
	return NULL;
}

static void close_file(struct km_run *r)
{
	(void)r;
	close(file);
}

static int make(int *fd)
{
	fd[0] = open(PATH, O_RDONLY);
	return fd[0] < 0 ? -1 : 0;
}

static void open_close(struct km_run *r)
{
	make_and_close(r, make, 1);
}

static void stat_path(struct km_run *r)
{
	for_each_sample(r) {
		struct stat s = { .st_ino = 0 };
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !stat(PATH, &s);
		stamp(r, 1);
		check(r, right && s.st_ino == before.st_ino);
		record(r);
	}
}

static void stat_descriptor(struct km_run *r)
{
	for_each_sample(r) {
		struct stat s = { .st_ino = 0 };
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !fstat(file, &s);
		stamp(r, 1);
		check(r, right && s.st_ino == before.st_ino);
		record(r);
	}
}

KM_TABLE(filesystem) = {
	{
		.object = "filesystem",
		.about = "Open an existing file that is in the cache, and "
			 "close it.",
		.via = "open of " PATH " for reading, close",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.setup = open_file,
		.teardown = close_file,
		.role = { { open_close, KM_LOW, 0 } },
		.span = {
			{ .name = "open", .between = "one open" },
			{ .name = "close", .between = "one close" },
		},
	},
	{
		.object = "filesystem",
		.about = "Get the status of a file by its path, which is in "
			 "the cache.",
		.via = "stat of " PATH,
		.batch = 4096,
		.setup = open_file,
		.teardown = close_file,
		.role = { { stat_path, KM_LOW, 0 } },
		.span = { { .name = "stat", .between = "one stat" } },
	},
	{
		.object = "filesystem",
		.about = "Get the status of an open file.",
		.via = "fstat of " PATH " through the C library, which may "
					"use newfstatat",
		.batch = 4096,
		.setup = open_file,
		.teardown = close_file,
		.role = { { stat_descriptor, KM_LOW, 0 } },
		.span = { { .name = "fstat", .between = "one fstat" } },
	},
	{ 0 },
};
