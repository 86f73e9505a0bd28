// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Functions with a known number of nops, called between two stamps, which replace
 * the portable benchmarks. Each has one instruction more, which returns. They use
 * the first portable table, so that a port needs no change.
 */
#include "alone.h"

#define NOPS(n) \
	__attribute__((noinline, noclone)) static void nops_##n(void) \
	{ \
		__asm__ volatile(".rept " #n "\n\tnop\n\t.endr"); \
	} \
	static void call_##n(struct km_run *r) \
	{ \
		for_each_sample(r) { \
			stamp(r, 0); \
			nops_##n(); \
			stamp(r, 1); \
			record(r); \
		} \
	}

NOPS(0)
NOPS(1)
NOPS(10)
NOPS(100)
NOPS(1000)

#define ENTRY(n) \
	{ \
		.object = "nops", \
		.about = "A call of a known number of nops.", \
		.via = "nop", \
		.role = { { call_##n, KM_LOW, 0 } }, \
		.span = { { .name = #n, .between = "the call" } }, \
	}

const struct km_bench km_clock[] = {
	ENTRY(0),
	ENTRY(1),
	ENTRY(10),
	ENTRY(100),
	ENTRY(1000),
	{ 0 },
};
