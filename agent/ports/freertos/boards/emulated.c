// SPDX-License-Identifier: MIT OR Apache-2.0
/* For boards that are only used in an emulator. */
#include "emulator.h"
#include "machine.h"

bool board_emulated(void)
{
	return true;
}

void board_write(const char *bytes, size_t n)
{
	emulator_write(bytes, n);
}

bool board_order(char *order, size_t size)
{
	return emulator_order(order, size);
}

_Noreturn void board_end(int status)
{
	for (;;)
		emulator_end(status);
}
