/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Linux, kernel mode and user mode: one kernel object, used by threads of the
 * kernel, which call its functions, and by threads of a process, which reach
 * the same functions by an ioctl of the module. The benchmarks are compiled
 * twice, for the module (kernel.h) and for the process (user.h). What they keep
 * in variables lies at the same place of one section in both, and its pages
 * are shared.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __x86_64__
#error "this port knows x86-64 only"
#endif

typedef uint64_t port_ticks;

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_MUTEX | \
	KM_CONDVAR | KM_QUEUE | KM_EVENTS | KM_STACK | KM_HEAP | KM_IRQ | \
	KM_USER | KM_KERNEL)
#define PORT_IDIOMS (KM_CONDVAR | KM_QUEUE | KM_STACK | KM_EVENTS)
#define PORT_THREADS 65
#define PORT_STAMPS 4096
/* Locks that one thread holds at a time: lockdep has room for 48. */
#define PORT_OBJECTS 32

#define PORT_CLOCK "tsc"

/*
 * Instructions before it have finished and those after it have not begun, so
 * that a stamp divides what it stands between.
 */
static inline port_ticks port_now(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high) : : "memory");
	return (port_ticks)high << 32 | low;
}

/*
 * A part's km_run is there twice, for the kernel and, behind it, for the user
 * side: they differ in what address the samples have. A sample ends in both.
 */
#ifdef __KERNEL__
#define PORT_RECORDED(r) ((r)[1].row += (r)->stamps, (r)[1].left--)
#else
#define PORT_RECORDED(r) ((r)[-1].row += (r)->stamps, (r)[-1].left--)
#endif

/*
 * Room for the kernel's own objects, which the user side cannot know; module.c
 * checks that they fit. With lockdep they are twice as large.
 */
#define PORT_ROOM(bytes) uint64_t room[(bytes) / 8]

#define PORT_VIA_THREAD "none: a kernel thread is made by kthreadd, not by " \
	"its creator; kthread.* measures that"
#define PORT_VIA_YIELD "kernel: yield; user: sched_yield"
#define PORT_VIA_SEMAPHORE "struct semaphore: up, down_killable" PORT_VIA_MODES
#define PORT_VIA_MUTEX "struct mutex: mutex_lock_killable, mutex_unlock; where " \
	"the name says inherit, struct rt_mutex: rt_mutex_lock_interruptible, " \
	"rt_mutex_unlock" PORT_VIA_MODES
#define PORT_VIA_CONDVAR "a wait queue: prepare_to_wait_exclusive, unlock, " \
	"schedule, finish_wait, lock; wake_up, wake_up_all" PORT_VIA_WAITERS
#define PORT_VIA_QUEUE "struct list_head under a spin lock, and a wait queue: " \
	"wake_up, wait_event_killable_exclusive" PORT_VIA_WAITERS
#define PORT_VIA_STACK "an array under a spin lock, and a wait queue: " \
	"wake_up, wait_event_killable_exclusive" PORT_VIA_WAITERS
#define PORT_VIA_EVENTS "atomic_t and a wait queue: wake_up_all, " \
	"wait_event_killable" PORT_VIA_WAITERS
#define PORT_VIA_HEAP "kmalloc(GFP_KERNEL), kfree"
#define PORT_VIA_IRQ "kernel: irq_work_queue, an interrupt that the CPU sends " \
	"itself; user: a hrtimer, while the thread reads the clock; the " \
	"handler calls complete, the waiter wait_for_completion_killable"
#define PORT_VIA_WAITERS "; with PREEMPT_RT a simple wait queue, with the calls " \
	"of linux/swait.h" PORT_VIA_MODES
#define PORT_VIA_MODES "; behind what wakes, cond_resched in a kernel thread; " \
	"a user thread calls them by ioctl"

enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct km_run;

struct port_thread {
	PORT_ROOM(8);
};

struct port_irq {
	volatile port_ticks at;
	volatile uint32_t count;	/* interrupts that came, */
	volatile uint32_t taken;	/* and those that a wait returned */
	PORT_ROOM(192);
};

struct port_sem {
	PORT_ROOM(128);
};

struct port_mutex {
	uint32_t inherits;
	PORT_ROOM(192);
};

struct port_cond {
	PORT_ROOM(128);
};

/* What a queue links is the kernel's. */
struct port_item {
	PORT_ROOM(16);
	void *data;
};

struct port_queue {
	PORT_ROOM(192);
};

struct port_stack {
	PORT_ROOM(192);
};

struct port_events {
	PORT_ROOM(192);
};

#ifdef __KERNEL__
#include "kernel.h"
#else
#include "user.h"
#endif

#endif
