// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "pingpong.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define BYTES_MAX 65536

/*
 * What a side waits for in memory; shared between processes if they are
 * separate.
 */
struct box {
	uint32_t full;		/* futex word */
	uint64_t number;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pid_t process;		/* process of the side that reads this box */
	uint32_t thread;
};

static struct wire wire[2] = { { -1, -1 }, { -1, -1 } };
static int poller[2] = { -1, -1 };
static struct box *box;

static void teardown(struct km_run *r)
{
	(void)r;
	cut_wires(wire);
	for (int i = 0; i < 2; i++) {
		if (poller[i] >= 0)
			close(poller[i]);
		poller[i] = -1;
	}
	if (box)
		munmap(box, 2 * sizeof(*box));
	box = NULL;
}

static const char *cannot(const char *what)
{
	const char *text = why(what);

	teardown(NULL);
	return text;
}

/* Pipes. */

static const char *pipes(struct km_run *r)
{
	int there[2], back[2];

	(void)r;
	if (pipe2(there, O_CLOEXEC))
		return why("pipe2");
	wire[ANSWERER].in = there[0];
	wire[ASKER].out = there[1];
	if (pipe2(back, O_CLOEXEC))
		return cannot("pipe2");
	wire[ASKER].in = back[0];
	wire[ANSWERER].out = back[1];
	return NULL;
}

/* Pipes and event counters both carry eight bytes. */
KM_INLINE bool wire_send(enum side from, uint64_t number)
{
	return write_all(wire[from].out, &number, sizeof(number));
}

KM_INLINE bool wire_receive(enum side at, uint64_t *number)
{
	return read_all(wire[at].in, number, sizeof(*number));
}

static void wire_ask(struct km_run *r)
{
	ask(r, wire_send, wire_receive);
}

static void wire_answer(struct km_run *r)
{
	answer(r, wire_send, wire_receive);
}

/*
 * Blocks of bytes. The answerer increments the number at the start and keeps
 * the one at the end, so an answer proves that both ends of the question
 * arrived.
 */
static uint64_t block[2][BYTES_MAX / sizeof(uint64_t)];

static void bytes_ask(struct km_run *r)
{
	const struct wire w = wire[ASKER];
	uint32_t n = r->argument, last = n / sizeof(uint64_t) - 1;
	uint64_t *b = block[ASKER], number = 2;

	memset(b, 0, n);
	for_each_sample(r) {
		bool right;

		b[0] = b[last] = number;
		stamp(r, 0);
		right = write_all(w.out, b, n) && read_all(w.in, b, n);
		stamp(r, 1);
		check(r, right && b[0] == number + 1 && b[last] == number);
		r->bytes += right ? n : 0;
		number += 2;
		record(r);
	}
	check(r, write_all(w.out, b, n));
}

static void bytes_answer(struct km_run *r)
{
	const struct wire w = wire[ANSWERER];
	uint32_t n = r->argument;
	uint64_t *b = block[ANSWERER];

	memset(b, 0, n);
	for_each_sample(r) {
		if (!read_all(w.in, b, n))
			return;
		b[0]++;
		write_all(w.out, b, n);
	}
	read_all(w.in, b, n);
}

/* Event counters. */

static const char *counters(struct km_run *r)
{
	int there = eventfd(0, EFD_CLOEXEC), back = eventfd(0, EFD_CLOEXEC);

	(void)r;
	/* Both sides hold both descriptors; each closes the one it reads. */
	wire[ANSWERER].in = there;
	wire[ASKER].in = back;
	if (there < 0 || back < 0)
		return cannot("eventfd");
	wire[ASKER].out = there;
	wire[ANSWERER].out = back;
	return NULL;
}

/* Channels: socket pairs. */

static const char *sockets(int type)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair))
		return why("socketpair");
	wire[ASKER].in = wire[ASKER].out = pair[0];
	wire[ANSWERER].in = wire[ANSWERER].out = pair[1];
	return NULL;
}

static const char *channel(struct km_run *r)
{
	(void)r;
	return sockets(SOCK_SEQPACKET);
}

static const char *stream(struct km_run *r)
{
	(void)r;
	return sockets(SOCK_STREAM);
}

/* A call: its answer carries the same transaction number. */
struct call {
	uint64_t transaction;
	uint64_t number;
};

static uint64_t transaction;

KM_INLINE bool call_send(enum side from, uint64_t number)
{
	struct call c = { .transaction = number & ~1ull, .number = number };
	struct iovec part = { &c, sizeof(c) };
	const struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (from == ASKER)
		transaction = c.transaction;
	return sendmsg(wire[from].out, &m, 0) == sizeof(c);
}

KM_INLINE bool call_receive(enum side at, uint64_t *number)
{
	struct call c;
	struct iovec part = { &c, sizeof(c) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	do {
		if (recvmsg(wire[at].in, &m, 0) != sizeof(c))
			return false;
	} while (at == ASKER && c.transaction != transaction);
	*number = c.number;
	return true;
}

static void call_ask(struct km_run *r)
{
	ask(r, call_send, call_receive);
}

static void call_answer(struct km_run *r)
{
	answer(r, call_send, call_receive);
}

/* Ports: each side has an epoll that reports when its wire is readable. */

static const char *pollers(void)
{
	for (int i = 0; i < 2; i++) {
		struct epoll_event e = { .events = EPOLLIN };

		poller[i] = epoll_create1(EPOLL_CLOEXEC);
		if (poller[i] < 0 ||
		    epoll_ctl(poller[i], EPOLL_CTL_ADD, wire[i].in, &e))
			return cannot("epoll");
	}
	return NULL;
}

static const char *polled_channel(struct km_run *r)
{
	const char *wrong = channel(r);

	return wrong ? wrong : pollers();
}

static const char *polled_counters(struct km_run *r)
{
	const char *wrong = counters(r);

	return wrong ? wrong : pollers();
}

KM_INLINE bool polled_receive(enum side at, uint64_t *number)
{
	struct epoll_event e;

	return epoll_wait(poller[at], &e, 1, -1) == 1 && wire_receive(at, number);
}

static void polled_ask(struct km_run *r)
{
	ask(r, wire_send, polled_receive);
}

static void polled_answer(struct km_run *r)
{
	answer(r, wire_send, polled_receive);
}

/*
 * Remote procedure calls over a stream of bytes. The header gives the length of
 * the body and the procedure called; an answer repeats it.
 */
struct header {
	uint32_t length;	/* of the body, in bytes */
	uint32_t transaction;
	uint64_t procedure;
};

#define RPC_ADD_ONE 0x41dd0001u
#define RPC_BODY 16

KM_INLINE bool rpc_send(enum side from, uint64_t number)
{
	const struct header h = { RPC_BODY, (uint32_t)number & ~1u, RPC_ADD_ONE };
	unsigned char message[sizeof(h) + RPC_BODY] = { 0 };

	memcpy(message, &h, sizeof(h));
	memcpy(message + sizeof(h), &number, sizeof(number));
	if (from == ASKER)
		transaction = h.transaction;
	return write_all(wire[from].out, message, sizeof(message));
}

KM_INLINE bool rpc_receive(enum side at, uint64_t *number)
{
	unsigned char body[RPC_BODY];
	struct header h;

	if (!read_all(wire[at].in, &h, sizeof(h)) || h.length != sizeof(body) ||
	    h.procedure != RPC_ADD_ONE ||
	    (at == ASKER && h.transaction != transaction) ||
	    !read_all(wire[at].in, body, h.length))
		return false;
	memcpy(number, body, sizeof(*number));
	return true;
}

static void rpc_ask(struct km_run *r)
{
	ask(r, rpc_send, rpc_receive);
}

static void rpc_answer(struct km_run *r)
{
	answer(r, rpc_send, rpc_receive);
}

/* Boxes in memory. */

static const char *boxes(struct km_run *r)
{
	void *p = mmap(NULL, 2 * sizeof(*box), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	(void)r;
	if (p == MAP_FAILED)
		return why("mmap");
	box = p;
	return NULL;
}

static long futex(uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/* Side `from` fills the box of the other side. */
KM_INLINE bool put(enum side from, uint64_t number, int scope)
{
	struct box *b = &box[!from];

	b->number = number;
	__atomic_store_n(&b->full, 1, __ATOMIC_RELEASE);
	return futex(&b->full, FUTEX_WAKE | scope, 1) >= 0;
}

KM_INLINE bool get(enum side at, uint64_t *number, int scope)
{
	struct box *b = &box[at];

	while (!__atomic_exchange_n(&b->full, 0, __ATOMIC_ACQUIRE))
		futex(&b->full, FUTEX_WAIT | scope, 0);
	*number = b->number;
	return true;
}

KM_INLINE bool private_put(enum side from, uint64_t number)
{
	return put(from, number, FUTEX_PRIVATE_FLAG);
}

KM_INLINE bool private_get(enum side at, uint64_t *number)
{
	return get(at, number, FUTEX_PRIVATE_FLAG);
}

KM_INLINE bool shared_put(enum side from, uint64_t number)
{
	return put(from, number, 0);
}

KM_INLINE bool shared_get(enum side at, uint64_t *number)
{
	return get(at, number, 0);
}

static void private_ask(struct km_run *r)
{
	ask(r, private_put, private_get);
}

static void private_answer(struct km_run *r)
{
	answer(r, private_put, private_get);
}

static void shared_ask(struct km_run *r)
{
	ask(r, shared_put, shared_get);
}

static void shared_answer(struct km_run *r)
{
	answer(r, shared_put, shared_get);
}

static const char *conditions(struct km_run *r, int scope)
{
	const char *wrong = boxes(r);
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	if (wrong)
		return wrong;
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, scope);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, scope);
	for (int i = 0; i < 2; i++) {
		pthread_mutex_init(&box[i].mutex, &mutex);
		pthread_cond_init(&box[i].cond, &cond);
	}
	pthread_mutexattr_destroy(&mutex);
	pthread_condattr_destroy(&cond);
	return NULL;
}

static const char *private_conditions(struct km_run *r)
{
	return conditions(r, PTHREAD_PROCESS_PRIVATE);
}

static const char *shared_conditions(struct km_run *r)
{
	return conditions(r, PTHREAD_PROCESS_SHARED);
}

/* Signals without holding the mutex, because the other side locks it first. */
KM_INLINE bool cond_send(enum side from, uint64_t number)
{
	struct box *b = &box[!from];

	pthread_mutex_lock(&b->mutex);
	b->number = number;
	b->full = 1;
	pthread_mutex_unlock(&b->mutex);
	return !pthread_cond_signal(&b->cond);
}

KM_INLINE bool cond_receive(enum side at, uint64_t *number)
{
	struct box *b = &box[at];

	pthread_mutex_lock(&b->mutex);
	while (!b->full)
		pthread_cond_wait(&b->cond, &b->mutex);
	b->full = 0;
	*number = b->number;
	return !pthread_mutex_unlock(&b->mutex);
}

static void cond_ask(struct km_run *r)
{
	ask(r, cond_send, cond_receive);
}

static void cond_answer(struct km_run *r)
{
	answer(r, cond_send, cond_receive);
}

/* Queued signals, accepted by a side that blocks them. */

static sigset_t only_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	return set;
}

/*
 * Tells the other side which thread to signal, and waits for its counterpart.
 */
static void meet(enum side me)
{
	const sigset_t set = only_signal();
	struct box *mine = &box[me], *other = &box[!me];

	pthread_sigmask(SIG_BLOCK, &set, NULL);
	mine->process = getpid();
	__atomic_store_n(&mine->thread, (uint32_t)gettid(), __ATOMIC_RELEASE);
	futex(&mine->thread, FUTEX_WAKE, 1);
	while (!__atomic_load_n(&other->thread, __ATOMIC_ACQUIRE))
		futex(&other->thread, FUTEX_WAIT, 0);
}

KM_INLINE bool signal_send(enum side from, uint64_t number)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	info.si_value.sival_ptr = (void *)(uintptr_t)number;
	return !syscall(SYS_rt_tgsigqueueinfo, box[!from].process,
			box[!from].thread, SIGRTMIN, &info);
}

KM_INLINE bool signal_receive(enum side at, uint64_t *number)
{
	const sigset_t set = only_signal();
	siginfo_t info;

	(void)at;
	if (sigwaitinfo(&set, &info) < 0)
		return false;
	*number = (uintptr_t)info.si_value.sival_ptr;
	return true;
}

static void signal_ask(struct km_run *r)
{
	meet(ASKER);
	ask(r, signal_send, signal_receive);
}

static void signal_answer(struct km_run *r)
{
	meet(ANSWERER);
	answer(r, signal_send, signal_receive);
}

static const uint32_t sizes[] = { 64, 1024, 4096, 16384, 65536, 0 };

/*
 * Both sides have the same priority. Two sides that share a CPU switch twice,
 * because neither can find its answer before the other has run. On two CPUs, a
 * side may find it before it has gone to sleep.
 */
#define ONE_CPU .between = PINGPONG_BETWEEN, .switches = 2
#define TWO_CPUS .between = PINGPONG_BETWEEN, .switches_most = 2
/* Here a side may also have to wait for either mutex. */
#define TWO_CPUS_MUTEX .between = PINGPONG_BETWEEN, .switches_most = 6
/*
 * Linux also wakes the reader of a stream when its peer has read a message from
 * it. Without real-time priority that reader may run at once, for nothing.
 */
#define ONE_CPU_STREAM ONE_CPU, .switches_most = 6
#define TWO_CPUS_STREAM .between = PINGPONG_BETWEEN, .switches_most = 6

#define NEAR KM_LOW, 0
#define FAR KM_LOW, KM_OTHER_CPU
#define NEAR_PROCESS KM_LOW, KM_OWN_PROCESS
#define FAR_PROCESS KM_LOW, KM_OWN_PROCESS | KM_OTHER_CPU

#define CHANNEL \
	.object = "roundtrip", \
	.about = "Send a message through a packet socket pair, and its answer " \
		"back.", \
	.via = "SOCK_SEQPACKET socketpair: write, read", \
	.teardown = teardown

#define CALL \
	.object = "roundtrip", \
	.about = "Send a message through a packet socket pair, and receive " \
		"the one " \
		"that answers its transaction.", \
	.via = "SOCK_SEQPACKET socketpair: sendmsg, recvmsg", \
	.teardown = teardown

#define CHANNEL_PORT \
	.object = "roundtrip", \
	.about = "Send a message through a packet socket pair, and its answer " \
		"back; " \
		"each side waits in a port.", \
	.via = "SOCK_SEQPACKET socketpair: write; epoll_wait, read", \
	.teardown = teardown

#define PORT \
	.object = "roundtrip", \
	.about = "Send a packet through a port, and its answer through another.", \
	.via = "eventfd in an epoll: write; epoll_wait, read", \
	.teardown = teardown

#define EVENTFD \
	.object = "roundtrip", \
	.about = "Raise an event counter, and another one in answer.", \
	.via = "eventfd: write, read", \
	.teardown = teardown

#define PIPE \
	.object = "roundtrip", \
	.about = "Send eight bytes through a pipe, and eight back through " \
		"another.", \
	.via = "pipe: write, read", \
	.teardown = teardown

#define RPC \
	.object = "roundtrip", \
	.about = "A remote procedure call, the counterpart of a FIDL call: " \
		"build header " \
		"and body and send them; procedure, length and transaction are " \
		"compared.", \
	.via = "SOCK_STREAM socketpair: write; read of the header, read of the " \
		"body", \
	.teardown = teardown

#define FUTEX \
	.object = "roundtrip", \
	.about = "Fill a word and wake its waiter, and the same in answer.", \
	.via = "FUTEX_WAKE, FUTEX_WAIT; private within one process", \
	.teardown = teardown

#define CONDVAR \
	.object = "roundtrip", \
	.about = "Signal a condition variable, and another one in answer.", \
	.via = "pthread_cond_signal, pthread_cond_wait; process-shared between " \
		"processes", \
	.teardown = teardown

#define SIGNAL \
	.object = "roundtrip", \
	.about = "Send a queued signal to a thread that waits for it, and one " \
		"back in " \
		"answer.", \
	.via = "rt_tgsigqueueinfo, sigwaitinfo", \
	.teardown = teardown

KM_TABLE(roundtrip) = {
	{
		CHANNEL, .setup = channel,
		.needs = KM_THREADS,
		.role = { { wire_ask, NEAR }, { wire_answer, NEAR } },
		.span = { { .name = "channel.threads", ONE_CPU } },
	},
	{
		CHANNEL, .setup = channel,
		.needs = KM_THREADS | KM_SMP,
		.role = { { wire_ask, NEAR }, { wire_answer, FAR } },
		.span = { { .name = "channel.threads.cross_cpu", TWO_CPUS } },
	},
	{
		CHANNEL, .setup = channel,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ wire_ask, NEAR_PROCESS },
			{ wire_answer, NEAR_PROCESS },
		},
		.span = { { .name = "channel.processes", ONE_CPU } },
	},
	{
		CHANNEL, .setup = channel,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ wire_ask, NEAR_PROCESS },
			{ wire_answer, FAR_PROCESS },
		},
		.span = { { .name = "channel.processes.cross_cpu", TWO_CPUS } },
	},
	{
		CALL, .setup = channel,
		.needs = KM_THREADS,
		.role = { { call_ask, NEAR }, { call_answer, NEAR } },
		.span = { { .name = "channel_call.threads", ONE_CPU } },
	},
	{
		CALL, .setup = channel,
		.needs = KM_THREADS | KM_SMP,
		.role = { { call_ask, NEAR }, { call_answer, FAR } },
		.span = {
			{ .name = "channel_call.threads.cross_cpu", TWO_CPUS },
		},
	},
	{
		CALL, .setup = channel,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ call_ask, NEAR_PROCESS },
			{ call_answer, NEAR_PROCESS },
		},
		.span = { { .name = "channel_call.processes", ONE_CPU } },
	},
	{
		CALL, .setup = channel,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ call_ask, NEAR_PROCESS },
			{ call_answer, FAR_PROCESS },
		},
		.span = {
			{ .name = "channel_call.processes.cross_cpu", TWO_CPUS },
		},
	},
	{
		CHANNEL_PORT, .setup = polled_channel,
		.needs = KM_THREADS,
		.role = { { polled_ask, NEAR }, { polled_answer, NEAR } },
		.span = { { .name = "channel_port.threads", ONE_CPU } },
	},
	{
		CHANNEL_PORT, .setup = polled_channel,
		.needs = KM_THREADS | KM_SMP,
		.role = { { polled_ask, NEAR }, { polled_answer, FAR } },
		.span = {
			{ .name = "channel_port.threads.cross_cpu", TWO_CPUS },
		},
	},
	{
		CHANNEL_PORT, .setup = polled_channel,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ polled_ask, NEAR_PROCESS },
			{ polled_answer, NEAR_PROCESS },
		},
		.span = { { .name = "channel_port.processes", ONE_CPU } },
	},
	{
		CHANNEL_PORT, .setup = polled_channel,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ polled_ask, NEAR_PROCESS },
			{ polled_answer, FAR_PROCESS },
		},
		.span = {
			{ .name = "channel_port.processes.cross_cpu", TWO_CPUS },
		},
	},
	{
		PORT, .setup = polled_counters,
		.needs = KM_THREADS,
		.role = { { polled_ask, NEAR }, { polled_answer, NEAR } },
		.span = { { .name = "port.threads", ONE_CPU } },
	},
	{
		PORT, .setup = polled_counters,
		.needs = KM_THREADS | KM_SMP,
		.role = { { polled_ask, NEAR }, { polled_answer, FAR } },
		.span = { { .name = "port.threads.cross_cpu", TWO_CPUS } },
	},
	{
		PORT, .setup = polled_counters,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ polled_ask, NEAR_PROCESS },
			{ polled_answer, NEAR_PROCESS },
		},
		.span = { { .name = "port.processes", ONE_CPU } },
	},
	{
		PORT, .setup = polled_counters,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ polled_ask, NEAR_PROCESS },
			{ polled_answer, FAR_PROCESS },
		},
		.span = { { .name = "port.processes.cross_cpu", TWO_CPUS } },
	},
	{
		EVENTFD, .setup = counters,
		.needs = KM_THREADS,
		.role = { { wire_ask, NEAR }, { wire_answer, NEAR } },
		.span = { { .name = "eventfd.threads", ONE_CPU } },
	},
	{
		EVENTFD, .setup = counters,
		.needs = KM_THREADS | KM_SMP,
		.role = { { wire_ask, NEAR }, { wire_answer, FAR } },
		.span = { { .name = "eventfd.threads.cross_cpu", TWO_CPUS } },
	},
	{
		EVENTFD, .setup = counters,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ wire_ask, NEAR_PROCESS },
			{ wire_answer, NEAR_PROCESS },
		},
		.span = { { .name = "eventfd.processes", ONE_CPU } },
	},
	{
		EVENTFD, .setup = counters,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ wire_ask, NEAR_PROCESS },
			{ wire_answer, FAR_PROCESS },
		},
		.span = { { .name = "eventfd.processes.cross_cpu", TWO_CPUS } },
	},
	{
		PIPE, .setup = pipes,
		.needs = KM_THREADS,
		.role = { { wire_ask, NEAR }, { wire_answer, NEAR } },
		.span = { { .name = "pipe.threads", ONE_CPU } },
	},
	{
		PIPE, .setup = pipes,
		.needs = KM_THREADS | KM_SMP,
		.role = { { wire_ask, NEAR }, { wire_answer, FAR } },
		.span = { { .name = "pipe.threads.cross_cpu", TWO_CPUS } },
	},
	{
		PIPE, .setup = pipes,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ wire_ask, NEAR_PROCESS },
			{ wire_answer, NEAR_PROCESS },
		},
		.span = { { .name = "pipe.processes", ONE_CPU } },
	},
	{
		PIPE, .setup = pipes,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ wire_ask, NEAR_PROCESS },
			{ wire_answer, FAR_PROCESS },
		},
		.span = { { .name = "pipe.processes.cross_cpu", TWO_CPUS } },
	},
	{
		RPC, .setup = stream,
		.needs = KM_THREADS,
		.role = { { rpc_ask, NEAR }, { rpc_answer, NEAR } },
		.span = { { .name = "rpc.threads", ONE_CPU_STREAM } },
	},
	{
		RPC, .setup = stream,
		.needs = KM_THREADS | KM_SMP,
		.role = { { rpc_ask, NEAR }, { rpc_answer, FAR } },
		.span = { { .name = "rpc.threads.cross_cpu", TWO_CPUS_STREAM } },
	},
	{
		RPC, .setup = stream,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ rpc_ask, NEAR_PROCESS },
			{ rpc_answer, NEAR_PROCESS },
		},
		.span = { { .name = "rpc.processes", ONE_CPU_STREAM } },
	},
	{
		RPC, .setup = stream,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ rpc_ask, NEAR_PROCESS },
			{ rpc_answer, FAR_PROCESS },
		},
		.span = { { .name = "rpc.processes.cross_cpu", TWO_CPUS_STREAM } },
	},
	{
		FUTEX, .setup = boxes,
		.needs = KM_THREADS,
		.role = { { private_ask, NEAR }, { private_answer, NEAR } },
		.span = { { .name = "futex.threads", ONE_CPU } },
	},
	{
		FUTEX, .setup = boxes,
		.needs = KM_THREADS | KM_SMP,
		.role = { { private_ask, NEAR }, { private_answer, FAR } },
		.span = { { .name = "futex.threads.cross_cpu", TWO_CPUS } },
	},
	{
		FUTEX, .setup = boxes,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ shared_ask, NEAR_PROCESS },
			{ shared_answer, NEAR_PROCESS },
		},
		.span = { { .name = "futex.processes", ONE_CPU } },
	},
	{
		FUTEX, .setup = boxes,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ shared_ask, NEAR_PROCESS },
			{ shared_answer, FAR_PROCESS },
		},
		.span = { { .name = "futex.processes.cross_cpu", TWO_CPUS } },
	},
	{
		CONDVAR, .setup = private_conditions,
		.needs = KM_THREADS,
		.role = { { cond_ask, NEAR }, { cond_answer, NEAR } },
		.span = { { .name = "condvar.threads", ONE_CPU } },
	},
	{
		CONDVAR, .setup = private_conditions,
		.needs = KM_THREADS | KM_SMP,
		.role = { { cond_ask, NEAR }, { cond_answer, FAR } },
		.span = {
			{ .name = "condvar.threads.cross_cpu", TWO_CPUS_MUTEX },
		},
	},
	{
		CONDVAR, .setup = shared_conditions,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ cond_ask, NEAR_PROCESS },
			{ cond_answer, NEAR_PROCESS },
		},
		.span = { { .name = "condvar.processes", ONE_CPU } },
	},
	{
		CONDVAR, .setup = shared_conditions,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ cond_ask, NEAR_PROCESS },
			{ cond_answer, FAR_PROCESS },
		},
		.span = {
			{ .name = "condvar.processes.cross_cpu", TWO_CPUS_MUTEX },
		},
	},
	{
		SIGNAL, .setup = boxes,
		.needs = KM_THREADS,
		.role = { { signal_ask, NEAR }, { signal_answer, NEAR } },
		.span = { { .name = "signal.threads", ONE_CPU } },
	},
	{
		SIGNAL, .setup = boxes,
		.needs = KM_THREADS | KM_SMP,
		.role = { { signal_ask, NEAR }, { signal_answer, FAR } },
		.span = { { .name = "signal.threads.cross_cpu", TWO_CPUS } },
	},
	{
		SIGNAL, .setup = boxes,
		.needs = KM_THREADS | KM_PROCESSES,
		.role = {
			{ signal_ask, NEAR_PROCESS },
			{ signal_answer, NEAR_PROCESS },
		},
		.span = { { .name = "signal.processes", ONE_CPU } },
	},
	{
		SIGNAL, .setup = boxes,
		.needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = {
			{ signal_ask, NEAR_PROCESS },
			{ signal_answer, FAR_PROCESS },
		},
		.span = { { .name = "signal.processes.cross_cpu", TWO_CPUS } },
	},
	{
		.object = "roundtrip",
		.about = "Send N bytes through a packet socket pair, and as "
			 "many back.",
		.via = "SOCK_SEQPACKET socketpair: write, read",
		.setup = channel, .teardown = teardown,
		.needs = KM_THREADS | KM_PROCESSES,
		.argument = sizes, .unit = KM_BYTES,
		.role = {
			{ bytes_ask, NEAR_PROCESS },
			{ bytes_answer, NEAR_PROCESS },
		},
		.span = { { .name = "channel.processes", ONE_CPU } },
	},
	{
		.object = "roundtrip",
		.about = "Send N bytes through a pipe, and as many back "
			 "through another.",
		.via = "pipe: write, read",
		.setup = pipes, .teardown = teardown,
		.needs = KM_THREADS | KM_PROCESSES,
		.argument = sizes, .unit = KM_BYTES,
		.role = {
			{ bytes_ask, NEAR_PROCESS },
			{ bytes_answer, NEAR_PROCESS },
		},
		.span = { { .name = "pipe.processes", ONE_CPU } },
	},
	{ 0 },
};
