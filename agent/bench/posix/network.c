// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "pingpong.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static struct wire wire[2] = { { -1, -1 }, { -1, -1 } };
static int listener = -1;
/* The listener's address; the kernel chooses its port. */
static struct sockaddr_in place;

static void teardown(struct km_run *r)
{
	(void)r;
	cut_wires(wire);
	if (listener >= 0)
		close(listener);
	listener = -1;
}

static const char *cannot(const char *what)
{
	const char *text = why(what);

	teardown(NULL);
	return text;
}

/* Returns a socket of this type bound to a free port of 127.0.0.1, or -1. */
static int local_socket(int type)
{
	const struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof(any))) {
		int wrong = errno;

		close(fd);
		errno = wrong;
		return -1;
	}
	return fd;
}

static bool connect_to(int from, int to)
{
	struct sockaddr_in there;
	socklen_t n = sizeof(there);

	return !getsockname(to, (struct sockaddr *)&there, &n) &&
	       !connect(from, (const struct sockaddr *)&there, n);
}

static const char *udp(struct km_run *r)
{
	int a = local_socket(SOCK_DGRAM), b = local_socket(SOCK_DGRAM);

	(void)r;
	wire[ASKER].in = wire[ASKER].out = a;
	wire[ANSWERER].in = wire[ANSWERER].out = b;
	if (a < 0 || b < 0)
		return cannot("no UDP socket on the loopback interface");
	if (!connect_to(a, b) || !connect_to(b, a))
		return cannot("UDP connect on the loopback interface");
	return NULL;
}

static const char *listening(struct km_run *r)
{
	socklen_t n = sizeof(place);

	(void)r;
	listener = local_socket(SOCK_STREAM);
	if (listener < 0)
		return cannot("no TCP socket on the loopback interface");
	if (listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&place, &n))
		return cannot("TCP listen on the loopback interface");
	return NULL;
}

/* Small segments leave at once, and a close leaves no connection behind. */
static void tune(int fd)
{
	const struct linger none = { .l_onoff = 1 };
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

static const char *tcp(struct km_run *r)
{
	const char *wrong = listening(r);
	int a, b;

	if (wrong)
		return wrong;
	a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	wire[ASKER].in = wire[ASKER].out = a;
	if (a < 0 || connect(a, (const struct sockaddr *)&place, sizeof(place)))
		return cannot("TCP connect on the loopback interface");
	b = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	wire[ANSWERER].in = wire[ANSWERER].out = b;
	if (b < 0)
		return cannot("TCP accept on the loopback interface");
	tune(a);
	tune(b);
	return NULL;
}

/* Connects once, to report a machine without a loopback interface. */
static const char *reachable(struct km_run *r)
{
	const char *wrong = tcp(r);

	if (!wrong)
		cut_wires(wire);
	return wrong;
}

KM_INLINE bool wire_send(enum side from, uint64_t number)
{
	return send(wire[from].out, &number, sizeof(number), 0) == sizeof(number);
}

KM_INLINE bool wire_receive(enum side at, uint64_t *number)
{
	return recv(wire[at].in, number, sizeof(*number), 0) == sizeof(*number);
}

static void network_ask(struct km_run *r)
{
	ask(r, wire_send, wire_receive);
}

static void network_answer(struct km_run *r)
{
	answer(r, wire_send, wire_receive);
}

static void connections(struct km_run *r)
{
	for_each_sample(r) {
		int a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), b;
		bool right;

		tune(a);
		/* While ksoftirqd has work, the kernel leaves it all packets. */
		port_settle();
		stamp(r, 0);
		right = !connect(a, (const struct sockaddr *)&place, sizeof(place));
		stamp(r, 1);
		b = right ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
		stamp(r, 2);
		right &= !close(a);
		right &= !close(b);
		stamp(r, 3);
		check(r, right);
		record(r);
	}
}

#define TCP \
	.object = "tcp", \
	.about = "Send eight bytes through a TCP connection to this machine, and " \
		"eight back.", \
	.via = "send, recv; 127.0.0.1, TCP_NODELAY", \
	.setup = tcp, .teardown = teardown

#define UDP \
	.object = "udp", \
	.about = "Send a datagram of eight bytes to this machine, and one back.", \
	.via = "send, recv on connected sockets; 127.0.0.1", \
	.setup = udp, .teardown = teardown

#define ONE_CPU .between = PINGPONG_BETWEEN, .switches = 2
#define TWO_CPUS .between = PINGPONG_BETWEEN, .switches_most = 2

#define NEAR KM_LOW, KM_OWN_PROCESS
#define FAR KM_LOW, KM_OWN_PROCESS | KM_OTHER_CPU

KM_TABLE(network) = {
	{
		TCP, .needs = KM_THREADS | KM_PROCESSES,
		.role = { { network_ask, NEAR }, { network_answer, NEAR } },
		.span = { { .name = "roundtrip.loopback", ONE_CPU } },
	},
	{
		TCP, .needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = { { network_ask, NEAR }, { network_answer, FAR } },
		.span = { { .name = "roundtrip.loopback.cross_cpu", TWO_CPUS } },
	},
	{
		UDP, .needs = KM_THREADS | KM_PROCESSES,
		.role = { { network_ask, NEAR }, { network_answer, NEAR } },
		.span = { { .name = "roundtrip.loopback", ONE_CPU } },
	},
	{
		UDP, .needs = KM_THREADS | KM_PROCESSES | KM_SMP,
		.role = { { network_ask, NEAR }, { network_answer, FAR } },
		.span = { { .name = "roundtrip.loopback.cross_cpu", TWO_CPUS } },
	},
	{
		.object = "tcp",
		.about = "Open a TCP connection to this machine, accept it "
			 "and close both of its ends.",
		.via = "connect, accept4, close of a socket that resets its "
		       "connection (SO_LINGER 0), close of the accepted one",
		.setup = reachable, .teardown = teardown,
		.role = { { connections, KM_LOW, 0 } },
		.span = {
			{
				.name = "connect_accept_close", .begin = 0, .end = 3,
				.between = "from the connect to the return of "
					   "the second close; creating the "
					   "socket is not included",
			},
			{
				.name = "connect", .begin = 0, .end = 1,
				/* It waits if ksoftirqd has its packets. */
				.switches_most = 1,
				.between = "the connect",
			},
			{
				.name = "accept", .begin = 1, .end = 2,
				.between = "an accept of a pending connection",
			},
			{
				.name = "close", .begin = 2, .end = 3,
				.between = "closing both ends",
			},
		},
	},
	{ 0 },
};
