// SPDX-License-Identifier: MIT OR Apache-2.0
#include <zephyr/arch/common/semihost.h>

#include "board.h"

/* A call that Zephyr does not name. */
#define SEMIHOST_EXIT_EXTENDED 0x20

void board_write(const char *bytes, size_t n)
{
	static long console = -1;

	/* With this name and mode it is the console, for output. */
	if (console < 0)
		console = semihost_open(":tt", SEMIHOST_OPEN_W);
	/*
	 * The call writes as much as the reader has room for, and returns the
	 * rest.
	 */
	while (n) {
		size_t left = (size_t)semihost_write(console, bytes, (long)n);

		bytes += n - left;
		n = left;
	}
}

bool board_order(char *order, size_t size)
{
	struct { char *at; size_t size; } block = { order, size };

	return !semihost_exec(SEMIHOST_GET_CMDLINE, &block);
}

_Noreturn void board_end(int status)
{
	/* The reason code: the application exited. */
	size_t block[] = { 0x20026, (size_t)status };

	for (;;)
		semihost_exec((enum semihost_instr)SEMIHOST_EXIT_EXTENDED, block);
}
