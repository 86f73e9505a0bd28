/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Linux in user mode: POSIX threads of one static binary.
 *
 * The PORT_VIA_ texts, which go into the records, describe each operation.
 */
#ifndef PORT_H
#define PORT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef uint64_t port_ticks;

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_MUTEX | \
		  KM_CONDVAR | KM_QUEUE | KM_EVENTS | KM_STACK | KM_HEAP | \
		  KM_IRQ | KM_SMP | KM_PROCESSES | KM_USER)
#define PORT_IDIOMS (KM_QUEUE | KM_STACK | KM_EVENTS)
#define PORT_THREADS 72
#define PORT_STAMPS 16384
#define PORT_OBJECTS 512
#define PORT_COUNTS_CPU_TIME 1

/*
 * The CPU's counter, and its frequency in an emulator that counts instructions.
 * Earlier instructions have finished and later ones have not started, so a stamp
 * separates what comes before it from what comes after.
 * RISC-V promises this of loads and stores only: a fence orders them with the
 * counter, which it regards as a device that is read. Where user mode has no
 * counter for certain, the kernel's clock takes its place.
 */
#if defined(__x86_64__) || defined(__i386__)
#define PORT_CLOCK "tsc"
#define PORT_EMULATED_HZ 1000000000
KM_INLINE port_ticks port_now(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\t" KM_MARK(".stamps") "rdtsc\n\tlfence"
			 : "=a"(low), "=d"(high) : : "memory");
	return (port_ticks)high << 32 | low;
}
#elif defined(__aarch64__)
#define PORT_CLOCK "cntvct"
#define PORT_EMULATED_HZ 62500000
KM_INLINE port_ticks port_now(void)
{
	port_ticks t;

	__asm__ volatile("isb\n\t" KM_MARK(".stamps") "mrs %0, cntvct_el0\n\tisb"
			 : "=r"(t) : : "memory");
	return t;
}
#elif defined(__riscv) && __riscv_xlen == 64
#define PORT_CLOCK "time"
#define PORT_EMULATED_HZ 10000000
KM_INLINE port_ticks port_now(void)
{
	port_ticks t;

	__asm__ volatile("fence iorw, i\n\t" KM_MARK(".stamps") "rdtime %0\n\tfence i, iorw"
			 : "=r"(t) : : "memory");
	return t;
}
#else
#define PORT_CLOCK "monotonic"
#define PORT_EMULATED_HZ 1000000000
KM_INLINE port_ticks port_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (port_ticks)t.tv_sec * 1000000000u + (port_ticks)t.tv_nsec;
}
#endif

/*
 * The clock's ticks shifted right by this are counts in the unit of the stream.
 */
extern uint32_t port_shift;
#define PORT_COUNT(ticks) ((ticks) >> port_shift)

/* Threads that a benchmark creates itself. Each ends by returning. */

#define PORT_VIA_THREAD "pthread_create at the SCHED_FIFO priority of its " \
	"creator, behind which it queues; pthread_setschedparam to a " \
	"higher priority starts it; it suspends itself with FUTEX_WAIT, " \
	"FUTEX_WAKE resumes it; it ends by returning"

struct port_thread {
	pthread_t id;
	void (*body)(struct km_run *r);
	struct km_run *run;
	uint32_t resumed;
};

/*
 * Creates a thread that does not run until started. Returns 0 or an error
 * number.
 */
int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r);
/*
 * Starts it at KM_HIGH, so that it runs at once. Returns 0 or an error number.
 */
int port_thread_start(struct port_thread *t);
/* Stops the calling thread, which is t, until it is resumed. */
void port_thread_suspend(struct port_thread *t);
void port_thread_resume(struct port_thread *t);
/* Frees what an ended thread leaves behind. */
void port_thread_reap(struct port_thread *t);

#define PORT_VIA_YIELD "sched_yield"

void port_yield(void);

#define PORT_VIA_SEMAPHORE "sem_post, sem_wait"

struct port_sem {
	sem_t sem;
};

KM_INLINE void port_sem_init(struct port_sem *s, unsigned int count)
{
	sem_init(&s->sem, 0, count);
}

KM_INLINE void port_sem_take(struct port_sem *s)
{
	sem_wait(&s->sem);
}

KM_INLINE void port_sem_give(struct port_sem *s)
{
	sem_post(&s->sem);
}

#define PORT_VIA_MUTEX "pthread_mutex_lock, pthread_mutex_unlock, with " \
	"PTHREAD_MUTEX_RECURSIVE or PTHREAD_PRIO_INHERIT if the name says so"

enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct port_mutex {
	pthread_mutex_t mutex;
};

void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind);

KM_INLINE void port_mutex_lock(struct port_mutex *m)
{
	pthread_mutex_lock(&m->mutex);
}

KM_INLINE void port_mutex_unlock(struct port_mutex *m)
{
	pthread_mutex_unlock(&m->mutex);
}

#define PORT_VIA_CONDVAR "pthread_cond_wait, pthread_cond_signal, " \
	"pthread_cond_broadcast"

struct port_cond {
	pthread_cond_t cond;
};

KM_INLINE void port_cond_init(struct port_cond *c)
{
	pthread_cond_init(&c->cond, NULL);
}

KM_INLINE void port_cond_wait(struct port_cond *c, struct port_mutex *m)
{
	pthread_cond_wait(&c->cond, &m->mutex);
}

KM_INLINE void port_cond_signal(struct port_cond *c)
{
	pthread_cond_signal(&c->cond);
}

KM_INLINE void port_cond_broadcast(struct port_cond *c)
{
	pthread_cond_broadcast(&c->cond);
}

#define PORT_VIA_HEAP "malloc, free"

KM_INLINE void *port_malloc(size_t size)
{
	return malloc(size);
}

KM_INLINE void port_free(void *p)
{
	free(p);
}

#define PORT_VIA_QUEUE "linked list under pthread_mutex, items counted with " \
	"sem_post, sem_wait"

/* A queue links the caller's items. Whoever gets an item owns it. */
struct port_item {
	struct port_item *next;
	void *data;
};

struct port_queue {
	struct port_item *head;
	struct port_item **tail;
	struct port_mutex lock;
	struct port_sem items;
};

KM_INLINE void port_queue_init(struct port_queue *q, enum port_queue_order order)
{
	(void)order;
	q->head = NULL;
	q->tail = &q->head;
	port_mutex_init(&q->lock, PORT_PLAIN);
	port_sem_init(&q->items, 0);
}

KM_INLINE void port_fifo_put(struct port_queue *q, struct port_item *item)
{
	item->next = NULL;
	port_mutex_lock(&q->lock);
	*q->tail = item;
	q->tail = &item->next;
	port_mutex_unlock(&q->lock);
	port_sem_give(&q->items);
}

KM_INLINE void port_lifo_put(struct port_queue *q, struct port_item *item)
{
	port_mutex_lock(&q->lock);
	item->next = q->head;
	if (!q->head)
		q->tail = &item->next;
	q->head = item;
	port_mutex_unlock(&q->lock);
	port_sem_give(&q->items);
}

KM_INLINE struct port_item *port_queue_take(struct port_queue *q)
{
	struct port_item *item;

	port_sem_take(&q->items);
	port_mutex_lock(&q->lock);
	item = q->head;
	q->head = item->next;
	if (!q->head)
		q->tail = &q->head;
	port_mutex_unlock(&q->lock);
	return item;
}

/* Both block until there is an item. */
KM_INLINE struct port_item *port_fifo_get(struct port_queue *q)
{
	return port_queue_take(q);
}

KM_INLINE struct port_item *port_lifo_get(struct port_queue *q)
{
	return port_queue_take(q);
}

#define PORT_VIA_STACK "array under pthread_mutex, words counted with " \
	"sem_post, sem_wait"

struct port_stack {
	uintptr_t *word;
	uint32_t used;
	struct port_mutex lock;
	struct port_sem words;
};

/* The caller provides the array, which must hold all words pushed at a time. */
KM_INLINE void port_stack_init(struct port_stack *s, uintptr_t *word,
				   uint32_t size)
{
	(void)size;
	s->word = word;
	s->used = 0;
	port_mutex_init(&s->lock, PORT_PLAIN);
	port_sem_init(&s->words, 0);
}

KM_INLINE void port_stack_push(struct port_stack *s, uintptr_t word)
{
	port_mutex_lock(&s->lock);
	s->word[s->used++] = word;
	port_mutex_unlock(&s->lock);
	port_sem_give(&s->words);
}

/* Blocks until there is a word. */
KM_INLINE uintptr_t port_stack_pop(struct port_stack *s)
{
	uintptr_t word;

	port_sem_take(&s->words);
	port_mutex_lock(&s->lock);
	word = s->word[--s->used];
	port_mutex_unlock(&s->lock);
	return word;
}

#define PORT_VIA_EVENTS "a word under pthread_mutex; threads wait with " \
	"pthread_cond_wait, changes use pthread_cond_broadcast"

struct port_events {
	uint32_t bits;
	struct port_mutex lock;
	struct port_cond changed;
};

KM_INLINE void port_events_init(struct port_events *e)
{
	e->bits = 0;
	port_mutex_init(&e->lock, PORT_PLAIN);
	port_cond_init(&e->changed);
}

/*
 * Unlocks before the broadcast, so that a higher-priority waiter runs at once.
 */
KM_INLINE void port_events_post(struct port_events *e, uint32_t bits)
{
	port_mutex_lock(&e->lock);
	e->bits |= bits;
	port_mutex_unlock(&e->lock);
	port_cond_broadcast(&e->changed);
}

/* Replaces all events. */
KM_INLINE void port_events_set(struct port_events *e, uint32_t bits)
{
	port_mutex_lock(&e->lock);
	e->bits = bits;
	port_mutex_unlock(&e->lock);
	port_cond_broadcast(&e->changed);
}

/* Waits for any of the bits. Returns those that are set. */
KM_INLINE uint32_t port_events_wait(struct port_events *e, uint32_t bits)
{
	uint32_t come;

	port_mutex_lock(&e->lock);
	while (!(e->bits & bits))
		port_cond_wait(&e->changed, &e->lock);
	come = e->bits & bits;
	port_mutex_unlock(&e->lock);
	return come;
}

/* Waits for all of the bits. Returns them. */
KM_INLINE uint32_t port_events_wait_all(struct port_events *e, uint32_t bits)
{
	uint32_t come;

	port_mutex_lock(&e->lock);
	while ((e->bits & bits) != bits)
		port_cond_wait(&e->changed, &e->lock);
	come = e->bits & bits;
	port_mutex_unlock(&e->lock);
	return come;
}

#define PORT_VIA_IRQ "timer interrupt of a timerfd, seen from user mode: " \
	"a gap in a thread that reads the clock in a loop, and the wake-up " \
	"of a thread that blocks in read"

/*
 * at: the last stamp before the interrupt. In kernel mode the handler takes it.
 * In user mode it is the last time that the interrupted thread read.
 */
struct port_irq {
	int timer;
	volatile uint32_t taken;	/* interrupts returned by a wait */
	volatile port_ticks at;
};

/* Returns NULL, or why there is no interrupt. */
const char *port_irq_attach(struct port_irq *irq);
void port_irq_detach(struct port_irq *irq);
/* Causes an interrupt in the calling thread. Returns the stamp after it. */
port_ticks port_irq_raise(struct port_irq *irq);
/*
 * Blocks until an interrupt has come. Returns how many came since the last
 * wait.
 */
uint32_t port_irq_wait(struct port_irq *irq);

#endif
