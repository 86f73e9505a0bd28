/* Register names and numbers: RM0090 (STM32F4), RM0033 (STM32F2). */
#include "board.h"
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

#define USART_READY_TO_READ (1u << 5)
#define USART_READY_TO_WRITE (1u << 7)
#define BAUD 115200

/* What an emulator leaves out: clocks of the peripherals, pins. */
static void power_up(void)
{
	RCC_AHB1ENR |= 1u << 0;
	RCC_APB1ENR |= 1u << 0;
	RCC_APB2ENR |= 1u << 4;
	/* PA9 and PA10: alternate function 7. */
	GPIOA_AFRH = (GPIOA_AFRH & ~0xff0u) | 0x770u;
	GPIOA_MODER = (GPIOA_MODER & ~0x3c0000u) | 0x280000u;
}

void board_start(void)
{
	if (!board_emulated())
		power_up();
	USART1_BRR = (BOARD_HZ + BAUD / 2) / BAUD;
	/* Receiver, transmitter and the whole enabled. */
	USART1_CR1 = 1u << 2 | 1u << 3 | 1u << 13;
	TIM2_PSC = 0;
	TIM2_ARR = ~0u;
	TIM2_CR1 = 1;
	arm_enable_irq();
}

void board_write(const char *bytes, size_t n)
{
	while (n--) {
		while (!(USART1_SR & USART_READY_TO_WRITE))
			;
		USART1_DR = (uint8_t)*bytes++;
	}
}

/* One line. */
bool board_order(char *order, size_t size)
{
	size_t n = 0;

	if (board_emulated())
		return arm_emulator_order(order, size);
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
