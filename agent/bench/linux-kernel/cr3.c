// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#if defined(__KERNEL__) && defined(__x86_64__)
#include <linux/irqflags.h>

#include <asm/special_insns.h>

/* Interrupts are off, so no other thread's page tables get in between. */
static void write_same(struct km_run *r)
{
	for_each_sample(r) {
		unsigned long flags, cr3;

		local_irq_save(flags);
		cr3 = __native_read_cr3();
		stamp(r, 0);
		native_write_cr3(cr3);
		stamp(r, 1);
		native_write_cr3(cr3);
		native_write_cr3(cr3);
		stamp(r, 2);
		local_irq_restore(flags);
		record(r);
	}
}
#endif

KM_TABLE(cr3) = {
	{
		.object = "cr3",
		.about = "Write the same page table address again, which "
			 "flushes all non-global TLB entries.",
		.via = "mov to cr3",
		.role = { { IN_X86_64_KERNEL(write_same), KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write" },
			{ .name = "write.twice", .between = "two writes, one "
							    "after the other" },
		},
	},
	{ 0 },
};
