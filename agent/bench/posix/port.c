// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "descriptors.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#define EVENTS_MAX 1024
/* Open descriptors besides the events. */
#define FILES_EXTRA 32

static int make(int *fd)
{
	fd[0] = epoll_create1(0);
	return fd[0] < 0 ? -1 : 0;
}

static void create_close(struct km_run *r)
{
	make_and_close(r, make, 1);
}

/* A port, and the events that it or poll watches. */
static int watcher;
static struct pollfd events[EVENTS_MAX];
static uint32_t made;
static struct rlimit files;

static void close_events(void)
{
	while (made)
		close(events[--made].fd);
	close(watcher);
	setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * Creates the port and n signalled events, which the port does not watch yet.
 */
static const char *open_events(uint32_t n)
{
	struct rlimit wanted;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return "getrlimit failed";
	wanted = files;
	if (wanted.rlim_cur < n + FILES_EXTRA)
		wanted.rlim_cur = wanted.rlim_max;
	if (wanted.rlim_cur < n + FILES_EXTRA || setrlimit(RLIMIT_NOFILE, &wanted))
		return "needs 1056 descriptors; allow this shell to open them "
		       "with: sudo prlimit --pid $$ --nofile=1056";
	watcher = epoll_create1(EPOLL_CLOEXEC);
	for (made = 0; made < n; made++) {
		events[made].fd = eventfd(1, EFD_NONBLOCK);
		events[made].events = POLLIN;
		if (events[made].fd < 0)
			break;
	}
	if (watcher >= 0 && made == n)
		return NULL;
	close_events();
	return "epoll_create1 or eventfd failed";
}

static bool control(int operation, uint32_t i)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = i };

	return !epoll_ctl(watcher, operation, events[i].fd, &e);
}

/* Number of events that a port watches in this case; 1 without an argument. */
static uint32_t watched(const struct km_run *r)
{
	return r->argument ? r->argument : 1;
}

static const char *open_watched(struct km_run *r)
{
	const char *wrong = open_events(watched(r));
	bool right = true;

	if (wrong)
		return wrong;
	for (uint32_t i = 0; i < made; i++)
		right &= control(EPOLL_CTL_ADD, i);
	if (right)
		return NULL;
	close_events();
	return "epoll_ctl failed";
}

static const char *open_polled(struct km_run *r)
{
	return open_events(r->argument);
}

static const char *open_unwatched(struct km_run *r)
{
	return open_events(r->batch);
}

static void close_watched(struct km_run *r)
{
	(void)r;
	close_events();
}

static void add_remove(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;
		uint32_t i = 0;

		stamp(r, 0);
		for_each_repeat(r)
			right &= control(EPOLL_CTL_ADD, i++);
		stamp(r, 1);
		for_each_repeat(r)
			right &= control(EPOLL_CTL_DEL, --i);
		stamp(r, 2);
		check(r, right);
		record(r);
	}
}

static void wait(struct km_run *r)
{
	static struct epoll_event come[EVENTS_MAX];
	int n = (int)watched(r);

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= epoll_wait(watcher, come, n, -1) == n;
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static void poll_events(struct km_run *r)
{
	int n = (int)r->argument;

	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= poll(events, r->argument, -1) == n;
		stamp(r, 1);
		check(r, right);
		record(r);
	}
}

static const uint32_t counts[] = { 1, 4, 8, 16, 64, 256, EVENTS_MAX, 0 };

KM_TABLE(port) = {
	{
		.object = "port",
		.about = "Create a port, on which a thread can wait for many "
			 "objects, and close it.",
		.via = "epoll_create1, close",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.role = { { create_close, KM_LOW, 0 } },
		.span = {
			{ .name = "create", .between = "one epoll_create1" },
			{ .name = "close", .between = "one close" },
		},
	},
	{
		.object = "port",
		.about = "Add a signalled event to a port, and remove it.",
		.via = "epoll_ctl, EPOLL_CTL_ADD and EPOLL_CTL_DEL of an eventfd",
		.batch = DESCRIPTORS_BATCH,
		.batch_least = DESCRIPTORS_LEAST,
		.setup = open_unwatched,
		.teardown = close_watched,
		.role = { { add_remove, KM_LOW, 0 } },
		.span = {
			{ .name = "add", .between = "one epoll_ctl" },
			{ .name = "remove", .between = "one epoll_ctl" },
		},
	},
	{
		.object = "port",
		.about = "Wait on a port for one event that is already signalled.",
		.via = "epoll_wait for an eventfd, level-triggered",
		.batch = 4096,
		.setup = open_watched,
		.teardown = close_watched,
		.role = { { wait, KM_LOW, 0 } },
		.span = { { .name = "wait.one", .between = "one epoll_wait" } },
	},
	{
		.object = "port",
		.about = "Wait on a port for many events; all are already "
			 "signalled and all are returned.",
		.via = "epoll_wait for eventfds, level-triggered",
		.batch = 4096,
		.argument = counts,
		.unit = KM_ITEMS,
		.setup = open_watched,
		.teardown = close_watched,
		.role = { { wait, KM_LOW, 0 } },
		.span = { { .name = "wait.many", .between = "one epoll_wait" } },
	},
	{
		.object = "poll",
		.about = "Wait without a port for many events; all are "
			 "already signalled and all are returned.",
		.via = "poll of eventfds",
		.batch = 4096,
		.argument = counts,
		.unit = KM_ITEMS,
		.setup = open_polled,
		.teardown = close_watched,
		.role = { { poll_events, KM_LOW, 0 } },
		.span = { { .name = "wait", .between = "one poll" } },
	},
	{ 0 },
};
