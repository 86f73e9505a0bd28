/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that a program makes to its emulator: Arm IHI 0203, semihosting. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies the words that the emulator was started with. Returns false if they do
 * not fit into `size` bytes or were read before.
 */
bool emulator_order(char *order, size_t size);
/*
 * Writes to the console. A record takes one call, instead of one per byte for a
 * UART.
 */
void emulator_write(const char *bytes, size_t n);
/* Ends the emulator with this exit status. */
void emulator_end(int status);

#endif
