/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nothing blocks: a wait ends at once, or at the next tick. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <zephyr/irq_offload.h>
#include <zephyr/kernel.h>

/* The runner's own waits come after this header. */
#pragma push_macro("K_FOREVER")
#pragma push_macro("K_TIMEOUT_ABS_TICKS")
#undef K_FOREVER
#undef K_TIMEOUT_ABS_TICKS
#define K_FOREVER K_NO_WAIT
#define K_TIMEOUT_ABS_TICKS(tick) ((void)(tick), K_NO_WAIT)
#include_next "port.h"
#pragma pop_macro("K_FOREVER")
#pragma pop_macro("K_TIMEOUT_ABS_TICKS")

#endif
