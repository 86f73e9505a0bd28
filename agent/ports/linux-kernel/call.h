/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* What the two sides of the port say to each other. */
#ifndef CALL_H
#define CALL_H

#include <stdint.h>

#define CALL_DEVICE "kernmark"

/*
 * Commands of the ioctl. Their argument is a number: in its lower half the
 * object, as its distance from the start of the shared section, in its upper
 * half a second object or a value, where there is one.
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
	 * The TSC's frequency in kHz; 0: it is no clock, the kernel says;
	 * -EOPNOTSUPP: a machine that cannot be measured.
	 */
	CALL_KHZ,
	/* Sets up the benchmark (call_role), and is rid of that; not 0: it cannot. */
	CALL_SETUP, CALL_TEARDOWN,
	/* A part begins, of so many threads. */
	CALL_BEGIN,
	/* Makes a kernel thread for a seat (call_role); returns its id. */
	CALL_SIT,
	/*
	 * A user thread takes this seat, and goes on when the part runs;
	 * -ECANCELED: it will not.
	 */
	CALL_ENTER,
	/* Its body is over. */
	CALL_LEAVE,
	/* The context switches of all threads of the part until now. */
	CALL_COUNT,
	/* The part will not run: user threads come back from CALL_ENTER. */
	CALL_ABANDON,
	/* Runs all threads, in the order of their seats, to their ends. */
	CALL_RUN,
	/* Ends the kernel threads. */
	CALL_END,
};

/* A seat, and the role for it: its table, the entry in it, and its number. */
struct call_role {
	uint8_t seat, table, entry, role;
};

/* The shared section: whole pages. */
extern char port_shared_start[], port_shared_end[];

#endif
