/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Some of what one thread does for another is lost: every seventh call of a
 * benchmark that gives, sends, notifies, sets, resumes, yields, interrupts,
 * ticks, starts a timer or submits work does nothing.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "event_groups.h"
#include "message_buffer.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"

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

static inline void sabotage_tick(void)
{
	if (!sabotage_lost())
		board_tick();
}

static inline void sabotage_notify(TaskHandle_t task)
{
	if (!sabotage_lost())
		xTaskNotifyGive(task);
}

static inline size_t sabotage_write(StreamBufferHandle_t stream, const void *from,
				    size_t size, TickType_t wait)
{
	return sabotage_lost() ? size : xStreamBufferSend(stream, from, size, wait);
}

#if configUSE_TIMERS
static inline void sabotage_start(TimerHandle_t timer, TickType_t wait)
{
	if (!sabotage_lost())
		xTimerStart(timer, wait);
}

static inline void sabotage_submit(PendedFunction_t body, void *argument,
				   uint32_t number, TickType_t wait)
{
	if (!sabotage_lost())
		xTimerPendFunctionCall(body, argument, number, wait);
}
#endif

/* The runner's own gives come after this header. */
#pragma push_macro("xSemaphoreGive")
#pragma push_macro("xQueueSendToBack")
#pragma push_macro("xQueueSendToFront")
#pragma push_macro("xEventGroupSetBits")
#pragma push_macro("vTaskResume")
#pragma push_macro("taskYIELD")
#pragma push_macro("xTaskNotifyGive")
#pragma push_macro("xStreamBufferSend")
#pragma push_macro("xMessageBufferSend")
#pragma push_macro("xTimerStart")
#pragma push_macro("xTimerPendFunctionCall")
#undef xSemaphoreGive
#undef xQueueSendToBack
#undef xQueueSendToFront
#undef xEventGroupSetBits
#undef vTaskResume
#undef taskYIELD
#undef xTaskNotifyGive
#undef xStreamBufferSend
#undef xMessageBufferSend
#undef xTimerStart
#undef xTimerPendFunctionCall
#define xSemaphoreGive sabotage_give
#define xQueueSendToBack sabotage_to_back
#define xQueueSendToFront sabotage_to_front
#define xEventGroupSetBits sabotage_set_bits
#define vTaskResume sabotage_resume
#define taskYIELD sabotage_yield
#define xTaskNotifyGive sabotage_notify
#define xStreamBufferSend sabotage_write
#define xMessageBufferSend sabotage_write
#define xTimerStart sabotage_start
#define xTimerPendFunctionCall sabotage_submit
#define board_irq_raise sabotage_raise
#define board_irq_pend sabotage_pend
#define board_tick sabotage_tick
#include_next "port.h"
#undef board_irq_pend
#undef board_irq_raise
#undef board_tick
#pragma pop_macro("xSemaphoreGive")
#pragma pop_macro("xQueueSendToBack")
#pragma pop_macro("xQueueSendToFront")
#pragma pop_macro("xEventGroupSetBits")
#pragma pop_macro("vTaskResume")
#pragma pop_macro("taskYIELD")
#pragma pop_macro("xTaskNotifyGive")
#pragma pop_macro("xStreamBufferSend")
#pragma pop_macro("xMessageBufferSend")
#pragma pop_macro("xTimerStart")
#pragma pop_macro("xTimerPendFunctionCall")

#endif
