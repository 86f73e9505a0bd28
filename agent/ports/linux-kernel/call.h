/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* The interface between the two sides of the port. */
#ifndef CALL_H
#define CALL_H

#include <stdint.h>

#define CALL_DEVICE "kernmark"

/*
 * The ioctl's commands. Their argument is a number. Its lower 32 bits are the
 * object, as its offset in bytes from the start of the shared section. Its
 * upper 32 bits are a second object or a value, if the command takes one.
 */
enum call {
	/* Operations. */
	CALL_SEM_TAKE = 0x6b00, CALL_SEM_GIVE,
	CALL_MUTEX_LOCK, CALL_MUTEX_UNLOCK,
	CALL_COND_WAIT, CALL_COND_SIGNAL, CALL_COND_BROADCAST,
	CALL_QUEUE_GET, CALL_FIFO_PUT, CALL_LIFO_PUT,
	CALL_STACK_POP, CALL_STACK_PUSH,
	CALL_EVENTS_WAIT, CALL_EVENTS_WAIT_ALL, CALL_EVENTS_POST,
	CALL_EVENTS_SET,
	CALL_IRQ_WAIT, CALL_IRQ_ARM, CALL_IRQ_ATTACH, CALL_IRQ_DETACH,
	/*
	 * Returns the counter's frequency in kHz; 0 if the kernel does not use
	 * it as a clock; -EOPNOTSUPP on a machine that cannot be measured.
	 */
	CALL_KHZ,
	/*
	 * Create and destroy a benchmark's objects (call_role). Nonzero:
	 * failed.
	 */
	CALL_SETUP, CALL_TEARDOWN,
	/* Begins a part with this number of threads. */
	CALL_BEGIN,
	/* Creates a kernel thread for a seat (call_role). Returns its id. */
	CALL_SIT,
	/*
	 * A user thread takes this seat. Returns 0 when the part runs,
	 * -ECANCELED if it will not run.
	 */
	CALL_ENTER,
	/*
	 * Returns a file descriptor of the calling process (crossing.c). Its
	 * ioctl, read, write and lseek take stamps if the value is not 0.
	 */
	CALL_CROSSING,
	/* A user thread's body has ended. */
	CALL_LEAVE,
	/* Returns the context switches of all threads of the part so far. */
	CALL_COUNT,
	/* The part will not run: user threads return from CALL_ENTER. */
	CALL_ABANDON,
	/*
	 * Runs all threads until they end, starting them in the order of their
	 * seats.
	 */
	CALL_RUN,
	/* Ends the kernel threads. */
	CALL_END,
};

/*
 * A seat and its role: the table, the entry in it, and the number of the role.
 */
struct call_role {
	uint8_t seat, table, entry, role;
};

/* The shared section, made of whole pages. */
extern char port_shared_start[], port_shared_end[];

#endif
