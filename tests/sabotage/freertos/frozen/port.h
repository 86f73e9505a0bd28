/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clock stands still. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#define port_now moving_now
#define port_irq_raise moving_irq_raise
#include_next "port.h"
#undef port_irq_raise
#undef port_now

static inline port_ticks port_now(void)
{
	return 123456789;
}

static inline port_ticks port_irq_raise(struct port_irq *irq)
{
	moving_irq_raise(irq);
	return port_now();
}

#endif
