/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Benchmarks of what Linux has in kernel mode alone. Their bodies and setups are
 * compiled for the module only; its user side, which runs the cases, has their
 * entries, with a stand-in for each.
 */
#ifndef KM_LINUX_KERNEL_H
#define KM_LINUX_KERNEL_H

#include "kernmark.h"

extern const struct km_bench km_wake[], km_spinlock[], km_rwsem[],
	km_completion[], km_waitqueue[], km_kfifo[], km_workqueue[],
	km_kthread[], km_rcu[], km_page[], km_vmalloc[], km_irq_work[],
	km_hrtimer[], km_cr3[];

#define KM_LINUX_KERNEL km_wake, km_spinlock, km_rwsem, km_completion, \
	km_waitqueue, km_kfifo, km_workqueue, km_kthread, km_rcu, km_page, \
	km_vmalloc, km_irq_work, km_hrtimer, km_cr3

#ifdef __KERNEL__
#define IN_KERNEL(function) function
#define SETUP_IN_KERNEL(function) function
#define TEARDOWN_IN_KERNEL(function) function
#else
/* The module runs what these stand for. */
void kernel_only(struct km_run *r);
const char *kernel_only_setup(struct km_run *r);
#define IN_KERNEL(function) kernel_only
#define SETUP_IN_KERNEL(function) kernel_only_setup
#define TEARDOWN_IN_KERNEL(function) kernel_only
#endif

#endif
