/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All threads of a benchmark have the same priority; only the runner and its
 * helper are above them.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <zephyr/irq_offload.h>
#include <zephyr/kernel.h>

/* The port's priorities of KM_HIGH and KM_LOW. */
static inline int sabotage_level(int level)
{
	return level == K_PRIO_PREEMPT(7) ? K_PRIO_PREEMPT(8) : level;
}

static inline k_tid_t sabotage_create(struct k_thread *thread,
				      k_thread_stack_t *stack, size_t size,
				      k_thread_entry_t body, void *one,
				      void *two, void *three, int level,
				      uint32_t options, k_timeout_t delay)
{
	return k_thread_create(thread, stack, size, body, one, two, three,
			       sabotage_level(level), options, delay);
}

static inline void sabotage_set(k_tid_t thread, int level)
{
	k_thread_priority_set(thread, sabotage_level(level));
}

#define k_thread_create sabotage_create
#define k_thread_priority_set sabotage_set
#include_next "port.h"

#endif
