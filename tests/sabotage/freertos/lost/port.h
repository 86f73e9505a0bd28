/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Some of what one thread does for another is lost: every seventh call of a
 * benchmark that gives, sends, sets, resumes, yields or interrupts does
 * nothing.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "event_groups.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"

static inline bool sabotage_lost(void)
{
	static uint32_t calls;

	return ++calls % 7 == 0;
}

static inline void sabotage_give(SemaphoreHandle_t s)
{
	if (!sabotage_lost())
		xSemaphoreGive(s);
}

static inline void sabotage_to_back(QueueHandle_t queue, const void *item,
				    TickType_t wait)
{
	if (!sabotage_lost())
		xQueueSendToBack(queue, item, wait);
}

static inline void sabotage_to_front(QueueHandle_t queue, const void *item,
				     TickType_t wait)
{
	if (!sabotage_lost())
		xQueueSendToFront(queue, item, wait);
}

static inline void sabotage_set_bits(EventGroupHandle_t group, EventBits_t bits)
{
	if (!sabotage_lost())
		xEventGroupSetBits(group, bits);
}

static inline void sabotage_resume(TaskHandle_t task)
{
	if (!sabotage_lost())
		vTaskResume(task);
}

static inline void sabotage_yield(void)
{
	if (!sabotage_lost())
		taskYIELD();
}

static inline void sabotage_raise(void)
{
	if (!sabotage_lost())
		board_irq_raise();
}

static inline void sabotage_pend(void)
{
	if (!sabotage_lost())
		board_irq_pend();
}

/* The runner's own gives come after this header. */
#pragma push_macro("xSemaphoreGive")
#pragma push_macro("xQueueSendToBack")
#pragma push_macro("xQueueSendToFront")
#pragma push_macro("xEventGroupSetBits")
#pragma push_macro("vTaskResume")
#pragma push_macro("taskYIELD")
#undef xSemaphoreGive
#undef xQueueSendToBack
#undef xQueueSendToFront
#undef xEventGroupSetBits
#undef vTaskResume
#undef taskYIELD
#define xSemaphoreGive sabotage_give
#define xQueueSendToBack sabotage_to_back
#define xQueueSendToFront sabotage_to_front
#define xEventGroupSetBits sabotage_set_bits
#define vTaskResume sabotage_resume
#define taskYIELD sabotage_yield
#define board_irq_raise sabotage_raise
#define board_irq_pend sabotage_pend
#include_next "port.h"
#undef board_irq_pend
#undef board_irq_raise
#pragma pop_macro("xSemaphoreGive")
#pragma pop_macro("xQueueSendToBack")
#pragma pop_macro("xQueueSendToFront")
#pragma pop_macro("xEventGroupSetBits")
#pragma pop_macro("vTaskResume")
#pragma pop_macro("taskYIELD")

#endif
