// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Cortex-M: vectors and memory. Register numbers: Armv7-M Architecture
 * Reference Manual.
 */
#include "board.h"
#include "machine.h"

/* Size in bytes of the stack for start-up and interrupts. */
#define STACK_SIZE 1024

/* Defined by arm.lds. */
extern uint32_t image_data[], data_start[], data_end[], bss_start[], bss_end[];
extern uint32_t kernel_image_data[], __privileged_data_start__[], kernel_data_end[];

/* The kernel's handlers. */
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);

static uint64_t stack[STACK_SIZE / sizeof(uint64_t)]
	__attribute__((section(".bss.stack"), used));

static void copy(const uint32_t *from, uint32_t *to, const uint32_t *end)
{
	while (to < end)
		*to++ = *from++;
}

_Noreturn void reset(void);

_Noreturn void reset(void)
{
#ifdef __ARM_FP
	/*
	 * Coprocessor access control: enables the FPU, which compiled code may
	 * use at once.
	 */
	BOARD_REGISTER(0xe000ed88) |= 0xf << 20;
	__asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
	for (uint32_t *to = bss_start; to < bss_end;)
		*to++ = 0;
	copy(kernel_image_data, __privileged_data_start__, kernel_data_end);
	copy(image_data, data_start, data_end);
	main();
	board_end(1);
}

/* Reports what the processor stored when it took the exception. */
static _Noreturn void fault(void)
{
	uint32_t *frame, words[3];

	/* On the thread's stack, or on the one in use. */
	__asm__ volatile("tst lr, #4\n\tite eq\n\tmrseq %0, msp\n\tmrsne %0, psp"
			 : "=r"(frame));
	/* Configurable fault status, the instruction's address, its caller. */
	words[0] = BOARD_REGISTER(0xe000ed28);
	words[1] = frame[6];
	words[2] = frame[5];
	port_fault("status, pc, lr", words);
}

/* The first word is the processor's initial stack pointer. */
static const struct {
	const uint64_t *stack;
	void (*handler[15 + BOARD_IRQ + 1])(void);
} vectors __attribute__((section(".vectors"), used)) = {
	.stack = stack + sizeof(stack) / sizeof(*stack),
	.handler = {
		[0] = reset,
		[1] = fault, [2] = fault, [3] = fault, [4] = fault, [5] = fault,
		[10] = vPortSVCHandler,
		[13] = xPortPendSVHandler,
		[14] = xPortSysTickHandler,
		[15 + BOARD_IRQ] = port_irq_handler,
	},
};

/* The tick's timer stays off: only requested interrupts interrupt a thread. */
void vPortSetupTimerInterrupt(void);

void vPortSetupTimerInterrupt(void)
{
}

void arm_enable_irq(void)
{
	/*
	 * Interrupt urgency: low enough that its handler may call the kernel.
	 */
	*(volatile uint8_t *)(0xe000e400 + BOARD_IRQ) = 0x80;
	/* Interrupt set-enable. */
	BOARD_REGISTER(0xe000e100 + BOARD_IRQ / 32 * 4) = 1u << BOARD_IRQ % 32;
	/* Configuration and control: unprivileged threads may raise it. */
	BOARD_REGISTER(0xe000ed14) |= 1 << 1;
}
