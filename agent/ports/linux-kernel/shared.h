/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* The view that both sides of the port have of a running part. */
#ifndef SHARED_H
#define SHARED_H

#include "kernmark.h"

/* What a kernel thread observed when it ended. */
struct call_seat {
	uint32_t cpu;		/* the CPU it ended on */
};

/*
 * The start of the shared section. PORT_RECORDED() requires the two km_run to
 * be adjacent.
 */
struct port_shared {
	struct km_run kernel;
	struct km_memory memory;
	struct call_seat seat[PORT_THREADS];
	char wrong[120];	/* why a setup or part failed, or "" */
} __attribute__((aligned(4096)));

/* At the start of the shared section. */
extern struct port_shared port_shared;

_Static_assert(offsetof(struct port_shared, memory.run) == sizeof(struct km_run),
	       "the two km_run must be adjacent");

#endif
