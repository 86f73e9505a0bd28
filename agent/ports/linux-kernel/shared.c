// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/* Compiled for both sides, like the benchmarks. */
#include "linux-kernel.h"
#include "shared.h"

struct port_shared port_shared;
volatile struct port_crossing port_crossing;

const struct km_bench *const port_tables[] = {
	KM_PORTABLE(KM_LISTED) KM_INTERRUPTS(KM_LISTED)
	KM_LINUX_KERNEL(KM_LISTED) NULL
};
