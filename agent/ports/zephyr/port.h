/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Zephyr. Each operation is the API call that the documentation gives for it.
 * In a user thread, the same call is a system call.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zephyr/irq_offload.h>
#include <zephyr/kernel.h>

#include "clock.h"

#ifdef CONFIG_USERSPACE
#define PORT_MODES (KM_KERNEL | KM_USER)
#else
#define PORT_MODES KM_KERNEL
#endif

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_MUTEX | \
	KM_CONDVAR | KM_QUEUE | KM_EVENTS | KM_STACK | KM_HEAP | KM_IRQ | \
	KM_ABORT | PORT_MODES)

#define PORT_COUNTS_SWITCHES IS_ENABLED(CONFIG_KERNMARK_COUNT)
#define PORT_THREADS CONFIG_KERNMARK_THREADS
#define PORT_STAMPS CONFIG_KERNMARK_STAMPS
#define PORT_OBJECTS CONFIG_KERNMARK_OBJECTS

KM_INLINE port_ticks port_now(void)
{
	return clock_now();
}

/*
 * Kernel objects are in static pools in port.c: user threads must not be able
 * to write to them, and Zephyr's build must find them. A benchmark holds
 * pointers. Its setup takes objects; all are returned after its part.
 */
struct k_sem *port_take_sem(void);
struct k_mutex *port_take_mutex(void);
struct k_condvar *port_take_condvar(void);
struct k_fifo *port_take_fifo(void);
struct k_lifo *port_take_lifo(void);
struct k_stack *port_take_stack(void);
struct k_event *port_take_event(void);

#define PORT_VIA_THREAD "k_thread_create, k_thread_start, k_thread_suspend, " \
	"k_thread_resume; returning from its function ends a thread"

struct km_run;

/* A benchmark creates one thread at a time: port_made_thread. */
struct port_thread {
	void (*body)(struct km_run *r);
};

/* How it is created. */
struct port_made {
	int priority;
	uint32_t options;
};

extern struct port_made port_made;
extern struct k_thread port_made_thread;
K_THREAD_STACK_DECLARE(port_made_stack, CONFIG_KERNMARK_STACK_SIZE);
void port_live(void *body, void *run, void *unused);

KM_INLINE int port_thread_create(struct port_thread *t,
				 void (*body)(struct km_run *r),
				 struct km_run *r)
{
	t->body = body;
	k_thread_create(&port_made_thread, port_made_stack,
			K_THREAD_STACK_SIZEOF(port_made_stack), port_live,
			(void *)body, r, NULL, port_made.priority,
			port_made.options, K_FOREVER);
	return 0;
}

/*
 * A user thread may create neither a thread above its own priority nor a kernel
 * thread. A kernel thread does this for it.
 */
#define PORT_THREAD_ARMS
void port_thread_arm(struct port_thread *t);
#define PORT_LACKS_SPANS

KM_INLINE int port_thread_start(struct port_thread *t)
{
	(void)t;
	k_thread_start(&port_made_thread);
	return 0;
}

KM_INLINE void port_thread_suspend(struct port_thread *t)
{
	(void)t;
	k_thread_suspend(&port_made_thread);
}

KM_INLINE void port_thread_resume(struct port_thread *t)
{
	(void)t;
	k_thread_resume(&port_made_thread);
}

KM_INLINE void port_thread_reap(struct port_thread *t)
{
	(void)t;
}

#define PORT_VIA_ABORT "k_thread_abort of another thread"

KM_INLINE void port_thread_abort(struct port_thread *t)
{
	(void)t;
	k_thread_abort(&port_made_thread);
}

#ifdef CONFIG_TIMESLICING
#define PORT_VIA_YIELD "k_yield"
#else
#define PORT_VIA_YIELD "k_yield; no time slices"
#endif

KM_INLINE void port_yield(void)
{
	k_yield();
}

#define PORT_VIA_SEMAPHORE "k_sem_give, k_sem_take"

struct port_sem {
	struct k_sem *kernel;
};

KM_INLINE void port_sem_init(struct port_sem *s, unsigned int count)
{
	s->kernel = port_take_sem();
	k_sem_init(s->kernel, count, K_SEM_MAX_LIMIT);
}

KM_INLINE void port_sem_take(struct port_sem *s)
{
	k_sem_take(s->kernel, K_FOREVER);
}

KM_INLINE void port_sem_give(struct port_sem *s)
{
	k_sem_give(s->kernel);
}

#define PORT_VIA_MUTEX "a mutex, which is always recursive and inherits " \
	"priority: k_mutex_lock, k_mutex_unlock"

enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct port_mutex {
	struct k_mutex *kernel;
};

KM_INLINE void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind)
{
	(void)kind;
	m->kernel = port_take_mutex();
	k_mutex_init(m->kernel);
}

KM_INLINE void port_mutex_lock(struct port_mutex *m)
{
	k_mutex_lock(m->kernel, K_FOREVER);
}

KM_INLINE void port_mutex_unlock(struct port_mutex *m)
{
	k_mutex_unlock(m->kernel);
}

#define PORT_VIA_CONDVAR "k_condvar_wait, k_condvar_signal, k_condvar_broadcast"

struct port_cond {
	struct k_condvar *kernel;
};

KM_INLINE void port_cond_init(struct port_cond *c)
{
	c->kernel = port_take_condvar();
	k_condvar_init(c->kernel);
}

KM_INLINE void port_cond_wait(struct port_cond *c, struct port_mutex *m)
{
	k_condvar_wait(c->kernel, m->kernel, K_FOREVER);
}

KM_INLINE void port_cond_signal(struct port_cond *c)
{
	k_condvar_signal(c->kernel);
}

KM_INLINE void port_cond_broadcast(struct port_cond *c)
{
	k_condvar_broadcast(c->kernel);
}

#define PORT_VIA_HEAP "k_malloc, k_free"

KM_INLINE void *port_malloc(size_t size)
{
	return k_malloc(size);
}

KM_INLINE void port_free(void *p)
{
	k_free(p);
}

#define PORT_VIA_QUEUE "k_fifo_put, k_fifo_get or k_lifo_put, k_lifo_get"

struct port_item {
	void *kernel_link;
	void *data;
};

struct port_queue {
	union {
		struct k_fifo *fifo;
		struct k_lifo *lifo;
	};
};

KM_INLINE void port_queue_init(struct port_queue *q, enum port_queue_order order)
{
	if (order == PORT_FIFO) {
		q->fifo = port_take_fifo();
		k_fifo_init(q->fifo);
	} else {
		q->lifo = port_take_lifo();
		k_lifo_init(q->lifo);
	}
}

KM_INLINE void port_fifo_put(struct port_queue *q, struct port_item *item)
{
	k_fifo_put(q->fifo, item);
}

KM_INLINE void port_lifo_put(struct port_queue *q, struct port_item *item)
{
	k_lifo_put(q->lifo, item);
}

KM_INLINE struct port_item *port_fifo_get(struct port_queue *q)
{
	return k_fifo_get(q->fifo, K_FOREVER);
}

KM_INLINE struct port_item *port_lifo_get(struct port_queue *q)
{
	return k_lifo_get(q->lifo, K_FOREVER);
}

/*
 * The kernel allocates a link to the caller's item. It does not if a thread is
 * waiting.
 */
#define PORT_QUEUE_ALLOCATES
#define PORT_VIA_QUEUE_ALLOC "k_fifo_alloc_put, k_fifo_get or " \
	"k_lifo_alloc_put, k_lifo_get"

KM_INLINE void port_fifo_alloc_put(struct port_queue *q, struct port_item *own)
{
	k_fifo_alloc_put(q->fifo, own);
}

KM_INLINE void port_lifo_alloc_put(struct port_queue *q, struct port_item *own)
{
	k_lifo_alloc_put(q->lifo, own);
}

KM_INLINE void *port_fifo_get_free(struct port_queue *q)
{
	return k_fifo_get(q->fifo, K_FOREVER);
}

KM_INLINE void *port_lifo_get_free(struct port_queue *q)
{
	return k_lifo_get(q->lifo, K_FOREVER);
}

#define PORT_VIA_STACK "k_stack_push, k_stack_pop"

struct port_stack {
	struct k_stack *kernel;
};

KM_INLINE void port_stack_init(struct port_stack *s, uintptr_t *word,
			       uint32_t size)
{
	s->kernel = port_take_stack();
	k_stack_init(s->kernel, word, size);
}

KM_INLINE void port_stack_push(struct port_stack *s, uintptr_t word)
{
	k_stack_push(s->kernel, word);
}

KM_INLINE uintptr_t port_stack_pop(struct port_stack *s)
{
	stack_data_t word;

	k_stack_pop(s->kernel, &word, K_FOREVER);
	return word;
}

#define PORT_VIA_EVENTS "k_event_post, k_event_set, k_event_wait, " \
	"k_event_wait_all"

struct port_events {
	struct k_event *kernel;
};

KM_INLINE void port_events_init(struct port_events *e)
{
	e->kernel = port_take_event();
	k_event_init(e->kernel);
}

KM_INLINE void port_events_post(struct port_events *e, uint32_t bits)
{
	k_event_post(e->kernel, bits);
}

KM_INLINE void port_events_set(struct port_events *e, uint32_t bits)
{
	k_event_set(e->kernel, bits);
}

KM_INLINE uint32_t port_events_wait(struct port_events *e, uint32_t bits)
{
	return k_event_wait(e->kernel, bits, false, K_FOREVER);
}

KM_INLINE uint32_t port_events_wait_all(struct port_events *e, uint32_t bits)
{
	return k_event_wait_all(e->kernel, bits, false, K_FOREVER);
}

#define PORT_VIA_IRQ "irq_offload; the handler gives a semaphore: " \
	"k_sem_give, k_sem_take"

struct port_irq {
	volatile port_ticks at;
	volatile uint32_t count;
	struct k_sem *come;
};

const char *port_irq_attach(struct port_irq *irq);
void port_irq_detach(struct port_irq *irq);
void port_irq_handler(const void *irq);

KM_INLINE port_ticks port_irq_raise(struct port_irq *irq)
{
	irq_offload(port_irq_handler, irq);
	return port_now();
}

KM_INLINE uint32_t port_irq_wait(struct port_irq *irq)
{
	uint32_t count;

	k_sem_take(irq->come, K_FOREVER);
	count = irq->count;
	irq->count = 0;
	return count;
}

#endif
