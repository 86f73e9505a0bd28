/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of the emulator by the program that it runs: Arm IHI 0203, semihosting. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The words that the emulator was started with, of which there are some once:
 * false when they do not fit into `size`, or were taken before.
 */
bool emulator_order(char *order, size_t size);
/* To its console: a record takes one call, and not one a byte as by a UART. */
void emulator_write(const char *bytes, size_t n);
/* Ends it with this exit status. */
void emulator_end(int status);

#endif
