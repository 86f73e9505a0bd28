// SPDX-License-Identifier: GPL-2.0
/* Compiled for both sides, as the benchmarks are. */
#include "shared.h"

struct port_shared port_shared;

const struct km_bench *const port_tables[] = { KM_PORTABLE, NULL };
