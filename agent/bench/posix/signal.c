// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix.h"

#define PAGE 4096

/*
 * The run that the handlers stamp, and the number of calls to them in a sample.
 */
static struct km_run *run;
static volatile uint32_t calls;
static volatile char *guarded;

static void handle(int number)
{
	stamp(run, 1);
	calls += number == SIGUSR1;
}

/* Makes the page accessible, so that the faulting load completes. */
static void open_page(int number)
{
	stamp(run, 1);
	calls += number == SIGSEGV;
	mprotect((void *)guarded, PAGE, PROT_READ | PROT_WRITE);
}

static const char *install(int number, void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	return sigaction(number, &action, NULL) ? why("sigaction") : NULL;
}

static const char *with_handler(struct km_run *r)
{
	run = r;
	return install(SIGUSR1, handle);
}

static void without_handler(struct km_run *r)
{
	(void)r;
	install(SIGUSR1, SIG_DFL);
}

static const char *with_page(struct km_run *r)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		return why("mmap");
	guarded = p;
	run = r;
	return install(SIGSEGV, open_page);
}

static void without_page(struct km_run *r)
{
	(void)r;
	install(SIGSEGV, SIG_DFL);
	munmap((void *)guarded, PAGE);
}

static void deliver(struct km_run *r)
{
	pid_t process = getpid(), thread = gettid();

	for_each_sample(r) {
		long sent;

		calls = 0;
		stamp(r, 0);
		sent = syscall(SYS_tgkill, process, thread, SIGUSR1);
		stamp(r, 2);
		check(r, !sent && calls == 1);
		record(r);
	}
}

static void fault(struct km_run *r)
{
	for_each_sample(r) {
		calls = 0;
		check(r, !mprotect((void *)guarded, PAGE, PROT_NONE));
		stamp(r, 0);
		(void)*guarded;
		check(r, calls == 1);
		record(r);
	}
}

static void set_handler(struct km_run *r)
{
	const struct sigaction action = { .sa_handler = handle };

	for_each_sample(r) {
		int wrong = 0;

		stamp(r, 0);
		for_each_repeat(r)
			wrong |= sigaction(SIGUSR1, &action, NULL);
		stamp(r, 1);
		check(r, !wrong);
		record(r);
	}
}

static void set_mask(struct km_run *r)
{
	sigset_t some, before;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_SETMASK, NULL, &before);
	for_each_sample(r) {
		sigset_t now;
		int wrong = 0;

		stamp(r, 0);
		for_each_repeat(r)
			wrong |= sigprocmask(SIG_SETMASK, &some, NULL);
		stamp(r, 1);
		sigprocmask(SIG_SETMASK, &before, &now);
		check(r, !wrong && sigismember(&now, SIGUSR1) == 1);
		record(r);
	}
}

KM_TABLE(signal) = {
	{
		.object = "signal",
		.about = "A thread sends itself a signal that it handles.",
		.via = "tgkill",
		.setup = with_handler, .teardown = without_handler,
		.role = { { deliver, KM_LOW, 0 } },
		.span = {
			{
				.name = "catch", .begin = 0, .end = 2,
				.between = "from the call that sends it to "
					   "that call's return, after the "
					   "handler",
			},
			{
				.name = "delivery", .begin = 0, .end = 1,
				.between = "from the call that sends it to "
					   "the first instruction of the "
					   "handler",
			},
			{
				.name = "return", .begin = 1, .end = 2,
				.between = "from the handler to the return of "
					   "the call that sent the signal",
			},
		},
	},
	{
		.object = "signal",
		.about = "Handle a load from an inaccessible page.",
		.via = "SIGSEGV from a page with PROT_NONE",
		.setup = with_page, .teardown = without_page,
		.role = { { fault, KM_LOW, 0 } },
		.span = { {
			.name = "fault",
			.between = "from the load to the first instruction of "
				   "the handler",
		} },
	},
	{
		.object = "signal",
		.about = "Set the handler of a signal.",
		.via = "sigaction",
		.batch = 4096,
		.setup = with_handler, .teardown = without_handler,
		.role = { { set_handler, KM_LOW, 0 } },
		.span = { { .name = "install", .between = "one call" } },
	},
	{
		.object = "signal",
		.about = "Set the signals that a thread blocks.",
		.via = "sigprocmask",
		.batch = 4096,
		.role = { { set_mask, KM_LOW, 0 } },
		.span = { { .name = "mask", .between = "one call" } },
	},
	{ 0 },
};
