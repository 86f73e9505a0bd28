// SPDX-License-Identifier: MIT OR Apache-2.0
#include "linux-kernel.h"

#if defined(__KERNEL__) && defined(__aarch64__)
#include <linux/irqflags.h>

#include <asm/barrier.h>
#include <asm/sysreg.h>

/* Interrupts are off, so no other thread's page tables get in between. */
static void write_same(struct km_run *r)
{
	for_each_sample(r) {
		unsigned long flags;
		uint64_t ttbr0;

		local_irq_save(flags);
		ttbr0 = read_sysreg(ttbr0_el1);
		stamp(r, 0);
		write_sysreg(ttbr0, ttbr0_el1);
		isb();
		stamp(r, 1);
		local_irq_restore(flags);
		record(r);
	}
}
#endif

KM_TABLE(ttbr0) = {
	{
		.object = "ttbr0",
		.about = "Write the same address of the page table of user "
			 "mode again, which flushes no TLB entry.",
		.via = "msr ttbr0_el1, isb",
		.role = { { IN_AARCH64_KERNEL(write_same), KM_LOW, 0 } },
		.span = {
			{ .name = "write", .between = "one write" },
		},
	},
	{ 0 },
};
