// SPDX-License-Identifier: MIT OR Apache-2.0
#include "script.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Duration of each operation in ticks. */
enum {
	READ = 2, TAKE = 20, GIVE = 30, SWITCH = 100, YIELD = 10,
	CREATE = 300, CREATE_USER = 500, START = 40, SUSPEND = 50, RESUME = 60,
};

struct seat {
	void (*body)(struct km_run *r);
	bool high;
	const void *awaits;	/* a semaphore, or itself when it is stopped */
	uint32_t queued;	/* its place among threads of its priority */
	bool done;
	pthread_t id;
};

static struct {
	port_ticks now;
	uint32_t switches, queued, n;
	struct km_run *run;
	struct seat seat[PORT_THREADS + 1];	/* the last: a created thread */
	struct seat *running;	/* has the baton; NULL: the runner */
	pthread_mutex_t lock;
	pthread_cond_t passed;
} fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.passed = PTHREAD_COND_INITIALIZER,
};

struct script script;

const struct km_bench *const port_tables[] = {
	km_clock, km_semaphore, km_script, km_thread, NULL
};

void port_write(const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, stdout);
}

void script_work(port_ticks ticks)
{
	if (!script.frozen)
		fake.now += ticks;
}

void script_at(port_ticks now)
{
	fake.now = now;
}

port_ticks port_now(void)
{
	script_work(READ);
	return fake.now;
}

/* Whether a runs before b: by priority, then in queue order. */
static bool before(const struct seat *a, const struct seat *b)
{
	return a->high != b->high ? a->high : a->queued < b->queued;
}

/* The first thread waiting for this. NULL: the first that can run. */
static struct seat *first(const void *awaited)
{
	struct seat *found = NULL;

	for (struct seat *t = fake.seat; t < fake.seat + fake.n; t++)
		if (!t->done && t->awaits == awaited &&
		    (!found || before(t, found)))
			found = t;
	return found;
}

/*
 * Passes the baton to the first thread that can run, or to the runner after the
 * last.
 */
static void pass(void)
{
	struct seat *self = fake.running, *next = first(NULL);

	if (next == self)
		return;
	if (!next && !self->done) {
		fprintf(stderr, "kernmark-fake: all threads wait\n");
		exit(1);
	}
	script_work(SWITCH);
	fake.switches++;
	fake.running = next;
	pthread_cond_broadcast(&fake.passed);
}

static void await_turn(const struct seat *self)
{
	while (fake.running != self)
		pthread_cond_wait(&fake.passed, &fake.lock);
}

static void reschedule(void)
{
	struct seat *self = fake.running;

	pass();
	await_turn(self);
}

void port_sem_init(struct port_sem *s, unsigned int count)
{
	s->count = count;
}

void port_sem_take(struct port_sem *s)
{
	script_work(TAKE);
	if (s->count) {
		s->count--;
		return;
	}
	fake.running->awaits = s;
	fake.running->queued = fake.queued++;
	reschedule();
}

void port_sem_give(struct port_sem *s)
{
	struct seat *waiter = first(s);

	script_work(GIVE);
	if (!waiter) {
		s->count++;
		return;
	}
	waiter->awaits = NULL;
	reschedule();
}

static void *take_seat(void *arg)
{
	struct seat *self = arg;

	pthread_mutex_lock(&fake.lock);
	await_turn(self);
	self->body(fake.run);
	self->done = true;
	pass();
	pthread_mutex_unlock(&fake.lock);
	return NULL;
}

static struct seat *seat(void (*body)(struct km_run *r), bool high)
{
	struct seat *s = &fake.seat[fake.n++];

	*s = (struct seat){
		.body = body, .high = high, .queued = fake.queued++,
	};
	if (pthread_create(&s->id, NULL, take_seat, s)) {
		fprintf(stderr, "kernmark-fake: pthread_create failed\n");
		exit(1);
	}
	return s;
}

int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r)
{
	script_work(r->made_user ? CREATE_USER : CREATE);
	t->seat = seat(body, true);
	t->seat->awaits = t->seat;
	return 0;
}

int port_thread_start(struct port_thread *t)
{
	script_work(START);
	t->seat->awaits = NULL;
	reschedule();
	return 0;
}

void port_thread_suspend(struct port_thread *t)
{
	script_work(SUSPEND);
	t->seat->awaits = t->seat;
	reschedule();
}

void port_thread_resume(struct port_thread *t)
{
	script_work(RESUME);
	t->seat->awaits = NULL;
	reschedule();
}

/* The thread has given up the lock and the baton, and needs neither. */
void port_thread_reap(struct port_thread *t)
{
	pthread_join(t->seat->id, NULL);
	fake.n--;
}

void port_yield(void)
{
	script_work(YIELD);
	fake.running->queued = fake.queued++;
	reschedule();
}

/* Faults of the script show by the last sample. */
void port_count(struct km_counts *until_now)
{
	until_now->switches = fake.switches;
	if (fake.run->left)
		return;
	until_now->switches += script.preempted - script.forgotten;
	until_now->preempted = script.preempted;
	until_now->faults = script.faults;
}

const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	const char *broken = script.broken;

	fake.run = r;
	fake.n = 0;
	fake.switches = 0;
	fake.running = NULL;
	/*
	 * No thread can take its seat until all exist: each waits for the lock.
	 */
	pthread_mutex_lock(&fake.lock);
	for (uint32_t i = 0; i < n; i++)
		seat(threads[i].role->body, threads[i].role->priority == KM_HIGH);
	pass();
	await_turn(NULL);
	pthread_mutex_unlock(&fake.lock);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(fake.seat[i].id, NULL);
	counts->strayed += script.strayed;
	counts->demoted += script.demoted;
	script = (struct script){ 0 };
	return broken;
}

/* The next part begins at a time that is easy to find in the stream. */
void port_rest(void)
{
	script_work(10000 - fake.now % 10000);
}

const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	for (uint32_t i = 0; i < KM_ROLES; i++)
		if (b->role[i].flags & KM_ENDS && user >> i & 1)
			return "privileged only: a user thread cannot end itself";
	return b->needs & KM_SMP ?
	       "needs a second CPU: 100 % of this one is in use\t(\xc2\xb5s)" : NULL;
}

static void introduce(const char *mode)
{
	km_hello(&(struct km_hello){
		.port = "fake", .arch = "none", .mode = mode,
		.clock = PORT_CLOCK, .unit = "cycles", .hz = 1000000,
		.realtime = true,
	});
}

int main(void)
{
	static struct km_memory memory;
	struct km_options o = { .samples = 8, .epoch = 800, .burst = 6000 };

	/* The catalog. */
	introduce("list");
	km_catalog();
	km_bye();

	/* All cases. */
	introduce("run");
	km_info("kernel", "a script");
	km_info("flags", "a text that is longer than one record can hold, so "
			 "that it continues in a second one with the same "
			 "name, and reads as one: 0123456789 "
			 "abcdefghijklmnopqrstuvwxyz "
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ %%%%%%%%%%%%%%%%%%%% and "
			 "its end");
	km_measure(NULL, &memory, &o);
	km_bye();

	/* Many values, in several parts. */
	introduce("run");
	o.samples = 100;
	km_measure("script.spread", &memory, &o);
	km_bye();

	/* A budget that reduces the number of samples. */
	introduce("run");
	o.budget = 9000;
	km_measure("script.spread", &memory, &o);
	km_bye();

	/* The cases of an order: four of the first twelve. */
	introduce("run");
	o.cases = "50a";
	km_measure(NULL, &memory, &o);
	km_bye();
	return fflush(stdout) ? 1 : 0;
}
