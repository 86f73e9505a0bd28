// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static void null(struct km_run *r)
{
	long parent = syscall(SYS_getppid);

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= syscall(SYS_getppid) == parent;
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

/*
 * A number that is no system call in any kernel. On 32-bit Arm, numbers from
 * 0xf0000 on are private, and most of them end the program with SIGILL.
 */
#ifdef __arm__
#define NO_CALL 0xeffffL
#define NO_CALL_NAME "0xeffff"
#else
#define NO_CALL (-1L)
#define NO_CALL_NAME "-1"
#endif
/* A number that is no futex operation in any kernel. */
#define NO_FUTEX_OP 127

/* A system call filter (seccomp) may answer instead of the kernel. */
static const char *allows_no_call(struct km_run *r)
{
	(void)r;
	if (syscall(NO_CALL) == -1 && errno == ENOSYS)
		return NULL;
	return "needs an unknown system call to fail with ENOSYS, but a system "
	       "call filter answers it";
}

static void crossing(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= syscall(NO_CALL) == -1;
		stamp(r, 1);
		check(r, right && errno == ENOSYS);
		record(r);
	}
}

static void many_args(struct km_run *r)
{
	static uint32_t word;

	for_each_sample(r) {
		bool right = true;

		errno = 0;
		stamp(r, 0);
		for_each_repeat(r)
			right &= syscall(SYS_futex, &word, NO_FUTEX_OP, 1L, NULL,
					 &word, 1L) == -1;
		stamp(r, 1);
		check(r, right && errno == ENOSYS);
		record(r);
	}
}

/* musl's name for it where the seconds have 32 bits. */
#ifndef SYS_gettimeofday
#define SYS_gettimeofday SYS_gettimeofday_time32
#endif

static void time_of_day(struct km_run *r)
{
	long t[2];

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= !syscall(SYS_gettimeofday, t, NULL);
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

KM_TABLE(syscall) = {
	{
		.object = "syscall",
		.about = "A system call that does almost nothing.",
		.via = "getppid",
		.batch = 4096,
		.role = { { null, KM_LOW, 0 } },
		.span = { { .name = "null", .between = "one call" } },
	},
	{
		.object = "syscall",
		.about = "Enter the kernel and return: the cheapest possible "
			 "system call.",
		.via = "system call number " NO_CALL_NAME ", which fails with ENOSYS",
		.batch = 4096,
		.setup = allows_no_call,
		.role = { { crossing, KM_LOW, 0 } },
		.span = { { .name = "crossing", .between = "one call" } },
	},
	{
		.object = "syscall",
		.about = "A system call with six arguments that returns at once.",
		.via = "futex with operation 127, which fails with ENOSYS",
		.batch = 4096,
		.role = { { many_args, KM_LOW, 0 } },
		.span = { { .name = "many_args", .between = "one call" } },
	},
	{
		.object = "syscall",
		.about = "A system call that reads the time of day and stores it.",
		.via = "gettimeofday, without the vDSO",
		.batch = 4096,
		.role = { { time_of_day, KM_LOW, 0 } },
		.span = { { .name = "gettimeofday", .between = "one call" } },
	},
	{ 0 },
};
