/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A port to copy, and the contract of every operation of a port.
 *
 * Copy this folder. Fill in the clock, then one group of operations after the
 * other, and add each finished group to PORT_HAS. Delete the groups that this
 * kernel lacks. doc/porting.md is the guide.
 *
 * Operations are between stamps: a declaration here becomes `KM_INLINE` and
 * calls the kernel directly. An operation is the kernel's own primitive, or
 * else the idiom that its documentation names. PORT_VIA_ names it, and goes
 * into the records. An operation never retries, never times out, and never does
 * more than its contract.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The finished groups, as KM_ constants from kernmark.h. KM_PRIORITY, KM_SMP,
 * KM_PROCESSES, KM_USER and KM_KERNEL have no operations: they say what
 * port_run() can do. Start with the mode of the threads: KM_KERNEL if they have
 * all privileges, as without an operating system; KM_USER if they do not; both
 * if the kernel has both kinds of threads. Metric ids contain the mode, so
 * without it nothing compiles.
 */
#ifndef PORT_HAS
#define PORT_HAS 0
#endif

/*
 * The groups for which the kernel has no object, so that the port builds it
 * from other primitives, such as a queue from a list, a mutex and a semaphore.
 * Their metrics are marked as idioms: they tell more about this port than about
 * the kernel.
 */
#define PORT_IDIOMS 0

/*
 * The groups in PORT_HAS that this configuration of the kernel leaves out. Do
 * not define their operations then. port_lacks() refuses them, and says how to
 * get them.
 */
#define PORT_WITHOUT 0

/* Maximum threads in one benchmark; cases with more are skipped. At least 1. */
#define PORT_THREADS 8
/* Capacity for stamps. At least 8 for each thread, and 40 more. */
#define PORT_STAMPS 1024
/* Objects of one kind that a benchmark uses. A power of two. */
#define PORT_OBJECTS 64

/*
 * Ticks of the clock: 64 bits, or 32 on a 32-bit processor. The clock may wrap
 * at the end of the type's range. A sample must be shorter than half of that
 * range.
 */
typedef uint32_t port_ticks;

#define PORT_CLOCK "none"

/*
 * Define this if a tick of the clock is not the unit that km_hello() states. It
 * converts the ticks between two stamps to that unit. It must not add or
 * subtract anything else. For a 25 MHz clock and instructions that take 128 ns
 * each, rounded to the nearest:
 *
 *	#define PORT_COUNT(ticks) ((5 * (ticks) + 8) >> 4)
 */

/*
 * Reads the clock: the finest counter that counts up. Earlier instructions have
 * finished and later ones have not started. A reading of 0 counts as a missing
 * stamp. A clock that stands still, like this one, fails the proof `clock`.
 */
KM_INLINE port_ticks port_now(void)
{
	return 1;
}

/*
 * KM_THREADS: threads that a benchmark creates itself. port_run() creates the
 * threads of a benchmark's roles.
 */
#if PORT_HAS & KM_THREADS
#define PORT_VIA_THREAD "the calls that create, start, suspend, resume, end"

struct port_thread {
	void *kernel_object;
};

/*
 * Creates a thread that does not run until started, in user mode if
 * r->made_user. It runs body(r) and ends. Returns 0 or an error number.
 */
int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r);
/*
 * Define PORT_THREAD_ARMS and this if a thread needs something more between
 * creation and start, such as a priority that its creator may not give it. It
 * is not timed.
 */
#define PORT_THREAD_ARMS
void port_thread_arm(struct port_thread *t);
/*
 * Starts it at KM_HIGH, so that it runs at once. Returns 0 or an error number.
 */
int port_thread_start(struct port_thread *t);
/* Stops the calling thread, which is t, until it is resumed. */
void port_thread_suspend(struct port_thread *t);
/*
 * Resumes t, which has suspended itself. It runs at once, because it is
 * KM_HIGH.
 */
void port_thread_resume(struct port_thread *t);
/* Frees what t leaves behind. Its body has returned. */
void port_thread_reap(struct port_thread *t);

#define PORT_VIA_YIELD "the call"

/* Lets every runnable thread of the caller's priority run before the caller. */
void port_yield(void);
#endif

/* KM_ABORT; needs KM_THREADS. */
#if PORT_HAS & KM_ABORT
#define PORT_VIA_ABORT "the call that ends another thread"

/*
 * Ends t, which is ready to run, and frees what it leaves behind. t never runs
 * again.
 */
void port_thread_abort(struct port_thread *t);
#endif

/* KM_SEMAPHORE: a counting semaphore with no limit that matters. */
#if PORT_HAS & KM_SEMAPHORE
#define PORT_VIA_SEMAPHORE "the calls that give, take"

struct port_sem {
	void *kernel_object;
};

/* Creates a semaphore, possibly one that an earlier part used. */
void port_sem_init(struct port_sem *s, unsigned int count);
/* Takes one; blocks while the count is 0. */
void port_sem_take(struct port_sem *s);
/* Gives one. The first waiter of the highest priority gets it. */
void port_sem_give(struct port_sem *s);
#endif

/* KM_MUTEX */
#if PORT_HAS & KM_MUTEX
#define PORT_VIA_MUTEX "the calls that lock, unlock"

/* A kind that this kernel lacks is the plain one; PORT_VIA_MUTEX says so. */
enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct port_mutex {
	void *kernel_object;
};

/* Creates an unlocked mutex, possibly one that an earlier part used. */
void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind);
/* Blocks while another thread holds it. */
void port_mutex_lock(struct port_mutex *m);
/* Called by the holder. The first waiter of the highest priority gets it. */
void port_mutex_unlock(struct port_mutex *m);
#endif

/* KM_CONDVAR; needs KM_MUTEX. */
#if PORT_HAS & KM_CONDVAR
#define PORT_VIA_CONDVAR "the calls that wait, signal, broadcast"

struct port_cond {
	void *kernel_object;
};

void port_cond_init(struct port_cond *c);
/* Unlocks m and blocks in one step; holds m again on return. */
void port_cond_wait(struct port_cond *c, struct port_mutex *m);
/* Wakes the first waiter, if there is one. */
void port_cond_signal(struct port_cond *c);
/* Wakes all waiters. */
void port_cond_broadcast(struct port_cond *c);
#endif

/* KM_HEAP */
#if PORT_HAS & KM_HEAP
#define PORT_VIA_HEAP "the calls that allocate, free"

/* Returns memory aligned for any object, or NULL. */
void *port_malloc(size_t size);
void port_free(void *p);
#endif

/* KM_QUEUE: the caller's items, first in first out or last in first out. */
#if PORT_HAS & KM_QUEUE
#define PORT_VIA_QUEUE "the calls that put, get"

/* The kernel's link in an item, and the caller's word. */
struct port_item {
	void *kernel_link;
	void *data;
};

struct port_queue {
	void *kernel_object;
};

/*
 * Creates an empty queue, possibly one that an earlier part used. All its items
 * leave in this order.
 */
void port_queue_init(struct port_queue *q, enum port_queue_order order);
/* Puts an item after all others. The first waiter gets the first item. */
void port_fifo_put(struct port_queue *q, struct port_item *item);
/* Puts an item before all others. The first waiter gets the first item. */
void port_lifo_put(struct port_queue *q, struct port_item *item);
/*
 * Gets the first item; blocks while there is none. The port keeps nothing of
 * it.
 */
struct port_item *port_fifo_get(struct port_queue *q);
struct port_item *port_lifo_get(struct port_queue *q);
/*
 * Define PORT_QUEUE_ALLOCATES and these if the kernel itself allocates and frees
 * what holds an item. alloc_put puts `own`, get_free returns it. Otherwise they
 * are an allocation and a put, a get and a free.
 */
#define PORT_QUEUE_ALLOCATES
#define PORT_VIA_QUEUE_ALLOC "the calls that allocate and put, get and free"

void port_fifo_alloc_put(struct port_queue *q, struct port_item *own);
void port_lifo_alloc_put(struct port_queue *q, struct port_item *own);
void *port_fifo_get_free(struct port_queue *q);
void *port_lifo_get_free(struct port_queue *q);
#endif

/* KM_STACK: words, last in first out. */
#if PORT_HAS & KM_STACK
#define PORT_VIA_STACK "the calls that push, pop"

struct port_stack {
	void *kernel_object;
};

/*
 * Creates an empty stack in the caller's array of `size` words, which hold all
 * that is pushed at a time.
 */
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

/* Creates an object with no events, possibly one that an earlier part used. */
void port_events_init(struct port_events *e);
/* Adds events and wakes every thread whose condition is met. */
void port_events_post(struct port_events *e, uint32_t bits);
/* Replaces all events and wakes every thread whose condition is met. */
void port_events_set(struct port_events *e, uint32_t bits);
/* Blocks until any of the bits is set. Returns those that are set. */
uint32_t port_events_wait(struct port_events *e, uint32_t bits);
/* Blocks until all of the bits are set. Returns them. */
uint32_t port_events_wait_all(struct port_events *e, uint32_t bits);
#endif

/* KM_IRQ: an interrupt that a thread can cause. */
#if PORT_HAS & KM_IRQ
#define PORT_VIA_IRQ "the interrupt, and how a thread waits for it"

/*
 * at: the clock, read as the handler's last act before it wakes the waiter and
 * returns.
 */
struct port_irq {
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

/*
 * KM_HANDLER: an interrupt that a thread raises and that comes at once. It runs
 * a function of the benchmark, the way the kernel runs a driver's handler.
 */
#if PORT_HAS & KM_HANDLER
#define PORT_VIA_HANDLER "the interrupt, and how the kernel calls its handler"

struct port_handler {
	void *kernel_object;
};

/*
 * From now on the interrupt runs body(r). While it does, the interrupt does not
 * interrupt it. Returns NULL, or why there is no interrupt.
 */
const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r);
/* No interrupt is pending or comes any more. */
void port_handler_detach(struct port_handler *h);
/*
 * Makes the interrupt pending and does not wait for it. It comes at once, or
 * when interrupts are unlocked. The handler calls this too: then the interrupt
 * comes again as soon as the handler has returned.
 */
void port_handler_raise(struct port_handler *h);
#endif

/* KM_IRQ_LOCK: keeps interrupts from the calling thread. */
#if PORT_HAS & KM_IRQ_LOCK
#define PORT_VIA_IRQ_LOCK "the calls that lock, unlock"

/* Returns what port_irq_unlock() needs. */
unsigned long port_irq_lock(void);
/* A pending interrupt comes now. */
void port_irq_unlock(unsigned long key);
#endif

/* KM_MSGQ: a queue of messages of one size, which put and get copy. */
#if PORT_HAS & KM_MSGQ
#define PORT_VIA_MSGQ "the calls that put, get"

struct port_msgq {
	void *kernel_object;
};

/*
 * Creates an empty queue with room for `count` messages of `size` bytes, at
 * most KM_STORE bytes together; possibly one that an earlier part used.
 */
void port_msgq_init(struct port_msgq *q, uint32_t size, uint32_t count);
/* Copies a message into the queue; blocks while it is full. */
void port_msgq_put(struct port_msgq *q, const void *message);
/* Copies the first message out of the queue; blocks while it is empty. */
void port_msgq_get(struct port_msgq *q, void *message);
#endif

/* KM_MESSAGE_BUFFER: a buffer of messages, each with a size of its own. */
#if PORT_HAS & KM_MESSAGE_BUFFER
#define PORT_VIA_MESSAGE_BUFFER "the calls that send, receive"

struct port_message_buffer {
	void *kernel_object;
};

/*
 * Creates an empty buffer with room for `count` messages of `size` bytes, at
 * most KM_STORE bytes together, and not for another one.
 */
void port_message_buffer_init(struct port_message_buffer *b, uint32_t size,
			      uint32_t count);
/* Blocks while there is no room for the message. */
void port_message_buffer_send(struct port_message_buffer *b,
			      const void *message, uint32_t size);
/*
 * Blocks while the buffer is empty. Returns the size of the first message,
 * which is at most `most`.
 */
uint32_t port_message_buffer_receive(struct port_message_buffer *b,
				     void *message, uint32_t most);
#endif

/*
 * KM_STREAM: bytes in the order in which they were written, without
 * boundaries.
 */
#if PORT_HAS & KM_STREAM
#define PORT_VIA_STREAM "the calls that write, read"

struct port_stream {
	void *kernel_object;
};

/*
 * Creates an empty stream with room for `count` pieces of `size` bytes, at most
 * KM_STORE bytes together, and not for another one.
 */
void port_stream_init(struct port_stream *s, uint32_t size, uint32_t count);
/* Writes all of it; blocks while the stream is full. */
void port_stream_write(struct port_stream *s, const void *from, uint32_t size);
/*
 * Blocks while the stream is empty, then reads up to `size` bytes. Returns how
 * many.
 */
uint32_t port_stream_read(struct port_stream *s, void *to, uint32_t size);
#endif

/* KM_MAILBOX: messages whose sender blocks until they have been received. */
#if PORT_HAS & KM_MAILBOX
#define PORT_VIA_MAILBOX "the calls that put, get"

struct port_mailbox {
	void *kernel_object;
};

void port_mailbox_init(struct port_mailbox *m);
/* Blocks until a thread has received the message. */
void port_mailbox_put(struct port_mailbox *m, const void *message,
		      uint32_t size);
/*
 * Blocks until a message comes. Returns its size. Its sender is ready by then.
 */
uint32_t port_mailbox_get(struct port_mailbox *m, void *message, uint32_t size);
#endif

/* KM_NOTIFICATION: a count in each thread, which others increment. */
#if PORT_HAS & KM_NOTIFICATION
#define PORT_VIA_NOTIFICATION "the calls that give, take"

struct port_notification {
	void *kernel_object;
};

/* Makes the calling thread the one that n notifies. Not timed. */
void port_notification_own(struct port_notification *n);
/* Increments that thread's count. */
void port_notification_give(struct port_notification *n);
/*
 * Called by that thread. Blocks while its count is 0, then decrements it.
 * Returns the count before.
 */
uint32_t port_notification_take(struct port_notification *n);
#endif

/* KM_POLL: waits for any of several objects, here semaphores. */
#if PORT_HAS & KM_POLL
#define PORT_VIA_POLL "the calls that wait, give"

struct port_poll {
	void *kernel_object;
};

/* Creates `count` semaphores, at most KM_POLLED, that cannot be taken. */
void port_poll_init(struct port_poll *p, uint32_t count);
/* Blocks until one of them can be taken. Does not take it. */
void port_poll_wait(struct port_poll *p);
/*
 * Takes the one that the last wait found and prepares the next wait. Returns
 * its index. Not timed.
 */
uint32_t port_poll_take(struct port_poll *p);
/* Gives semaphore i. */
void port_poll_give(struct port_poll *p, uint32_t i);
#endif

/* KM_TIMER: a timer that calls a function of the benchmark once. */
#if PORT_HAS & KM_TIMER
#define PORT_VIA_TIMER "the calls that start, stop"

/*
 * Parameters of the function, which ignores them; and the context switches that
 * a start, a stop and an expiry each cost, in the caller or to a thread of the
 * kernel and back.
 */
#define PORT_TIMER_TAKES __attribute__((unused)) void *expired_timer
#define PORT_TIMER_SWITCHES 0

struct port_timer {
	void *kernel_object;
};

/*
 * Creates a stopped timer that will call expired(), possibly one that an
 * earlier part used.
 */
void port_timer_init(struct port_timer *t, void (*expired)(PORT_TIMER_TAKES));
/* Starts it. It expires at the next tick. */
void port_timer_start(struct port_timer *t);
void port_timer_stop(struct port_timer *t);
/*
 * Whether it has been started and has neither expired nor been stopped. Not
 * timed.
 */
bool port_timer_active(struct port_timer *t);
#endif

/* KM_TICK: the tick of the kernel's clock, which comes only when requested. */
#if PORT_HAS & KM_TICK
#define PORT_VIA_TICK "how a tick is requested; the call that sleeps"

/* Requests a tick. Returns after it, in the calling thread. */
void port_tick(void);
/* How many ticks have come. Not timed. */
uint32_t port_tick_count(void);
/* Blocks until the next tick. */
void port_sleep_tick(void);
#endif

/*
 * KM_WORK: functions that a thread of the kernel calls. It is above all threads
 * of a benchmark.
 */
#if PORT_HAS & KM_WORK
#define PORT_VIA_WORK "the call that submits"

/*
 * Define this if the end of a work is not 1 context switch, back to the thread
 * that submitted it: the kernel's thread may yield first.
 */
#define PORT_WORK_SWITCHES 1

/* Parameters of the function, which ignores them. */
#define PORT_WORK_TAKES __attribute__((unused)) void *submitted_work

struct port_work {
	void *kernel_object;
};

void port_work_init(struct port_work *w, void (*body)(PORT_WORK_TAKES));
/* Has the body called. Returns after it. */
void port_work_submit(struct port_work *w);
#endif

/* KM_SPINLOCK: a lock that disables interrupts while it is held. */
#if PORT_HAS & KM_SPINLOCK
#define PORT_VIA_SPINLOCK "the calls that lock, unlock"

struct port_spinlock {
	void *kernel_object;
};

void port_spinlock_init(struct port_spinlock *l);
void port_spinlock_lock(struct port_spinlock *l);
/* Called by the holder. The last lock is the first one unlocked. */
void port_spinlock_unlock(struct port_spinlock *l);
#endif

/* KM_SLAB: blocks of one size. */
#if PORT_HAS & KM_SLAB
#define PORT_VIA_SLAB "the calls that allocate, free"

struct port_slab {
	void *kernel_object;
};

/*
 * Creates a slab of `count` free blocks of `size` bytes, at most KM_STORE
 * bytes together.
 */
void port_slab_init(struct port_slab *s, uint32_t size, uint32_t count);
/* Blocks while no block is free. */
void *port_slab_alloc(struct port_slab *s);
/* The first waiter of the highest priority gets the block. */
void port_slab_free(struct port_slab *s, void *block);
#endif

/* KM_PRIVATE_HEAP: a heap in memory of its own, which threads wait for. */
#if PORT_HAS & KM_PRIVATE_HEAP
#define PORT_VIA_PRIVATE_HEAP "the calls that allocate, free"

struct port_heap {
	void *kernel_object;
};

/* Creates an empty heap of `size` bytes, at most KM_STORE. */
void port_heap_init(struct port_heap *h, uint32_t size);
/* Blocks while there is no room. */
void *port_heap_alloc(struct port_heap *h, uint32_t size);
/* Wakes the waiters. */
void port_heap_free(struct port_heap *h, void *block);
#endif

/* KM_CONDVAR_TIMEOUT; needs KM_CONDVAR. */
#if PORT_HAS & KM_CONDVAR_TIMEOUT
#define PORT_VIA_CONDVAR_TIMEOUT "the call that waits, with a timeout"

/*
 * As port_cond_wait(), with a timeout that is far longer than any case. Returns
 * whether it was signalled.
 */
bool port_cond_wait_timeout(struct port_cond *c, struct port_mutex *m);
#endif

/*
 * KM_IPI: a function of the benchmark that another CPU calls in the handler of
 * an interrupt from the sender's CPU. Needs a second CPU.
 */
#if PORT_HAS & KM_IPI
#define PORT_VIA_IPI "the calls that send, wait"

/* Parameters of the function, which ignores them. */
#define PORT_IPI_TAKES __attribute__((unused)) void *sent_ipi

struct port_ipi {
	void *kernel_object;
};

void port_ipi_init(struct port_ipi *i, void (*body)(PORT_IPI_TAKES));
/* Interrupts one other CPU, which calls the body. Does not wait for it. */
void port_ipi_send(struct port_ipi *i);
/* Blocks until the body has returned, if it has not yet. */
void port_ipi_wait(struct port_ipi *i);
#endif

#endif
