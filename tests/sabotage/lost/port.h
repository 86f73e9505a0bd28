/*
 * A wake-up is lost now and then: every seventh call that should wake a thread
 * does nothing and says that it did.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

static inline bool sabotage_lost(void)
{
	static unsigned int calls;

	return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 7 == 0;
}

#define sem_post(s) (sabotage_lost() ? 0 : sem_post(s))
#define pthread_cond_signal(c) (sabotage_lost() ? 0 : pthread_cond_signal(c))
#define pthread_cond_broadcast(c) \
	(sabotage_lost() ? 0 : pthread_cond_broadcast(c))
#define pthread_mutex_unlock(m) (sabotage_lost() ? 0 : pthread_mutex_unlock(m))
#define pthread_setschedparam(thread, policy, parameter) \
	(sabotage_lost() ? 0 : pthread_setschedparam(thread, policy, parameter))

#include_next "port.h"

#endif
