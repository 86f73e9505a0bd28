/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sets of CPUs. A cpu_set_t has room for 1024 CPUs, and the kernel of a larger
 * machine refuses to fill it. CPU_SETSIZE is 1024 or, in musl, the bytes that
 * these take. Needs _GNU_SOURCE.
 */
#ifndef CPUS_H
#define CPUS_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

/* Linux supports at most 8192. */
#define CPUS_MOST 65536

struct cpus {
	cpu_set_t part[CPUS_MOST / (8 * sizeof(cpu_set_t))];
};

/* Gets the CPUs that a thread may run on. Thread 0 is the calling one. */
static inline bool cpus_allowed(pid_t thread, struct cpus *c)
{
	CPU_ZERO_S(sizeof(*c), c->part);
	return !sched_getaffinity(thread, sizeof(*c), c->part);
}

static inline bool cpus_have(const struct cpus *c, int cpu)
{
	return cpu >= 0 && CPU_ISSET_S((size_t)cpu, sizeof(*c), c->part);
}

/* The set of only this CPU; empty if there cannot be such a CPU. */
static inline void cpus_only(struct cpus *c, int cpu)
{
	CPU_ZERO_S(sizeof(*c), c->part);
	if (cpu >= 0)
		CPU_SET_S((size_t)cpu, sizeof(*c), c->part);
}

/* Whether a thread may run on this CPU only. */
static inline bool cpus_pinned(pid_t thread, int cpu)
{
	struct cpus c;

	return cpus_allowed(thread, &c) && cpus_have(&c, cpu) &&
	       CPU_COUNT_S(sizeof(c), c.part) == 1;
}

/* Returns false if the kernel refuses; errno says why. */
static inline bool cpus_pin(pid_t thread, int cpu)
{
	struct cpus c;

	cpus_only(&c, cpu);
	return !sched_setaffinity(thread, sizeof(c), c.part);
}

#endif
