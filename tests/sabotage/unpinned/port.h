/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * No thread is pinned: calls that should pin one do nothing and report success.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <pthread.h>
#include <sched.h>

static inline int sabotage_ignored(const void *wish)
{
	(void)wish;
	return 0;
}

#define sched_setaffinity(thread, size, set) ((void)(thread), sabotage_ignored(set))
#define pthread_setaffinity_np(thread, size, set) \
	((void)(thread), sabotage_ignored(set))

#include_next "port.h"

#endif
