/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Some of what one thread or process does for another is lost: every seventh
 * call that wakes, signals, sends, yields, ends or waits for another does
 * nothing and reports success.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What carries the records is spared. */
#include "output.h"

/* Shared with the processes of a case, which may make few calls each. */
static unsigned int *sabotage_calls;

static __attribute__((constructor)) void sabotage_share(void)
{
	sabotage_calls = mmap(NULL, sizeof(*sabotage_calls),
			      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
}

static inline bool sabotage_lost(void)
{
	return __atomic_add_fetch(sabotage_calls, 1, __ATOMIC_RELAXED) % 7 == 0;
}

#define sem_post(s) (sabotage_lost() ? 0 : sem_post(s))
#define pthread_cond_signal(c) (sabotage_lost() ? 0 : pthread_cond_signal(c))
#define pthread_cond_broadcast(c) \
	(sabotage_lost() ? 0 : pthread_cond_broadcast(c))
#define pthread_mutex_unlock(m) (sabotage_lost() ? 0 : pthread_mutex_unlock(m))
#define pthread_setschedparam(thread, policy, parameter) \
	(sabotage_lost() ? 0 : pthread_setschedparam(thread, policy, parameter))
#define sched_yield() (sabotage_lost() ? 0 : sched_yield())

/* The kernel reports that it took all n bytes. */
#define write(fd, bytes, n) \
	(sabotage_lost() ? (ssize_t)(n) : write(fd, bytes, n))
#define send(fd, bytes, n, flags) \
	(sabotage_lost() ? (ssize_t)(n) : send(fd, bytes, n, flags))
#define sendmsg(fd, message, flags) \
	(sabotage_lost() ? (ssize_t)(message)->msg_iov->iov_len : \
			   sendmsg(fd, message, flags))
#define connect(fd, address, n) (sabotage_lost() ? 0 : connect(fd, address, n))

/*
 * The port itself uses such calls to gather its threads and open the gate of
 * every case. If those were lost, no benchmark would be tested.
 */
#define sabotage_lost_here() (strcmp(__FILE__, "port.c") && sabotage_lost())

#define pthread_join(thread, result) \
	(sabotage_lost_here() ? 0 : pthread_join(thread, result))
#define posix_spawn(child, path, actions, attributes, arguments, environment) \
	(sabotage_lost_here() ? 0 : posix_spawn(child, path, actions, \
						attributes, arguments, environment))
/* The child of a vfork then reports that it could not. */
#define execve(path, arguments, environment) \
	(sabotage_lost_here() ? 0 : execve(path, arguments, environment))

/* The child does end, but late: otherwise it would outlast the agent. */
#define _exit(status) \
	(sabotage_lost_here() ? (void)sleep(5) : (void)0, _exit(status))

/* Whether this call wakes or signals a thread, or submits work. */
static inline bool sabotage_reaches(long number, long operation)
{
	return (number == SYS_futex &&
		(operation & FUTEX_CMD_MASK) == FUTEX_WAKE) ||
	       number == SYS_tgkill || number == SYS_rt_tgsigqueueinfo ||
	       number == SYS_io_uring_enter;
}

/* The return value of a fully successful call. */
static inline long sabotage_all(long number, long most)
{
	return number == SYS_futex || number == SYS_io_uring_enter ? most : 0;
}

#define SABOTAGE_NUMBER(number, ...) ((long)(number))
#define SABOTAGE_SECOND(number, first, second, ...) ((long)(second))
#define SABOTAGE_THIRD(number, first, second, third, ...) ((long)(third))

#define syscall(...) \
	(sabotage_reaches(SABOTAGE_NUMBER(__VA_ARGS__, 0), \
			  SABOTAGE_SECOND(__VA_ARGS__, 0, 0, 0)) && \
	 sabotage_lost_here() ? \
	 sabotage_all(SABOTAGE_NUMBER(__VA_ARGS__, 0), \
		      SABOTAGE_THIRD(__VA_ARGS__, 0, 0, 0, 0)) : \
	 syscall(__VA_ARGS__))

#include_next "port.h"

#endif
