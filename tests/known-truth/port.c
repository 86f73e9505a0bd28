// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

/*
 * A known number of instructions, each depending on the previous one. All
 * blocks are surrounded by the same code, so that nothing else differs.
 */
#define BLOCK(n) \
	static void block_##n(struct km_run *r) \
	{ \
		uint32_t x = 0; \
		for_each_sample(r) { \
			stamp(r, 0); \
			for_each_repeat(r) \
				__asm__ volatile(".rept " #n "\n\tincl %0\n\t.endr" \
						 : "+r"(x)); \
			stamp(r, 1); \
			record(r); \
		} \
	}

BLOCK(0)
BLOCK(1)
BLOCK(10)
BLOCK(100)
BLOCK(1000)

#define ENTRY(group, n, most) \
	{ \
		.object = group, \
		.about = "A known number of dependent instructions.", \
		.via = "inc", \
		.batch = most, \
		.role = { { block_##n, KM_LOW, 0 } }, \
		.span = { { .name = #n, .between = "the instructions" } }, \
	}

static const struct km_bench truth[] = {
	ENTRY("alone", 0, 1),
	ENTRY("alone", 1, 1),
	ENTRY("alone", 10, 1),
	ENTRY("alone", 100, 1),
	ENTRY("alone", 1000, 1),
	ENTRY("batch", 0, 16),
	ENTRY("batch", 1, 16),
	ENTRY("batch", 10, 16),
	ENTRY("batch", 100, 16),
	ENTRY("batch", 1000, 16),
	{ 0 },
};

const struct km_bench *const port_tables[] = { truth, NULL };

static void out(uint16_t port, uint8_t byte)
{
	__asm__ volatile("outb %0, %1" : : "a"(byte), "d"(port));
}

/* Writes to the emulator's debug console. */
void port_write(const char *bytes, size_t n)
{
	while (n--)
		out(0xe9, (uint8_t)*bytes++);
}

const char *port_lacks(const struct km_bench *b, uint32_t user)
{
	(void)b, (void)user;
	return NULL;
}

void port_count(struct km_counts *until_now)
{
	(void)until_now;
}

const char *port_run(const struct km_thread *threads, uint32_t n,
		     struct km_run *r, struct km_counts *counts)
{
	(void)counts;
	for (uint32_t i = 0; i < n; i++)
		threads[i].role->body(r);
	return NULL;
}

void port_rest(void)
{
}

/* start.S calls this, in protected mode with interrupts disabled. */
void port_main(void);

void port_main(void)
{
	static struct km_memory memory;
	/*
	 * The batch is the entry's maximum, because no sample lasts as long as
	 * an epoch.
	 */
	static const struct km_options options = {
		.samples = 300, .epoch = 1 << 24, .burst = 100000,
	};

	km_hello(&(struct km_hello){
		.port = "known-truth", .arch = "i386", .mode = "run",
		.clock = PORT_CLOCK, .unit = "instructions",
	});
	km_catalog();
	km_measure(NULL, &memory, &options);
	km_bye();
	/* The emulator's exit device. */
	out(0xf4, 0);
}
