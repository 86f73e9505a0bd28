/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Everything a benchmark may use, apart from the operations of the port.
 *
 * A benchmark is one entry in the table at the end of its file. Its threads
 * take stamps. A span lies between two stamps and is a metric with its own id.
 * The runner (core/runner.c) starts the threads, keeps the samples and prints
 * what it counted. The agent judges nothing.
 */
#ifndef KERNMARK_H
#define KERNMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Capabilities: a port offers them in PORT_HAS, a benchmark needs them. */
#define KM_THREADS	0x0001	/* more than one thread */
#define KM_PRIORITY	0x0002	/* the highest-priority thread runs at once */
#define KM_SEMAPHORE	0x0004
#define KM_MUTEX	0x0008
#define KM_CONDVAR	0x0010
#define KM_QUEUE	0x0020	/* fifo and lifo */
#define KM_EVENTS	0x0040
#define KM_STACK	0x0080
#define KM_HEAP		0x0100
#define KM_IRQ		0x0200
#define KM_SMP		0x0400	/* a second CPU */
#define KM_PROCESSES	0x0800	/* threads in their own address space */
#define KM_USER		0x1000	/* threads in user mode */
#define KM_KERNEL	0x2000	/* threads in kernel (privileged) mode */
#define KM_ABORT	0x4000	/* can end a thread that is not running */
#define KM_MSGQ		0x8000	/* queues of messages of one size, by copy */
#define KM_MESSAGE_BUFFER 0x10000 /* messages of any size, by copy */
#define KM_STREAM	0x20000	/* bytes without boundaries */
#define KM_MAILBOX	0x40000	/* a sender waits for its receiver */
#define KM_NOTIFICATION	0x80000	/* a thread is given to without an object */
#define KM_POLL		0x100000 /* waits for any of several objects */
#define KM_TIMER	0x200000 /* calls a function at a tick */
#define KM_TICK		0x400000 /* a tick that comes on request only */
#define KM_WORK		0x800000 /* functions run by a thread of the kernel */
#define KM_SPINLOCK	0x1000000
#define KM_SLAB		0x2000000 /* blocks of one size */
#define KM_PRIVATE_HEAP	0x4000000 /* heaps that threads wait for */
#define KM_CONDVAR_TIMEOUT 0x8000000
#define KM_HANDLER	0x10000000 /* a handler of the benchmark's own */
#define KM_IRQ_LOCK	0x20000000 /* threads can lock interrupts */
#define KM_IPI		0x40000000 /* functions run by another CPU */

/* Maximum bytes in an object with memory of its own; objects polled. */
#define KM_STORE 2048
#define KM_POLLED 16

/* The order in which items leave a queue. */
enum port_queue_order { PORT_FIFO, PORT_LIFO };

struct km_run;

#include "inline.h"
#include "mark.h"
#include "port.h"

#if !(PORT_HAS & (KM_USER | KM_KERNEL))
#error "PORT_HAS must name the modes threads run in: KM_KERNEL, KM_USER or both"
#endif

/*
 * Groups in PORT_HAS that the kernel lacks and the port builds from other
 * primitives. Benchmarks that need one are marked as idioms everywhere.
 */
#ifndef PORT_IDIOMS
#define PORT_IDIOMS 0
#endif

/*
 * Groups in PORT_HAS that the kernel has, but not in this configuration. The port
 * does not define them, and port_lacks() says how to get them. Only for
 * KM_HANDLER and the groups of KM_RTOS.
 */
#ifndef PORT_WITHOUT
#define PORT_WITHOUT 0
#endif

/* Maximum number of spans in a benchmark, and of thread roles. */
#define KM_SPANS 5
#define KM_ROLES 3
/* Maximum number of threads that one benchmark runs at a time. */
#ifndef PORT_THREADS
#define PORT_THREADS 8
#endif
/* Capacity for the stamps of one part of a benchmark. */
#ifndef PORT_STAMPS
#define PORT_STAMPS 4096
#endif
/* Mutexes, items or words per benchmark; the largest batch that uses them. */
#ifndef PORT_OBJECTS
#define PORT_OBJECTS 64
#endif
/* Converts ticks of the clock to the unit of the stream. */
#ifndef PORT_COUNT
#define PORT_COUNT(ticks) (ticks)
#endif
/*
 * Extra work for the port when a sample ends, such as updating a second km_run.
 */
#ifndef PORT_RECORDED
#define PORT_RECORDED(r) ((void)0)
#endif
/* Whether the port counts context switches. 0: there is no proof of them. */
#ifndef PORT_COUNTS_SWITCHES
#define PORT_COUNTS_SWITCHES 1
#endif
/* Whether the port counts CPU time. 0: there is no record of it. */
#ifndef PORT_COUNTS_CPU_TIME
#define PORT_COUNTS_CPU_TIME 0
#endif
/*
 * Context switches from the end of a work to the return of its submission.
 */
#ifndef PORT_WORK_SWITCHES
#define PORT_WORK_SWITCHES 1
#endif
/* How the runner creates and destroys a benchmark's objects. */
#ifndef PORT_SETUP
#define PORT_SETUP(b, r) ((b)->setup(r))
#define PORT_TEARDOWN(b, r) ((b)->teardown(r))
#endif

/* Events that the kernel counted for the threads of a part. */
struct km_counts {
	uint32_t switches;	/* context switches of these threads */
	uint32_t preempted;	/* those that other threads may have forced */
	uint32_t faults;	/* page faults of these threads */
	uint32_t strayed;	/* threads not pinned, or on the wrong CPU */
	uint32_t demoted;	/* threads of wrong priority, policy or mode */
#if PORT_COUNTS_CPU_TIME
	uint64_t cpu_ns;	/* CPU time of these threads; 0: unknown */
#endif
};

/* The part of a benchmark being measured, as its threads see it. */
struct km_run {
	port_ticks *row;	/* stamps of the current sample */
	uint32_t stamps;	/* stamps in a row */
	uint32_t samples;	/* samples in this part, with the lead-in */
	uint32_t lead;		/* samples in the lead-in: all threads take part */
	uint32_t left;		/* samples not recorded yet */
	uint32_t batch;		/* operations per sample, at least 1 */
	uint32_t argument;	/* the entry's argument in this case, or 0 */
	uint32_t wrong;		/* results that failed a check */
	port_ticks bytes;	/* bytes that reached the reader */
	bool made_user;		/* created threads run in user mode */
	/*
	 * Result of port_count() after the lead-in [0] and after the last
	 * sample [1].
	 */
	struct km_counts count[2];
};

/*
 * Supplied by the port: reads the kernel's counts so far. strayed and demoted
 * stay 0. Called between two samples, by the thread that records.
 */
void port_count(struct km_counts *until_now);

/* Every thread of a benchmark takes part in every sample. */
#define for_each_sample(r) \
	for (uint32_t km_sample = 0; km_sample < (r)->samples; km_sample++)

/* Repeats the operation within a sample. Only batched entries repeat it. */
#define for_each_repeat(r) \
	for (uint32_t km_repeat = 0; km_repeat < (r)->batch; km_repeat++)

/* Takes stamp i of the sample. Stamps are numbered in order of time. */
KM_INLINE void stamp(struct km_run *r, uint32_t i)
{
	r->row[i] = port_now();
}

/* Ends the sample. Exactly one thread of a benchmark calls this. */
KM_INLINE void record(struct km_run *r)
{
	__asm__ volatile __inline(KM_MARK(".rows") :);
	r->row += r->stamps;
	r->left--;
	PORT_RECORDED(r);
	if (!r->left || r->left + r->lead == r->samples)
		port_count(&r->count[!r->left]);
}

/* Counts a failed check of a result. Keep it off the timed path. */
KM_INLINE void check(struct km_run *r, bool right)
{
	if (!right)
		r->wrong++;
}

/*
 * Priorities are roles. The runner is above all of them. KM_EQUAL threads of
 * one benchmark share a priority and alternate when they yield. KM_SLICED
 * threads are also preempted by their equals at the end of a time slice.
 */
enum km_priority { KM_LOW, KM_HIGH, KM_EQUAL, KM_SLICED };

/* Where a role runs, how many threads have it, and who creates them. */
enum {
	KM_OTHER_CPU = 1 << 0,		/* on the second CPU */
	KM_OWN_PROCESS = 1 << 1,	/* in its own address space */
	KM_EACH = 1 << 2,		/* as many threads as the argument */
	KM_MADE = 1 << 3,		/* the benchmark creates the thread */
	KM_ENDS = 1 << 4,		/* a thread that ends within a span */
	KM_TICKS = 1 << 5,		/* calls port_tick() */
};

struct km_role {
	void (*body)(struct km_run *r);
	enum km_priority priority;
	uint32_t flags;
};

/* One thread that the port runs for the runner. */
struct km_thread {
	const struct km_role *role;
	bool user;		/* in user mode */
};

/*
 * A metric. In its name, {from} and {to} stand for the mode (user, kernel) of
 * the threads at the two ends, and {pass} for both (u_to_k).
 */
struct km_span {
	const char *name;	/* operation.condition, after the object */
	const char *between;	/* what lies between the stamps */
	uint32_t switches;	/* expected context switches per sample */
	uint32_t switches_each;	/* plus this many per unit of the argument */
	/*
	 * The upper limit, where a thread may find what it waits for before it
	 * sleeps. 0: exactly the expected number.
	 */
	uint32_t switches_most;
	uint32_t begin, end;	/* its stamps; both 0: i and i + 1 for span i */
	uint32_t from, to;	/* the roles at its two ends */
	bool remote;		/* another CPU works in it too */
};

/* Unit of an entry's argument. */
enum km_unit { KM_PLAIN, KM_BYTES, KM_ITEMS };

struct km_bench {
	const char *object;
	const char *about;	/* one sentence */
	const char *via;	/* the kernel primitive used */
	uint32_t needs;
	/* Maximum operations per sample. 0 and 1: never batched. */
	uint32_t batch;
	/*
	 * Minimum operations per batched sample, a power of two. Set it where
	 * one operation in several pays for the others. 0: no minimum.
	 */
	uint32_t batch_least;
	const uint32_t *argument;	/* a case for each, then 0; NULL: one */
	enum km_unit unit;
	uint32_t switches;	/* switches per sample outside the spans */
	uint32_t faults;	/* page faults per operation; 0: not checked */
	uint32_t faults_each;	/* plus this many per unit of the argument */
	/* Creates the objects of one part. Returns NULL, or why it cannot. */
	const char *(*setup)(struct km_run *r);
	void (*teardown)(struct km_run *r);
	struct km_role role[KM_ROLES];
	struct km_span span[KM_SPANS];
};

/*
 * Each file in agent/bench ends in such a table, closed by an empty entry. A
 * list such as KM_PORTABLE names tables in catalog order; its argument says
 * what to do with each one (declare it, or put it into port_tables). A table
 * that no list declares does not compile.
 */
#define KM_TABLE(name) \
	_Static_assert(sizeof(*km_##name), "a list names this table"); \
	const struct km_bench km_##name[]
#define KM_DECLARED(name) extern const struct km_bench km_##name[];
#define KM_LISTED(name) km_##name,

#define KM_PORTABLE(each) \
	each(clock) each(thread) each(semaphore) each(mutex) each(condvar) \
	each(fifo) each(lifo) each(stack) each(events) each(heap) each(isr)

/* Of ports with KM_HANDLER. */
#define KM_INTERRUPTS(each) each(isr_entry)

/* Objects that only real-time kernels have: agent/bench/rtos. */
#define KM_RTOS(each) \
	each(message_queue) each(message_buffer) each(stream) each(mailbox) \
	each(notification) each(poll) each(timer) each(tick) each(workqueue) \
	each(spinlock) each(slab) each(private_heap) each(condvar_timeout) \
	each(ipi)

KM_PORTABLE(KM_DECLARED)
KM_INTERRUPTS(KM_DECLARED)
KM_RTOS(KM_DECLARED)

/* Supplied by the port: its tables, ended by NULL. */
extern const struct km_bench *const port_tables[];

/*
 * Supplied by the port, all called outside the timed path:
 *   port_write()	sends n bytes of the record stream.
 *   port_lacks()	is called if PORT_HAS covers the needs of b. Returns NULL, or
 *		why b still cannot run here and how to allow it. Bit i of
 *		user: role i of b runs in user mode.
 *   port_lacks_span() is like port_lacks(), for one span of a case that can
 *		run. Supplied if PORT_LACKS_SPANS is defined; otherwise no span
 *		is lacking.
 *   port_run()	runs n threads until they end. Adds to counts: stray and
 *		demoted threads, and what port_count() cannot see.
 *		Returns NULL, or what went wrong.
 *   port_rest()	is called between parts, so that other threads can run.
 */
void port_write(const char *bytes, size_t n);
const char *port_lacks(const struct km_bench *b, uint32_t user);
#ifdef PORT_LACKS_SPANS
const char *port_lacks_span(const struct km_bench *b, uint32_t user,
			    uint32_t span);
#else
KM_INLINE const char *port_lacks_span(const struct km_bench *b, uint32_t user,
				      uint32_t span)
{
	(void)b, (void)user, (void)span;
	return NULL;
}
#endif
const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts);
void port_rest(void);

/* Holds the samples. A port whose threads do not share memory places it. */
struct km_memory {
	struct km_run run;
	port_ticks stamp[PORT_STAMPS];
};

struct km_options {
	uint32_t samples;	/* requested samples per case */
	port_ticks budget;	/* time limit of a case in ticks; 0: none */
	/*
	 * A sample reaches at least half of this, in PORT_COUNT's unit; 0: no
	 * batches.
	 */
	port_ticks epoch;
	port_ticks burst;	/* time limit of a part in ticks; 0: none */
	/*
	 * Hexadecimal digits with one bit per case, in catalog order, highest
	 * bit of the first digit first. Missing digits are 0. NULL: all cases.
	 */
	const char *cases;
};

/* A session: km_hello, any km_info, km_catalog or km_measure, km_bye. */
struct km_hello {
	const char *port, *arch, *mode, *clock, *unit;
	port_ticks hz;
	bool realtime;
};

void km_hello(const struct km_hello *h);
void km_info(const char *name, const char *text);
void km_catalog(void);
/* Returns whether a case has this id. */
bool km_has(const char *id);
/* Measures the case with this id. If id is NULL, measures those in o->cases. */
void km_measure(const char *id, struct km_memory *m, const struct km_options *o);
void km_bye(void);

#include "absent.h"

#endif
