/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Some of what one thread does for another is lost: every seventh call of a
 * benchmark that gives, puts, writes, pushes, sets, signals, unlocks, frees,
 * starts, submits, resumes, yields or interrupts does nothing.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <zephyr/irq_offload.h>
#include <zephyr/kernel.h>

#include "line.h"

static inline bool sabotage_lost(void)
{
	static uint32_t calls;

	return ++calls % 7 == 0;
}

#define SABOTAGE_LOSE(call) (sabotage_lost() ? 0 : ((call), 0))

/* Tells the sender that all of it was written. */
#define SABOTAGE_WRITE(call, size) (sabotage_lost() ? (int)(size) : (call))

/* The runner's own calls come after this header. */
#pragma push_macro("k_fifo_put")
#pragma push_macro("k_lifo_put")
#pragma push_macro("k_fifo_alloc_put")
#pragma push_macro("k_lifo_alloc_put")
#undef k_fifo_put
#undef k_lifo_put
#undef k_fifo_alloc_put
#undef k_lifo_alloc_put
#define k_fifo_put(q, item) SABOTAGE_LOSE(k_queue_append(&(q)->_queue, item))
#define k_lifo_put(q, item) SABOTAGE_LOSE(k_queue_prepend(&(q)->_queue, item))
#define k_fifo_alloc_put(q, item) \
	SABOTAGE_LOSE(k_queue_alloc_append(&(q)->_queue, item))
#define k_lifo_alloc_put(q, item) \
	SABOTAGE_LOSE(k_queue_alloc_prepend(&(q)->_queue, item))
/* A name is not expanded again within its own expansion. */
#define k_sem_give(s) SABOTAGE_LOSE(k_sem_give(s))
#define k_stack_push(s, word) SABOTAGE_LOSE(k_stack_push(s, word))
#define k_event_post(e, bits) SABOTAGE_LOSE(k_event_post(e, bits))
#define k_event_set(e, bits) SABOTAGE_LOSE(k_event_set(e, bits))
#define k_condvar_signal(c) SABOTAGE_LOSE(k_condvar_signal(c))
#define k_condvar_broadcast(c) SABOTAGE_LOSE(k_condvar_broadcast(c))
#define k_mutex_unlock(m) SABOTAGE_LOSE(k_mutex_unlock(m))
#define k_thread_resume(t) SABOTAGE_LOSE(k_thread_resume(t))
#define k_yield() SABOTAGE_LOSE(k_yield())
#define irq_offload(handler, argument) \
	SABOTAGE_LOSE(irq_offload(handler, argument))
#define k_msgq_put(q, message, wait) SABOTAGE_LOSE(k_msgq_put(q, message, wait))
#define k_pipe_write(p, from, size, wait) \
	SABOTAGE_WRITE(k_pipe_write(p, from, size, wait), size)
#define k_mbox_put(m, message, wait) SABOTAGE_LOSE(k_mbox_put(m, message, wait))
#define k_timer_start(t, after, period) \
	SABOTAGE_LOSE(k_timer_start(t, after, period))
#define k_work_submit(w) SABOTAGE_LOSE(k_work_submit(w))
#define k_mem_slab_free(s, block) SABOTAGE_LOSE(k_mem_slab_free(s, block))
#define k_heap_free(h, block) SABOTAGE_LOSE(k_heap_free(h, block))
#define line_raise() SABOTAGE_LOSE(line_raise())
#include_next "port.h"
#undef k_sem_give
#undef k_stack_push
#undef k_event_post
#undef k_event_set
#undef k_condvar_signal
#undef k_condvar_broadcast
#undef k_mutex_unlock
#undef k_thread_resume
#undef k_yield
#undef irq_offload
#undef k_msgq_put
#undef k_pipe_write
#undef k_mbox_put
#undef k_timer_start
#undef k_work_submit
#undef k_mem_slab_free
#undef k_heap_free
#undef line_raise
#pragma pop_macro("k_fifo_put")
#pragma pop_macro("k_lifo_put")
#pragma pop_macro("k_fifo_alloc_put")
#pragma pop_macro("k_lifo_alloc_put")

#endif
