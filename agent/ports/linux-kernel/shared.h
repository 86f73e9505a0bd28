/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* What both sides of the port see of a part that runs. */
#ifndef SHARED_H
#define SHARED_H

#include "kernmark.h"

/* What a kernel thread found at its end. */
struct call_seat {
	uint32_t cpu;		/* on which it ended */
};

/*
 * The start of the shared section. The two km_run follow each other, as
 * PORT_RECORDED() assumes.
 */
struct port_shared {
	struct km_run kernel;
	struct km_memory memory;
	struct call_seat seat[PORT_THREADS];
	char wrong[120];	/* why a setup or a part has failed; "": it has not */
} __attribute__((aligned(4096)));

/* At the start of the shared section. */
extern struct port_shared port_shared;

_Static_assert(offsetof(struct port_shared, memory.run) == sizeof(struct km_run),
	       "the two km_run follow each other");

#endif
