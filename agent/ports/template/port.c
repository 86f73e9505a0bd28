// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

const struct km_bench *const port_tables[] = { KM_PORTABLE(KM_LISTED) NULL };

/*
 * Sends bytes of the record stream, from the runner's thread. It may buffer
 * them, but what was sent before a part begins must be on its way, so that a
 * reader sees which case hung: port_run() is the place to wait for that.
 */
void port_write(const char *bytes, size_t n)
{
	(void)bytes, (void)n;
}

/*
 * Why this benchmark cannot run here and how to allow it, or NULL. Only for
 * what is known when the program runs, such as a permission or the number of
 * CPUs, and for what threads in user mode may not do: bit i of `user` is set
 * when b->role[i] is to run in user mode. What is not in PORT_HAS, the runner
 * says itself.
 */
const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	(void)b, (void)user;
	return NULL;
}

/*
 * What the kernel has counted until now for the threads of the part that runs.
 * The thread that records calls this twice, between two samples: when the
 * lead-in is over and when the last sample is. The difference is proved, so
 * neither the start of the threads nor their end is in it.
 *
 *   - switches: switches to these threads, or from them, by the kernel's own
 *     count or a hook in its scheduler.
 *   - preempted: those of them that something else may have forced, where the
 *     kernel tells; else 0. It widens the range of the proof.
 *   - faults: page faults, where there are any.
 */
void port_count(struct km_counts *until_now)
{
	(void)until_now;
}

/*
 * Runs n threads to their end. Returns what went wrong, or NULL.
 *
 *   - Thread i runs threads[i].role->body(r), at the role's priority, with
 *     the role's flags, in user mode when threads[i].user.
 *   - No body begins before all threads are there; then those of higher
 *     priority begin first, and equals in their order.
 *   - The runner's own thread is above all of them and blocks until all have
 *     ended.
 *   - Adds to counts->strayed and counts->demoted the threads that, asked of
 *     the kernel after their body returned, were not pinned to their CPU, or not
 *     at their priority. Ask; do not repeat what was requested.
 *   - Adds to the other counts what port_count() cannot see, if anything: the
 *     samples' share of threads about which the kernel does not tell the one
 *     that records.
 *
 * Without KM_THREADS there is one thread, the runner's own, as here.
 */
const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	(void)counts;
	for (uint32_t i = 0; i < n; i++)
		threads[i].role->body(r);
	return NULL;
}

/* Between parts: lets others run, where that keeps them out of the samples. */
void port_rest(void)
{
}

/* Called by the start-up code, in a thread above all that the port runs. */
void port_main(void);

void port_main(void)
{
	static struct km_memory memory;
	static const struct km_options options = { .samples = 500 };

	km_hello(&(struct km_hello){
		.port = "template", .arch = "none", .mode = "run",
		.clock = PORT_CLOCK, .unit = "cycles", .hz = 1,
	});
	km_info("kernel", "its name and version");
	km_info("compiler", __VERSION__);
	km_catalog();
	km_measure(NULL, &memory, &options);
	km_bye();
}
