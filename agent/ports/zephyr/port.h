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
#include "line.h"

#ifdef CONFIG_USERSPACE
#define PORT_MODES (KM_KERNEL | KM_USER)
#else
#define PORT_MODES KM_KERNEL
#endif

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_MUTEX | \
	KM_CONDVAR | KM_QUEUE | KM_EVENTS | KM_STACK | KM_HEAP | KM_IRQ | \
	KM_ABORT | KM_HANDLER | KM_IRQ_LOCK | KM_MSGQ | KM_STREAM | \
	KM_MAILBOX | KM_POLL | KM_TIMER | KM_TICK | KM_WORK | KM_SPINLOCK | \
	KM_SLAB | KM_PRIVATE_HEAP | KM_CONDVAR_TIMEOUT | KM_IPI | PORT_MODES)

/*
 * A tick comes only on request if its interrupt can be disabled, and if the
 * kernel does not ask the timer how many ticks have passed.
 */
#if defined(CONFIG_KERNMARK_ICOUNT) && !defined(CONFIG_TICKLESS_KERNEL)
#define PORT_TICKS 1
#else
#define PORT_TICKS 0
#endif

/* Whether another CPU calls functions in the handler of an interrupt. */
#if defined(CONFIG_SMP) && defined(CONFIG_SCHED_IPI_SUPPORTED)
#define PORT_IPIS 1
#else
#define PORT_IPIS 0
#endif

/* With CONFIG_SMP, any CPU may run the thread of the system's work queue. */
#define PORT_WITHOUT (KM_HANDLER * !LINE_EXISTS | \
	KM_POLL * !IS_ENABLED(CONFIG_POLL) | KM_TICK * !PORT_TICKS | \
	KM_WORK * IS_ENABLED(CONFIG_SMP) | KM_IPI * !PORT_IPIS)

/* With CONFIG_SMP: where all threads run, and where functions are called. */
#define PORT_CPU 0
#define PORT_OTHER_CPU 1

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
struct k_msgq *port_take_msgq(void);
struct k_pipe *port_take_pipe(void);
struct k_mbox *port_take_mbox(void);
struct k_timer *port_take_timer(void);
struct k_mem_slab *port_take_mem_slab(void);

/* Memory of the part's object that has memory of its own. */
extern uint8_t port_store[];

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

#define PORT_VIA_IRQ "irq_offload, a trap that the kernel treats as an " \
	"interrupt; the handler gives a semaphore: " \
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

#if LINE_EXISTS
#define PORT_VIA_HANDLER LINE_VIA "; the handler is one of IRQ_CONNECT"

struct port_handler {
	char unused;
};

const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r);
void port_handler_detach(struct port_handler *h);

KM_INLINE void port_handler_raise(struct port_handler *h)
{
	(void)h;
	line_raise();
}
#endif

#define PORT_VIA_IRQ_LOCK "irq_lock, irq_unlock"

KM_INLINE unsigned long port_irq_lock(void)
{
	return irq_lock();
}

KM_INLINE void port_irq_unlock(unsigned long key)
{
	irq_unlock((unsigned int)key);
}

#define PORT_VIA_MSGQ "k_msgq_put, k_msgq_get"

struct port_msgq {
	struct k_msgq *kernel;
};

KM_INLINE void port_msgq_init(struct port_msgq *q, uint32_t size,
			      uint32_t count)
{
	q->kernel = port_take_msgq();
	k_msgq_init(q->kernel, (char *)port_store, size, count);
}

KM_INLINE void port_msgq_put(struct port_msgq *q, const void *message)
{
	k_msgq_put(q->kernel, message, K_FOREVER);
}

KM_INLINE void port_msgq_get(struct port_msgq *q, void *message)
{
	k_msgq_get(q->kernel, message, K_FOREVER);
}

#define PORT_VIA_STREAM "a pipe: k_pipe_write, k_pipe_read"

struct port_stream {
	struct k_pipe *kernel;
};

KM_INLINE void port_stream_init(struct port_stream *s, uint32_t size,
				uint32_t count)
{
	s->kernel = port_take_pipe();
	k_pipe_init(s->kernel, port_store, size * count);
}

KM_INLINE void port_stream_write(struct port_stream *s, const void *from,
				 uint32_t size)
{
	k_pipe_write(s->kernel, from, size, K_FOREVER);
}

/* Blocks until it has read all of it. */
KM_INLINE uint32_t port_stream_read(struct port_stream *s, void *to,
				    uint32_t size)
{
	return (uint32_t)k_pipe_read(s->kernel, to, size, K_FOREVER);
}

#define PORT_VIA_MAILBOX "k_mbox_put, k_mbox_get with a buffer; any thread"

struct port_mailbox {
	struct k_mbox *kernel;
};

KM_INLINE void port_mailbox_init(struct port_mailbox *m)
{
	m->kernel = port_take_mbox();
	k_mbox_init(m->kernel);
}

KM_INLINE void port_mailbox_put(struct port_mailbox *m, const void *message,
				uint32_t size)
{
	struct k_mbox_msg sent = {
		.size = size,
		.tx_data = (void *)message,
		.tx_target_thread = K_ANY,
	};

	k_mbox_put(m->kernel, &sent, K_FOREVER);
}

KM_INLINE uint32_t port_mailbox_get(struct port_mailbox *m, void *message,
				    uint32_t size)
{
	struct k_mbox_msg received = {
		.size = size,
		.rx_source_thread = K_ANY,
	};

	k_mbox_get(m->kernel, &received, message, K_FOREVER);
	return received.size;
}

#ifdef CONFIG_POLL
#define PORT_VIA_POLL "k_poll of semaphores, k_sem_give"

struct port_poll {
	struct k_poll_event event[KM_POLLED];
	uint32_t count;
};

void port_poll_init(struct port_poll *p, uint32_t count);
uint32_t port_poll_take(struct port_poll *p);

KM_INLINE void port_poll_wait(struct port_poll *p)
{
	k_poll(p->event, (int)p->count, K_FOREVER);
}

KM_INLINE void port_poll_give(struct port_poll *p, uint32_t i)
{
	k_sem_give(p->event[i].sem);
}
#endif

#ifdef CONFIG_TICKLESS_KERNEL
#define PORT_VIA_TIMER "k_timer_start, k_timer_stop; both program the timer " \
	"that ticks"
#else
#define PORT_VIA_TIMER "k_timer_start, k_timer_stop"
#endif

/*
 * A timer's function runs in the interrupt of the tick. If ticks do not come on
 * request, none must come between a start and a stop.
 */
#define PORT_TIMER_TAKES __attribute__((unused)) struct k_timer *expired_timer
#define PORT_TIMER_SWITCHES 0
#define PORT_TIMER_AFTER K_TICKS(PORT_TICKS ? 1 : 1000)

struct port_timer {
	struct k_timer *kernel;
};

KM_INLINE void port_timer_init(struct port_timer *t,
			       void (*expired)(PORT_TIMER_TAKES))
{
	t->kernel = port_take_timer();
	k_timer_init(t->kernel, expired, NULL);
}

KM_INLINE void port_timer_start(struct port_timer *t)
{
	k_timer_start(t->kernel, PORT_TIMER_AFTER, K_NO_WAIT);
}

KM_INLINE void port_timer_stop(struct port_timer *t)
{
	k_timer_stop(t->kernel);
}

KM_INLINE bool port_timer_active(struct port_timer *t)
{
	return k_timer_remaining_ticks(t->kernel) > 0;
}

#if PORT_TICKS
#define PORT_VIA_TICK "sys_clock_announce(1) in irq_offload; a sleep is k_sleep " \
	"until the tick after k_uptime_ticks"

void port_tick_handler(const void *unused);

KM_INLINE void port_tick(void)
{
	irq_offload(port_tick_handler, NULL);
}

KM_INLINE uint32_t port_tick_count(void)
{
	return (uint32_t)k_uptime_ticks();
}

/* A sleep of one tick ends at the second one: it lasts no less than a tick. */
KM_INLINE void port_sleep_tick(void)
{
	k_sleep(K_TIMEOUT_ABS_TICKS(k_uptime_ticks() + 1));
}
#endif

#ifndef CONFIG_SMP
#if defined(CONFIG_SYSTEM_WORKQUEUE_NO_YIELD)
#define PORT_VIA_WORK "k_work_submit: the system's work queue"
#else
#define PORT_VIA_WORK "k_work_submit: the system's work queue, which yields " \
	"after each work"
/* To itself, which only some architectures turn into a context switch. */
#ifndef CONFIG_USE_SWITCH
#define PORT_WORK_SWITCHES 2
#endif
#endif

#define PORT_WORK_TAKES __attribute__((unused)) struct k_work *submitted_work

struct port_work {
	struct k_work kernel;
};

KM_INLINE void port_work_init(struct port_work *w, void (*body)(PORT_WORK_TAKES))
{
	k_work_init(&w->kernel, body);
}

KM_INLINE void port_work_submit(struct port_work *w)
{
	k_work_submit(&w->kernel);
}
#endif

#ifdef CONFIG_SMP
#define PORT_VIA_SPINLOCK "k_spin_lock, k_spin_unlock"
#else
#define PORT_VIA_SPINLOCK "k_spin_lock, k_spin_unlock: on one processor, " \
	"interrupts are locked and nothing else"
#endif

struct port_spinlock {
	struct k_spinlock kernel;
	k_spinlock_key_t key;
};

KM_INLINE void port_spinlock_init(struct port_spinlock *l)
{
	l->kernel = (struct k_spinlock){ };
}

KM_INLINE void port_spinlock_lock(struct port_spinlock *l)
{
	l->key = k_spin_lock(&l->kernel);
}

KM_INLINE void port_spinlock_unlock(struct port_spinlock *l)
{
	k_spin_unlock(&l->kernel, l->key);
}

#define PORT_VIA_SLAB "k_mem_slab_alloc, k_mem_slab_free"

struct port_slab {
	struct k_mem_slab *kernel;
};

KM_INLINE void port_slab_init(struct port_slab *s, uint32_t size, uint32_t count)
{
	s->kernel = port_take_mem_slab();
	k_mem_slab_init(s->kernel, port_store, size, count);
}

KM_INLINE void *port_slab_alloc(struct port_slab *s)
{
	void *block;

	k_mem_slab_alloc(s->kernel, &block, K_FOREVER);
	return block;
}

KM_INLINE void port_slab_free(struct port_slab *s, void *block)
{
	k_mem_slab_free(s->kernel, block);
}

#define PORT_VIA_PRIVATE_HEAP "k_heap_alloc, k_heap_free"

struct port_heap {
	struct k_heap kernel;
};

KM_INLINE void port_heap_init(struct port_heap *h, uint32_t size)
{
	k_heap_init(&h->kernel, port_store, size);
}

KM_INLINE void *port_heap_alloc(struct port_heap *h, uint32_t size)
{
	return k_heap_alloc(&h->kernel, size, K_FOREVER);
}

KM_INLINE void port_heap_free(struct port_heap *h, void *block)
{
	k_heap_free(&h->kernel, block);
}

#define PORT_VIA_CONDVAR_TIMEOUT "k_condvar_wait with a timeout"

KM_INLINE bool port_cond_wait_timeout(struct port_cond *c, struct port_mutex *m)
{
	return !k_condvar_wait(c->kernel, m->kernel, K_TICKS(1000000));
}

#if PORT_IPIS
#define PORT_VIA_IPI "k_ipi_work_add and k_ipi_work_signal, k_ipi_work_wait"
#define PORT_IPI_TAKES __attribute__((unused)) struct k_ipi_work *sent_work

struct port_ipi {
	k_ipi_func_t body;
};

extern struct k_ipi_work port_ipi_work;
void port_ipi_init(struct port_ipi *i, k_ipi_func_t body);

KM_INLINE void port_ipi_send(struct port_ipi *i)
{
	k_ipi_work_add(&port_ipi_work, BIT(PORT_OTHER_CPU), i->body);
	k_ipi_work_signal();
}

KM_INLINE void port_ipi_wait(struct port_ipi *i)
{
	(void)i;
	k_ipi_work_wait(&port_ipi_work, K_FOREVER);
}
#endif

#endif
