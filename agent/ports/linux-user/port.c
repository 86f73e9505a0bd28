// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "kernmark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "linux.h"
#include "order.h"
#include "output.h"

/* SCHED_FIFO priorities, low so that the machine's own threads come first. */
enum { FIFO_LOW = 1, FIFO_HIGH, FIFO_RUNNER };

/* After this much work comes a rest of a tenth of it. */
#define REST_EVERY_US 40000
/* For the kernel to free ended threads. */
#define REST_US 4000
/*
 * Number of ended threads between rests: the kernel frees them only in a rest.
 */
#define REST_EVERY_THREADS 64
/* The longest part, by default. Each part's setup is work for an emulator. */
#define BURST_US 50000
#define BURST_EMULATED_US 300000
/* The kernel ends a real-time thread that has not blocked for this long. */
#define FUSE_US 1000000
/* An account of CPU time that moves in greater steps is of no use. */
#define CPU_TIME_STEP_US 100
/* For each thread of a part; a multiple of any page size. */
#define STACK_SIZE (64 << 10)

/* One measured part. Its threads wait at the gate until all have arrived. */
struct gate {
	uint32_t arrived, open;
	pid_t recorder;		/* the process that records the samples */
	pid_t process[PORT_THREADS];
	struct km_counts counts[PORT_THREADS];
	struct km_run *run;
};

struct seat {
	const struct km_thread *thread;
	uint32_t number;
	pthread_t id;
	pid_t process;
};

/* Whether the kernel trusts the clock. */
enum trust { TRUSTED, DISTRUSTED, UNKNOWN };

static struct {
	int cpu, other;
	bool realtime;
	int realtime_errno;
	int unlocked;		/* errno of mlockall(); 0: it succeeded */
	port_ticks hz;
	bool counts;		/* the clock's ticks count instructions */
	enum trust trust;
	bool has_cpu_time;	/* the kernel's account of it is precise */
	port_ticks rested;
	uint32_t reaped;	/* ended threads that the benchmark created */
	int32_t uncounted;	/* context switches to add to this part */
	struct gate *gate;	/* shared with the processes of a part */
	char *stacks;
} port;

uint32_t port_shift;

/* Records not written yet. */
static struct output output;

const struct km_bench *const port_tables[] = {
	KM_PORTABLE(KM_LISTED) KM_POSIX(KM_LISTED) NULL
};

static void die(const char *what)
{
	fprintf(stderr, "kernmark-agent: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void flush(void)
{
	if (!output_flush(&output))
		die("cannot write the records");
}

void port_write(const char *bytes, size_t n)
{
	if (!output_add(&output, bytes, n))
		die("cannot write the records");
}

static long futex(uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void await(uint32_t *word, uint32_t value)
{
	uint32_t seen;

	while ((seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != value)
		futex(word, FUTEX_WAIT, seen);
}

port_ticks port_ticks_of_us(uint32_t us)
{
	return port.hz / 1000000 * us;
}

static struct sched_param parameter(enum km_priority priority)
{
	return (struct sched_param){
		.sched_priority = priority == KM_HIGH ? FIFO_HIGH : FIFO_LOW,
	};
}

static int policy(enum km_priority priority)
{
	return priority == KM_SLICED ? SCHED_RR : SCHED_FIFO;
}

/*
 * The kernel's own calls for the calling thread. The sched_ functions of musl
 * fail with ENOSYS, and pthread_getschedparam of glibc need not ask the kernel.
 */
static bool set_scheduler(int to, const struct sched_param *p)
{
	return !syscall(SYS_sched_setscheduler, 0, to, p);
}

static bool is_scheduled(int as, const struct sched_param *wanted)
{
	struct sched_param p;

	return syscall(SYS_sched_getscheduler, 0) == as &&
	       !syscall(SYS_sched_getparam, 0, &p) &&
	       p.sched_priority == wanted->sched_priority;
}

static int seat_cpu(const struct seat *s)
{
	return s->thread->role->flags & KM_OTHER_CPU ? port.other : port.cpu;
}

/* Asks the kernel where and how this thread ran. */
static void inspect(const struct seat *s, struct km_counts *c)
{
	enum km_priority priority = s->thread->role->priority;
	struct sched_param p = parameter(priority);
	int cpu = seat_cpu(s);

	if (!cpus_pinned(0, cpu) || sched_getcpu() != cpu)
		c->strayed++;
	if (port.realtime && !is_scheduled(policy(priority), &p))
		c->demoted++;
}

/* Reads the kernel's account of CPU time for this process or thread. */
static uint64_t cpu_time(int whose)
{
	struct timespec t;

	clock_gettime(whose == RUSAGE_SELF ? CLOCK_PROCESS_CPUTIME_ID :
		      CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether that account moves in small steps: some kernels count timer ticks. */
static bool has_cpu_time(void)
{
	uint64_t first = cpu_time(RUSAGE_THREAD), now;
	port_ticks start = port_now();

	do
		now = cpu_time(RUSAGE_THREAD);
	while (now == first && port_now() - start <
	       port_ticks_of_us(10 * CPU_TIME_STEP_US));
	return now > first && now - first < CPU_TIME_STEP_US * 1000;
}

/* Reads the kernel's counts so far, for this process or thread. */
static void count(int whose, struct km_counts *c)
{
	struct rusage now;
	uint32_t forced;

	/* First, because a new process faults in the code that reads clocks. */
	c->cpu_ns = port.has_cpu_time ? cpu_time(whose) : 0;
	getrusage(whose, &now);
	forced = (uint32_t)now.ru_nivcsw;
	c->switches = (uint32_t)now.ru_nvcsw + forced;
	c->preempted = port.realtime ? 0 : forced;
	c->faults = (uint32_t)(now.ru_minflt + now.ru_majflt);
}

/*
 * The kernel reports to a process the counts of all its threads, and no others.
 */
void port_count(struct km_counts *until_now)
{
	port.gate->recorder = getpid();
	count(RUSAGE_SELF, until_now);
	until_now->switches += (uint32_t)port.uncounted;
}

static void *take_seat(void *arg)
{
	const struct seat *s = arg;
	struct gate *g = port.gate;
	struct km_counts before, *c = &g->counts[s->number];

	__atomic_add_fetch(&g->arrived, 1, __ATOMIC_RELEASE);
	futex(&g->arrived, FUTEX_WAKE, 1);
	await(&g->open, 1);
	g->process[s->number] = getpid();
	count(RUSAGE_THREAD, &before);
	s->thread->role->body(g->run);
	count(RUSAGE_THREAD, c);
	c->switches -= before.switches;
	c->preempted -= before.preempted;
	c->faults -= before.faults;
	c->cpu_ns -= before.cpu_ns;
	inspect(s, c);
	return NULL;
}

/*
 * The samples' share of a count, without the lead-in. Rounds up: a thread that
 * ends with its last sample may have one less.
 */
static uint64_t share(uint64_t counted, const struct km_run *r)
{
	uint64_t times = counted * (r->samples - r->lead);

	return (times + r->samples - 1) / r->samples;
}

static _Noreturn void be_process(struct seat *s, pid_t parent)
{
	struct sched_param p = parameter(s->thread->role->priority);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	if (!cpus_pin(0, seat_cpu(s)) ||
	    (port.realtime &&
	     !set_scheduler(policy(s->thread->role->priority), &p)))
		_exit(1);
	take_seat(s);
	_exit(0);
}

static int start_thread(struct seat *s)
{
	struct sched_param p = parameter(s->thread->role->priority);
	pthread_attr_t attr;
	struct cpus only;
	int wrong;

	cpus_only(&only, seat_cpu(s));
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, port.stacks + (size_t)s->number * STACK_SIZE,
			      STACK_SIZE);
	if (port.realtime) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, policy(s->thread->role->priority));
		pthread_attr_setschedparam(&attr, &p);
	}
	wrong = pthread_create(&s->id, &attr, take_seat, s);
	pthread_attr_destroy(&attr);
	/* The gate is closed until all are pinned. musl has no attribute for it. */
	return wrong ? wrong : pthread_setaffinity_np(s->id, sizeof(only), only.part);
}

static const char *start(struct seat *s)
{
	pid_t parent = getpid();

	if (s->thread->role->flags & KM_OWN_PROCESS) {
		s->process = fork();
		if (!s->process)
			be_process(s, parent);
		return s->process < 0 ? "fork failed" : NULL;
	}
	return start_thread(s) ? "pthread_create failed" : NULL;
}

static const char *finish(struct seat *s)
{
	int status;

	if (!s->process) {
		pthread_join(s->id, NULL);
		return NULL;
	}
	if (waitpid(s->process, &status, 0) != s->process || status)
		return "a process of the benchmark died";
	return NULL;
}

const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	struct seat seats[PORT_THREADS] = { { 0 } };
	struct gate *g = port.gate;
	const char *wrong = NULL;

	/* Shows the reader which case has begun, in case it never ends. */
	flush();
	/* The setup may have been much work. */
	port_rest();
	memset(g, 0, sizeof(*g));
	g->run = r;
	for (uint32_t i = 0; i < n && !wrong; i++) {
		seats[i].thread = &threads[i];
		seats[i].number = i;
		wrong = start(&seats[i]);
	}
	/* If some threads cannot start, the others would wait forever. */
	if (wrong)
		die(wrong);
	await(&g->arrived, n);
	port.uncounted = 0;
	__atomic_store_n(&g->open, 1, __ATOMIC_RELEASE);
	futex(&g->open, FUTEX_WAKE, n);
	for (uint32_t i = 0; i < n; i++) {
		const char *w = finish(&seats[i]);

		wrong = wrong ? wrong : w;
	}
	madvise(port.stacks, (size_t)n * STACK_SIZE, MADV_DONTNEED);
	for (uint32_t i = 0; i < n; i++) {
		const struct km_counts *c = &g->counts[i];

		counts->strayed += c->strayed;
		counts->demoted += c->demoted;
		if (g->process[i] == g->recorder)
			continue;
		counts->switches += (uint32_t)share(c->switches, r);
		counts->preempted += (uint32_t)share(c->preempted, r);
		counts->faults += (uint32_t)share(c->faults, r);
		counts->cpu_ns += share(c->cpu_ns, r);
	}
	return wrong;
}

/*
 * The kernel stops a real-time thread that never rests for 50 ms of every
 * second (sched_rt_runtime_us), in the middle of a sample.
 */
void port_rest(void)
{
	port_ticks worked = port_now() - port.rested;
	uint64_t us = worked / 10 * 1000000 / port.hz;
	struct timespec rest = {
		.tv_sec = (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000 * 1000),
	};

	if (worked < port_ticks_of_us(REST_EVERY_US))
		return;
	flush();
	nanosleep(&rest, NULL);
	port.rested = port_now();
}

static const char *no_realtime(void)
{
	static char text[200];

	if (!port.realtime_errno)
		return "needs real-time priority, which realtime=never turned off";
	snprintf(text, sizeof(text), "needs real-time priority (%s): run as "
				     "root, or allow it for this shell with: "
				     "sudo prlimit --pid $$ --rtprio=%d",
		 strerror(port.realtime_errno), FIFO_RUNNER);
	return text;
}

/* Whether a broadcast of b wakes more than one thread. */
static bool broadcasts(const struct km_bench *b)
{
	return b->needs & KM_CONDVAR && b->role[0].flags & KM_EACH;
}

bool port_preempt_rt(void)
{
	struct utsname k;

	return !uname(&k) && strstr(k.version, "PREEMPT_RT");
}

/* A thread that wakes two others of higher priority at once. */
static struct {
	uint32_t word;
	uint32_t forced;	/* times that it was preempted meanwhile */
} waker;

static void wait_for_waker(struct km_run *r)
{
	(void)r;
	futex(&waker.word, FUTEX_WAIT, 0);
}

static void wake_two(struct km_run *r)
{
	struct rusage before, now;

	(void)r;
	getrusage(RUSAGE_THREAD, &before);
	futex(&waker.word, FUTEX_WAKE, 2);
	getrusage(RUSAGE_THREAD, &now);
	waker.forced = (uint32_t)(now.ru_nivcsw - before.ru_nivcsw);
}

/*
 * Whether the kernel preempts a waker between two wake-ups of one system call, as
 * full, lazy and real-time preemption do, or only at the end of the call. No file
 * says so to every process, and the boot line may choose it, so this tries it.
 */
static bool wakes_one_by_one(void)
{
	static const struct km_role high = { wait_for_waker, KM_HIGH, 0 };
	static const struct km_role low = { wake_two, KM_LOW, 0 };
	const struct km_thread threads[] = {
		{ .role = &high }, { .role = &high }, { .role = &low },
	};
	struct km_run run = { .samples = 1 };
	struct km_counts counts = { 0 };
	static bool tried;

	if (!tried && port_run(threads, 3, &run, &counts))
		die("could not try a wake-up of two threads");
	tried = true;
	return waker.forced > 1;
}

const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	(void)user;
	if (b->needs & KM_PRIORITY && !port.realtime)
		return no_realtime();
	if (b->needs & KM_IRQ && port_preempt_rt())
		return "with PREEMPT_RT, the timer expires in a kernel "
		       "thread, which the interrupt only wakes";
	if (broadcasts(b) && wakes_one_by_one())
		return "this kernel preempts the waker: a broadcast lets each "
		       "thread run before it wakes the next";
	if (b->needs & KM_SMP && port.other < 0)
		return "needs a second CPU, but this process may use only one";
	return NULL;
}

static void *run_body(void *arg)
{
	struct port_thread *t = arg;

	t->body(t->run);
	return NULL;
}

int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r)
{
	t->body = body;
	t->run = r;
	t->resumed = 0;
	/*
	 * No scheduling attributes. With them, a thread first waits for a lock,
	 * which pthread_setschedparam holds when it makes the thread run.
	 */
	return pthread_create(&t->id, NULL, run_body, t);
}

int port_thread_start(struct port_thread *t)
{
	struct sched_param p = parameter(KM_HIGH);

	return pthread_setschedparam(t->id, policy(KM_HIGH), &p);
}

void port_thread_suspend(struct port_thread *t)
{
	while (!__atomic_exchange_n(&t->resumed, 0, __ATOMIC_ACQUIRE))
		futex(&t->resumed, FUTEX_WAIT_PRIVATE, 0);
}

void port_thread_resume(struct port_thread *t)
{
	__atomic_store_n(&t->resumed, 1, __ATOMIC_RELEASE);
	futex(&t->resumed, FUTEX_WAKE_PRIVATE, 1);
}

/* Rests in the middle of a part. Its switches do not count. */
static void rest_uncounted(void)
{
	const struct timespec rest = { .tv_nsec = REST_US * 1000 };
	struct km_counts before, rested;

	count(RUSAGE_SELF, &before);
	nanosleep(&rest, NULL);
	count(RUSAGE_SELF, &rested);
	port.uncounted -= (int32_t)(rested.switches - before.switches);
}

void port_settle(void)
{
	if (port.counts)
		rest_uncounted();
}

void port_thread_reap(struct port_thread *t)
{
	pthread_join(t->id, NULL);
	/*
	 * The kernel adds a thread's count to the process before that thread's
	 * last switch.
	 */
	port.uncounted++;
	/*
	 * Ended threads wait for a grace period, which real-time threads delay.
	 * When hundreds wait, creating one needs fresh pages and costs ten
	 * times more.
	 */
	if (++port.reaped % REST_EVERY_THREADS == 0)
		rest_uncounted();
}

void port_yield(void)
{
	sched_yield();
}

void port_mutex_init(struct port_mutex *m, enum port_mutex_kind kind)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (kind == PORT_RECURSIVE)
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	if (kind == PORT_INHERIT)
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&m->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

const char *port_irq_attach(struct port_irq *irq)
{
	irq->taken = 0;
	irq->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return irq->timer < 0 ? "timerfd_create failed" : NULL;
}

void port_irq_detach(struct port_irq *irq)
{
	close(irq->timer);
}

/*
 * Whether the interrupt has come: the timer is readable or was read. The
 * timer's remaining time does not tell; it is 0 as soon as the interrupt is
 * due.
 */
static bool came(const struct port_irq *irq, uint32_t taken)
{
	struct pollfd p = { .fd = irq->timer, .events = POLLIN };

	return irq->taken != taken || poll(&p, 1, 0) == 1;
}

port_ticks port_irq_raise(struct port_irq *irq)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 20000 };
	uint32_t taken = irq->taken;
	port_ticks last = port_now(), due = last + port_ticks_of_us(19);
	port_ticks now, asked, from;
	/* An iteration of the loop takes less. */
	port_ticks least = port_ticks_of_us(1);

	/* The interrupt may come before this call returns. */
	irq->at = last;
	timerfd_settime(irq->timer, 0, &soon, NULL);
	for (;;) {
		now = port_now();
		from = last;
		irq->at = last = now;
		if (now - from < least)
			least = now - from;
		/*
		 * The interrupt is a gap much longer than an iteration of this
		 * loop. Anything else that stops the CPU is also such a gap,
		 * and so is the call that asks whether it came. So we ask again
		 * until it did.
		 */
		if (now < due || now - from <= 6 * least || !came(irq, taken))
			continue;
		/*
		 * It came before the question, or during it if the question
		 * took longer.
		 */
		asked = port_now();
		if (asked - now > now - from)
			return asked;
		irq->at = from;
		return now;
	}
}

uint32_t port_irq_wait(struct port_irq *irq)
{
	uint64_t times = 0;

	if (read(irq->timer, &times, sizeof(times)) != sizeof(times))
		return 0;
	irq->taken += (uint32_t)times;
	return (uint32_t)times;
}

/*
 * Measures the clock's frequency in Hz, with the kernel's clock over a few
 * milliseconds.
 */
static port_ticks measure_hz(void)
{
	port_ticks tick[2], ns[2];

	for (int end = 0; end < 2; end++) {
		port_ticks best = (port_ticks)-1;

		/*
		 * The tightest of several brackets around a reading of both
		 * clocks.
		 */
		for (int i = 0; i < 20; i++) {
			struct timespec t;
			port_ticks a = port_now(), b;

			clock_gettime(CLOCK_MONOTONIC_RAW, &t);
			b = port_now();
			if (b - a >= best)
				continue;
			best = b - a;
			tick[end] = a + best / 2;
			ns[end] = (port_ticks)t.tv_sec * 1000000000u +
				  (port_ticks)t.tv_nsec;
		}
		if (!end)
			nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
	}
	if (tick[1] == tick[0])
		return 1000000000u;
	/* Seconds between the two ends still fit into 64 bits. */
	tick[1] -= tick[0];
	ns[1] -= ns[0];
	return tick[1] / ns[1] * 1000000000u +
	       tick[1] % ns[1] * 1000000000u / ns[1];
}

static void claim_clock(void)
{
	port.hz = port.counts ? PORT_EMULATED_HZ : measure_hz();
}

/* Everything is in memory before anything is timed. */
static struct km_memory *own_memory(void)
{
	struct km_memory *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	port.gate = mmap(NULL, sizeof(*port.gate), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (m == MAP_FAILED || port.gate == MAP_FAILED)
		die("mmap");
	/* Only existing mappings: some benchmarks measure new ones. */
	port.unlocked = mlockall(MCL_CURRENT) ? errno : 0;
	/*
	 * The C library keeps the stacks of ended threads mapped. A fork would
	 * then cost more, the more threads an earlier case had.
	 */
	port.stacks = mmap(NULL, (size_t)PORT_THREADS * STACK_SIZE,
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
			   -1, 0);
	if (port.stacks == MAP_FAILED)
		die("mmap");
	return m;
}

struct arguments {
	uint32_t samples, budget_us, epoch_ns, burst_us;
	int cpu, other;		/* -1: none */
	bool burst_said, other_said, never_realtime;
	uint32_t parent;	/* 0: none */
	const char *selected;	/* as in struct km_options */
	char **cases;		/* by id */
};

static void claim_cpus(const struct arguments *a)
{
	struct cpus allowed;

	if (!cpus_allowed(0, &allowed))
		die("sched_getaffinity");
	port.cpu = a->cpu;
	port.other = a->other;
	for (int i = CPUS_MOST - 1; i >= 0; i--) {
		if (!cpus_have(&allowed, i))
			continue;
		if (port.cpu < 0)
			port.cpu = i;
		else if (port.other < 0 && !a->other_said && i != port.cpu)
			port.other = i;
	}
	if (!cpus_pin(0, port.cpu))
		die("cannot run on the requested CPU");
}

/*
 * What the kernel says of the TSC, if that is the clock: it lists the TSC as a
 * clock source unless the TSC changes its rate, stops, or differs between CPUs.
 */
static enum trust clock_trust(void)
{
	static const char list[] = "/sys/devices/system/clocksource/"
				   "clocksource0/available_clocksource";
	char text[256] = " ";
	int file;
	ssize_t n;

	if (strcmp(PORT_CLOCK, "tsc"))
		return TRUSTED;
	file = open(list, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? 0 : read(file, text + 1, sizeof(text) - 2);
	if (file >= 0)
		close(file);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	/* User-mode Linux has a clock of its own, and knows no TSC. */
	if (n <= 0 || strstr(text, " timer "))
		return UNKNOWN;
	return strstr(text, " tsc ") ? TRUSTED : DISTRUSTED;
}

static void check_clock(void)
{
	port.trust = clock_trust();
	if (port.trust != DISTRUSTED)
		return;
	fprintf(stderr, "kernmark-agent: the TSC: the kernel does not trust it "
			"as a clock on this machine, so its ticks are no time; "
			"see why with: sudo dmesg | grep -i -e tsc -e "
			"clocksource; a virtual machine may need a processor "
			"with the flag invtsc\n");
	exit(1);
}

static void claim_priority(const struct arguments *a)
{
	const struct rlimit fuse = { FUSE_US, 2 * FUSE_US };
	struct sched_param p = { .sched_priority = FIFO_RUNNER };

	if (a->never_realtime)
		return;
	/*
	 * Without this limit, a runaway thread would keep the CPU. In an emulator
	 * that counts instructions, a second of the clock is not much work.
	 */
	port.realtime = (port.counts || !setrlimit(RLIMIT_RTTIME, &fuse)) &&
			set_scheduler(SCHED_FIFO, &p);
	port.realtime_errno = port.realtime ? 0 : errno;
}

static void introduce(const char *mode)
{
	struct utsname name;
	char text[512];

	uname(&name);
	km_hello(&(struct km_hello){
		.port = "linux-user", .arch = name.machine, .mode = mode,
		.clock = PORT_CLOCK,
		.unit = port.counts ? "instructions" : "cycles",
		.hz = port.counts ? 0 : port.hz,
		.realtime = port.realtime,
	});
	snprintf(text, sizeof(text), "%s %s %s", name.sysname, name.release,
		 name.version);
	km_info("kernel", text);
	km_info("compiler", PORT_COMPILER);
	km_info("flags", PORT_FLAGS);
	if (port.cpu >= 0) {
		snprintf(text, sizeof(text), "%d", port.cpu);
		km_info("cpu", text);
	}
	if (port.other >= 0) {
		snprintf(text, sizeof(text), "%d", port.other);
		km_info("other_cpu", text);
	}
	if (port.trust == UNKNOWN)
		km_info("clock_trust", "unknown: the kernel does not list its "
				       "clock sources");
	if (port.unlocked) {
		snprintf(text, sizeof(text), "mlockall: %s: allow it for this "
					     "shell with: sudo prlimit --pid "
					     "$$ --memlock=unlimited",
			 strerror(port.unlocked));
		km_info("memory_not_locked", text);
	}
}

/* Dies with the tool that started it, however that tool ends. */
static void follow(uint32_t parent)
{
	if (!parent)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		die("prctl PR_SET_PDEATHSIG");
	if ((uint32_t)getppid() != parent)
		exit(1);
}

static void run(const struct arguments *a)
{
	struct km_options o = { .samples = a->samples, .cases = a->selected };
	struct km_memory *m = own_memory();

	claim_cpus(a);
	claim_clock();
	claim_priority(a);
	/*
	 * A count of instructions needs neither a limit in time nor batches, and
	 * CPU time is no count of them.
	 */
	if (!port.counts) {
		check_clock();
		port.has_cpu_time = has_cpu_time();
		o.budget = port_ticks_of_us(a->budget_us);
		o.epoch = port.hz / 1000 * a->epoch_ns / 1000000;
	}
	o.burst = port_ticks_of_us(a->burst_said ? a->burst_us :
				   port.counts ? BURST_EMULATED_US : BURST_US);
	introduce("run");
	port.rested = port_now();
	if (!*a->cases)
		km_measure(NULL, m, &o);
	for (char **c = a->cases; *c; c++)
		km_measure(*c, m, &o);
	km_bye();
}

/* Returns what follows `key=` in a word, or NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) || word[n] != '=' ? NULL : word + n + 1;
}

static bool cpu_number(const char *text, int *cpu)
{
	uint32_t number;

	if (!order_number(text, &number) || number >= CPUS_MOST)
		return false;
	*cpu = (int)number;
	return true;
}

/*
 * Applies a setting. Returns false if the word is not a setting or has a wrong
 * value.
 */
static bool setting(struct arguments *a, const char *word)
{
	const struct {
		const char *key;
		uint32_t *to, least, most;
	} numbers[] = {
		{ "samples", &a->samples, 1, UINT32_MAX },
		{ "budget_us", &a->budget_us, 0, UINT32_MAX },
		{ "epoch_ns", &a->epoch_ns, 0, UINT32_MAX },
		{ "burst_us", &a->burst_us, 0, UINT32_MAX },
		{ "parent", &a->parent, 1, UINT32_MAX },
		{ "icount", &port_shift, 0, 63 },
		{ "debugcon", &output.debug_console, 1, OUTPUT_DEBUGCON_MOST },
	};
	const char *value;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		value = value_of(word, numbers[i].key);
		if (!value)
			continue;
		port.counts |= numbers[i].to == &port_shift;
		a->burst_said |= numbers[i].to == &a->burst_us;
		return order_number(value, numbers[i].to) &&
		       *numbers[i].to >= numbers[i].least &&
		       *numbers[i].to <= numbers[i].most;
	}
	a->selected = value_of(word, "cases");
	if (a->selected)
		return order_cases(a->selected);
	value = value_of(word, "cpu");
	if (value)
		return cpu_number(value, &a->cpu);
	value = value_of(word, "other");
	if (value) {
		a->other_said = true;
		return !strcmp(value, "none") || cpu_number(value, &a->other);
	}
	value = value_of(word, "realtime");
	if (!value)
		return false;
	a->never_realtime = !strcmp(value, "never");
	return a->never_realtime || !strcmp(value, "auto");
}

static int usage(const char *what)
{
	fprintf(stderr, "kernmark-agent: wrong argument: %s\n"
		"usage: kernmark-agent [icount=SHIFT] [debugcon=PORT] list\n"
		"       kernmark-agent [icount=SHIFT] [debugcon=PORT] run [samples=N] [budget_us=N]\n"
		"                      [epoch_ns=N] [burst_us=N] [cpu=N] [other=N|none]\n"
		"                      [realtime=auto|never] [parent=PID] [cases=HEX | CASE...]\n",
		what);
	return 2;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.samples = 500, .epoch_ns = 20000,
		.cpu = -1, .other = -1,
	};
	bool list;

	(void)argc;
	port.cpu = port.other = -1;
	for (argv++; *argv && strchr(*argv, '='); argv++)
		if (!setting(&a, *argv))
			return usage(*argv);
	list = *argv && !strcmp(*argv, "list");
	if (!*argv || (!list && strcmp(*argv, "run")))
		return usage(*argv ? *argv : "(none)");
	for (argv++; !list && *argv && strchr(*argv, '='); argv++)
		if (!setting(&a, *argv))
			return usage(*argv);
	a.cases = argv;
	for (; *argv; argv++)
		if (list || !km_has(*argv))
			return usage(*argv);
	if (list) {
		claim_clock();
		introduce("list");
		km_catalog();
		km_bye();
	} else {
		follow(a.parent);
		run(&a);
	}
	flush();
	return 0;
}
