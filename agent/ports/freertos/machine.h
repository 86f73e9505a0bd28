/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What port.c needs of a board besides its board.h. A board is a folder in
 * boards/: board.mk names its processor and its files, board.h says
 *   BOARD_ARCH, BOARD_CLOCK, BOARD_HZ	its names, and the clock's frequency when
 *				it is no emulator,
 *   BOARD_HEAP, BOARD_HEAP_MPU	bytes of the kernel's heap,
 *   BOARD_HAS_CLZ		whether the kernel may look for the highest
 *				priority by counting leading zeros,
 *   board_now()		reads the clock,
 *   board_user()		whether the thread that calls it lacks privilege,
 *   board_irq_raise()		raises an interrupt, which calls port_irq_handler(),
 *				and returns after it,
 *   board_call_emulator()	a call of the emulator: boards/emulator.h,
 *   BOARD_VIA_IRQ		how the interrupt is raised.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts clock, console and interrupt. Called first, before the kernel runs. */
void board_start(void);
/* Whether an emulator runs this, whose clock counts instructions. */
bool board_emulated(void);
void board_write(const char *bytes, size_t n);
/*
 * Waits for the next order and copies it, as a string. False when there is
 * none: it does not fit into `size`, or an emulator has no more.
 */
bool board_order(char *order, size_t size);
/* Ends an emulator with this exit status; starts a board anew. */
_Noreturn void board_end(int status);

/* Called by the board: main() once memory is set up, the next in the interrupt. */
int main(void);
void port_irq_handler(void);
/* A fault of the processor: ends the session and says the three words. */
_Noreturn void port_fault(const char *names, const uint32_t words[3]);

#endif
