/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * No thread has a priority: calls that should set one do nothing and report
 * success.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int sabotage_ignored(int policy, const void *parameter)
{
	(void)policy, (void)parameter;
	return 0;
}

#define syscall(number, ...) \
	((number) == SYS_sched_setscheduler ? 0 : syscall(number, ##__VA_ARGS__))
#define pthread_attr_setschedpolicy(attr, policy) sabotage_ignored(policy, attr)
#define pthread_attr_setschedparam(attr, parameter) \
	sabotage_ignored(0, parameter)
#define pthread_setschedparam(thread, policy, parameter) \
	sabotage_ignored((thread) ? policy : 0, parameter)

#include_next "port.h"

#endif
