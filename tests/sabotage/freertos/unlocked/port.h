/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Interrupts come although a thread of a benchmark has locked them. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include "FreeRTOS.h"
#include "task.h"

/* The port's own critical sections come after this header. */
#pragma push_macro("taskENTER_CRITICAL")
#pragma push_macro("taskEXIT_CRITICAL")
#undef taskENTER_CRITICAL
#undef taskEXIT_CRITICAL
#define taskENTER_CRITICAL() ((void)0)
#define taskEXIT_CRITICAL() ((void)0)
#include_next "port.h"
#pragma pop_macro("taskENTER_CRITICAL")
#pragma pop_macro("taskEXIT_CRITICAL")

#endif
