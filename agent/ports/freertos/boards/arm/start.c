/* Cortex-M: vectors, memory, emulator calls. */
#include "board.h"
#include "machine.h"

/* Bytes of the stack of start-up and interrupts. */
#define STACK_SIZE 1024

/* Laid out by arm.lds. */
extern uint32_t image_data[], data_start[], data_end[], bss_start[], bss_end[];
extern uint32_t kernel_image_data[], __privileged_data_start__[], kernel_data_end[];

/* The kernel's. */
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
	/* Coprocessor access control: the FPU, which compiled code may use at once. */
	BOARD_REGISTER(0xe000ed88) |= 0xf << 20;
	__asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
	copy(kernel_image_data, __privileged_data_start__, kernel_data_end);
	copy(image_data, data_start, data_end);
	for (uint32_t *to = bss_start; to < bss_end;)
		*to++ = 0;
	main();
	board_end(1);
}

/* What the processor stored when it took the exception, for whoever looks. */
static _Noreturn void fault(void)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t *frame, words[3];

	/* Of the thread's stack, or of the one that was in use. */
	__asm__ volatile("tst lr, #4\n\tite eq\n\tmrseq %0, msp\n\tmrsne %0, psp"
			 : "=r"(frame));
	/* Configurable fault status, the address of the instruction, its caller. */
	words[0] = BOARD_REGISTER(0xe000ed28);
	words[1] = frame[6];
	words[2] = frame[5];
	board_write("fault: status, pc, lr", 21);
	for (uint32_t i = 0; i < 3; i++) {
		board_write(" ", 1);
		for (uint32_t shift = 32; shift;)
			board_write(&digits[words[i] >> (shift -= 4) & 0xf], 1);
	}
	board_write("\n", 1);
	board_end(1);
}

/* The first word is the stack that the processor starts with. */
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

/* The tick stays off: only what is asked for interrupts a thread. */
void vPortSetupTimerInterrupt(void);

void vPortSetupTimerInterrupt(void)
{
}

/*
 * A chip has a cycle counter, the emulator's stands still. Debug exception and
 * monitor control: trace enable; DWT control: counter enable; DWT cycle count.
 */
bool board_emulated(void)
{
	uint32_t before;

	BOARD_REGISTER(0xe000edfc) |= 1 << 24;
	BOARD_REGISTER(0xe0001000) |= 1;
	before = BOARD_REGISTER(0xe0001004);
	__asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
	return BOARD_REGISTER(0xe0001004) == before;
}

void arm_enable_irq(void)
{
	/* Urgency of the interrupt: less than what may not call the kernel. */
	*(volatile uint8_t *)(0xe000e400 + BOARD_IRQ) = 0x80;
	/* Interrupt set-enable. */
	BOARD_REGISTER(0xe000e100 + BOARD_IRQ / 32 * 4) = 1u << BOARD_IRQ % 32;
	/* Configuration and control: threads without privilege may raise it. */
	BOARD_REGISTER(0xe000ed14) |= 1 << 1;
}

/* Semihosting: a call of the emulator. Arm IHI 0203. */
enum { GET_COMMAND_LINE = 0x15, EXIT_EXTENDED = 0x20 };

static int emulator(int call, void *argument)
{
	register int r0 __asm__("r0") = call;
	register void *r1 __asm__("r1") = argument;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}

bool arm_emulator_order(char *order, size_t size)
{
	struct { char *at; size_t size; } block = { order, size };
	static bool given;

	if (given)
		return false;
	given = true;
	return !emulator(GET_COMMAND_LINE, &block);
}

_Noreturn void board_end(int status)
{
	/* Stopped by the application, with this status. */
	uint32_t block[] = { 0x20026, (uint32_t)status };

	if (board_emulated())
		emulator(EXIT_EXTENDED, block);
	/* Application interrupt and reset control: system reset. */
	BOARD_REGISTER(0xe000ed0c) = 0x05fa0004;
	for (;;)
		;
}
