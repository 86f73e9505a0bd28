#define _GNU_SOURCE
#include "linux.h"

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

const struct km_bench km_syscall[] = {
	{
		.object = "syscall",
		.about = "A system call that does nearly nothing.",
		.via = "getppid",
		.batch = 4096,
		.role = { { null, KM_LOW, 0 } },
		.span = { { .name = "null", .between = "one call" } },
	},
	{ 0 },
};
