/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The operations that can be delayed, and for how long they are. */
#ifndef DELAYS_H
#define DELAYS_H

#include <stdint.h>

/* The order in which KERNMARK_DELAYS and benches/alarms.rs list them. */
enum delayed {
	DELAYED_GETPPID,
	DELAYED_YIELD,
	DELAYED_START,
	DELAYED_TAKE,
	DELAYED_LOCK,
	DELAYED_SIGNAL,
	DELAYED_SET,
	DELAYED_MASK,
	DELAYED_WRITE,
	DELAYED_SENDMSG,
	DELAYED,
};

/* Turns of a loop that each wait for the one before. */
extern uint32_t delay_turns[DELAYED];

#endif
