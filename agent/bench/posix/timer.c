// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "posix.h"

#define TIMERS 64
#define NS_PER_S 1000000000

static int timer_fd[TIMERS];
static timer_t timer[TIMERS];
static uint32_t timers;
static int poller = -1;

static void close_all(struct km_run *r)
{
	(void)r;
	while (timers)
		close(timer_fd[--timers]);
	if (poller >= 0)
		close(poller);
	poller = -1;
}

static const char *open_fds(uint32_t n)
{
	const char *text;

	while (timers < n) {
		timer_fd[timers] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (timer_fd[timers] < 0) {
			text = why("timerfd_create");
			close_all(NULL);
			return text;
		}
		timers++;
	}
	return NULL;
}

static const char *one_fd(struct km_run *r)
{
	(void)r;
	return open_fds(1);
}

static const char *all_fds(struct km_run *r)
{
	(void)r;
	return open_fds(TIMERS);
}

static const char *empty_poller(struct km_run *r)
{
	(void)r;
	poller = epoll_create1(EPOLL_CLOEXEC);
	return poller < 0 ? why("epoll_create1") : NULL;
}

static void delete_timers(struct km_run *r)
{
	(void)r;
	while (timers)
		timer_delete(timer[--timers]);
}

/* Each timer expires hours later, so the signal is never sent. */
static const char *create_timers(struct km_run *r)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	const char *text;

	while (timers < TIMERS) {
		if (timer_create(CLOCK_MONOTONIC, &e, &timer[timers])) {
			text = why("timer_create");
			delete_timers(r);
			return text;
		}
		timers++;
	}
	return NULL;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};
}

/* One instant, on the port's clock and on the kernel's. */
struct instant {
	port_ticks ticks;
	uint64_t ns;
};

static struct instant now(void)
{
	struct timespec t;
	port_ticks before = port_now(), after;

	clock_gettime(CLOCK_MONOTONIC, &t);
	after = port_now();
	return (struct instant){
		.ticks = before + (after - before) / 2,
		.ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec,
	};
}

/*
 * Converts a deadline between two instants to ticks. Both clocks are read
 * before and after it. So neither the calibrated frequency nor a correction of
 * the kernel's clock matters: the error is half of a reading of both clocks,
 * tens of nanoseconds. The deadline is at most a millisecond away, so the
 * product fits into 64 bits.
 */
static port_ticks ticks_at(uint64_t deadline, const struct instant *from,
			   const struct instant *to)
{
	return from->ticks + (to->ticks - from->ticks) *
			     (deadline - from->ns) / (to->ns - from->ns);
}

/*
 * Sleeps past a deadline once per sample. The first stamp is the deadline. For
 * a relative sleep, that is the time of the reading plus the sleep time.
 */
KM_INLINE void oversleep(struct km_run *r,
			     bool (*sleep_until)(uint64_t deadline, uint64_t ns))
{
	uint64_t ns = r->argument * UINT64_C(1000);

	for_each_sample(r) {
		struct instant before = now(), after;
		uint64_t deadline = before.ns + ns;
		bool right = sleep_until(deadline, ns);

		stamp(r, 1);
		after = now();
		check(r, right && after.ns >= deadline);
		r->row[0] = ticks_at(deadline, &before, &after);
		record(r);
	}
}

KM_INLINE bool by_clock_nanosleep(uint64_t deadline, uint64_t ns)
{
	const struct timespec t = timespec_of(deadline);

	(void)ns;
	return !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

KM_INLINE bool by_nanosleep(uint64_t deadline, uint64_t ns)
{
	const struct timespec t = timespec_of(ns);

	(void)deadline;
	return !nanosleep(&t, NULL);
}

KM_INLINE bool by_timerfd(uint64_t deadline, uint64_t ns)
{
	const struct itimerspec t = { .it_value = timespec_of(deadline) };
	uint64_t times = 0;

	(void)ns;
	return !timerfd_settime(timer_fd[0], TFD_TIMER_ABSTIME, &t, NULL) &&
	       read(timer_fd[0], &times, sizeof(times)) == sizeof(times) &&
	       times == 1;
}

KM_INLINE bool by_ppoll(uint64_t deadline, uint64_t ns)
{
	const struct timespec t = timespec_of(ns);

	(void)deadline;
	return !ppoll(NULL, 0, &t, NULL);
}

KM_INLINE bool by_epoll(uint64_t deadline, uint64_t ns)
{
	struct epoll_event e;

	(void)deadline;
	return !epoll_wait(poller, &e, 1, (int)(ns / 1000000));
}

static void clock_nanosleep_over(struct km_run *r)
{
	oversleep(r, by_clock_nanosleep);
}

static void nanosleep_over(struct km_run *r)
{
	oversleep(r, by_nanosleep);
}

static void timerfd_over(struct km_run *r)
{
	oversleep(r, by_timerfd);
}

static void ppoll_over(struct km_run *r)
{
	oversleep(r, by_ppoll);
}

static void epoll_over(struct km_run *r)
{
	oversleep(r, by_epoll);
}

/*
 * An hour ahead: later than any other timer, so no clock hardware is
 * programmed.
 */
static const struct itimerspec hour = { .it_value.tv_sec = 3600 };
static const struct itimerspec never;

KM_INLINE void arm_disarm(struct km_run *r,
			      int (*set)(uint32_t, const struct itimerspec *),
			      int (*get)(uint32_t, struct itimerspec *))
{
	for_each_sample(r) {
		struct itimerspec armed, disarmed;
		uint32_t i = 0;
		int wrong = 0;

		stamp(r, 0);
		for_each_repeat(r)
			wrong |= set(i++, &hour);
		stamp(r, 1);
		wrong |= get(i - 1, &armed);
		i = 0;
		stamp(r, 2);
		for_each_repeat(r)
			wrong |= set(i++, &never);
		stamp(r, 3);
		wrong |= get(i - 1, &disarmed);
		check(r, !wrong && armed.it_value.tv_sec &&
			 !disarmed.it_value.tv_sec);
		record(r);
	}
}

KM_INLINE int set_fd(uint32_t i, const struct itimerspec *t)
{
	return timerfd_settime(timer_fd[i], 0, t, NULL);
}

KM_INLINE int get_fd(uint32_t i, struct itimerspec *t)
{
	return timerfd_gettime(timer_fd[i], t);
}

static void arm_fds(struct km_run *r)
{
	arm_disarm(r, set_fd, get_fd);
}

KM_INLINE int set_timer(uint32_t i, const struct itimerspec *t)
{
	return timer_settime(timer[i], 0, t, NULL);
}

KM_INLINE int get_timer(uint32_t i, struct itimerspec *t)
{
	return timer_gettime(timer[i], t);
}

static void arm_timers(struct km_run *r)
{
	arm_disarm(r, set_timer, get_timer);
}

static const uint32_t shortest[] = { 50, 0 };
static const uint32_t millisecond[] = { 1000, 0 };

/*
 * A sleep switches once, to whatever else the CPU has to do. The shortest sleep
 * may end before the thread sleeps, for example on a slow processor. There only
 * the results prove that the deadline has passed.
 */
#define OVERSHOOT .between = "from the deadline, converted with readings of both " \
		"clocks before and after the sleep, to the return of the call"
#define OVERSHOOT_RELATIVE .between = "from the end of the interval, counted " \
		"from a " \
		"reading of the clock just before the call, to its return: " \
		"includes part of the call"
#define ABOUT_SLEEP .object = "sleep", \
	.about = "How much later than requested a sleep of N microseconds ends."

KM_TABLE(timer) = {
	{
		ABOUT_SLEEP,
		.via = "clock_nanosleep, TIMER_ABSTIME",
		.argument = shortest,
		.role = { { clock_nanosleep_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.clock_nanosleep", .switches_most = 1, OVERSHOOT } },
	},
	{
		ABOUT_SLEEP,
		.via = "clock_nanosleep, TIMER_ABSTIME",
		.argument = millisecond,
		.role = { { clock_nanosleep_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.clock_nanosleep", .switches = 1, OVERSHOOT } },
	},
	{
		ABOUT_SLEEP,
		.via = "nanosleep",
		.argument = shortest,
		.role = { { nanosleep_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.nanosleep", .switches_most = 1, OVERSHOOT_RELATIVE } },
	},
	{
		ABOUT_SLEEP,
		.via = "nanosleep",
		.argument = millisecond,
		.role = { { nanosleep_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.nanosleep", .switches = 1, OVERSHOOT_RELATIVE } },
	},
	{
		ABOUT_SLEEP,
		.via = "timerfd_settime with TFD_TIMER_ABSTIME, read",
		.argument = shortest,
		.setup = one_fd, .teardown = close_all,
		.role = { { timerfd_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.timerfd", .switches_most = 1, OVERSHOOT } },
	},
	{
		ABOUT_SLEEP,
		.via = "timerfd_settime with TFD_TIMER_ABSTIME, read",
		.argument = millisecond,
		.setup = one_fd, .teardown = close_all,
		.role = { { timerfd_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.timerfd", .switches = 1, OVERSHOOT } },
	},
	{
		ABOUT_SLEEP,
		.via = "ppoll without descriptors",
		.argument = shortest,
		.role = { { ppoll_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.ppoll", .switches_most = 1, OVERSHOOT_RELATIVE } },
	},
	{
		ABOUT_SLEEP,
		.via = "ppoll without descriptors",
		.argument = millisecond,
		.role = { { ppoll_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.ppoll", .switches = 1, OVERSHOOT_RELATIVE } },
	},
	{
		ABOUT_SLEEP,
		.via = "epoll_wait on an empty set; its timeout is in milliseconds",
		.argument = millisecond,
		.setup = empty_poller, .teardown = close_all,
		.role = { { epoll_over, KM_LOW, 0 } },
		.span = { { .name = "overshoot.epoll_wait", .switches = 1, OVERSHOOT_RELATIVE } },
	},
	{
		.object = "timer",
		.about = "Arm a timer that will not expire, and disarm it.",
		.via = "timerfd_settime",
		.batch = TIMERS,
		.setup = all_fds, .teardown = close_all,
		.role = { { arm_fds, KM_LOW, 0 } },
		.span = {
			{ .name = "timerfd.arm", .between = "one call" },
			{
				.name = "timerfd.disarm", .begin = 2, .end = 3,
				.between = "one call",
			},
		},
	},
	{
		.object = "timer",
		.about = "Arm a timer that will not expire, and disarm it.",
		.via = "timer_settime of a timer that sends a signal",
		.batch = TIMERS,
		.setup = create_timers, .teardown = delete_timers,
		.role = { { arm_timers, KM_LOW, 0 } },
		.span = {
			{ .name = "posix.arm", .between = "one call" },
			{
				.name = "posix.disarm", .begin = 2, .end = 3,
				.between = "one call",
			},
		},
	},
	{ 0 },
};
