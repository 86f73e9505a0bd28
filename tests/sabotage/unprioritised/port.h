/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * No thread has a priority: calls that should set one do nothing and report
 * success.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <pthread.h>
#include <sched.h>

static inline int sabotage_ignored(int policy, const void *parameter)
{
	(void)policy, (void)parameter;
	return 0;
}

#define sched_setscheduler(thread, policy, parameter) \
	sabotage_ignored(policy, parameter)
#define pthread_attr_setschedpolicy(attr, policy) sabotage_ignored(policy, attr)
#define pthread_attr_setschedparam(attr, parameter) \
	sabotage_ignored(0, parameter)
#define pthread_setschedparam(thread, policy, parameter) \
	sabotage_ignored((thread) ? policy : 0, parameter)

#include_next "port.h"

#endif
