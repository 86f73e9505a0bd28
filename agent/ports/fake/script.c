// SPDX-License-Identifier: MIT OR Apache-2.0
#include "script.h"

/* One sample that takes this many ticks. */
static void sample(struct km_run *r, port_ticks ticks)
{
	stamp(r, 0);
	script_work(ticks);
	stamp(r, 1);
	record(r);
}

static void work(struct km_run *r)
{
	for_each_sample(r)
		sample(r, 200);
}

/* Every value occurs once in 101 samples. */
static void spread(struct km_run *r)
{
	for_each_sample(r)
		sample(r, 100 + (km_sample * 37) % 101);
}

static void slow(struct km_run *r)
{
	for_each_sample(r)
		sample(r, 998);
}

static void copy(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		for_each_repeat(r)
			script_work(r->argument);
		stamp(r, 1);
		r->bytes += r->argument * r->batch;
		record(r);
	}
}

static void copy_less(struct km_run *r)
{
	copy(r);
	r->bytes--;
}

static void backwards(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		script_work(200);
		stamp(r, 0);
		record(r);
	}
}

static void once_wrong(struct km_run *r)
{
	work(r);
	check(r, false);
}

static void one_short(struct km_run *r)
{
	r->samples--;
	work(r);
	r->samples++;
}

/* Parts run since the case began, including the pilot's. */
static uint32_t parts;

static void breaks_later(struct km_run *r)
{
	if (++parts < 4)
		slow(r);
	else
		one_short(r);
}

static struct port_sem sem;

static void taker(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 0);
		port_sem_take(&sem);
		stamp(r, 2);
		record(r);
	}
}

static void giver(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_sem_give(&sem);
	}
}

/* The clock wraps in the third sample. */
static const char *wrap(struct km_run *r)
{
	(void)r;
	script_at((port_ticks)-500);
	return NULL;
}

static const char *two_faults_each(struct km_run *r)
{
	script.faults = 2 * (r->samples - r->lead);
	return NULL;
}

static const char *preempt(struct km_run *r)
{
	(void)r;
	script.preempted = 50;
	return NULL;
}

static const char *freeze(struct km_run *r)
{
	(void)r;
	script.frozen = true;
	return NULL;
}

static const char *forget(struct km_run *r)
{
	(void)r;
	port_sem_init(&sem, 0);
	script.forgotten = 2;
	return NULL;
}

static const char *stray(struct km_run *r)
{
	(void)r;
	script.strayed = 1;
	return NULL;
}

static const char *demote(struct km_run *r)
{
	(void)r;
	script.demoted = 1;
	return NULL;
}

static const char *break_run(struct km_run *r)
{
	(void)r;
	script.broken = "a thread died";
	return NULL;
}

static const char *cannot(struct km_run *r)
{
	(void)r;
	return "a reason that is longer than one record can hold, so that it "
	       "continues in a second one of the same case; the reader joins "
	       "them, and the place of the cut does not matter: it may be in "
	       "the middle of a word or of a number, as here: 0123456789";
}

static const uint32_t sizes[] = { 64, 1024, 0 };
static const uint32_t one_size[] = { 64, 0 };
static const uint32_t nine[] = { 9, 0 };

#define ENTRY(text) .object = "script", .about = text, .via = "script"
#define SPAN(text) .span = { { .name = text, .between = "the script's work" } }

const struct km_bench km_script[] = {
	{
		ENTRY("An argument in bytes, and all of them arrive."),
		SPAN("bytes.{from}"),
		.batch = 16, .argument = sizes, .unit = KM_BYTES,
		.role = { { copy, KM_LOW, 0 } },
	},
	{
		ENTRY("An argument in items."),
		SPAN("items"),
		.batch = 16, .argument = one_size, .unit = KM_ITEMS,
		.role = { { copy, KM_LOW, 0 } },
	},
	{
		ENTRY("Every sample has a different value."),
		SPAN("spread"),
		.role = { { spread, KM_LOW, 0 } },
	},
	{
		ENTRY("The clock wraps."),
		SPAN("wrap"),
		.setup = wrap,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("As many page faults as declared."),
		SPAN("faults"),
		.faults = 2,
		.setup = two_faults_each,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("Other threads force many context switches, and the "
		      "kernel reports them."),
		SPAN("preempted"),
		.setup = preempt,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("Stamps in the wrong order."),
		SPAN("wrong.order"),
		.role = { { backwards, KM_LOW, 0 } },
	},
	{
		ENTRY("A clock that stands still."),
		SPAN("wrong.clock"),
		.setup = freeze,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("A result that is wrong once in a part."),
		SPAN("wrong.results"),
		.role = { { once_wrong, KM_LOW, 0 } },
	},
	{
		ENTRY("Two context switches of a part are missing."),
		.needs = KM_THREADS | KM_PRIORITY | KM_SEMAPHORE,
		.setup = forget,
		.role = { { taker, KM_HIGH, 0 }, { giver, KM_LOW, 0 } },
		.span = {
			{
				.name = "wrong.switches.there.{pass}",
				.switches = 1, .from = 0, .to = 1,
				.between = "a blocking take",
			},
			{
				.name = "wrong.switches.back.{pass}",
				.switches = 1, .from = 1, .to = 0,
				.between = "a give that wakes",
			},
		},
	},
	{
		ENTRY("A thread that was not pinned."),
		SPAN("wrong.pinned"),
		.setup = stray,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("A thread with the wrong priority."),
		SPAN("wrong.priority"),
		.setup = demote,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("Declared page faults that did not happen."),
		SPAN("wrong.faults"),
		.faults = 2,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("One byte in a part does not arrive."),
		SPAN("wrong.bytes"),
		.argument = one_size, .unit = KM_BYTES,
		.role = { { copy_less, KM_LOW, 0 } },
	},
	{
		ENTRY("Capabilities that the port lacks."),
		SPAN("absent.capability"),
		.needs = KM_THREADS | KM_MUTEX | KM_IRQ,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("A capability that this machine does not grant."),
		SPAN("absent.permission"),
		.needs = KM_SMP,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("A setup that cannot run here."),
		SPAN("absent.setup"),
		.setup = cannot,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("More threads than the port can run."),
		SPAN("absent.threads"),
		.argument = nine,
		.role = { { work, KM_LOW, KM_EACH } },
	},
	{
		ENTRY("Threads that cannot run to their end."),
		SPAN("broken.run"),
		.setup = break_run,
		.role = { { work, KM_LOW, 0 } },
	},
	{
		ENTRY("A sample that is not recorded."),
		SPAN("broken.record"),
		.role = { { one_short, KM_LOW, 0 } },
	},
	{
		ENTRY("A sample that is not recorded, in the second part."),
		SPAN("broken.later"),
		.role = { { breaks_later, KM_LOW, 0 } },
	},
	{ 0 },
};
