// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifndef __KERNEL__
#include <sys/syscall.h>
#include <unistd.h>

static char there[PORT_CROSSING_BYTES], back[PORT_CROSSING_BYTES];

/* The bytes of a read or write whose crossing is measured. */
#define SOME 64

/* One call with the module's stamps inside, then one without. */
KM_INLINE void cross(struct km_run *r, long number, long second, long third,
		     long result)
{
	int stamped = port_crossing_file(true);
	int plain = port_crossing_file(false);

	for_each_sample(r) {
		long one, other;

		stamp(r, 0);
		one = port_system_call(number, stamped, second, third);
		stamp(r, 3);
		other = port_system_call(number, plain, second, third);
		stamp(r, 4);
		r->row[1] = port_crossing.in;
		r->row[2] = port_crossing.out;
		check(r, one == result && other == result);
		record(r);
	}
	close(stamped);
	close(plain);
}

static void seek(struct km_run *r)
{
	cross(r, SYS_lseek, 0, SEEK_SET, 0);
}

static void ioctl_nothing(struct km_run *r)
{
	cross(r, SYS_ioctl, 0, 0, 0);
}

static void read_some(struct km_run *r)
{
	cross(r, SYS_read, (long)back, SOME, SOME);
}

static void write_some(struct km_run *r)
{
	cross(r, SYS_write, (long)there, SOME, SOME);
}

/* Writes bytes to the module and reads them back. */
static void copy(struct km_run *r)
{
	int file = port_crossing_file(true);
	long n = r->argument;

	for_each_sample(r) {
		long in, out;

		there[0] = (char)km_sample;
		there[n - 1] = (char)~km_sample;
		in = port_system_call(SYS_write, file, (long)there, n);
		r->row[0] = port_crossing.in;
		r->row[1] = port_crossing.out;
		out = port_system_call(SYS_read, file, (long)back, n);
		r->row[2] = port_crossing.in;
		r->row[3] = port_crossing.out;
		r->bytes += (port_ticks)out;
		check(r, in == n && out == n && back[0] == there[0] &&
			 back[n - 1] == there[n - 1]);
		record(r);
	}
	close(file);
}
#endif

static const uint32_t sizes[] = { 64, 1024, 32768, PORT_CROSSING_BYTES, 0 };

#define CROSSING(call, function, does) \
	{ \
		.object = "syscall", \
		.about = "Cross into the kernel and back: " does ".", \
		.via = call " of a file of the module; its function does " \
		       "nothing, or takes the two stamps inside", \
		.needs = KM_USER, \
		.role = { { IN_USER(function), KM_LOW, 0 } }, \
		.span = { \
			{ \
				.name = "enter." call ".{from}", \
				.between = "from the instruction before the " \
					   "system call to the first of the " \
					   "module's function", \
			}, \
			{ \
				.name = "exit." call ".{from}", \
				.begin = 2, .end = 3, \
				.between = "from the last instruction of the " \
					   "module's function to the one " \
					   "behind the system call", \
			}, \
			{ \
				.name = "null." call ".{from}", \
				.begin = 3, .end = 4, \
				.between = "one call, without stamps inside", \
			}, \
		}, \
	}

KM_TABLE(crossing) = {
	CROSSING("lseek", seek, "the shortest way to a module"),
	CROSSING("ioctl", ioctl_nothing, "the way of the operations that user "
					 "threads call here"),
	CROSSING("read", read_some, "read 64 bytes"),
	CROSSING("write", write_some, "write 64 bytes"),
	{ 0 },
};

KM_TABLE(copy) = {
	{
		.object = "copy",
		.about = "Copy N bytes between user memory and the kernel.",
		.via = "copy_from_user, copy_to_user",
		.needs = KM_USER,
		.argument = sizes,
		.unit = KM_BYTES,
		.role = { { IN_USER(copy), KM_LOW, 0 } },
		.span = {
			{
				.name = "in.{from}", .begin = 0, .end = 1,
				.between = "one copy_from_user",
			},
			{
				.name = "out.{from}", .begin = 2, .end = 3,
				.between = "one copy_to_user",
			},
		},
	},
	{ 0 },
};
