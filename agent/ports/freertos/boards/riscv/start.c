// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * RISC-V: memory and traps. Numbers: The RISC-V Instruction Set Manual, volume
 * II.
 */
#include "board.h"
#include "machine.h"

/* Defined by riscv.lds. */
extern uint32_t bss_start[], bss_end[];

/* The kernel's: it saves the thread and calls one of the handlers below. */
void freertos_risc_v_trap_handler(void);

_Noreturn void reset(void);
_Noreturn void start(void);

__attribute__((naked, section(".reset"))) void reset(void)
{
	__asm__ volatile(".option push\n\t"
			 ".option norelax\n\t"
			 "la gp, __global_pointer$\n\t"
			 ".option pop\n\t"
			 "la sp, __freertos_irq_stack_top\n\t"
			 "j start");
}

void start(void)
{
	for (uint32_t *to = bss_start; to < bss_end;)
		*to++ = 0;
	main();
	board_end(1);
}

void board_start(void)
{
	__asm__ volatile("csrw mtvec, %0" : : "r"(freertos_risc_v_trap_handler));
	/*
	 * Enables only the software interrupt. The kernel enables interrupts as
	 * a whole.
	 */
	__asm__ volatile("csrw mie, %0" : : "r"(1u << 3));
}

/* The tick stays off: only requested interrupts interrupt a thread. */
void vPortSetupTimerInterrupt(void);

void vPortSetupTimerInterrupt(void)
{
}

/* Runs on the interrupt stack; the kernel then resumes a thread. */
void freertos_risc_v_application_interrupt_handler(void);

void freertos_risc_v_application_interrupt_handler(void)
{
	BOARD_REGISTER(BOARD_MSIP) = 0;
	port_irq_handler();
}

_Noreturn void freertos_risc_v_application_exception_handler(void);

void freertos_risc_v_application_exception_handler(void)
{
	uint32_t words[3];

	__asm__ volatile("csrr %0, mcause" : "=r"(words[0]));
	__asm__ volatile("csrr %0, mepc" : "=r"(words[1]));
	__asm__ volatile("csrr %0, mtval" : "=r"(words[2]));
	port_fault("mcause, mepc, mtval", words);
}
