// SPDX-License-Identifier: MIT OR Apache-2.0
#include "emulator.h"

#include "board.h"

enum { OPEN = 0x01, WRITE = 0x05, GET_COMMAND_LINE = 0x15, EXIT_EXTENDED = 0x20 };

bool emulator_order(char *order, size_t size)
{
	struct { char *at; size_t size; } block = { order, size };
	static bool given;

	if (given)
		return false;
	given = true;
	return !board_call_emulator(GET_COMMAND_LINE, &block);
}

void emulator_write(const char *bytes, size_t n)
{
	/* With this name and mode it is the console, for output. */
	static const char name[] = ":tt";
	struct { const char *name; size_t mode, length; } console = {
		name, 4, sizeof(name) - 1,
	};
	static int handle = -1;
	struct { size_t handle; const char *bytes; size_t n; } block;

	if (handle < 0)
		handle = board_call_emulator(OPEN, &console);
	block.handle = (size_t)handle;
	/*
	 * The call writes as much as the reader has room for, and returns the
	 * rest.
	 */
	while (n) {
		size_t left;

		block.bytes = bytes;
		block.n = n;
		left = (size_t)board_call_emulator(WRITE, &block);
		bytes += n - left;
		n = left;
	}
}

void emulator_end(int status)
{
	/* The reason code: the application exited. */
	size_t block[] = { 0x20026, (size_t)status };

	board_call_emulator(EXIT_EXTENDED, block);
}
