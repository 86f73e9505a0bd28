// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Blocks with a known number of nops, which replace the portable benchmarks.
 * They use the first portable table, so that a port needs no change.
 */
#include "alone.h"

/* Written out, so that the compiler knows how far its branches must reach. */
#define NOPS_0 ""
#define NOPS_1 "nop\n\t"
#define NOPS_2 NOPS_1 NOPS_1
#define NOPS_3 NOPS_2 NOPS_1
#define NOPS_10 NOPS_3 NOPS_3 NOPS_3 NOPS_1
#define NOPS_100 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 \
	NOPS_10 NOPS_10 NOPS_10
#define NOPS_1000 NOPS_100 NOPS_100 NOPS_100 NOPS_100 NOPS_100 NOPS_100 \
	NOPS_100 NOPS_100 NOPS_100 NOPS_100

/* All blocks are surrounded by the same code, so that nothing else differs. */
#define BLOCK(n) \
	static void block_##n(struct km_run *r) \
	{ \
		for_each_sample(r) { \
			stamp(r, 0); \
			__asm__ volatile(NOPS_##n); \
			stamp(r, 1); \
			record(r); \
		} \
	}

BLOCK(0)
BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(10)
BLOCK(100)
BLOCK(1000)

#define ENTRY(n) \
	{ \
		.object = "nops", \
		.about = "A known number of nops.", \
		.via = "nop", \
		.role = { { block_##n, KM_LOW, 0 } }, \
		.span = { { .name = #n, .between = "the instructions" } }, \
	}

const struct km_bench km_clock[] = {
	ENTRY(0),
	ENTRY(1),
	ENTRY(2),
	ENTRY(3),
	ENTRY(10),
	ENTRY(100),
	ENTRY(1000),
	{ 0 },
};
