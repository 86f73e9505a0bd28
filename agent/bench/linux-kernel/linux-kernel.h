/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Benchmarks that exist only in Linux's kernel mode. Their bodies and setups
 * are compiled only for the module. Its user side runs the cases, so it has the
 * same entries, with stand-ins for the functions.
 */
#ifndef KM_LINUX_KERNEL_H
#define KM_LINUX_KERNEL_H

#include "kernmark.h"

#define KM_LINUX_KERNEL(each) \
	each(wake) each(spinlock) each(rwsem) each(completion) \
	each(waitqueue) each(kfifo) each(workqueue) each(kthread) each(rcu) \
	each(page) each(vmalloc) each(irq_work) each(hrtimer) each(cr3) \
	each(ttbr0)

KM_LINUX_KERNEL(KM_DECLARED)

#ifdef __KERNEL__
#define IN_KERNEL(function) function
#define SETUP_IN_KERNEL(function) function
#define TEARDOWN_IN_KERNEL(function) function
#else
/* Stand-ins: the module runs the functions they replace. */
void kernel_only(struct km_run *r);
const char *kernel_only_setup(struct km_run *r);
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
