/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What port.c needs from a board or an emulator. One of semihost.c, x86.c and
 * uart.c has it.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>

void board_write(const char *bytes, size_t n);
/*
 * Waits for the next order and copies it as a string. Returns false if it does
 * not fit into `size` bytes.
 */
bool board_order(char *order, size_t size);
/* Ends an emulator with this exit status; restarts a board. */
_Noreturn void board_end(int status);

#endif
