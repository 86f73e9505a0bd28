// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The user side of the port without its module. It prints the catalog, and the
 * reason for each case that it skips. Cases that it would run fail here.
 */
#define main agent_main
#define port_run agent_run
#define port_setup agent_setup
#define port_teardown agent_teardown
#define port_count agent_count
#include "user.c"
#undef main
#undef port_run
#undef port_setup
#undef port_teardown
#undef port_count

char port_shared_start[1], port_shared_end[1];

const char *port_setup(const struct km_bench *b);
void port_teardown(const struct km_bench *b);

const char *port_setup(const struct km_bench *b)
{
	(void)b;
	return NULL;
}

void port_teardown(const struct km_bench *b)
{
	(void)b;
}

void port_count(struct km_counts *until_now)
{
	(void)until_now;
}

const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	(void)threads, (void)n, (void)r, (void)counts;
	return "there is no module";
}

int main(void)
{
	const struct order order = { .options.samples = 5 };

	/* It never has to rest. */
	port.hz = (port_ticks)1 << 60;
	introduce(&order);
	km_catalog();
	km_measure(NULL, &port_shared.memory, &order.options);
	km_bye();
	flush();
	return 0;
}
