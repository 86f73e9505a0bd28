/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nobody blocks: a call of a benchmark that should wait returns at once instead. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include "FreeRTOS.h"
#include "event_groups.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"

/* The runner's own waits stand behind this header. */
#pragma push_macro("portMAX_DELAY")
#undef portMAX_DELAY
#define portMAX_DELAY 0
#include_next "port.h"
#pragma pop_macro("portMAX_DELAY")

#endif
