/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clock stands still. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#define port_now moving_now
#include_next "port.h"
#undef port_now

static inline port_ticks port_now(void)
{
	return 123456789;
}

#endif
