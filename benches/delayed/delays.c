// SPDX-License-Identifier: MIT OR Apache-2.0
/* KERNMARK_DELAYS lists the turns of each delay, as in 12,0,340; what it lacks is 0. */
#include "delays.h"

#include <stdlib.h>

uint32_t delay_turns[DELAYED];

static __attribute__((constructor)) void read_delays(void)
{
	char *at = getenv("KERNMARK_DELAYS");

	for (int i = 0; at && i < DELAYED; i++) {
		delay_turns[i] = (uint32_t)strtoul(at, &at, 10);
		at += *at == ',';
	}
}
