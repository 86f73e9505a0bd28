/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* No thread blocks: calls of a benchmark that should wait return at once. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include "FreeRTOS.h"
#include "event_groups.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"

/* The runner's own waits come after this header. */
#pragma push_macro("portMAX_DELAY")
#undef portMAX_DELAY
#define portMAX_DELAY 0
#include_next "port.h"
#pragma pop_macro("portMAX_DELAY")

#endif
