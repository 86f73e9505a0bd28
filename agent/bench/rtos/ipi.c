// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_ipi ipi;
static struct km_run *run;
static volatile uint32_t calls;

static void called(PORT_IPI_TAKES)
{
	calls++;
}

static void stamped(PORT_IPI_TAKES)
{
	stamp(run, 1);
	calls++;
}

static const char *make_called(struct km_run *r)
{
	(void)r;
	port_ipi_init(&ipi, called);
	return NULL;
}

static const char *make_stamped(struct km_run *r)
{
	run = r;
	port_ipi_init(&ipi, stamped);
	return NULL;
}

static void sender(struct km_run *r)
{
	for_each_sample(r) {
		calls = 0;
		stamp(r, 0);
		port_ipi_send(&ipi);
		stamp(r, 1);
		port_ipi_wait(&ipi);
		stamp(r, 2);
		check(r, calls == 1);
		record(r);
	}
}

/* The function may run before the send returns, so it has stamp 1. */
static void caller(struct km_run *r)
{
	for_each_sample(r) {
		calls = 0;
		stamp(r, 0);
		port_ipi_send(&ipi);
		port_ipi_wait(&ipi);
		stamp(r, 2);
		check(r, calls == 1);
		record(r);
	}
}

KM_TABLE(ipi) = {
	{
		.object = "ipi",
		.about = "Interrupt another CPU, which calls a function, and "
			 "wait for its return.",
		.via = PORT_VIA_IPI,
		.needs = KM_IPI,
		.setup = make_called,
		.role = { { sender, KM_LOW, 0 } },
		.span = {
			{
				.name = "send.{from}",
				.begin = 0, .end = 1,
				.between = "the send, on the sender's CPU",
			},
			{
				.name = "roundtrip.{from}", .switches_most = 2,
				.begin = 0, .end = 2, .remote = true,
				.between = "from the send to the return of the "
					   "wait",
			},
		},
	},
	{
		.object = "ipi",
		.about = "Interrupt another CPU, whose function takes a stamp, "
			 "and wait for its return.",
		.via = PORT_VIA_IPI,
		.needs = KM_IPI,
		.setup = make_stamped,
		.role = { { caller, KM_LOW, 0 } },
		.span = {
			{
				.name = "call.{from}", .remote = true,
				.between = "from the send to the first "
					   "instruction of the function on "
					   "the other CPU",
			},
			{
				.name = "return.{from}", .switches_most = 2,
				.remote = true,
				.between = "from the first instruction of the "
					   "function to the return of the wait "
					   "on the sender's CPU",
			},
		},
	},
	{ 0 },
};
