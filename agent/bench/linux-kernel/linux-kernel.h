/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Benchmarks that exist only with the kernel module. The bodies and setups of
 * kernel threads are compiled only for the module, the bodies of user threads
 * only for its user side. Both have the same entries, with stand-ins for the
 * functions of the other side.
 */
#ifndef KM_LINUX_KERNEL_H
#define KM_LINUX_KERNEL_H

#include "kernmark.h"

#define KM_LINUX_KERNEL(each) \
	each(crossing) each(copy) each(wake) each(spinlock) each(rwsem) each(completion) \
	each(waitqueue) each(kfifo) each(workqueue) each(kthread) each(rcu) \
	each(page) each(vmalloc) each(irq_work) each(hrtimer) each(cr3) \
	each(ttbr0)

KM_LINUX_KERNEL(KM_DECLARED)

#ifdef __KERNEL__
void user_only(struct km_run *r);
#define IN_USER(function) user_only
#define IN_KERNEL(function) function
#define SETUP_IN_KERNEL(function) function
#define TEARDOWN_IN_KERNEL(function) function
#else
/* Stand-ins: the module runs the functions they replace. */
void kernel_only(struct km_run *r);
const char *kernel_only_setup(struct km_run *r);
#define IN_USER(function) function
#define IN_KERNEL(function) kernel_only
#define SETUP_IN_KERNEL(function) kernel_only_setup
#define TEARDOWN_IN_KERNEL(function) kernel_only
#endif

/* Bodies that one architecture has. port_lacks() skips them on the others. */
#if defined(__x86_64__) || !defined(__KERNEL__)
#define IN_X86_64_KERNEL(function) IN_KERNEL(function)
#else
#define IN_X86_64_KERNEL(function) NULL
#endif
#if defined(__aarch64__) || !defined(__KERNEL__)
#define IN_AARCH64_KERNEL(function) IN_KERNEL(function)
#else
#define IN_AARCH64_KERNEL(function) NULL
#endif

#endif
