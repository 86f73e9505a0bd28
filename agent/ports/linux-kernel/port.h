/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Linux in kernel mode and user mode. Kernel threads and the threads of a
 * process use the same kernel objects. Kernel threads call the kernel's
 * functions. User threads reach the same functions through an ioctl of the
 * module. The benchmarks are compiled twice, for the module (kernel.h) and for
 * the process (user.h). Their variables are at the same place of one section in
 * both, whose pages are shared.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t port_ticks;

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_MUTEX | \
	KM_CONDVAR | KM_QUEUE | KM_EVENTS | KM_STACK | KM_HEAP | KM_IRQ | \
	KM_HANDLER | KM_IRQ_LOCK | KM_USER | KM_KERNEL)
#define PORT_IDIOMS (KM_CONDVAR | KM_QUEUE | KM_STACK | KM_EVENTS)
#define PORT_THREADS 65
#define PORT_STAMPS 4096
/* Locks that one thread holds at the same time: lockdep has room for 48. */
#define PORT_OBJECTS 32

/*
 * The CPU's counter. Earlier instructions have finished and later ones have not
 * started, so a stamp separates what comes before it from what comes after.
 * PORT_EMULATED_HZ is its rate in an emulator that counts instructions. A
 * benchmark of another architecture's register is skipped.
 */
#if defined(__x86_64__)
#define PORT_CLOCK "tsc"
#define PORT_EMULATED_HZ 1000000000
#define PORT_FOREIGN "AArch64"
#define PORT_FOREIGN_REGISTER "ttbr0"
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
#define PORT_FOREIGN "x86-64"
#define PORT_FOREIGN_REGISTER "cr3"
KM_INLINE port_ticks port_now(void)
{
	port_ticks t;

	__asm__ volatile("isb\n\t" KM_MARK(".stamps") "mrs %0, cntvct_el0\n\tisb"
			 : "=r"(t) : : "memory");
	return t;
}
#else
#error "this port supports x86-64 and AArch64"
#endif

/*
 * A part has two km_run, one for the kernel and, right after it, one for the
 * user side. They differ in the addresses of the samples. A sample ends in
 * both.
 */
#ifdef __KERNEL__
#define PORT_RECORDED(r) ((r)[1].row += (r)->stamps, (r)[1].left--)
#else
#define PORT_RECORDED(r) ((r)[-1].row += (r)->stamps, (r)[-1].left--)
#endif

/*
 * Room for the kernel's own objects, whose size the user side cannot know.
 * module.c checks that they fit. With lockdep they are twice as large.
 */
#define PORT_ROOM(bytes) uint64_t room[(bytes) / 8]

#define PORT_VIA_THREAD "none: kthreadd creates kernel threads, not their " \
	"creator; kthread.* measures that"
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
	"itself; user: an hrtimer, while the thread reads the clock; the " \
	"handler calls complete, the waiter wait_for_completion_killable"
#define PORT_VIA_HANDLER "irq_work_queue, an interrupt that the CPU sends itself"
#define PORT_VIA_IRQ_LOCK "local_irq_save, local_irq_restore"
#define PORT_VIA_WAITERS "; with PREEMPT_RT a simple wait queue, with the calls " \
	"of linux/swait.h" PORT_VIA_MODES
#define PORT_VIA_MODES "; after a wake-up, a kernel thread calls cond_resched; " \
	"a user thread calls them by ioctl"

enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct km_run;

struct port_thread {
	PORT_ROOM(8);
};

struct port_irq {
	volatile port_ticks at;
	volatile uint32_t count;	/* interrupts so far */
	volatile uint32_t taken;	/* and those that a wait has returned */
	PORT_ROOM(192);
};

struct port_handler {
	PORT_ROOM(64);
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

/* A queue links its items through the kernel's part. */
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

/* Maximum number of bytes that a system call copies. */
#define PORT_CROSSING_BYTES 65536

/* When the module's function in a file operation began and ended. */
struct port_crossing {
	port_ticks in, out;
};

extern volatile struct port_crossing port_crossing;

#ifdef __KERNEL__
#include "kernel.h"
#else
#include "user.h"
#endif

#endif
