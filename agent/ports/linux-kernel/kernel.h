/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * The operations in kernel mode. Each exists as kernel_..., which the ioctl
 * calls; it returns an error if the thread is killed while it blocks. It also
 * exists as port_..., which a benchmark's kernel thread calls; a killed thread
 * ends in it. On a kernel without full preemption, the call that wakes a thread
 * returns before that thread runs. A kernel thread must then offer the CPU with
 * cond_resched. A user thread loses it on its way back to user mode.
 */
#ifndef PORT_KERNEL_H
#define PORT_KERNEL_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/swait.h>
#include <linux/version.h>
#include <linux/wait.h>

/* Ends a killed kernel thread. wrong: nonzero if it was killed. */
KM_INLINE void port_go_on(int wrong)
{
	if (unlikely(wrong))
		kthread_complete_and_exit(NULL, 0);
}

/* Reports why the running part failed. Only the first reason is kept. */
void kernel_failed(const char *why);

/*
 * Gives a lock its own lock class, as static locks have. Otherwise lockdep
 * reports a deadlock if a thread holds two locks of one class.
 */
#define kernel_own_class(lock) \
	lockdep_set_class(lock, (struct lock_class_key *)(lock))

/* Returns a file for CALL_CROSSING, or an error. */
int kernel_crossing_file(bool stamped);

/* Never called, thanks to port_lacks(). */
KM_INLINE int port_thread_create(struct port_thread *t,
				     void (*body)(struct km_run *r),
				     struct km_run *r)
{
	return -1;
}

KM_INLINE int port_thread_start(struct port_thread *t)
{
	return -1;
}

KM_INLINE void port_thread_suspend(struct port_thread *t)
{
}

KM_INLINE void port_thread_resume(struct port_thread *t)
{
}

KM_INLINE void port_thread_reap(struct port_thread *t)
{
}

KM_INLINE void port_yield(void)
{
	yield();
	port_go_on(fatal_signal_pending(current));
}

/*
 * With PREEMPT_RT, the lock of a wait queue is a blocking lock, and a woken
 * thread runs into it at once. The kernel has simple wait queues to avoid this.
 */
#ifdef CONFIG_PREEMPT_RT
struct kernel_waiters {
	struct swait_queue_head queue;
};

KM_INLINE void kernel_waiters_init(struct kernel_waiters *w)
{
	init_swait_queue_head(&w->queue);
}

KM_INLINE void kernel_wake_one(struct kernel_waiters *w)
{
	swake_up_one(&w->queue);
}

KM_INLINE void kernel_wake_all(struct kernel_waiters *w)
{
	swake_up_all(&w->queue);
}

/* Waits until the condition holds. Nonzero: the thread was killed. */
#define kernel_wait(w, condition) \
	swait_event_interruptible_exclusive((w)->queue, condition)
#define kernel_wait_exclusive(w, condition) kernel_wait(w, condition)
#else
struct kernel_waiters {
	wait_queue_head_t queue;
};

KM_INLINE void kernel_waiters_init(struct kernel_waiters *w)
{
	init_waitqueue_head(&w->queue);
}

KM_INLINE void kernel_wake_one(struct kernel_waiters *w)
{
	wake_up(&w->queue);
}

KM_INLINE void kernel_wake_all(struct kernel_waiters *w)
{
	wake_up_all(&w->queue);
}

#define kernel_wait(w, condition) wait_event_killable((w)->queue, condition)
#define kernel_wait_exclusive(w, condition) \
	wait_event_killable_exclusive((w)->queue, condition)
#endif

KM_INLINE struct semaphore *kernel_sem(struct port_sem *s)
{
	return (struct semaphore *)s->room;
}

void port_sem_init(struct port_sem *s, unsigned int count);

KM_INLINE int kernel_sem_take(struct port_sem *s)
{
	return down_killable(kernel_sem(s));
}

KM_INLINE void port_sem_take(struct port_sem *s)
{
	port_go_on(kernel_sem_take(s));
}

KM_INLINE void kernel_sem_give(struct port_sem *s)
{
	up(kernel_sem(s));
}

KM_INLINE void port_sem_give(struct port_sem *s)
{
	kernel_sem_give(s);
	cond_resched();
}

KM_INLINE struct mutex *kernel_mutex(struct port_mutex *m)
{
	return (struct mutex *)m->room;
}

KM_INLINE struct rt_mutex *kernel_rt_mutex(struct port_mutex *m)
{
	return (struct rt_mutex *)m->room;
}

void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind);

KM_INLINE int kernel_mutex_lock(struct port_mutex *m)
{
	if (m->inherits)
		return rt_mutex_lock_interruptible(kernel_rt_mutex(m));
	return mutex_lock_killable(kernel_mutex(m));
}

KM_INLINE void port_mutex_lock(struct port_mutex *m)
{
	port_go_on(kernel_mutex_lock(m));
}

KM_INLINE void kernel_mutex_unlock(struct port_mutex *m)
{
	if (m->inherits)
		rt_mutex_unlock(kernel_rt_mutex(m));
	else
		mutex_unlock(kernel_mutex(m));
}

KM_INLINE void port_mutex_unlock(struct port_mutex *m)
{
	kernel_mutex_unlock(m);
	cond_resched();
}

KM_INLINE struct kernel_waiters *kernel_cond(struct port_cond *c)
{
	return (struct kernel_waiters *)c->room;
}

void port_cond_init(struct port_cond *c);

#ifdef CONFIG_PREEMPT_RT
KM_INLINE void kernel_cond_block(struct port_cond *c, struct port_mutex *m)
{
	DECLARE_SWAITQUEUE(wait);

	prepare_to_swait_exclusive(&kernel_cond(c)->queue, &wait, TASK_KILLABLE);
	kernel_mutex_unlock(m);
	schedule();
	finish_swait(&kernel_cond(c)->queue, &wait);
}
#else
KM_INLINE void kernel_cond_block(struct port_cond *c, struct port_mutex *m)
{
	DEFINE_WAIT(wait);

	prepare_to_wait_exclusive(&kernel_cond(c)->queue, &wait, TASK_KILLABLE);
	kernel_mutex_unlock(m);
	schedule();
	finish_wait(&kernel_cond(c)->queue, &wait);
}
#endif

KM_INLINE int kernel_cond_wait(struct port_cond *c, struct port_mutex *m)
{
	kernel_cond_block(c, m);
	if (fatal_signal_pending(current))
		return -EINTR;
	return kernel_mutex_lock(m);
}

KM_INLINE void port_cond_wait(struct port_cond *c, struct port_mutex *m)
{
	port_go_on(kernel_cond_wait(c, m));
}

KM_INLINE void kernel_cond_signal(struct port_cond *c)
{
	kernel_wake_one(kernel_cond(c));
}

KM_INLINE void port_cond_signal(struct port_cond *c)
{
	kernel_cond_signal(c);
	cond_resched();
}

KM_INLINE void kernel_cond_broadcast(struct port_cond *c)
{
	kernel_wake_all(kernel_cond(c));
}

KM_INLINE void port_cond_broadcast(struct port_cond *c)
{
	kernel_cond_broadcast(c);
	cond_resched();
}

KM_INLINE void *port_malloc(size_t size)
{
	void *p = kmalloc(size, GFP_KERNEL);

	if (unlikely(!p))
		kernel_failed("kmalloc failed: no memory");
	return p;
}

KM_INLINE void port_free(void *p)
{
	kfree(p);
}

struct kernel_queue {
	struct kernel_waiters waiters;
	spinlock_t lock;
	struct list_head items;
};

KM_INLINE struct kernel_queue *kernel_queue(struct port_queue *q)
{
	return (struct kernel_queue *)q->room;
}

KM_INLINE struct list_head *kernel_item(struct port_item *item)
{
	return (struct list_head *)item->room;
}

void port_queue_init(struct port_queue *q, enum port_queue_order order);

KM_INLINE void kernel_fifo_put(struct port_queue *q, struct port_item *item)
{
	struct kernel_queue *k = kernel_queue(q);

	spin_lock(&k->lock);
	list_add_tail(kernel_item(item), &k->items);
	spin_unlock(&k->lock);
	kernel_wake_one(&k->waiters);
}

KM_INLINE void port_fifo_put(struct port_queue *q, struct port_item *item)
{
	kernel_fifo_put(q, item);
	cond_resched();
}

KM_INLINE void kernel_lifo_put(struct port_queue *q, struct port_item *item)
{
	struct kernel_queue *k = kernel_queue(q);

	spin_lock(&k->lock);
	list_add(kernel_item(item), &k->items);
	spin_unlock(&k->lock);
	kernel_wake_one(&k->waiters);
}

KM_INLINE void port_lifo_put(struct port_queue *q, struct port_item *item)
{
	kernel_lifo_put(q, item);
	cond_resched();
}

/* Returns NULL if the thread was killed. */
KM_INLINE struct port_item *kernel_queue_get(struct port_queue *q)
{
	struct kernel_queue *k = kernel_queue(q);
	struct port_item *item = NULL;

	while (!item && !kernel_wait_exclusive(&k->waiters, !list_empty(&k->items))) {
		spin_lock(&k->lock);
		/* Unless another thread was faster. */
		if (!list_empty(&k->items)) {
			item = (struct port_item *)k->items.next;
			list_del(kernel_item(item));
		}
		spin_unlock(&k->lock);
	}
	return item;
}

KM_INLINE struct port_item *port_fifo_get(struct port_queue *q)
{
	struct port_item *item = kernel_queue_get(q);

	port_go_on(!item);
	return item;
}

KM_INLINE struct port_item *port_lifo_get(struct port_queue *q)
{
	return port_fifo_get(q);
}

struct kernel_stack {
	struct kernel_waiters waiters;
	spinlock_t lock;
	uintptr_t *word;
	uint32_t used;
};

KM_INLINE struct kernel_stack *kernel_stack(struct port_stack *s)
{
	return (struct kernel_stack *)s->room;
}

void port_stack_init(struct port_stack *s, uintptr_t *word, uint32_t size);

KM_INLINE void kernel_stack_push(struct port_stack *s, uintptr_t word)
{
	struct kernel_stack *k = kernel_stack(s);

	spin_lock(&k->lock);
	k->word[k->used++] = word;
	spin_unlock(&k->lock);
	kernel_wake_one(&k->waiters);
}

KM_INLINE void port_stack_push(struct port_stack *s, uintptr_t word)
{
	kernel_stack_push(s, word);
	cond_resched();
}

KM_INLINE int kernel_stack_pop(struct port_stack *s, uintptr_t *word)
{
	struct kernel_stack *k = kernel_stack(s);

	for (;;) {
		int wrong = kernel_wait_exclusive(&k->waiters, READ_ONCE(k->used));
		bool popped = false;

		if (wrong)
			return wrong;
		spin_lock(&k->lock);
		/* Unless another thread was faster. */
		if (k->used) {
			*word = k->word[--k->used];
			popped = true;
		}
		spin_unlock(&k->lock);
		if (popped)
			return 0;
	}
}

KM_INLINE uintptr_t port_stack_pop(struct port_stack *s)
{
	uintptr_t word;

	port_go_on(kernel_stack_pop(s, &word));
	return word;
}

struct kernel_events {
	struct kernel_waiters waiters;
	atomic_t bits;
};

KM_INLINE struct kernel_events *kernel_events(struct port_events *e)
{
	return (struct kernel_events *)e->room;
}

void port_events_init(struct port_events *e);

KM_INLINE void kernel_events_post(struct port_events *e, uint32_t bits)
{
	atomic_or(bits, &kernel_events(e)->bits);
	kernel_wake_all(&kernel_events(e)->waiters);
}

KM_INLINE void port_events_post(struct port_events *e, uint32_t bits)
{
	kernel_events_post(e, bits);
	cond_resched();
}

KM_INLINE void kernel_events_set(struct port_events *e, uint32_t bits)
{
	atomic_set(&kernel_events(e)->bits, bits);
	kernel_wake_all(&kernel_events(e)->waiters);
}

KM_INLINE void port_events_set(struct port_events *e, uint32_t bits)
{
	kernel_events_set(e, bits);
	cond_resched();
}

KM_INLINE int kernel_events_wait(struct port_events *e, uint32_t bits,
				     uint32_t *come)
{
	struct kernel_events *k = kernel_events(e);

	return kernel_wait(&k->waiters, (*come = atomic_read(&k->bits) & bits));
}

KM_INLINE uint32_t port_events_wait(struct port_events *e, uint32_t bits)
{
	uint32_t come;

	port_go_on(kernel_events_wait(e, bits, &come));
	return come;
}

KM_INLINE int kernel_events_wait_all(struct port_events *e, uint32_t bits)
{
	struct kernel_events *k = kernel_events(e);

	return kernel_wait(&k->waiters, (atomic_read(&k->bits) & bits) == bits);
}

KM_INLINE uint32_t port_events_wait_all(struct port_events *e, uint32_t bits)
{
	port_go_on(kernel_events_wait_all(e, bits));
	return bits;
}

struct kernel_irq {
	struct irq_work work;
	struct hrtimer timer;
	struct completion come;
};

KM_INLINE struct kernel_irq *kernel_irq(struct port_irq *irq)
{
	return (struct kernel_irq *)irq->room;
}

/* A timer that fires in hard interrupt context, on the CPU that starts it. */
KM_INLINE void kernel_timer_init(struct hrtimer *timer,
				     enum hrtimer_restart (*f)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, f, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = f;
#endif
}

/*
 * Starts a timer of 200 us. That is long enough for the thread to spin when it
 * fires, even if another interrupt delayed the thread.
 */
KM_INLINE void kernel_timer_start(struct hrtimer *timer)
{
	hrtimer_start(timer, ns_to_ktime(200000), HRTIMER_MODE_REL_PINNED_HARD);
}

const char *port_irq_attach(struct port_irq *irq);
void port_irq_detach(struct port_irq *irq);
/* Schedules an interrupt for shortly after. */
void kernel_irq_arm(struct port_irq *irq);

KM_INLINE port_ticks port_irq_raise(struct port_irq *irq)
{
	uint32_t before = irq->count;
	port_ticks behind;

	irq_work_queue(&kernel_irq(irq)->work);
	while (irq->count == before)
		cpu_relax();
	behind = port_now();
	cond_resched();
	return behind;
}

KM_INLINE int kernel_irq_wait(struct port_irq *irq, uint32_t *come)
{
	int wrong = wait_for_completion_killable(&kernel_irq(irq)->come);

	*come = irq->count - irq->taken;
	irq->taken += *come;
	return wrong;
}

KM_INLINE uint32_t port_irq_wait(struct port_irq *irq)
{
	uint32_t come;

	port_go_on(kernel_irq_wait(irq, &come));
	return come;
}

struct kernel_handler {
	struct irq_work work;
	void (*body)(struct km_run *r);
	struct km_run *run;
};

KM_INLINE struct kernel_handler *kernel_handler(struct port_handler *h)
{
	return (struct kernel_handler *)h->room;
}

const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r);
void port_handler_detach(struct port_handler *h);

KM_INLINE void port_handler_raise(struct port_handler *h)
{
	irq_work_queue(&kernel_handler(h)->work);
}

KM_INLINE unsigned long port_irq_lock(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}

KM_INLINE void port_irq_unlock(unsigned long flags)
{
	local_irq_restore(flags);
}

#endif
