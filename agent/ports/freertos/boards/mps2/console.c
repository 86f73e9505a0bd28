/* Arm DAI 0385 (AN385) and 0386 (AN386); CMSDK UART: Arm DDI 0479. */
#include "board.h"
#include "machine.h"

#define UART0_DATA	BOARD_REGISTER(0x40004000)
#define UART0_STATE	BOARD_REGISTER(0x40004004)
#define UART0_CTRL	BOARD_REGISTER(0x40004008)
#define UART0_BAUDDIV	BOARD_REGISTER(0x40004010)

#define UART_WRITE_FULL (1u << 0)

void board_start(void)
{
	/* The least divisor: the emulator has no line whose rate would matter. */
	UART0_BAUDDIV = 16;
	/* Transmitter enabled. */
	UART0_CTRL = 1u << 0;
	arm_enable_irq();
}

void board_write(const char *bytes, size_t n)
{
	while (n--) {
		while (UART0_STATE & UART_WRITE_FULL)
			;
		UART0_DATA = (uint8_t)*bytes++;
	}
}

bool board_order(char *order, size_t size)
{
	return arm_emulator_order(order, size);
}
