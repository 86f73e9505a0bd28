/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A port to be copied, and the contract of every operation of a port.
 *
 * Copy this folder, fill in the clock, then one group of operations after the
 * other, and add each finished group to PORT_HAS. Groups that this kernel lacks
 * are deleted. doc/porting.md leads through it.
 *
 * Operations lie between stamps: what is a declaration here becomes `static
 * inline` and calls the kernel directly. An operation is that kernel's own
 * primitive, or else the idiom that its documentation names; PORT_VIA_ says
 * which, and goes into the records. An operation never retries, never times
 * out, and never does more than its contract.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The groups that are filled in, of KM_ constants in kernmark.h. KM_PRIORITY,
 * KM_SMP, KM_PROCESSES, KM_USER and KM_KERNEL have no operations: they say what
 * port_run() can do. Begin with the mode that threads run in: KM_KERNEL where
 * they have all privileges, as without an operating system, KM_USER where they
 * have not, both where the kernel has threads of either kind. Ids name it, and
 * without it nothing compiles.
 */
#ifndef PORT_HAS
#define PORT_HAS 0
#endif

/*
 * Those of them for which the kernel has no object, so that the port builds it
 * of other primitives, as a queue of a list, a mutex and a semaphore. Their
 * metrics are marked as idioms: they say more of this port than of the kernel.
 */
#define PORT_IDIOMS 0

/* Most threads in one benchmark; cases with more are skipped. At least 1. */
#define PORT_THREADS 8
/* Stamps that memory is set aside for. At least 64. */
#define PORT_STAMPS 1024
/* Objects of one kind that a benchmark keeps. A power of two. */
#define PORT_OBJECTS 64

/*
 * Ticks of the clock: 64 bits, or 32 where the processor has 32. It may wrap at
 * the end of the type's range; a sample must be shorter than half of that.
 */
typedef uint32_t port_ticks;

#define PORT_CLOCK "none"

/*
 * Where a tick of the clock is not the unit that km_hello() states: what so many
 * ticks, between two stamps, count in that unit. Nothing else may be added or
 * taken away here. A clock at 25 MHz, of instructions that take 128 ns each,
 * rounded to the nearest:
 *
 *	#define PORT_COUNT(ticks) ((5 * (ticks) + 8) >> 4)
 */

/*
 * Reads the clock: the finest counter there is, which counts up. Instructions
 * before it have finished and those after it have not begun. A reading of 0
 * counts as a stamp that is missing. A clock that stands still, as this one,
 * fails the proof `clock`.
 */
static inline port_ticks port_now(void)
{
	return 1;
}

/*
 * KM_THREADS: threads that a benchmark makes itself. The threads of a
 * benchmark's roles are port_run()'s.
 */
#if PORT_HAS & KM_THREADS
#define PORT_VIA_THREAD "the calls that create, start, suspend, resume, end"

struct port_thread {
	void *kernel_object;
};

/*
 * Makes a thread that does not run before it is started, in user mode when
 * r->made_user. It runs body(r) and ends. 0 or an error number.
 */
int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r);
/* Starts it at KM_HIGH, so that it runs at once. 0 or an error number. */
int port_thread_start(struct port_thread *t);
/* The calling thread, which is t, stops until it is resumed. */
void port_thread_suspend(struct port_thread *t);
/* Lets t, which has suspended itself, go on: at once, as it is KM_HIGH. */
void port_thread_resume(struct port_thread *t);
/* Frees what t, whose body has returned, leaves behind. */
void port_thread_reap(struct port_thread *t);

#define PORT_VIA_YIELD "the call"

/* Lets every runnable thread of the caller's priority run before the caller. */
void port_yield(void);
#endif

/* KM_ABORT; needs KM_THREADS. */
#if PORT_HAS & KM_ABORT
#define PORT_VIA_ABORT "the call that ends another thread"

/* Ends t, which is ready to run, and frees what it leaves behind; t runs no more. */
void port_thread_abort(struct port_thread *t);
#endif

/* KM_SEMAPHORE: a counting semaphore without a bound that matters. */
#if PORT_HAS & KM_SEMAPHORE
#define PORT_VIA_SEMAPHORE "the calls that give, take"

struct port_sem {
	void *kernel_object;
};

/* Makes a semaphore, also of one that was in use in an earlier part. */
void port_sem_init(struct port_sem *s, unsigned int count);
/* Takes one; blocks while there is none. */
void port_sem_take(struct port_sem *s);
/* Gives one. The first waiter of the highest priority gets it. */
void port_sem_give(struct port_sem *s);
#endif

/* KM_MUTEX */
#if PORT_HAS & KM_MUTEX
#define PORT_VIA_MUTEX "the calls that lock, unlock"

/* A kind that this kernel does not have is its plain one; PORT_VIA_MUTEX says so. */
enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct port_mutex {
	void *kernel_object;
};

/* Makes an unlocked mutex, also of one that was in use in an earlier part. */
void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind);
/* Blocks while another thread holds it. */
void port_mutex_lock(struct port_mutex *m);
/* By the holder. The first waiter of the highest priority gets it. */
void port_mutex_unlock(struct port_mutex *m);
#endif

/* KM_CONDVAR; needs KM_MUTEX. */
#if PORT_HAS & KM_CONDVAR
#define PORT_VIA_CONDVAR "the calls that wait, signal, broadcast"

struct port_cond {
	void *kernel_object;
};

void port_cond_init(struct port_cond *c);
/* Lets go of m and blocks as one step; holds m again on return. */
void port_cond_wait(struct port_cond *c, struct port_mutex *m);
/* Wakes the first waiter, if there is one. */
void port_cond_signal(struct port_cond *c);
/* Wakes all waiters. */
void port_cond_broadcast(struct port_cond *c);
#endif

/* KM_HEAP */
#if PORT_HAS & KM_HEAP
#define PORT_VIA_HEAP "the calls that allocate, free"

/* Memory aligned for any object, or NULL. */
void *port_malloc(size_t size);
void port_free(void *p);
#endif

/* KM_QUEUE: items of the caller's, first or last in first out. */
#if PORT_HAS & KM_QUEUE
#define PORT_VIA_QUEUE "the calls that put, get"

/* What the kernel needs in an item, and the caller's word. */
struct port_item {
	void *kernel_link;
	void *data;
};

struct port_queue {
	void *kernel_object;
};

/* Makes an empty queue, also of one that was in use in an earlier part. */
void port_queue_init(struct port_queue *q);
/* Puts an item behind all others. The first waiter gets the first item. */
void port_fifo_put(struct port_queue *q, struct port_item *item);
/* Puts an item before all others. The first waiter gets the first item. */
void port_lifo_put(struct port_queue *q, struct port_item *item);
/* Gets the first item, of which the port keeps nothing; blocks while there is none. */
struct port_item *port_fifo_get(struct port_queue *q);
struct port_item *port_lifo_get(struct port_queue *q);
#endif

/* KM_STACK: words, last in first out. */
#if PORT_HAS & KM_STACK
#define PORT_VIA_STACK "the calls that push, pop"

struct port_stack {
	void *kernel_object;
};

/* Makes an empty stack in the caller's array, which holds all that is ever pushed. */
void port_stack_init(struct port_stack *s, uintptr_t *word, uint32_t size);
void port_stack_push(struct port_stack *s, uintptr_t word);
/* Pops the last word; blocks while there is none. */
uintptr_t port_stack_pop(struct port_stack *s);
#endif

/* KM_EVENTS: a word of bits that threads wait for. A wait changes no bit. */
#if PORT_HAS & KM_EVENTS
#define PORT_VIA_EVENTS "the calls that post, set, wait"

struct port_events {
	void *kernel_object;
};

/* Makes one with no event, also of one that was in use in an earlier part. */
void port_events_init(struct port_events *e);
/* Adds events and wakes every thread that has what it waits for. */
void port_events_post(struct port_events *e, uint32_t bits);
/* Replaces all events and wakes every thread that has what it waits for. */
void port_events_set(struct port_events *e, uint32_t bits);
/* Blocks until one of the bits has come; returns those of them that have. */
uint32_t port_events_wait(struct port_events *e, uint32_t bits);
/* Blocks until all of the bits have come; returns them. */
uint32_t port_events_wait_all(struct port_events *e, uint32_t bits);
#endif

/* KM_IRQ: an interrupt that a thread can cause. */
#if PORT_HAS & KM_IRQ
#define PORT_VIA_IRQ "the interrupt, and how a thread waits for it"

/* at: the clock as the handler's last act before it wakes the waiter and returns. */
struct port_irq {
	volatile port_ticks at;
};

/* NULL, or why there is no interrupt to be had. */
const char *port_irq_attach(struct port_irq *irq);
void port_irq_detach(struct port_irq *irq);
/* Makes an interrupt happen in the calling thread; returns the stamp behind it. */
port_ticks port_irq_raise(struct port_irq *irq);
/* Blocks until there has been an interrupt; returns how many since the last wait. */
uint32_t port_irq_wait(struct port_irq *irq);
#endif

#endif
