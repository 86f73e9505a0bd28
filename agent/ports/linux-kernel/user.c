// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The user side: runs the cases, prints the records, and creates the user
 * threads of a benchmark. The module has the kernel threads and the objects
 * they all use.
 *
 *	kernmark-agent [module=FILE] [icount=SHIFT] [debugcon=PORT] [cpu=N]
 *		[parent=PID] list | run [...]
 *
 * The words from list or run on are an order, see order.h. With icount=, an
 * emulator runs this that counts an instruction as 2^SHIFT ticks of the clock.
 * With debugcon=, the records go to the emulator's debug console.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../linux-user/cpus.h"
#include "../linux-user/output.h"
#include "call.h"
#include "linux-kernel.h"
#include "order.h"
#include "shared.h"

/* SCHED_FIFO priorities, low so that the machine's own threads come first. */
enum { FIFO_LOW = 1, FIFO_HIGH, FIFO_RUNNER };

/*
 * Maximum length of a part; and a rest of REST_US follows REST_EVERY_US of
 * work.
 */
#define BURST_US 50000
#define REST_EVERY_US 40000
#define REST_US 4000
/* A sample of a batched operation lasts at least half of this. */
#define EPOCH_NS 20000
#define STACK_SIZE (64 << 10)
/* The kernel ends a real-time thread that has not blocked for this long. */
#define FUSE_US 1000000
/* Longest order in bytes. */
#define ORDER_MAX 2048
/* The module, by default, in the folder of this program. */
#define MODULE "kernmark.ko"

struct seat {
	const struct km_thread *thread;
	uint32_t number;
	pthread_t id;		/* of a user thread */
	pid_t task;		/* of a kernel thread */
	struct km_counts counts;
};

static char stacks[PORT_THREADS][STACK_SIZE] __attribute__((aligned(4096)));
/* Records not written yet. */
static struct output output;

static struct {
	struct seat seat[PORT_THREADS];
	int cpu;
	port_ticks hz;		/* of the clock */
	bool counts;		/* its ticks count instructions */
	port_ticks rested;
	const char *module;	/* NULL: MODULE */
} port = { .cpu = -1 };

uint32_t port_shift;
int port_device = -1;

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "kernmark-agent: %s: %s\n", what, why);
	exit(1);
}

static void flush(void)
{
	if (!output_flush(&output))
		die("cannot write the records", strerror(errno));
}

void port_write(const char *bytes, size_t n)
{
	if (!output_add(&output, bytes, n))
		die("cannot write the records", strerror(errno));
}

void port_call_failed(void)
{
	die("an operation failed", "the module belongs to another build of "
				   "the agent, or the thread was killed");
}

static port_ticks ticks_of_us(uint32_t us)
{
	return port.hz / 1000000 * us;
}

static int fifo(enum km_priority priority)
{
	return priority == KM_HIGH ? FIFO_HIGH : FIFO_LOW;
}

static int policy(enum km_priority priority)
{
	return priority == KM_SLICED ? SCHED_RR : SCHED_FIFO;
}

/* Asks the kernel how a thread ran; task 0 is the calling thread. */
static void inspect(const struct seat *s, pid_t task, int cpu, struct km_counts *c)
{
	enum km_priority priority = s->thread->role->priority;
	struct sched_param p;

	if (!cpus_pinned(task, port.cpu) || cpu != port.cpu)
		c->strayed++;
	if (sched_getscheduler(task) != policy(priority) ||
	    sched_getparam(task, &p) || p.sched_priority != fifo(priority))
		c->demoted++;
}

static void *take_seat(void *argument)
{
	struct seat *s = argument;
	long entered = port_call(CALL_ENTER, port_shared_start, s->number);

	if (entered == -ECANCELED)
		return NULL;
	if (entered)
		port_call_failed();
	s->thread->role->body(&port_shared.memory.run);
	inspect(s, 0, sched_getcpu(), &s->counts);
	port_operate(CALL_LEAVE, port_shared_start, 0);
	return NULL;
}

/* Returns what failed and why. The string is valid until the next call. */
static const char *failed(const char *what, int error)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(error));
	return text;
}

static const char *start_user(struct seat *s)
{
	struct sched_param p = { .sched_priority = fifo(s->thread->role->priority) };
	pthread_attr_t attr;
	struct cpus only;
	int wrong;

	cpus_only(&only, port.cpu);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stacks[s->number], STACK_SIZE);
	pthread_attr_setaffinity_np(&attr, sizeof(only), only.part);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, policy(s->thread->role->priority));
	pthread_attr_setschedparam(&attr, &p);
	wrong = pthread_create(&s->id, &attr, take_seat, s);
	pthread_attr_destroy(&attr);
	return wrong ? failed("could not create a user thread", wrong) : NULL;
}

/*
 * Identifies a role to the module, by its place in the tables that both sides
 * have.
 */
static uint32_t packed(const struct km_role *role, uint32_t seat)
{
	for (uint32_t t = 0; port_tables[t]; t++)
		for (uint32_t e = 0; port_tables[t][e].object; e++) {
			const struct km_role *first = port_tables[t][e].role;

			if (role >= first && role < first + KM_ROLES)
				return seat | t << 8 | e << 16 |
				       (uint32_t)(role - first) << 24;
		}
	return UINT32_MAX;
}

const char *port_setup(const struct km_bench *b)
{
	if (!port_call(CALL_SETUP, port_shared_start, packed(b->role, 0)))
		return NULL;
	return port_shared.wrong;
}

void port_teardown(const struct km_bench *b)
{
	port_operate(CALL_TEARDOWN, port_shared_start, packed(b->role, 0));
}

static const char *start_kernel(struct seat *s)
{
	struct sched_param p = { .sched_priority = fifo(s->thread->role->priority) };
	long task = port_call(CALL_SIT, &port_shared,
			      packed(s->thread->role, s->number));

	if (task < 0)
		return failed("could not create a kernel thread", (int)-task);
	s->task = (pid_t)task;
	if (!cpus_pin(s->task, port.cpu) ||
	    sched_setscheduler(s->task, policy(s->thread->role->priority), &p))
		return failed("could not pin a kernel thread or set its priority",
			      errno);
	return NULL;
}

/* The module counts the threads of both sides. */
void port_count(struct km_counts *until_now)
{
	until_now->switches = (uint32_t)port_operate(CALL_COUNT, port_shared_start, 0);
}

void kernel_only(struct km_run *r)
{
	(void)r;
	die("a benchmark for kernel mode only", "it runs in the module");
}

const char *kernel_only_setup(struct km_run *r)
{
	kernel_only(r);
	return NULL;
}

/* Ends the threads of a part if some could not be created. */
static void abandon(uint32_t begun)
{
	port_operate(CALL_ABANDON, port_shared_start, 0);
	for (uint32_t i = 0; i < begun; i++)
		if (port.seat[i].thread->user)
			pthread_join(port.seat[i].id, NULL);
	port_operate(CALL_END, port_shared_start, 0);
}

const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	const char *wrong;

	/* Shows the reader which case has begun, in case it never ends. */
	flush();
	if (port_call(CALL_BEGIN, port_shared_start, n))
		die("CALL_BEGIN", "the module belongs to another build of the "
				  "agent");
	for (uint32_t i = 0; i < n; i++) {
		struct seat *s = &port.seat[i];

		*s = (struct seat){ .thread = &threads[i], .number = i };
		wrong = threads[i].user ? start_user(s) : start_kernel(s);
		if (wrong) {
			abandon(i);
			return wrong;
		}
	}
	if (port_call(CALL_RUN, port_shared_start, 0))
		die("CALL_RUN", "it was interrupted");
	for (uint32_t i = 0; i < n; i++) {
		const struct call_seat *found = &port_shared.seat[i];
		struct seat *s = &port.seat[i];

		if (s->task)
			inspect(s, s->task, (int)found->cpu, &s->counts);
		else
			pthread_join(s->id, NULL);
		counts->strayed += s->counts.strayed;
		counts->demoted += s->counts.demoted;
	}
	port_operate(CALL_END, port_shared_start, 0);
	/* If the module's side records, the other side's counts are 0. */
	for (uint32_t i = 0; i < 2; i++)
		r->count[i].switches += port_shared.kernel.count[i].switches;
	r->wrong += port_shared.kernel.wrong;
	r->bytes += port_shared.kernel.bytes;
	return *port_shared.wrong ? port_shared.wrong : NULL;
}

/*
 * The kernel stops a real-time thread that never rests for 50 ms of every
 * second (sched_rt_runtime_us), in the middle of a sample.
 */
void port_rest(void)
{
	const struct timespec rest = { .tv_nsec = REST_US * 1000 };

	if (port_now() - port.rested < ticks_of_us(REST_EVERY_US))
		return;
	flush();
	nanosleep(&rest, NULL);
	port.rested = port_now();
}

static bool preempt_rt(void)
{
	struct utsname k;

	return !uname(&k) && strstr(k.version, "PREEMPT_RT");
}

const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	for (uint32_t i = 0; i < KM_ROLES && b->role[i].body; i++)
		if (b->role[i].flags & KM_MADE)
			return "kthreadd creates kernel threads, not their "
			       "creator; linux-user creates user threads";
	if (b->needs & KM_CONDVAR && b->role[0].flags & KM_EACH && preempt_rt())
		return "with PREEMPT_RT, a broadcast lets each thread run "
		       "before it wakes the next";
	if (!strcmp(b->object, PORT_FOREIGN_REGISTER))
		return "only " PORT_FOREIGN " has this register";
	if (strstr(b->span[0].name, "recursive"))
		return "the kernel has no recursive mutex";
	if (!user && b->needs & KM_USER)
		return "user threads only: a kernel thread does not cross into "
		       "the kernel";
	if (user && b->needs & KM_IRQ_LOCK)
		return "privileged only: a user thread cannot lock interrupts";
	if (b->needs & KM_HANDLER && user >> b->span[0].from & 1)
		return "privileged only: a user thread cannot raise an "
		       "interrupt at once";
	if (user && b->needs & KM_HEAP)
		return "privileged only: a user thread has no kmalloc; "
		       "linux-user measures its own heap";
	return NULL;
}

static const char *why_not_loaded(void)
{
	switch (errno) {
	case EPERM:
		return "not permitted: run it as root; a kernel under "
		       "lockdown (/sys/kernel/security/lockdown) rejects your "
		       "own modules";
	case ENOKEY:
	case EKEYREJECTED:
		return "this kernel accepts only signed modules";
	case EEXIST:
		return "another run is using it";
	case ENOEXEC:
		return "it was built for another kernel; build it with "
		       "KDIR=/lib/modules/$(uname -r)/build";
	}
	return strerror(errno);
}

static void unload(void)
{
	syscall(SYS_delete_module, CALL_DEVICE, O_NONBLOCK);
}

/* The path of MODULE. */
static const char *module_beside(void)
{
	static char path[4096 + sizeof(MODULE)];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(MODULE));

	if (n < 0)
		die("/proc/self/exe", strerror(errno));
	while (n && path[n - 1] != '/')
		n--;
	strcpy(path + n, MODULE);
	return path;
}

/* Unloads a module that a killed run left behind: it may be another build. */
static void load(void)
{
	const char *module = port.module ? port.module : module_beside();
	int file = open(module, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		die(module, strerror(errno));
	unload();
	if (syscall(SYS_finit_module, file, "", 0))
		die(module, why_not_loaded());
	close(file);
}

static void open_device(void)
{
	size_t size = (size_t)(port_shared_end - port_shared_start);

	port_device = open("/dev/" CALL_DEVICE, O_RDWR | O_CLOEXEC);
	if (port_device < 0)
		die("/dev/" CALL_DEVICE, strerror(errno));
	if (mmap(port_shared_start, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, port_device, 0) == MAP_FAILED)
		die("mmap", errno == EINVAL ? "the module belongs to another "
					      "build of the agent" :
		    strerror(errno));
	if (mlockall(MCL_CURRENT))
		die("mlockall", strerror(errno));
}

static void claim_cpu(void)
{
	struct cpus allowed;

	if (!cpus_allowed(0, &allowed))
		die("sched_getaffinity", strerror(errno));
	for (int i = CPUS_MOST - 1; i >= 0 && port.cpu < 0; i--)
		if (cpus_have(&allowed, i))
			port.cpu = i;
	if (!cpus_pin(0, port.cpu))
		die("cannot run on the requested CPU", strerror(errno));
}

static void claim_clock(void)
{
	long khz = port_call(CALL_KHZ, port_shared_start, 0);

	if (khz == -EOPNOTSUPP)
		die("this machine", "a paravirtualised Xen guest cannot be "
				    "measured: its page tables and interrupts "
				    "are calls to Xen");
	if (khz <= 0 && !port.counts)
		die(PORT_CLOCK, "the kernel does not use this counter as a "
				"clock on this machine: see dmesg for "
				"\"" PORT_CLOCK "\"");
	/* An emulator's ticks and instructions follow its own time. */
	port.hz = port.counts ? PORT_EMULATED_HZ : (port_ticks)khz * 1000;
}

static void claim_priority(void)
{
	const struct sched_param p = { .sched_priority = FIFO_RUNNER };
	const struct rlimit fuse = { FUSE_US, 2 * FUSE_US };

	if (setrlimit(RLIMIT_RTTIME, &fuse) ||
	    sched_setscheduler(0, SCHED_FIFO, &p))
		die("real-time priority", strerror(errno));
}

/* Dies with the tool that started it, however that tool ends. */
static void follow(uint32_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		die("prctl PR_SET_PDEATHSIG", strerror(errno));
	if ((uint32_t)getppid() != parent)
		exit(1);
}

static void introduce(const struct order *o)
{
	struct utsname k;
	char text[512];

	uname(&k);
	km_hello(&(struct km_hello){
		.port = "linux-kernel", .arch = k.machine,
		.mode = o->list ? "list" : "run", .clock = PORT_CLOCK,
		.unit = port.counts ? "instructions" : "cycles",
		.hz = port.counts ? 0 : port.hz,
		.realtime = true,
	});
	snprintf(text, sizeof(text), "%s %s %s", k.sysname, k.release,
		 k.version);
	km_info("kernel", text);
	km_info("compiler", PORT_COMPILER);
	km_info("flags", PORT_FLAGS);
	snprintf(text, sizeof(text), "%d", port.cpu);
	km_info("cpu", text);
}

static _Noreturn void wrong_argument(const char *word)
{
	fprintf(stderr, "kernmark-agent: wrong argument: %s\n"
		"usage: kernmark-agent [module=FILE] [cpu=N] [icount=SHIFT]"
		" [debugcon=PORT] [parent=PID] list\n"
		"       kernmark-agent ... run [samples=N] [budget_us=N]"
		" [cases=HEX]\n", word);
	exit(2);
}

static void session(char *text)
{
	struct order order;
	const char *wrong;

	load();
	open_device();
	claim_cpu();
	claim_clock();
	wrong = order_read(&order, text, port.counts ? 0 : port.hz);
	if (wrong)
		wrong_argument(wrong);
	claim_priority();
	if (!port.counts)
		order.options.epoch = port.hz / 1000 * EPOCH_NS / 1000000;
	order.options.burst = ticks_of_us(BURST_US);
	introduce(&order);
	port.rested = port_now();
	if (order.list)
		km_catalog();
	else
		km_measure(NULL, &port_shared.memory, &order.options);
	km_bye();
	munmap(port_shared_start, (size_t)(port_shared_end - port_shared_start));
	close(port_device);
	unload();
}

static const char *behind(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? NULL : text + n;
}

static uint32_t number(const char *word, const char *value, uint32_t most)
{
	uint32_t n;

	if (!order_number(value, &n) || n > most)
		wrong_argument(word);
	return n;
}

/*
 * Consumes a word for this program. Returns false if it belongs to the order.
 */
static bool own_word(const char *word)
{
	const char *value;

	if ((value = behind(word, "module="))) {
		port.module = value;
	} else if ((value = behind(word, "cpu="))) {
		port.cpu = (int)number(word, value, CPUS_MOST - 1);
	} else if ((value = behind(word, "parent="))) {
		follow(number(word, value, INT32_MAX));
	} else if ((value = behind(word, "icount="))) {
		port_shift = number(word, value, 63);
		port.counts = true;
	} else if ((value = behind(word, "debugcon="))) {
		output.debug_console = number(word, value, OUTPUT_DEBUGCON_MOST);
	}
	return value;
}

int main(int argc, char **argv)
{
	char text[ORDER_MAX] = "";
	size_t used = 0;

	(void)argc;
	argv++;
	while (*argv && own_word(*argv))
		argv++;
	for (; *argv; argv++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", *argv);
		if (used >= sizeof(text))
			die("the order", "it is too long");
	}
	session(text);
	flush();
	return 0;
}
