// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <sys/syscall.h>
#include <unistd.h>

/*
 * The call that fills a struct timespec. Where a long has 32 bits, the kernel has
 * one for each size of time_t, and a C library may define one of them only.
 */
#ifndef SYS_clock_gettime64
#define SYS_clock_gettime64 SYS_clock_gettime
#endif
#ifndef SYS_clock_gettime
#define SYS_clock_gettime SYS_clock_gettime64
#endif
#define GET_TIME (sizeof(time_t) > sizeof(long) ? SYS_clock_gettime64 : \
						   SYS_clock_gettime)

static bool before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* A clock may stand still between two samples, but must never go backwards. */
static void check_clock(struct km_run *r, bool right, struct timespec *last,
			const struct timespec *t)
{
	check(r, right && !before(t, last));
	*last = *t;
}

KM_INLINE void
by_library(struct km_run *r, clockid_t clock)
{
	struct timespec last = { 0 }, t = { 0 };

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !clock_gettime(clock, &t);
		stamp(r, 1);
		check_clock(r, right, &last, &t);
		record(r);
	}
}

KM_INLINE void
by_kernel(struct km_run *r, clockid_t clock)
{
	struct timespec last = { 0 }, t = { 0 };

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !syscall(GET_TIME, clock, &t);
		stamp(r, 1);
		check_clock(r, right, &last, &t);
		record(r);
	}
}

static void monotonic(struct km_run *r)
{
	by_library(r, CLOCK_MONOTONIC);
}

static void monotonic_syscall(struct km_run *r)
{
	by_kernel(r, CLOCK_MONOTONIC);
}

static void thread(struct km_run *r)
{
	by_library(r, CLOCK_THREAD_CPUTIME_ID);
}

static void thread_syscall(struct km_run *r)
{
	by_kernel(r, CLOCK_THREAD_CPUTIME_ID);
}

/* People and daemons set this clock, so it may go backwards. */
static void utc(struct km_run *r)
{
	struct timespec t;

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !clock_gettime(CLOCK_REALTIME, &t);
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static void utc_syscall(struct km_run *r)
{
	struct timespec t;

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !syscall(GET_TIME, CLOCK_REALTIME, &t);
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

#define LIBRARY " through the C library, which uses the vDSO or, for some " \
	"clocks, the kernel"
#define KERNEL ", always a system call"

KM_TABLE(time) = {
	{
		.object = "time",
		.about = "Read the time since boot.",
		.via = "clock_gettime(CLOCK_MONOTONIC)" LIBRARY,
		.batch = 1 << 14,
		.role = { { monotonic, KM_LOW, 0 } },
		.span = { { .name = "monotonic", .between = "one clock_gettime" } },
	},
	{
		.object = "time",
		.about = "Read the time since boot with a system call.",
		.via = "clock_gettime(CLOCK_MONOTONIC)" KERNEL,
		.batch = 4096,
		.role = { { monotonic_syscall, KM_LOW, 0 } },
		.span = { { .name = "monotonic.syscall", .between = "one system call" } },
	},
	{
		.object = "time",
		.about = "Read the time of day.",
		.via = "clock_gettime(CLOCK_REALTIME)" LIBRARY,
		.batch = 1 << 14,
		.role = { { utc, KM_LOW, 0 } },
		.span = { { .name = "utc", .between = "one clock_gettime" } },
	},
	{
		.object = "time",
		.about = "Read the time of day with a system call.",
		.via = "clock_gettime(CLOCK_REALTIME)" KERNEL,
		.batch = 4096,
		.role = { { utc_syscall, KM_LOW, 0 } },
		.span = { { .name = "utc.syscall", .between = "one system call" } },
	},
	{
		.object = "time",
		.about = "Read the CPU time used by the calling thread.",
		.via = "clock_gettime(CLOCK_THREAD_CPUTIME_ID)" LIBRARY,
		.batch = 4096,
		.role = { { thread, KM_LOW, 0 } },
		.span = { { .name = "thread", .between = "one clock_gettime" } },
	},
	{
		.object = "time",
		.about = "Read the CPU time used by the calling thread with a "
			 "system call.",
		.via = "clock_gettime(CLOCK_THREAD_CPUTIME_ID)" KERNEL,
		.batch = 4096,
		.role = { { thread_syscall, KM_LOW, 0 } },
		.span = { { .name = "thread.syscall", .between = "one system call" } },
	},
	{ 0 },
};
