/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* No thread blocks: calls of a benchmark that should wait return at once. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include "FreeRTOS.h"
#include "event_groups.h"
#include "message_buffer.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"

/* The runner's own waits come after this header. */
#pragma push_macro("portMAX_DELAY")
#undef portMAX_DELAY
#define portMAX_DELAY 0
#define port_sleep_tick sleeping_tick
#include_next "port.h"
#undef port_sleep_tick
#pragma pop_macro("portMAX_DELAY")

static inline void port_sleep_tick(void)
{
}

#endif
