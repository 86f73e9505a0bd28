// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The chip, or an emulator of it. Register names and numbers: RM0090 (STM32F4),
 * RM0033 (STM32F2), Armv7-M Architecture Reference Manual.
 */
#include "board.h"
#include "emulator.h"
#include "machine.h"

#define RCC_AHB1ENR	BOARD_REGISTER(0x40023830)
#define RCC_APB1ENR	BOARD_REGISTER(0x40023840)
#define RCC_APB2ENR	BOARD_REGISTER(0x40023844)
#define GPIOA_MODER	BOARD_REGISTER(0x40020000)
#define GPIOA_AFRH	BOARD_REGISTER(0x40020024)
#define USART1_SR	BOARD_REGISTER(0x40011000)
#define USART1_DR	BOARD_REGISTER(0x40011004)
#define USART1_BRR	BOARD_REGISTER(0x40011008)
#define USART1_CR1	BOARD_REGISTER(0x4001100c)
#define TIM2_CR1	BOARD_REGISTER(0x40000000)
#define TIM2_PSC	BOARD_REGISTER(0x40000028)
#define TIM2_ARR	BOARD_REGISTER(0x4000002c)
#define DEMCR		BOARD_REGISTER(0xe000edfc)
#define DWT_CTRL	BOARD_REGISTER(0xe0001000)
#define DWT_CYCCNT	BOARD_REGISTER(0xe0001004)
#define AIRCR		BOARD_REGISTER(0xe000ed0c)

#define USART_READY_TO_READ (1u << 5)
#define USART_READY_TO_WRITE (1u << 7)
#define BAUD 115200
/*
 * How long to wait for the first order, in ticks; then everything is measured.
 */
#define PATIENCE (5 * BOARD_HZ)

/* The chip has a cycle counter; the emulator's stands still. */
bool board_emulated(void)
{
	static enum { UNKNOWN, CHIP, EMULATOR } known;

	if (!known) {
		uint32_t before;

		DEMCR |= 1u << 24;
		DWT_CTRL |= 1u << 0;
		before = DWT_CYCCNT;
		__asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
		known = DWT_CYCCNT == before ? EMULATOR : CHIP;
	}
	return known == EMULATOR;
}

/* The chip's peripheral clocks, its pins and its serial line. */
static void start_console(void)
{
	RCC_AHB1ENR |= 1u << 0;
	RCC_APB2ENR |= 1u << 4;
	/* PA9 and PA10: alternate function 7. */
	GPIOA_AFRH = (GPIOA_AFRH & ~0xff0u) | 0x770u;
	GPIOA_MODER = (GPIOA_MODER & ~0x3c0000u) | 0x280000u;
	USART1_BRR = (BOARD_HZ + BAUD / 2) / BAUD;
	/* Enables the receiver, the transmitter and the USART. */
	USART1_CR1 = 1u << 2 | 1u << 3 | 1u << 13;
	RCC_APB1ENR |= 1u << 0;
}

void board_start(void)
{
	if (!board_emulated())
		start_console();
	TIM2_PSC = 0;
	TIM2_ARR = ~0u;
	TIM2_CR1 = 1;
	arm_enable_irq();
}

void board_write(const char *bytes, size_t n)
{
	if (board_emulated()) {
		emulator_write(bytes, n);
		return;
	}
	while (n--) {
		while (!(USART1_SR & USART_READY_TO_WRITE))
			;
		USART1_DR = (uint8_t)*bytes++;
	}
}

static bool line(char *order, size_t size)
{
	size_t n = 0;

	while (n < size) {
		while (!(USART1_SR & USART_READY_TO_READ))
			;
		order[n] = (char)USART1_DR;
		if (order[n] == '\n' || order[n] == '\r') {
			order[n] = '\0';
			return true;
		}
		n++;
	}
	return false;
}

bool board_order(char *order, size_t size)
{
	static bool asked;
	uint32_t begun = board_now();

	if (board_emulated())
		return emulator_order(order, size);
	/* If nobody sends an order, the records come anyway. */
	while (!asked && !(USART1_SR & USART_READY_TO_READ))
		if (board_now() - begun > PATIENCE) {
			asked = true;
			*order = '\0';
			return true;
		}
	asked = true;
	return line(order, size);
}

_Noreturn void board_end(int status)
{
	if (board_emulated())
		emulator_end(status);
	/* System reset. */
	AIRCR = 0x05fa0004;
	for (;;)
		;
}
