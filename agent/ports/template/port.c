// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

const struct km_bench *const port_tables[] = {
	KM_PORTABLE(KM_LISTED) KM_INTERRUPTS(KM_LISTED) NULL
};

/*
 * Sends n bytes of the record stream. The runner's thread calls it. It may
 * buffer them. But whatever was sent before a part begins must be on its way,
 * so that a reader sees which case hung: port_run() is the place to wait for
 * that.
 */
void port_write(const char *bytes, size_t n)
{
	(void)bytes, (void)n;
}

/*
 * Returns NULL, or why this benchmark cannot run here and how to allow it. It
 * covers what is only known at run time, such as a permission or the number of
 * CPUs, and what threads in user mode cannot do: bit i of `user` is set if
 * b->role[i] runs in user mode. The runner itself reports what PORT_HAS lacks.
 */
const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	(void)b, (void)user;
	return NULL;
}

/*
 * Reads what the kernel has counted so far for the threads of the running part.
 * The recording thread calls it twice, between two samples: after the lead-in
 * and after the last sample. The proof uses the difference, so it includes
 * neither the start nor the end of the threads.
 *
 *   - switches: switches to these threads, or from them, by the kernel's own
 *     count or a hook in its scheduler.
 *   - preempted: those that other threads may have forced, if the kernel
 *     reports it; otherwise 0. It widens the range of the proof.
 *   - faults: page faults, if there are any.
 */
void port_count(struct km_counts *until_now)
{
	(void)until_now;
}

/*
 * Runs n threads until they end. Returns NULL, or what went wrong.
 *
 *   - Thread i runs threads[i].role->body(r), with the role's priority and
 *     flags, in user mode if threads[i].user.
 *   - No body begins before all threads exist. Then those of higher priority
 *     begin first, and equals in their order.
 *   - The runner's own thread is above all of them and blocks until all have
 *     ended.
 *   - Adds to counts->strayed and counts->demoted the threads that were not
 *     pinned to their CPU, or did not have their priority. Ask the kernel after
 *     the body returned; do not repeat what was requested.
 *   - Adds to the other counts what port_count() cannot see, if anything: the
 *     samples' share of threads whose counts the recording thread cannot read.
 *
 * Without KM_THREADS there is only one thread, the runner's own, as here.
 */
const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	(void)counts;
	for (uint32_t i = 0; i < n; i++)
		threads[i].role->body(r);
	return NULL;
}

/*
 * Called between parts. Lets other threads run, if that keeps them out of the
 * samples.
 */
void port_rest(void)
{
}

/* The start-up code calls this, in a thread above all that the port runs. */
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
