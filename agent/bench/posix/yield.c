// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <sys/mman.h>

#include "posix.h"

/* Set by the first thread, so that it goes first in every sample. */
static uint32_t *begun;

static const char *setup(struct km_run *r)
{
	void *p = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	(void)r;
	if (p == MAP_FAILED)
		return why("mmap");
	begun = p;
	return NULL;
}

static void teardown(struct km_run *r)
{
	(void)r;
	munmap(begun, sizeof(*begun));
}

static void first(struct km_run *r)
{
	__atomic_store_n(begun, 1, __ATOMIC_RELEASE);
	for_each_sample(r) {
		stamp(r, 0);
		port_yield();
		stamp(r, 2);
		record(r);
	}
}

static void second(struct km_run *r)
{
	while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE))
		port_yield();
	for_each_sample(r) {
		stamp(r, 1);
		port_yield();
	}
}

#define BETWEEN "from the yield to the return of the other thread's yield"

KM_TABLE(yield) = {
	{
		.object = "yield",
		.about = "Two threads of the same priority alternate.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY,
		.setup = setup, .teardown = teardown,
		.role = { { first, KM_EQUAL, 0 }, { second, KM_EQUAL, 0 } },
		.span = {
			{
				.name = "threads", .switches = 1,
				.from = 0, .to = 1, .between = BETWEEN,
			},
			{
				.name = "threads.back", .switches = 1,
				.from = 1, .to = 0, .between = BETWEEN,
			},
		},
	},
	{
		.object = "yield",
		.about = "Two processes of the same priority alternate.",
		.via = PORT_VIA_YIELD,
		.needs = KM_THREADS | KM_PRIORITY | KM_PROCESSES,
		.setup = setup, .teardown = teardown,
		.role = {
			{ first, KM_EQUAL, KM_OWN_PROCESS },
			{ second, KM_EQUAL, KM_OWN_PROCESS },
		},
		.span = {
			{
				.name = "processes", .switches = 1,
				.from = 0, .to = 1, .between = BETWEEN,
			},
			{
				.name = "processes.back", .switches = 1,
				.from = 1, .to = 0, .between = BETWEEN,
			},
		},
	},
	{ 0 },
};
