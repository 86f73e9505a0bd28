/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* No thread blocks: calls that should wait return at once. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/timerfd.h>

static inline int sabotage_returned(const void *cond, const void *mutex)
{
	(void)cond, (void)mutex;
	return 0;
}

#define sem_wait(s) sem_trywait(s)
#define pthread_mutex_lock(m) pthread_mutex_trylock(m)
#define pthread_cond_wait(c, m) sabotage_returned(c, m)
#define timerfd_create(clock, flags) \
	timerfd_create(clock, (flags) | TFD_NONBLOCK)

#include_next "port.h"

#endif
