// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "linux.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix.h"

#define WORDS 256

static uint32_t word[WORDS];
/*
 * The number of rounds that the waker has woken its waiters, and their futex
 * word.
 */
static uint32_t round_number;
/* Set once the sleeper on the other CPU has taken its stamp. */
static uint32_t seen;

static const char *setup(struct km_run *r)
{
	(void)r;
	memset(word, 0, sizeof(word));
	round_number = 0;
	seen = 0;
	return NULL;
}

KM_INLINE long futex(uint32_t *at, int op, uint32_t value)
{
	return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/*
 * Checks that the kernel supports priority inheritance. Not all are built with
 * it.
 */
static const char *setup_inherit(struct km_run *r)
{
	setup(r);
	if (futex(word, FUTEX_LOCK_PI, 0) || futex(word, FUTEX_UNLOCK_PI, 0))
		return why("FUTEX_LOCK_PI");
	return NULL;
}

/*
 * A lock with three states: free, held, held with waiters. Without waiters, it
 * does not call the kernel.
 */
KM_INLINE void lock(uint32_t *l)
{
	uint32_t was = 0;

	if (__atomic_compare_exchange_n(l, &was, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(l, 2, __ATOMIC_ACQUIRE))
		futex(l, FUTEX_WAIT, 2);
}

KM_INLINE void unlock(uint32_t *l)
{
	if (__atomic_exchange_n(l, 0, __ATOMIC_RELEASE) == 2)
		futex(l, FUTEX_WAKE, 1);
}

static void lock_unlock(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r) {
			lock(word);
			unlock(word);
		}
		stamp(r, 1);
		check(r, !word[0]);
		record(r);
	}
}

static void inherit(struct km_run *r)
{
	uint32_t self = (uint32_t)gettid();

	for_each_sample(r) {
		bool right = true;
		long wrong = 0;
		uint32_t i = 0;

		stamp(r, 0);
		for_each_repeat(r)
			wrong |= futex(&word[i++], FUTEX_LOCK_PI, 0);
		stamp(r, 1);
		while (i--)
			right &= word[i] == self;
		i = 0;
		stamp(r, 2);
		for_each_repeat(r)
			wrong |= futex(&word[i++], FUTEX_UNLOCK_PI, 0);
		stamp(r, 3);
		while (i--)
			right &= !word[i];
		check(r, right && !wrong);
		record(r);
	}
}

static void wake_none(struct km_run *r)
{
	for_each_sample(r) {
		long woken = 0;

		stamp(r, 0);
		for_each_repeat(r)
			woken |= futex(word, FUTEX_WAKE, 1);
		stamp(r, 1);
		check(r, !woken);
		record(r);
	}
}

static void wait_changed(struct km_run *r)
{
	for_each_sample(r) {
		bool right = true;

		stamp(r, 0);
		for_each_repeat(r)
			right &= futex(word, FUTEX_WAIT, 1) < 0;
		stamp(r, 1);
		check(r, right && errno == EAGAIN);
		record(r);
	}
}

/*
 * Waker and waiters have the same priority. The woken ones run when the waker
 * yields, and the waker runs again once all of them wait. An untimed last round
 * ends them.
 */
static void waker(struct km_run *r)
{
	port_yield();
	for_each_sample(r) {
		long woken;

		stamp(r, 0);
		__atomic_add_fetch(&round_number, 1, __ATOMIC_RELEASE);
		woken = futex(&round_number, FUTEX_WAKE, r->argument);
		stamp(r, 1);
		port_yield();
		stamp(r, 2);
		check(r, woken == (long)r->argument);
		record(r);
	}
	__atomic_add_fetch(&round_number, 1, __ATOMIC_RELEASE);
	futex(&round_number, FUTEX_WAKE, r->argument);
}

static void waiter(struct km_run *r)
{
	for (uint32_t i = 0; i <= r->samples; i++) {
		uint32_t now;

		while ((now = __atomic_load_n(&round_number, __ATOMIC_ACQUIRE)) == i)
			futex(&round_number, FUTEX_WAIT, i);
		/* Otherwise it missed a wake-up. */
		check(r, now == i + 1);
	}
}

/*
 * Busy-waits for the argument's microseconds, so that the sleeper goes to
 * sleep.
 */
static void linger(const struct km_run *r)
{
	port_ticks end = port_now() + port_ticks_of_us(r->argument);

	while (port_now() < end)
		;
}

/*
 * A wake-up that found no sleeper does not count: take the stamp again and
 * retry.
 */
static void near_waker(struct km_run *r)
{
	for_each_sample(r) {
		do {
			linger(r);
			stamp(r, 0);
		} while (futex(word, FUTEX_WAKE, 1) != 1);
		while (!__atomic_load_n(&seen, __ATOMIC_ACQUIRE))
			;
		stamp(r, 2);
		__atomic_store_n(&seen, 0, __ATOMIC_RELAXED);
		record(r);
	}
}

/* The word never changes, so only a wake-up ends the wait. */
static void far_sleeper(struct km_run *r)
{
	for_each_sample(r) {
		while (futex(word, FUTEX_WAIT, 0))
			;
		stamp(r, 1);
		__atomic_store_n(&seen, 1, __ATOMIC_RELEASE);
	}
}

static const uint32_t waiters[] = { 1, 2, 4, 8, 16, 32, 64, 0 };
static const uint32_t asleep_us[] = { 20, 200, 0 };

KM_TABLE(futex) = {
	{
		.object = "futex",
		.about = "Lock and unlock an uncontended lock.",
		.via = "compare-exchange and exchange on a futex word; no "
		       "call into the kernel",
		.batch = 65536,
		.setup = setup,
		.role = { { lock_unlock, KM_LOW, 0 } },
		.span = { { .name = "lock_unlock", .between = "one lock and "
							      "unlock" } },
	},
	{
		.object = "futex",
		.about = "The kernel locks and unlocks an uncontended "
			 "priority-inheriting lock.",
		.via = "FUTEX_LOCK_PI, FUTEX_UNLOCK_PI on private words",
		.batch = WORDS,
		.setup = setup_inherit,
		.role = { { inherit, KM_LOW, 0 } },
		.span = {
			{ .name = "lock_pi", .between = "one call" },
			{
				.name = "unlock_pi", .begin = 2, .end = 3,
				.between = "one call",
			},
		},
	},
	{
		.object = "futex",
		.about = "Wake the waiters of a word that has none.",
		.via = "FUTEX_WAKE on a private word",
		.batch = 4096,
		.setup = setup,
		.role = { { wake_none, KM_LOW, 0 } },
		.span = { { .name = "wake.none", .between = "one call" } },
	},
	{
		.object = "futex",
		.about = "Wait on a word that has already changed.",
		.via = "FUTEX_WAIT on a private word: EAGAIN",
		.batch = 4096,
		.setup = setup,
		.role = { { wait_changed, KM_LOW, 0 } },
		.span = { { .name = "wait.changed", .between = "one call" } },
	},
	{
		.object = "futex",
		.about = "Wake N waiters in one call; each of them runs and "
			 "waits again.",
		.via = "FUTEX_WAKE, FUTEX_WAIT on a private word; sched_yield",
		.needs = KM_THREADS | KM_PRIORITY,
		.argument = waiters, .unit = KM_ITEMS,
		.setup = setup,
		.role = { { waker, KM_LOW, 0 }, { waiter, KM_LOW, KM_EACH } },
		.span = {
			{ .name = "wake", .between = "the call that wakes all "
						     "waiters" },
			{
				.name = "wake+ctx", .switches = 1,
				.switches_each = 1, .from = 0, .to = 0,
				.between = "from the waker's yield to its "
					   "return, after all waiters ran and "
					   "wait again",
			},
		},
	},
	{
		.object = "wake",
		.about = "Wake a thread that has slept on another CPU for N "
			 "microseconds.",
		.via = "FUTEX_WAKE, FUTEX_WAIT on a private word; compares "
		       "the counters of the two CPUs: each sleeper's stamp "
		       "must lie between two of the waker's",
		.needs = KM_THREADS | KM_SMP,
		.argument = asleep_us,
		.setup = setup,
		.role = {
			{ near_waker, KM_LOW, 0 },
			{ far_sleeper, KM_LOW, KM_OTHER_CPU },
		},
		.span = {
			{
				.name = "cross_cpu.futex", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the wake call to the return "
					   "of the sleeper's call on its own "
					   "CPU",
			},
			{
				.name = "cross_cpu.flag", .from = 1, .to = 0,
				.between = "from the sleeper's store on its "
					   "CPU to the load that sees it on "
					   "the waker's CPU",
			},
		},
	},
	{ 0 },
};
