/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* No interrupt comes that a benchmark raises for its own handler. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#define port_handler_raise real_handler_raise
#include_next "port.h"
#undef port_handler_raise

static inline void port_handler_raise(struct port_handler *h)
{
	__asm__ volatile("" : : "r"(h));
}

#endif
