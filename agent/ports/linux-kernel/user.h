/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* The operations in user mode. Each is one ioctl of the module's device. */
#ifndef PORT_USER_H
#define PORT_USER_H

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "call.h"

/*
 * The clock's ticks shifted right by this are counts in the unit of the stream.
 */
extern uint32_t port_shift;
#undef PORT_COUNT
#define PORT_COUNT(ticks) ((ticks) >> port_shift)

/* The module's device. */
extern int port_device;

/* Reports a failed call after which the thread cannot continue. */
_Noreturn void port_call_failed(void);

KM_INLINE uint64_t port_distance(const void *object)
{
	return (uint64_t)((const char *)object - port_shared_start);
}

KM_INLINE void *port_object(uint64_t distance)
{
	return port_shared_start + distance;
}

/* A system call, without the C library's wrapper. */
KM_INLINE long port_system_call(long number, long first, long second, long third)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x0 __asm__("x0") = first;
	register long x1 __asm__("x1") = second;
	register long x2 __asm__("x2") = third;
	register long x8 __asm__("x8") = number;

	__asm__ volatile("svc #0"
			 : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
	return x0;
#endif
}

/* The ioctl. */
KM_INLINE long port_call(enum call number, const void *object, uint64_t value)
{
	return port_system_call(SYS_ioctl, port_device, number,
				(long)(port_distance(object) | value << 32));
}

/* An operation. It only fails if the thread is killed. */
KM_INLINE uint64_t port_operate(enum call number, const void *object,
				    uint64_t value)
{
	long result = port_call(number, object, value);

	if (__builtin_expect(result < 0, 0))
		port_call_failed();
	return (uint64_t)result;
}

/* A file for crossings; with stamps, its operations fill in port_crossing. */
KM_INLINE int port_crossing_file(bool stamped)
{
	return (int)port_operate(CALL_CROSSING, port_shared_start, stamped);
}

/* The module sets up the benchmarks. */
struct km_bench;
const char *port_setup(const struct km_bench *b);
void port_teardown(const struct km_bench *b);
#define PORT_SETUP(b, r) port_setup(b)
#define PORT_TEARDOWN(b, r) port_teardown(b)

/* Never called, thanks to port_lacks(). */
KM_INLINE int port_thread_create(struct port_thread *t,
				     void (*body)(struct km_run *r),
				     struct km_run *r)
{
	(void)t, (void)body, (void)r;
	return -1;
}

KM_INLINE int port_thread_start(struct port_thread *t)
{
	(void)t;
	return -1;
}

KM_INLINE void port_thread_suspend(struct port_thread *t)
{
	(void)t;
}

KM_INLINE void port_thread_resume(struct port_thread *t)
{
	(void)t;
}

KM_INLINE void port_thread_reap(struct port_thread *t)
{
	(void)t;
}

KM_INLINE void port_yield(void)
{
	sched_yield();
}

KM_INLINE void port_sem_init(struct port_sem *s, unsigned int count)
{
	(void)s, (void)count;
}

KM_INLINE void port_sem_take(struct port_sem *s)
{
	port_operate(CALL_SEM_TAKE, s, 0);
}

KM_INLINE void port_sem_give(struct port_sem *s)
{
	port_operate(CALL_SEM_GIVE, s, 0);
}

KM_INLINE void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind)
{
	(void)m, (void)kind;
}

KM_INLINE void port_mutex_lock(struct port_mutex *m)
{
	port_operate(CALL_MUTEX_LOCK, m, 0);
}

KM_INLINE void port_mutex_unlock(struct port_mutex *m)
{
	port_operate(CALL_MUTEX_UNLOCK, m, 0);
}

KM_INLINE void port_cond_init(struct port_cond *c)
{
	(void)c;
}

KM_INLINE void port_cond_wait(struct port_cond *c, struct port_mutex *m)
{
	port_operate(CALL_COND_WAIT, c, port_distance(m));
}

KM_INLINE void port_cond_signal(struct port_cond *c)
{
	port_operate(CALL_COND_SIGNAL, c, 0);
}

KM_INLINE void port_cond_broadcast(struct port_cond *c)
{
	port_operate(CALL_COND_BROADCAST, c, 0);
}

/* Never called either, thanks to port_lacks(). */
KM_INLINE void *port_malloc(size_t size)
{
	(void)size;
	return NULL;
}

KM_INLINE void port_free(void *p)
{
	(void)p;
}

KM_INLINE void port_queue_init(struct port_queue *q, enum port_queue_order order)
{
	(void)q, (void)order;
}

KM_INLINE void port_fifo_put(struct port_queue *q, struct port_item *item)
{
	port_operate(CALL_FIFO_PUT, q, port_distance(item));
}

KM_INLINE void port_lifo_put(struct port_queue *q, struct port_item *item)
{
	port_operate(CALL_LIFO_PUT, q, port_distance(item));
}

KM_INLINE struct port_item *port_fifo_get(struct port_queue *q)
{
	return port_object(port_operate(CALL_QUEUE_GET, q, 0));
}

KM_INLINE struct port_item *port_lifo_get(struct port_queue *q)
{
	return port_fifo_get(q);
}

KM_INLINE void port_stack_init(struct port_stack *s, uintptr_t *word,
				   uint32_t size)
{
	(void)s, (void)size;
	/* Both sides have the caller's array. */
	__asm__ volatile("" : : "r"(word));
}

/* Words have 32 bits: the call has no room for more. */
KM_INLINE void port_stack_push(struct port_stack *s, uintptr_t word)
{
	port_operate(CALL_STACK_PUSH, s, word);
}

KM_INLINE uintptr_t port_stack_pop(struct port_stack *s)
{
	return port_operate(CALL_STACK_POP, s, 0);
}

KM_INLINE void port_events_init(struct port_events *e)
{
	(void)e;
}

KM_INLINE void port_events_post(struct port_events *e, uint32_t bits)
{
	port_operate(CALL_EVENTS_POST, e, bits);
}

KM_INLINE void port_events_set(struct port_events *e, uint32_t bits)
{
	port_operate(CALL_EVENTS_SET, e, bits);
}

KM_INLINE uint32_t port_events_wait(struct port_events *e, uint32_t bits)
{
	return (uint32_t)port_operate(CALL_EVENTS_WAIT, e, bits);
}

KM_INLINE uint32_t port_events_wait_all(struct port_events *e, uint32_t bits)
{
	port_operate(CALL_EVENTS_WAIT_ALL, e, bits);
	return bits;
}

KM_INLINE const char *port_irq_attach(struct port_irq *irq)
{
	(void)irq;
	return NULL;
}

KM_INLINE void port_irq_detach(struct port_irq *irq)
{
	(void)irq;
}

/* The interrupt must come in user mode, so it comes a while after the call. */
KM_INLINE port_ticks port_irq_raise(struct port_irq *irq)
{
	uint32_t before = irq->count;
	port_ticks now;

	port_operate(CALL_IRQ_ARM, irq, 0);
	do
		now = port_now();
	while (irq->count == before);
	/*
	 * The interrupt came between this reading and the check of the count:
	 * read again.
	 */
	return now > irq->at ? now : port_now();
}

KM_INLINE uint32_t port_irq_wait(struct port_irq *irq)
{
	return (uint32_t)port_operate(CALL_IRQ_WAIT, irq, 0);
}

/* Never called either, thanks to port_lacks(). */
KM_INLINE const char *port_handler_attach(struct port_handler *h,
					  void (*body)(struct km_run *r),
					  struct km_run *r)
{
	(void)h, (void)body, (void)r;
	return NULL;
}

KM_INLINE void port_handler_detach(struct port_handler *h)
{
	/* Both sides have the object. */
	__asm__ volatile("" : : "r"(h));
}

KM_INLINE void port_handler_raise(struct port_handler *h)
{
	(void)h;
}

KM_INLINE unsigned long port_irq_lock(void)
{
	return 0;
}

KM_INLINE void port_irq_unlock(unsigned long key)
{
	(void)key;
}

#endif
