// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#ifdef __KERNEL__
#include <linux/kfifo.h>

static DEFINE_KFIFO(fifo, unsigned char, 4096);
static unsigned char from[1024], to[1024];

static const char *make(struct km_run *r)
{
	kfifo_reset(&fifo);
	return NULL;
}

static void in_out(struct km_run *r)
{
	for_each_sample(r) {
		uint32_t in = 0, out = 0;

		from[r->argument - 1] = to[0] = (unsigned char)(km_sample + 1);
		stamp(r, 0);
		in += kfifo_in(&fifo, from, r->argument);
		stamp(r, 1);
		out += kfifo_out(&fifo, to, r->argument);
		stamp(r, 2);
		check(r, in == r->argument &&
		      to[r->argument - 1] == from[r->argument - 1]);
		r->bytes += out;
		record(r);
	}
}
#endif

static const uint32_t sizes[] = { 4, 64, 1024, 0 };

KM_TABLE(kfifo) = {
	{
		.object = "kfifo",
		.about = "Copy N bytes into a kfifo and out again.",
		.via = "kfifo_in, kfifo_out",
		.argument = sizes,
		.unit = KM_BYTES,
		.setup = SETUP_IN_KERNEL(make),
		.role = { { IN_KERNEL(in_out), KM_LOW, 0 } },
		.span = {
			{ .name = "in", .between = "one kfifo_in" },
			{ .name = "out", .between = "one kfifo_out" },
		},
	},
	{ 0 },
};
