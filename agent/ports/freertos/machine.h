/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What port.c needs from a board, besides its board.h. A board is a folder in
 * boards/. Its board.mk names the processor and the files. Its board.h defines
 *   BOARD_ARCH, BOARD_CLOCK	its names,
 *   BOARD_HZ			the clock's frequency in Hz; not used in an emulator,
 *   BOARD_HEAP, BOARD_HEAP_MPU	size of the kernel's heap in bytes,
 *   BOARD_HAS_CLZ		whether the kernel may find the highest priority by
 *				counting leading zeros,
 *   board_now()			reads the clock,
 *   board_user()			whether the calling thread is unprivileged,
 *   board_irq_pend()		makes an interrupt pending, which calls
 *				port_irq_handler(); a handler may call it too,
 *   board_irq_raise()		the same, and returns after the interrupt,
 *   board_tick()		requests the tick's interrupt and returns after it; only
 *				privileged threads may call it,
 *   board_call_emulator()	a call to the emulator: boards/emulator.h,
 *   BOARD_VIA_IRQ		how the interrupt is raised,
 *   BOARD_VIA_TICK	how the tick is requested.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts clock, console and interrupt. Called first, before the kernel runs. */
void board_start(void);
/* Whether this runs in an emulator, whose clock counts instructions. */
bool board_emulated(void);
void board_write(const char *bytes, size_t n);
/*
 * Waits for the next order and copies it as a string. Returns false if it does
 * not fit into `size` bytes, or if an emulator has no further order.
 */
bool board_order(char *order, size_t size);
/* Ends an emulator with this exit status; resets a board. */
_Noreturn void board_end(int status);

/*
 * The board calls main() once memory is set up, and the next one in the
 * interrupt.
 */
int main(void);
void port_irq_handler(void);
/*
 * The processor faulted: prints the three words with their names and ends the
 * session.
 */
_Noreturn void port_fault(const char *names, const uint32_t words[3]);

#endif
