/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A scripted kernel. Its clock moves only as written here, and one rule decides
 * which thread runs. So every byte of a run is the same on every machine, and
 * tests/golden/fake.log holds them all.
 *
 * The threads of a benchmark's roles are POSIX threads. Only one at a time
 * holds the baton.
 */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

/* Narrow, so that it wraps. */
typedef uint32_t port_ticks;

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_SMP | \
		  KM_USER | KM_KERNEL)
/* So that the golden stream contains idioms. */
#define PORT_IDIOMS KM_SEMAPHORE
#define PORT_THREADS 8
#define PORT_STAMPS 256

#define PORT_CLOCK "script"

/* Each reading takes two ticks. */
port_ticks port_now(void);

#define PORT_VIA_THREAD "a seat and a baton"
#define PORT_VIA_YIELD "a later place in the queue"

struct port_thread {
	struct seat *seat;
};

int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r);
int port_thread_start(struct port_thread *t);
void port_thread_suspend(struct port_thread *t);
void port_thread_resume(struct port_thread *t);
void port_thread_reap(struct port_thread *t);
void port_yield(void);

#define PORT_VIA_SEMAPHORE "a count and a baton"

struct port_sem {
	unsigned int count;
};

void port_sem_init(struct port_sem *s, unsigned int count);
void port_sem_take(struct port_sem *s);
void port_sem_give(struct port_sem *s);

#endif
