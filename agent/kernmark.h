/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All that a benchmark may use, besides the operations of the port.
 *
 * A benchmark is one entry of the table that ends its file. Its threads take
 * stamps; a span lies between two stamps and is a metric with an id of its
 * own. The runner (core/runner.c) starts the threads, keeps the samples and
 * prints what was counted; nothing is judged here.
 */
#ifndef KERNMARK_H
#define KERNMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a port may offer (PORT_HAS) and a benchmark may need. */
#define KM_THREADS	0x0001	/* more than one thread */
#define KM_PRIORITY	0x0002	/* the thread of highest priority runs at once */
#define KM_SEMAPHORE	0x0004
#define KM_MUTEX	0x0008
#define KM_CONDVAR	0x0010
#define KM_QUEUE	0x0020	/* fifo and lifo */
#define KM_EVENTS	0x0040
#define KM_STACK	0x0080
#define KM_HEAP		0x0100
#define KM_IRQ		0x0200
#define KM_SMP		0x0400	/* a second CPU */
#define KM_PROCESSES	0x0800	/* threads in an address space of their own */
#define KM_USER		0x1000	/* threads in user mode */
#define KM_KERNEL	0x2000	/* threads in kernel (privileged) mode */
#define KM_ABORT	0x4000	/* a thread can end another that does not run */

struct km_run;

#include "port.h"

#if !(PORT_HAS & (KM_USER | KM_KERNEL))
#error "PORT_HAS must say in which mode threads run: KM_KERNEL, KM_USER or both"
#endif

/*
 * Groups of PORT_HAS that the kernel lacks, and the port builds of other
 * primitives. What needs one of them is marked as an idiom everywhere.
 */
#ifndef PORT_IDIOMS
#define PORT_IDIOMS 0
#endif

/* Most spans in a benchmark, and kinds of thread in it. */
#define KM_SPANS 5
#define KM_ROLES 3
/* Most threads that one benchmark runs at a time. */
#ifndef PORT_THREADS
#define PORT_THREADS 8
#endif
/* Stamps that one part of a benchmark can keep. */
#ifndef PORT_STAMPS
#define PORT_STAMPS 4096
#endif
/* Mutexes, items or words that one benchmark keeps, and so its largest batch. */
#ifndef PORT_OBJECTS
#define PORT_OBJECTS 64
#endif
/* What so many ticks of the clock count in the unit of the stream. */
#ifndef PORT_COUNT
#define PORT_COUNT(ticks) (ticks)
#endif
/* What a port does besides when a sample has ended, as with a second km_run. */
#ifndef PORT_RECORDED
#define PORT_RECORDED(r) ((void)0)
#endif
/* How the runner makes a benchmark's objects and is rid of them. */
#ifndef PORT_SETUP
#define PORT_SETUP(b, r) ((b)->setup(r))
#define PORT_TEARDOWN(b, r) ((b)->teardown(r))
#endif

/* What the kernel counts of the threads of a part. */
struct km_counts {
	uint32_t switches;	/* context switches of these threads, */
	uint32_t preempted;	/* and how many of them any other may have forced */
	uint32_t faults;	/* page faults of these threads */
	uint32_t strayed;	/* threads free to leave their CPU, or on another */
	uint32_t demoted;	/* threads at another priority, policy or mode than asked */
};

/* The part of a benchmark that is being measured, as its threads see it. */
struct km_run {
	port_ticks *row;	/* stamps of the sample being taken */
	uint32_t stamps;	/* stamps in a row */
	uint32_t samples;	/* samples in this part, the lead-in first */
	uint32_t left;		/* those that are not recorded yet */
	uint32_t batch;		/* operations in a sample, at least 1 */
	uint32_t argument;	/* the entry's argument in this case, or 0 */
	uint32_t wrong;		/* results that were not what they must be */
	port_ticks bytes;	/* bytes that reached their reader */
	bool made_user;		/* threads that the benchmark makes run in user mode */
	/* What port_count() said when the lead-in ended, and the last sample. */
	struct km_counts count[2];
};

/*
 * Supplied by the port: what the kernel has counted until now; strayed and
 * demoted stay 0. The thread that records calls it, between two samples.
 */
void port_count(struct km_counts *until_now);

/* Each thread of a benchmark takes part in every sample. */
#define for_each_sample(r) \
	for (uint32_t km_sample = 0; km_sample < (r)->samples; km_sample++)

/* The operations of one sample; the entry's .batch allows more than one. */
#define for_each_repeat(r) \
	for (uint32_t km_repeat = 0; km_repeat < (r)->batch; km_repeat++)

/* Takes stamp i of the sample. Stamps are numbered in the order of time. */
static inline void stamp(struct km_run *r, uint32_t i)
{
	r->row[i] = port_now();
}

/* Ends the sample. Exactly one thread of a benchmark does this. */
static inline void record(struct km_run *r)
{
	r->row += r->stamps;
	r->left--;
	PORT_RECORDED(r);
	if (!r->left || r->left + 1 == r->samples)
		port_count(&r->count[!r->left]);
}

/* Counts a result that is not what it must be. Keep it off the timed path. */
static inline void check(struct km_run *r, bool right)
{
	if (!right)
		r->wrong++;
}

/*
 * Priorities are roles. The runner is above all of them. KM_EQUAL threads of
 * one benchmark share one priority and take turns when they yield; KM_SLICED
 * ones are also preempted by their equals when a time slice ends.
 */
enum km_priority { KM_LOW, KM_HIGH, KM_EQUAL, KM_SLICED };

/* Where a role runs, how many threads play it, and who makes them. */
enum {
	KM_OTHER_CPU = 1 << 0,		/* on the second CPU */
	KM_OWN_PROCESS = 1 << 1,	/* in an address space of its own */
	KM_EACH = 1 << 2,		/* as many threads as the argument says */
	KM_MADE = 1 << 3,		/* made by the benchmark, not by port_run() */
	KM_ENDS = 1 << 4,		/* a thread whose end lies in a span */
};

struct km_role {
	void (*body)(struct km_run *r);
	enum km_priority priority;
	uint32_t flags;
};

/* One thread that the port is to run for the runner. */
struct km_thread {
	const struct km_role *role;
	bool user;		/* in user mode */
};

/*
 * A metric. In a name, {from} and {to} stand for the mode (user, kernel) of
 * the threads at its two ends, {pass} for both (u_to_k).
 */
struct km_span {
	const char *name;	/* operation.condition, after the object */
	const char *between;	/* what lies between the stamps */
	uint32_t switches;	/* context switches in a sample, */
	uint32_t switches_each;	/* and so many more per unit of the argument */
	/*
	 * At most so many, where a thread may find what it waits for before it
	 * has gone to sleep; 0: neither more nor fewer than expected.
	 */
	uint32_t switches_most;
	uint32_t begin, end;	/* its stamps; both 0: i and i + 1 for span i */
	uint32_t from, to;	/* the roles at its ends */
};

/* What the argument of an entry counts. */
enum km_unit { KM_PLAIN, KM_BYTES, KM_ITEMS };

struct km_bench {
	const char *object;
	const char *about;	/* one sentence */
	const char *via;	/* the primitive of this kernel */
	uint32_t needs;
	/* Most operations in a sample; 0 and 1: they are timed one by one. */
	uint32_t batch;
	/*
	 * Fewest operations in a batched sample, a power of two: for those whose
	 * cost falls due once for several of them. 0: as the clock needs.
	 */
	uint32_t batch_least;
	const uint32_t *argument;	/* a case for each, ended by 0; NULL: one */
	enum km_unit unit;
	uint32_t switches;	/* context switches in a sample outside its spans */
	uint32_t faults;	/* page faults in an operation; 0: not looked at, */
	uint32_t faults_each;	/* and so many more per unit of the argument */
	/* Makes the objects of one part; returns why it cannot, or NULL. */
	const char *(*setup)(struct km_run *r);
	void (*teardown)(struct km_run *r);
	struct km_role role[KM_ROLES];
	struct km_span span[KM_SPANS];
};

/*
 * Each file of agent/bench ends in such a table, closed by an empty entry. A
 * list names tables, in the order of the catalog: what it does with each, such
 * as to declare it or to put it into port_tables, its user says. A table that
 * no list declares does not compile.
 */
#define KM_TABLE(name) \
	_Static_assert(sizeof(*km_##name), "a list names this table"); \
	const struct km_bench km_##name[]
#define KM_DECLARED(name) extern const struct km_bench km_##name[];
#define KM_LISTED(name) km_##name,

#define KM_PORTABLE(each) \
	each(clock) each(thread) each(semaphore) each(mutex) each(condvar) \
	each(fifo) each(lifo) each(stack) each(events) each(heap) each(isr)

KM_PORTABLE(KM_DECLARED)

/* Supplied by the port: its tables, closed by NULL. */
extern const struct km_bench *const port_tables[];

/*
 * Outside the timed path a port supplies
 *   port_write()	sends bytes of the record stream,
 *   port_lacks()	why this benchmark cannot run here, though PORT_HAS all
 *			that it needs, and how to allow it; or NULL. Bit i of
 *			user: its role i is to run in user mode,
 *   port_run()		runs n threads to their end; adds up how many strayed
 *			or were demoted, and what port_count() could not see;
 *			returns what went wrong, or NULL,
 *   port_rest()	is called between parts: a place to let others run.
 */
void port_write(const char *bytes, size_t n);
const char *port_lacks(const struct km_bench *b, uint32_t user);
const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts);
void port_rest(void);

/* Samples live here; a port whose threads do not share memory places it. */
struct km_memory {
	struct km_run run;
	port_ticks stamp[PORT_STAMPS];
};

struct km_options {
	uint32_t samples;	/* asked for in each case */
	port_ticks budget;	/* ticks that a case may take; 0: no bound */
	/* A sample counts half of this at least, as by PORT_COUNT; 0: never batch. */
	port_ticks epoch;
	port_ticks burst;	/* longest part, ticks; 0: no bound */
	/*
	 * Hexadecimal digits, a bit for each case in the catalog's order, from
	 * the highest bit of the first digit on; missing ones are 0. NULL: all.
	 */
	const char *cases;
};

/* A session: km_hello, any km_info, km_catalog or km_case, km_bye. */
struct km_hello {
	const char *port, *arch, *mode, *clock, *unit;
	port_ticks hz;
	bool realtime;
};

void km_hello(const struct km_hello *h);
void km_info(const char *name, const char *text);
void km_catalog(void);
/* Whether there is a case of this id. */
bool km_has(const char *id);
/* Measures one case, or those of o->cases when id is NULL. */
void km_measure(const char *id, struct km_memory *m, const struct km_options *o);
void km_bye(void);

#include "absent.h"

#endif
