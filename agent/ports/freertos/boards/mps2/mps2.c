// SPDX-License-Identifier: MIT OR Apache-2.0
#include "board.h"
#include "machine.h"

/* The counter runs from reset on. */
void board_start(void)
{
	arm_enable_irq();
}
