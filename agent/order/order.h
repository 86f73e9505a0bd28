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
 * everything. Ticks are of a clock of hz; 0: it has none, and no budget. False
 * when it is no order.
 */
bool order_read(struct order *o, char *text, port_ticks hz);

#endif
