/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stubs for the operations that a port lacks, because their capability is not in
 * PORT_HAS or is in PORT_WITHOUT, or because its kernel does not need them.
 *
 * The former let every benchmark compile against any port. The runner skips
 * benchmarks that need a missing capability, so such a stub is never called. If a
 * benchmark does not state its needs and calls one anyway, the stub traps.
 */
#ifndef KM_ABSENT_H
#define KM_ABSENT_H

#define PORT_VIA_ABSENT "nothing: this port lacks it"
#define KM_ABSENT(group) (!(PORT_HAS & (group)) || PORT_WITHOUT & (group))

#if !(PORT_HAS & KM_THREADS)
#define PORT_VIA_THREAD PORT_VIA_ABSENT
#define PORT_VIA_YIELD PORT_VIA_ABSENT

struct port_thread {
	char absent;
};

KM_INLINE int port_thread_create(struct port_thread *t,
				     void (*body)(struct km_run *r),
				     struct km_run *r)
{
	(void)t, (void)body, (void)r;
	__builtin_trap();
}

KM_INLINE int port_thread_start(struct port_thread *t)
{
	(void)t;
	__builtin_trap();
}

KM_INLINE void port_thread_suspend(struct port_thread *t)
{
	(void)t;
	__builtin_trap();
}

KM_INLINE void port_thread_resume(struct port_thread *t)
{
	(void)t;
	__builtin_trap();
}

KM_INLINE void port_thread_reap(struct port_thread *t)
{
	(void)t;
	__builtin_trap();
}

KM_INLINE void port_yield(void)
{
	__builtin_trap();
}
#endif

/* Creation and start are all that a thread needs to run at KM_HIGH. */
#ifndef PORT_THREAD_ARMS
KM_INLINE void port_thread_arm(struct port_thread *t)
{
	(void)t;
}
#endif

#if !(PORT_HAS & KM_ABORT)
#define PORT_VIA_ABORT PORT_VIA_ABSENT

KM_INLINE void port_thread_abort(struct port_thread *t)
{
	(void)t;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_SEMAPHORE)
#define PORT_VIA_SEMAPHORE PORT_VIA_ABSENT

struct port_sem {
	char absent;
};

KM_INLINE void port_sem_init(struct port_sem *s, unsigned int count)
{
	(void)s, (void)count;
	__builtin_trap();
}

KM_INLINE void port_sem_take(struct port_sem *s)
{
	(void)s;
	__builtin_trap();
}

KM_INLINE void port_sem_give(struct port_sem *s)
{
	(void)s;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_MUTEX)
#define PORT_VIA_MUTEX PORT_VIA_ABSENT

enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct port_mutex {
	char absent;
};

KM_INLINE void port_mutex_init(struct port_mutex *m,
				   enum port_mutex_kind kind)
{
	(void)m, (void)kind;
	__builtin_trap();
}

KM_INLINE void port_mutex_lock(struct port_mutex *m)
{
	(void)m;
	__builtin_trap();
}

KM_INLINE void port_mutex_unlock(struct port_mutex *m)
{
	(void)m;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_CONDVAR)
#define PORT_VIA_CONDVAR PORT_VIA_ABSENT

struct port_cond {
	char absent;
};

KM_INLINE void port_cond_init(struct port_cond *c)
{
	(void)c;
	__builtin_trap();
}

KM_INLINE void port_cond_wait(struct port_cond *c, struct port_mutex *m)
{
	(void)c, (void)m;
	__builtin_trap();
}

KM_INLINE void port_cond_signal(struct port_cond *c)
{
	(void)c;
	__builtin_trap();
}

KM_INLINE void port_cond_broadcast(struct port_cond *c)
{
	(void)c;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_HEAP)
#define PORT_VIA_HEAP PORT_VIA_ABSENT

KM_INLINE void *port_malloc(size_t size)
{
	(void)size;
	__builtin_trap();
}

KM_INLINE void port_free(void *p)
{
	(void)p;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_QUEUE)
#define PORT_VIA_QUEUE PORT_VIA_ABSENT

struct port_item {
	void *data;
};

struct port_queue {
	char absent;
};

KM_INLINE void port_queue_init(struct port_queue *q, enum port_queue_order order)
{
	(void)q, (void)order;
	__builtin_trap();
}

KM_INLINE void port_fifo_put(struct port_queue *q, struct port_item *item)
{
	(void)q, (void)item;
	__builtin_trap();
}

KM_INLINE void port_lifo_put(struct port_queue *q, struct port_item *item)
{
	(void)q, (void)item;
	__builtin_trap();
}

KM_INLINE struct port_item *port_fifo_get(struct port_queue *q)
{
	(void)q;
	__builtin_trap();
}

KM_INLINE struct port_item *port_lifo_get(struct port_queue *q)
{
	(void)q;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_STACK)
#define PORT_VIA_STACK PORT_VIA_ABSENT

struct port_stack {
	char absent;
};

KM_INLINE void port_stack_init(struct port_stack *s, uintptr_t *word,
				   uint32_t size)
{
	(void)s, (void)word, (void)size;
	__builtin_trap();
}

KM_INLINE void port_stack_push(struct port_stack *s, uintptr_t word)
{
	(void)s, (void)word;
	__builtin_trap();
}

KM_INLINE uintptr_t port_stack_pop(struct port_stack *s)
{
	(void)s;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_EVENTS)
#define PORT_VIA_EVENTS PORT_VIA_ABSENT

struct port_events {
	char absent;
};

KM_INLINE void port_events_init(struct port_events *e)
{
	(void)e;
	__builtin_trap();
}

KM_INLINE void port_events_post(struct port_events *e, uint32_t bits)
{
	(void)e, (void)bits;
	__builtin_trap();
}

KM_INLINE void port_events_set(struct port_events *e, uint32_t bits)
{
	(void)e, (void)bits;
	__builtin_trap();
}

KM_INLINE uint32_t port_events_wait(struct port_events *e, uint32_t bits)
{
	(void)e, (void)bits;
	__builtin_trap();
}

KM_INLINE uint32_t port_events_wait_all(struct port_events *e, uint32_t bits)
{
	(void)e, (void)bits;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_IRQ)
#define PORT_VIA_IRQ PORT_VIA_ABSENT

struct port_irq {
	volatile port_ticks at;
};

KM_INLINE const char *port_irq_attach(struct port_irq *irq)
{
	(void)irq;
	__builtin_trap();
}

KM_INLINE void port_irq_detach(struct port_irq *irq)
{
	(void)irq;
	__builtin_trap();
}

KM_INLINE port_ticks port_irq_raise(struct port_irq *irq)
{
	(void)irq;
	__builtin_trap();
}

KM_INLINE uint32_t port_irq_wait(struct port_irq *irq)
{
	(void)irq;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_HANDLER)
#define PORT_VIA_HANDLER PORT_VIA_ABSENT

struct port_handler {
	char absent;
};

KM_INLINE const char *port_handler_attach(struct port_handler *h,
					  void (*body)(struct km_run *r),
					  struct km_run *r)
{
	(void)h, (void)body, (void)r;
	__builtin_trap();
}

KM_INLINE void port_handler_detach(struct port_handler *h)
{
	(void)h;
	__builtin_trap();
}

KM_INLINE void port_handler_raise(struct port_handler *h)
{
	(void)h;
	__builtin_trap();
}
#endif

#if !(PORT_HAS & KM_IRQ_LOCK)
#define PORT_VIA_IRQ_LOCK PORT_VIA_ABSENT

KM_INLINE unsigned long port_irq_lock(void)
{
	__builtin_trap();
}

KM_INLINE void port_irq_unlock(unsigned long key)
{
	(void)key;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_MSGQ)
#define PORT_VIA_MSGQ PORT_VIA_ABSENT

struct port_msgq {
	char absent;
};

KM_INLINE void port_msgq_init(struct port_msgq *q, uint32_t size,
			      uint32_t count)
{
	(void)q, (void)size, (void)count;
	__builtin_trap();
}

KM_INLINE void port_msgq_put(struct port_msgq *q, const void *message)
{
	(void)q, (void)message;
	__builtin_trap();
}

KM_INLINE void port_msgq_get(struct port_msgq *q, void *message)
{
	(void)q, (void)message;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_MESSAGE_BUFFER)
#define PORT_VIA_MESSAGE_BUFFER PORT_VIA_ABSENT

struct port_message_buffer {
	char absent;
};

KM_INLINE void port_message_buffer_init(struct port_message_buffer *b,
					uint32_t size, uint32_t count)
{
	(void)b, (void)size, (void)count;
	__builtin_trap();
}

KM_INLINE void port_message_buffer_send(struct port_message_buffer *b,
					const void *message, uint32_t size)
{
	(void)b, (void)message, (void)size;
	__builtin_trap();
}

KM_INLINE uint32_t port_message_buffer_receive(struct port_message_buffer *b,
					       void *message, uint32_t most)
{
	(void)b, (void)message, (void)most;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_STREAM)
#define PORT_VIA_STREAM PORT_VIA_ABSENT

struct port_stream {
	char absent;
};

KM_INLINE void port_stream_init(struct port_stream *s, uint32_t size,
				uint32_t count)
{
	(void)s, (void)size, (void)count;
	__builtin_trap();
}

KM_INLINE void port_stream_write(struct port_stream *s, const void *from,
				 uint32_t size)
{
	(void)s, (void)from, (void)size;
	__builtin_trap();
}

KM_INLINE uint32_t port_stream_read(struct port_stream *s, void *to,
				    uint32_t size)
{
	(void)s, (void)to, (void)size;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_MAILBOX)
#define PORT_VIA_MAILBOX PORT_VIA_ABSENT

struct port_mailbox {
	char absent;
};

KM_INLINE void port_mailbox_init(struct port_mailbox *m)
{
	(void)m;
	__builtin_trap();
}

KM_INLINE void port_mailbox_put(struct port_mailbox *m, const void *message,
				uint32_t size)
{
	(void)m, (void)message, (void)size;
	__builtin_trap();
}

KM_INLINE uint32_t port_mailbox_get(struct port_mailbox *m, void *message,
				    uint32_t size)
{
	(void)m, (void)message, (void)size;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_NOTIFICATION)
#define PORT_VIA_NOTIFICATION PORT_VIA_ABSENT

struct port_notification {
	char absent;
};

KM_INLINE void port_notification_own(struct port_notification *n)
{
	(void)n;
	__builtin_trap();
}

KM_INLINE void port_notification_give(struct port_notification *n)
{
	(void)n;
	__builtin_trap();
}

KM_INLINE uint32_t port_notification_take(struct port_notification *n)
{
	(void)n;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_POLL)
#define PORT_VIA_POLL PORT_VIA_ABSENT

struct port_poll {
	char absent;
};

KM_INLINE void port_poll_init(struct port_poll *p, uint32_t count)
{
	(void)p, (void)count;
	__builtin_trap();
}

KM_INLINE void port_poll_wait(struct port_poll *p)
{
	(void)p;
	__builtin_trap();
}

KM_INLINE uint32_t port_poll_take(struct port_poll *p)
{
	(void)p;
	__builtin_trap();
}

KM_INLINE void port_poll_give(struct port_poll *p, uint32_t i)
{
	(void)p, (void)i;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_TIMER)
#define PORT_VIA_TIMER PORT_VIA_ABSENT
#define PORT_TIMER_TAKES void
#define PORT_TIMER_SWITCHES 0

struct port_timer {
	char absent;
};

KM_INLINE void port_timer_init(struct port_timer *t,
			       void (*expired)(PORT_TIMER_TAKES))
{
	(void)t, (void)expired;
	__builtin_trap();
}

KM_INLINE void port_timer_start(struct port_timer *t)
{
	(void)t;
	__builtin_trap();
}

KM_INLINE void port_timer_stop(struct port_timer *t)
{
	(void)t;
	__builtin_trap();
}

KM_INLINE bool port_timer_active(struct port_timer *t)
{
	(void)t;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_TICK)
#define PORT_VIA_TICK PORT_VIA_ABSENT

KM_INLINE void port_tick(void)
{
	__builtin_trap();
}

KM_INLINE uint32_t port_tick_count(void)
{
	__builtin_trap();
}

KM_INLINE void port_sleep_tick(void)
{
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_WORK)
#define PORT_VIA_WORK PORT_VIA_ABSENT
#define PORT_WORK_TAKES void

struct port_work {
	char absent;
};

KM_INLINE void port_work_init(struct port_work *w,
			      void (*body)(PORT_WORK_TAKES))
{
	(void)w, (void)body;
	__builtin_trap();
}

KM_INLINE void port_work_submit(struct port_work *w)
{
	(void)w;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_SPINLOCK)
#define PORT_VIA_SPINLOCK PORT_VIA_ABSENT

struct port_spinlock {
	char absent;
};

KM_INLINE void port_spinlock_init(struct port_spinlock *l)
{
	(void)l;
	__builtin_trap();
}

KM_INLINE void port_spinlock_lock(struct port_spinlock *l)
{
	(void)l;
	__builtin_trap();
}

KM_INLINE void port_spinlock_unlock(struct port_spinlock *l)
{
	(void)l;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_SLAB)
#define PORT_VIA_SLAB PORT_VIA_ABSENT

struct port_slab {
	char absent;
};

KM_INLINE void port_slab_init(struct port_slab *s, uint32_t size,
			      uint32_t count)
{
	(void)s, (void)size, (void)count;
	__builtin_trap();
}

KM_INLINE void *port_slab_alloc(struct port_slab *s)
{
	(void)s;
	__builtin_trap();
}

KM_INLINE void port_slab_free(struct port_slab *s, void *block)
{
	(void)s, (void)block;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_PRIVATE_HEAP)
#define PORT_VIA_PRIVATE_HEAP PORT_VIA_ABSENT

struct port_heap {
	char absent;
};

KM_INLINE void port_heap_init(struct port_heap *h, uint32_t size)
{
	(void)h, (void)size;
	__builtin_trap();
}

KM_INLINE void *port_heap_alloc(struct port_heap *h, uint32_t size)
{
	(void)h, (void)size;
	__builtin_trap();
}

KM_INLINE void port_heap_free(struct port_heap *h, void *block)
{
	(void)h, (void)block;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_CONDVAR_TIMEOUT)
#define PORT_VIA_CONDVAR_TIMEOUT PORT_VIA_ABSENT

KM_INLINE bool port_cond_wait_timeout(struct port_cond *c,
				      struct port_mutex *m)
{
	(void)c, (void)m;
	__builtin_trap();
}
#endif

#if KM_ABSENT(KM_IPI)
#define PORT_VIA_IPI PORT_VIA_ABSENT
#define PORT_IPI_TAKES void

struct port_ipi {
	char absent;
};

KM_INLINE void port_ipi_init(struct port_ipi *i, void (*body)(PORT_IPI_TAKES))
{
	(void)i, (void)body;
	__builtin_trap();
}

KM_INLINE void port_ipi_send(struct port_ipi *i)
{
	(void)i;
	__builtin_trap();
}

KM_INLINE void port_ipi_wait(struct port_ipi *i)
{
	(void)i;
	__builtin_trap();
}
#endif

#endif
