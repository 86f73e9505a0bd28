/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The order of a session, see doc/protocol.md. */
#ifndef ORDER_H
#define ORDER_H

#include "kernmark.h"

struct order {
	bool list;		/* print the catalog only */
	struct km_options options;
};

/*
 * Parses `text` into o, which keeps pointers into it. An empty text is an order
 * to measure everything. hz is the clock's frequency in Hz; 0: no known
 * frequency, so no budget. Returns NULL, or the first word that it does not
 * accept.
 */
const char *order_read(struct order *o, char *text, port_ticks hz);

/* Parses a decimal number below 2^32. Returns false for anything else. */
bool order_number(const char *digits, uint32_t *value);

/* Whether this is one or more hexadecimal digits in lower case. */
bool order_cases(const char *digits);

#endif
