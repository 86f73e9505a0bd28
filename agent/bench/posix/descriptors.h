/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Shared by the benchmarks of objects with file descriptors: creating and
 * closing such objects, and moving bytes through a pair of them.
 */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include "linux.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * Maximum objects per sample: few enough for the usual limit of 1024
 * descriptors.
 */
#define DESCRIPTORS_BATCH 64
/* Minimum: the kernel allocates and frees the memory of objects in dozens. */
#define DESCRIPTORS_LEAST 32
/* Maximum number of bytes that one operation moves. */
#define DESCRIPTORS_BYTES 65536

/*
 * The body of a benchmark that creates objects and closes them. make() stores
 * `width` descriptors (1 or 2, a constant). It returns 0, or -1 if it fails.
 */
KM_INLINE void
make_and_close(struct km_run *r, int (*make)(int *fd), uint32_t width)
{
	static int made[DESCRIPTORS_BATCH * 2];

	for_each_sample(r) {
		bool right = true;
		int *fd = made;

		stamp(r, 0);
		for_each_repeat(r) {
			right &= !make(fd);
			fd += width;
		}
		stamp(r, 1);
		fd = made;
		for_each_repeat(r)
			for (uint32_t i = 0; i < width; i++)
				right &= !close(*fd++);
		stamp(r, 2);
		check(r, right);
		record(r);
	}
}

/*
 * The two ends of a connection: bytes are written to `to` and read from `from`.
 */
struct ends {
	int to, from;
};

static inline void close_ends(const struct ends *e)
{
	close(e->to);
	close(e->from);
}

/*
 * Writes r->batch messages of r->argument bytes. Returns whether all went
 * whole.
 */
KM_INLINE bool
write_all(const struct km_run *r, const struct ends *e, const char *message)
{
	bool right = true;

	for_each_repeat(r)
		right &= write(e->to, message, r->argument) ==
			 (ssize_t)r->argument;
	return right;
}

/* Reads r->batch messages of r->argument bytes. Returns the bytes received. */
KM_INLINE port_ticks
read_all(const struct km_run *r, const struct ends *e, char *message)
{
	port_ticks bytes = 0;

	for_each_repeat(r) {
		ssize_t n = read(e->from, message, r->argument);

		bytes += n > 0 ? (port_ticks)n : 0;
	}
	return bytes;
}

/* The body of a benchmark that writes messages and then reads them. */
static inline void write_and_read(struct km_run *r, const struct ends *e)
{
	static char message[DESCRIPTORS_BYTES];

	for_each_sample(r) {
		port_ticks bytes;
		bool right;

		stamp(r, 0);
		right = write_all(r, e, message);
		stamp(r, 1);
		bytes = read_all(r, e, message);
		stamp(r, 2);
		check(r, right);
		r->bytes += bytes;
		record(r);
	}
}

/*
 * Message sizes in bytes, as in Zircon's suite, and the maximum batch for them:
 * all messages of a sample must fit into the object before they are read.
 */
static const uint32_t small_sizes[] = { 64, 1024, 0 };
static const uint32_t large_sizes[] = { 32768, 65536, 0 };

enum { SMALL_BATCH = 64, LARGE_BATCH = 4 };

#endif
