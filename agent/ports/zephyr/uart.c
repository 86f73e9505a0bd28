// SPDX-License-Identifier: MIT OR Apache-2.0
#include <zephyr/drivers/uart.h>
#include <zephyr/sys/reboot.h>

#include "board.h"

static const struct device *const console = DEVICE_DT_GET(DT_CHOSEN(zephyr_console));

void board_write(const char *bytes, size_t n)
{
	for (; n; n--, bytes++) {
		if (*bytes == '\n')
			uart_poll_out(console, '\r');
		uart_poll_out(console, (unsigned char)*bytes);
	}
}

bool board_order(char *order, size_t size)
{
	size_t n = 0;
	unsigned char byte;

	for (;;) {
		if (uart_poll_in(console, &byte))
			continue;
		if (byte != '\r' && byte != '\n') {
			if (n < size)
				order[n] = (char)byte;
			n++;
		} else if (n) {
			break;
		}
	}
	if (n >= size)
		return false;
	order[n] = '\0';
	return true;
}

_Noreturn void board_end(int status)
{
	(void)status;
	sys_reboot(SYS_REBOOT_COLD);
}
