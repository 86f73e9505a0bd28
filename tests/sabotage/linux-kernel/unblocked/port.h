/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Nothing blocks on a semaphore or a completion: neither a kernel thread, nor
 * the kernel on behalf of a user thread.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#ifdef __KERNEL__
#include <linux/completion.h>
#include <linux/semaphore.h>

static inline int sabotage_returned(bool taken)
{
	return 0;
}

#define down_killable(s) sabotage_returned(down_trylock(s))
#define wait_for_completion_killable(c) \
	sabotage_returned(try_wait_for_completion(c))
#endif

#include_next "port.h"

#endif
