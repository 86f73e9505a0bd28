/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The order of a session: doc/protocol.md. */
#ifndef ORDER_H
#define ORDER_H

#include "kernmark.h"

struct order {
	bool list;		/* the catalog alone */
	struct km_options options;
};

/*
 * Reads `text`, whose words stay in use; nothing at all is an order to measure
 * everything. Ticks are of a clock of hz; 0: it has none, and no budget.
 * Returns NULL, or the word for which it is no order.
 */
const char *order_read(struct order *o, char *text, port_ticks hz);

/* Reads a decimal number of 32 bits and nothing else; false: it is none. */
bool order_number(const char *digits, uint32_t *value);

#endif
