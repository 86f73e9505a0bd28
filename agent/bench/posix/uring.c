// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix.h"

#define ENTRIES 64

/* The two mapped rings. */
static struct {
	int fd;
	size_t ring_size, entries_size;
	char *ring;
	struct io_uring_sqe *entry;
	uint32_t *sent, *seen, *done, *index;
	struct io_uring_cqe *result;
} ring = { .fd = -1 };

static void teardown(struct km_run *r)
{
	(void)r;
	if (ring.ring)
		munmap(ring.ring, ring.ring_size);
	if (ring.entry)
		munmap(ring.entry, ring.entries_size);
	if (ring.fd >= 0)
		close(ring.fd);
	ring.ring = NULL;
	ring.entry = NULL;
	ring.fd = -1;
}

static void *map(size_t size, off_t what)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring.fd, what);

	return p == MAP_FAILED ? NULL : p;
}

static uint32_t *word(uint32_t offset)
{
	return (uint32_t *)(void *)(ring.ring + offset);
}

static const char *setup(struct km_run *r)
{
	struct io_uring_params p = { 0 };
	const char *text;

	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (ring.fd < 0 && errno == ENOSYS)
		return why("this kernel has no io_uring");
	if (ring.fd < 0)
		return why("io_uring_setup is not permitted here (see sysctl "
			   "kernel.io_uring_disabled)");
	if (!(p.features & IORING_FEAT_SINGLE_MMAP)) {
		teardown(r);
		return "this kernel's io_uring is older than Linux 5.4";
	}
	ring.ring_size = p.cq_off.cqes + p.cq_entries * sizeof(*ring.result);
	if (ring.ring_size < p.sq_off.array + p.sq_entries * sizeof(uint32_t))
		ring.ring_size = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	ring.entries_size = p.sq_entries * sizeof(*ring.entry);
	ring.ring = map(ring.ring_size, IORING_OFF_SQ_RING);
	ring.entry = map(ring.entries_size, IORING_OFF_SQES);
	if (!ring.ring || !ring.entry) {
		text = why("mmap of an io_uring");
		teardown(r);
		return text;
	}
	ring.sent = word(p.sq_off.tail);
	ring.index = word(p.sq_off.array);
	ring.seen = word(p.cq_off.head);
	ring.done = word(p.cq_off.tail);
	ring.result = (void *)(ring.ring + p.cq_off.cqes);
	for (uint32_t i = 0; i < p.sq_entries; i++) {
		memset(&ring.entry[i], 0, sizeof(*ring.entry));
		ring.entry[i].opcode = IORING_OP_NOP;
		ring.index[i] = i;
	}
	return NULL;
}

/* Submits n operations in one call and takes their results. */
KM_INLINE bool submit(uint32_t n, uint64_t number)
{
	uint32_t tail = *ring.sent, head = *ring.seen;
	bool right = true;

	for (uint32_t i = 0; i < n; i++)
		ring.entry[(tail + i) % ENTRIES].user_data = number + i;
	__atomic_store_n(ring.sent, tail + n, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, n, n, IORING_ENTER_GETEVENTS,
		    NULL, 0) != (long)n ||
	    __atomic_load_n(ring.done, __ATOMIC_ACQUIRE) - head != n)
		return false;
	/* There are twice as many results as entries. */
	for (uint32_t i = 0; i < n; i++) {
		const struct io_uring_cqe *c =
			&ring.result[(head + i) % (2 * ENTRIES)];

		right &= c->user_data == number + i && !c->res;
	}
	__atomic_store_n(ring.seen, head + n, __ATOMIC_RELEASE);
	return right;
}

static void nop(struct km_run *r)
{
	uint64_t number = 1;

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= submit(1, number++);
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static void nops(struct km_run *r)
{
	uint32_t n = r->argument;

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= submit(n, n);
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static const uint32_t counts[] = { 8, ENTRIES, 0 };

KM_TABLE(uring) = {
	{
		.object = "uring",
		.about = "Submit a no-op, wait for it and take its result.",
		.via = "io_uring_enter, IORING_OP_NOP",
		.batch = 4096,
		.setup = setup, .teardown = teardown,
		.role = { { nop, KM_LOW, 0 } },
		.span = { { .name = "nop", .between = "one operation" } },
	},
	{
		.object = "uring",
		.about = "Submit N no-ops in one call, wait for all of them "
			 "and take their results.",
		.via = "io_uring_enter, IORING_OP_NOP",
		.batch = 1024,
		.argument = counts, .unit = KM_ITEMS,
		.setup = setup, .teardown = teardown,
		.role = { { nops, KM_LOW, 0 } },
		.span = { { .name = "nops", .between = "all N operations" } },
	},
	{ 0 },
};
