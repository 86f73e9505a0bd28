/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes wrong in a part, and when. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "kernmark.h"

extern const struct km_bench km_script[];

/* A setup fills it in. port_run() clears it after each part. */
struct script {
	const char *broken;	/* port_run() fails with this text */
	uint32_t faults;	/* page faults counted */
	uint32_t strayed, demoted;
	uint32_t preempted;	/* additional context switches, all forced */
	bool frozen;		/* the clock stands still */
	uint32_t forgotten;	/* context switches not counted */
};

extern struct script script;

/* Moves the clock. */
void script_work(port_ticks ticks);
/* Sets the clock. */
void script_at(port_ticks now);

#endif
