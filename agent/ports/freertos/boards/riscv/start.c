// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * RISC-V: memory and traps. Numbers: The RISC-V Instruction Set Manual, volume
 * II.
 */
#include "board.h"
#include "machine.h"

/* Defined by riscv.lds. */
extern uint32_t bss_start[], bss_end[];

/* The kernel's: the compare register of its timer, and the time of its tick. */
extern volatile uint64_t *pullMachineTimerCompareRegister;
extern uint64_t ullNextTime;

/* A time that does not come, however many ticks are added. */
#define NEVER ((uint64_t)1 << 63)

static volatile uint64_t *const mtimecmp = (volatile uint64_t *)BOARD_MTIMECMP;

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
	 * Enables the software and the timer interrupt. The kernel enables
	 * interrupts as a whole.
	 */
	*mtimecmp = NEVER;
	__asm__ volatile("csrw mie, %0" : : "r"(1u << 3 | 1u << 7));
}

/*
 * The tick's timer stays off: only requested interrupts interrupt a thread. The
 * kernel sets the next tick by these, in each tick.
 */
void vPortSetupTimerInterrupt(void);

void vPortSetupTimerInterrupt(void)
{
	pullMachineTimerCompareRegister = mtimecmp;
	ullNextTime = NEVER;
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
