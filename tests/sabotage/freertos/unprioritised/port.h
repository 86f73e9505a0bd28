/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All threads of a benchmark have the same priority; only the runner is above
 * them.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include_next "port.h"

/* The port uses priorities 1 and 2, 3 for the runner, and the privilege bit. */
static inline UBaseType_t sabotage_level(UBaseType_t level)
{
	return (level & ~portPRIVILEGE_BIT) == 2 ? level - 1 : level;
}

static inline BaseType_t sabotage_create(TaskFunction_t body, const char *name,
					 uint32_t stack, void *argument,
					 UBaseType_t level, TaskHandle_t *task)
{
	return xTaskCreate(body, name, stack, argument, sabotage_level(level), task);
}

static inline void sabotage_set(TaskHandle_t task, UBaseType_t level)
{
	vTaskPrioritySet(task, sabotage_level(level));
}

#undef xTaskCreate
#define xTaskCreate sabotage_create
#undef vTaskPrioritySet
#define vTaskPrioritySet sabotage_set

#endif
