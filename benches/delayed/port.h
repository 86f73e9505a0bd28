/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The port linux-user with a delay of known size in front of ten operations: a
 * change that is there to be found. How long the delays are is said when the
 * agent starts, so that one and the same program is the base, with delays of 0,
 * and the changed one.
 */
#ifndef DELAYED_H
#define DELAYED_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delays.h"

static inline __attribute__((always_inline)) int delay(enum delayed operation)
{
	for (uint32_t turns = delay_turns[operation]; turns; turns--)
		__asm__ volatile("" : "+r"(turns));
	return 0;
}

#define sched_yield() (delay(DELAYED_YIELD), sched_yield())
#define pthread_setschedparam(thread, policy, parameter) \
	(delay(DELAYED_START), pthread_setschedparam(thread, policy, parameter))
#define sigprocmask(how, set, before) \
	(delay(DELAYED_MASK), sigprocmask(how, set, before))
#define write(fd, bytes, n) (delay(DELAYED_WRITE), write(fd, bytes, n))
#define sendmsg(fd, message, flags) \
	(delay(DELAYED_SENDMSG), sendmsg(fd, message, flags))
#define syscall(number, ...) \
	((number) == SYS_getppid ? delay(DELAYED_GETPPID) : 0, \
	 syscall(number, ##__VA_ARGS__))

/* Other objects of the port are made of these, and are not to be delayed. */
#define port_sem_take undelayed_sem_take
#define port_mutex_lock undelayed_mutex_lock
#define port_cond_signal undelayed_cond_signal
#define port_events_set undelayed_events_set
#include_next "port.h"
#undef port_sem_take
#undef port_mutex_lock
#undef port_cond_signal
#undef port_events_set

static inline void port_sem_take(struct port_sem *s)
{
	delay(DELAYED_TAKE);
	undelayed_sem_take(s);
}

static inline void port_mutex_lock(struct port_mutex *m)
{
	delay(DELAYED_LOCK);
	undelayed_mutex_lock(m);
}

static inline void port_cond_signal(struct port_cond *c)
{
	delay(DELAYED_SIGNAL);
	undelayed_cond_signal(c);
}

static inline void port_events_set(struct port_events *e, uint32_t bits)
{
	delay(DELAYED_SET);
	undelayed_events_set(e, bits);
}

#endif
