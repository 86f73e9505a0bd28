/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * FreeRTOS. Each operation is the API call that the manual gives for it. With
 * the MPU, the same calls go through the kernel's own checks.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "event_groups.h"
#include "message_buffer.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"

#include "board.h"

#ifdef CONFIG_MPU
#define PORT_MODES (KM_KERNEL | KM_USER)
#define PORT_THREADS 33
#define PORT_STAMPS 1536
#else
#define PORT_MODES KM_KERNEL
#define PORT_THREADS 65
#define PORT_STAMPS 2048
#endif

#define PORT_HAS (KM_THREADS | KM_PRIORITY | KM_SEMAPHORE | KM_MUTEX | \
	KM_QUEUE | KM_EVENTS | KM_HEAP | KM_IRQ | KM_ABORT | KM_MSGQ | \
	KM_MESSAGE_BUFFER | KM_STREAM | KM_NOTIFICATION | KM_POLL | \
	KM_TIMER | KM_TICK | KM_WORK | KM_SPINLOCK | KM_HANDLER | \
	KM_IRQ_LOCK | PORT_MODES)

/* These configurations change what other calls cost. */
#define PORT_WITHOUT (KM_POLL * !configUSE_QUEUE_SETS | \
	(KM_TIMER | KM_WORK) * !configUSE_TIMERS)

#define PORT_OBJECTS 64

typedef uint32_t port_ticks;

#define PORT_CLOCK BOARD_CLOCK

KM_INLINE port_ticks port_now(void)
{
	return board_now();
}

/*
 * Objects are created by the setup of a benchmark and deleted after its part.
 * So each part finds the heap as the first one did.
 */
QueueHandle_t port_keep_queue(QueueHandle_t queue);
EventGroupHandle_t port_keep_group(EventGroupHandle_t group);
StreamBufferHandle_t port_keep_stream(StreamBufferHandle_t stream);

#define PORT_VIA_THREAD "xTaskCreate below the creator's priority, " \
	"vTaskPrioritySet, vTaskSuspend, vTaskResume, vTaskDelete; a user " \
	"task with xTaskCreateRestricted"

struct km_run;

struct port_thread {
	TaskHandle_t task;
	void (*body)(struct km_run *r);
	struct km_run *run;
};

int port_thread_create(struct port_thread *t, void (*body)(struct km_run *r),
		       struct km_run *r);
int port_thread_start(struct port_thread *t);
void port_thread_reap(struct port_thread *t);

KM_INLINE void port_thread_suspend(struct port_thread *t)
{
	(void)t;
	vTaskSuspend(NULL);
}

KM_INLINE void port_thread_resume(struct port_thread *t)
{
	vTaskResume(t->task);
}

#define PORT_VIA_ABORT "vTaskDelete of another task, which frees its memory"

KM_INLINE void port_thread_abort(struct port_thread *t)
{
	vTaskDelete(t->task);
}

#define PORT_VIA_YIELD "taskYIELD"

KM_INLINE void port_yield(void)
{
	taskYIELD();
}

#define PORT_VIA_SEMAPHORE "a counting semaphore: xSemaphoreGive, xSemaphoreTake"

struct port_sem {
	SemaphoreHandle_t handle;
};

KM_INLINE void port_sem_init(struct port_sem *s, unsigned int count)
{
	s->handle = port_keep_queue(xSemaphoreCreateCounting(UINT32_MAX, count));
}

KM_INLINE void port_sem_take(struct port_sem *s)
{
	xSemaphoreTake(s->handle, portMAX_DELAY);
}

KM_INLINE void port_sem_give(struct port_sem *s)
{
	xSemaphoreGive(s->handle);
}

#define PORT_VIA_MUTEX "a mutex, which always inherits priority: " \
	"xSemaphoreTake, xSemaphoreGive; a recursive one: " \
	"xSemaphoreTakeRecursive, xSemaphoreGiveRecursive; includes testing " \
	"the kind"

enum port_mutex_kind { PORT_PLAIN, PORT_RECURSIVE, PORT_INHERIT };

struct port_mutex {
	SemaphoreHandle_t handle;
	bool recursive;
};

KM_INLINE void port_mutex_init(struct port_mutex *m,
				   enum port_mutex_kind kind)
{
	m->recursive = kind == PORT_RECURSIVE;
	m->handle = port_keep_queue(m->recursive ?
				    xSemaphoreCreateRecursiveMutex() :
				    xSemaphoreCreateMutex());
}

KM_INLINE void port_mutex_lock(struct port_mutex *m)
{
	if (m->recursive)
		xSemaphoreTakeRecursive(m->handle, portMAX_DELAY);
	else
		xSemaphoreTake(m->handle, portMAX_DELAY);
}

KM_INLINE void port_mutex_unlock(struct port_mutex *m)
{
	if (m->recursive)
		xSemaphoreGiveRecursive(m->handle);
	else
		xSemaphoreGive(m->handle);
}

#define PORT_VIA_HEAP "heap_4: pvPortMalloc, vPortFree"

KM_INLINE void *port_malloc(size_t size)
{
	return pvPortMalloc(size);
}

KM_INLINE void port_free(void *p)
{
	vPortFree(p);
}

#define PORT_VIA_QUEUE "a queue of pointers: xQueueSendToBack or " \
	"xQueueSendToFront, xQueueReceive"

struct port_item {
	void *data;
};

struct port_queue {
	QueueHandle_t handle;
};

KM_INLINE void port_queue_init(struct port_queue *q, enum port_queue_order order)
{
	(void)order;
	q->handle = port_keep_queue(xQueueCreate(PORT_OBJECTS,
						 sizeof(struct port_item *)));
}

KM_INLINE void port_fifo_put(struct port_queue *q, struct port_item *item)
{
	xQueueSendToBack(q->handle, &item, portMAX_DELAY);
}

KM_INLINE void port_lifo_put(struct port_queue *q, struct port_item *item)
{
	xQueueSendToFront(q->handle, &item, portMAX_DELAY);
}

KM_INLINE struct port_item *port_fifo_get(struct port_queue *q)
{
	struct port_item *item = NULL;

	xQueueReceive(q->handle, &item, portMAX_DELAY);
	return item;
}

KM_INLINE struct port_item *port_lifo_get(struct port_queue *q)
{
	return port_fifo_get(q);
}

#define PORT_VIA_EVENTS "an event group: xEventGroupSetBits; to replace all, " \
	"xEventGroupClearBits first; xEventGroupWaitBits"

struct port_events {
	EventGroupHandle_t handle;
};

KM_INLINE void port_events_init(struct port_events *e)
{
	e->handle = port_keep_group(xEventGroupCreate());
}

KM_INLINE void port_events_post(struct port_events *e, uint32_t bits)
{
	xEventGroupSetBits(e->handle, bits);
}

KM_INLINE void port_events_set(struct port_events *e, uint32_t bits)
{
	/* All bits of a group: the kernel keeps the highest byte. */
	xEventGroupClearBits(e->handle, ~bits & 0xffffff);
	xEventGroupSetBits(e->handle, bits);
}

KM_INLINE uint32_t port_events_wait(struct port_events *e, uint32_t bits)
{
	return xEventGroupWaitBits(e->handle, bits, pdFALSE, pdFALSE,
				   portMAX_DELAY) & bits;
}

KM_INLINE uint32_t port_events_wait_all(struct port_events *e, uint32_t bits)
{
	return xEventGroupWaitBits(e->handle, bits, pdFALSE, pdTRUE,
				   portMAX_DELAY) & bits;
}

#define PORT_VIA_IRQ BOARD_VIA_IRQ "; the handler gives a binary semaphore: " \
	"xSemaphoreGiveFromISR, xSemaphoreTake"

struct port_irq {
	volatile port_ticks at;
	volatile uint32_t count;
	SemaphoreHandle_t come;
};

const char *port_irq_attach(struct port_irq *irq);
void port_irq_detach(struct port_irq *irq);

KM_INLINE port_ticks port_irq_raise(struct port_irq *irq)
{
	(void)irq;
	board_irq_raise();
	return port_now();
}

KM_INLINE uint32_t port_irq_wait(struct port_irq *irq)
{
	uint32_t count;

	xSemaphoreTake(irq->come, portMAX_DELAY);
	count = irq->count;
	irq->count = 0;
	return count;
}

#define PORT_VIA_HANDLER BOARD_VIA_IRQ "; the vector's function calls the handler"

struct port_handler {
	void (*body)(struct km_run *r);
	struct km_run *run;
};

const char *port_handler_attach(struct port_handler *h,
				void (*body)(struct km_run *r),
				struct km_run *r);
void port_handler_detach(struct port_handler *h);

KM_INLINE void port_handler_raise(struct port_handler *h)
{
	(void)h;
	board_irq_pend();
}

#define PORT_VIA_IRQ_LOCK "taskENTER_CRITICAL, taskEXIT_CRITICAL"

KM_INLINE unsigned long port_irq_lock(void)
{
	taskENTER_CRITICAL();
	return 0;
}

KM_INLINE void port_irq_unlock(unsigned long key)
{
	(void)key;
	taskEXIT_CRITICAL();
}

#define PORT_VIA_MSGQ "a queue: xQueueSendToBack, xQueueReceive"

struct port_msgq {
	QueueHandle_t handle;
};

KM_INLINE void port_msgq_init(struct port_msgq *q, uint32_t size,
			      uint32_t count)
{
	q->handle = port_keep_queue(xQueueCreate(count, size));
}

KM_INLINE void port_msgq_put(struct port_msgq *q, const void *message)
{
	xQueueSendToBack(q->handle, message, portMAX_DELAY);
}

KM_INLINE void port_msgq_get(struct port_msgq *q, void *message)
{
	xQueueReceive(q->handle, message, portMAX_DELAY);
}

#define PORT_VIA_MESSAGE_BUFFER "xMessageBufferSend, xMessageBufferReceive"

struct port_message_buffer {
	MessageBufferHandle_t handle;
};

/*
 * The kernel's ring has one byte more than its size, and before each message
 * its length. As a multiple of that, it never cuts a message in two, nor does
 * any message begin at an odd address.
 */
KM_INLINE void port_message_buffer_init(struct port_message_buffer *b,
					uint32_t size, uint32_t count)
{
	size += sizeof(configMESSAGE_BUFFER_LENGTH_TYPE);
	size *= count + 1;
	b->handle = port_keep_stream(xMessageBufferCreate(size - 1));
}

KM_INLINE void port_message_buffer_send(struct port_message_buffer *b,
					const void *message, uint32_t size)
{
	xMessageBufferSend(b->handle, message, size, portMAX_DELAY);
}

KM_INLINE uint32_t port_message_buffer_receive(struct port_message_buffer *b,
					       void *message, uint32_t most)
{
	return xMessageBufferReceive(b->handle, message, most, portMAX_DELAY);
}

#define PORT_VIA_STREAM "a stream buffer with trigger level 1, whose ring is a " \
	"multiple of N: xStreamBufferSend, xStreamBufferReceive"

struct port_stream {
	StreamBufferHandle_t handle;
};

/* As port_message_buffer_init(). */
KM_INLINE void port_stream_init(struct port_stream *s, uint32_t size,
				uint32_t count)
{
	size *= count + 1;
	s->handle = port_keep_stream(xStreamBufferCreate(size - 1, 1));
}

KM_INLINE void port_stream_write(struct port_stream *s, const void *from,
				 uint32_t size)
{
	xStreamBufferSend(s->handle, from, size, portMAX_DELAY);
}

KM_INLINE uint32_t port_stream_read(struct port_stream *s, void *to,
				    uint32_t size)
{
	return xStreamBufferReceive(s->handle, to, size, portMAX_DELAY);
}

#define PORT_VIA_NOTIFICATION "xTaskNotifyGive, ulTaskNotifyTake without " \
	"clearing the count"

struct port_notification {
	TaskHandle_t task;
};

KM_INLINE void port_notification_own(struct port_notification *n)
{
	n->task = xTaskGetCurrentTaskHandle();
}

KM_INLINE void port_notification_give(struct port_notification *n)
{
	xTaskNotifyGive(n->task);
}

KM_INLINE uint32_t port_notification_take(struct port_notification *n)
{
	(void)n;
	return ulTaskNotifyTake(pdFALSE, portMAX_DELAY);
}

#if configUSE_QUEUE_SETS
#define PORT_VIA_POLL "a queue set of binary semaphores: " \
	"xQueueSelectFromSet, xSemaphoreGive"

struct port_poll {
	QueueSetHandle_t set;
	QueueSetMemberHandle_t found;
	SemaphoreHandle_t semaphore[KM_POLLED];
};

void port_poll_init(struct port_poll *p, uint32_t count);
uint32_t port_poll_take(struct port_poll *p);

KM_INLINE void port_poll_wait(struct port_poll *p)
{
	p->found = xQueueSelectFromSet(p->set, portMAX_DELAY);
}

KM_INLINE void port_poll_give(struct port_poll *p, uint32_t i)
{
	xSemaphoreGive(p->semaphore[i]);
}
#endif

#if configUSE_TIMERS
#define PORT_VIA_TIMER "xTimerStart, xTimerStop: commands to the kernel's " \
	"timer task, which has the highest priority"

#define PORT_TIMER_TAKES __attribute__((unused)) TimerHandle_t expired_timer
/* To the timer task and back. */
#define PORT_TIMER_SWITCHES 2

struct port_timer {
	TimerHandle_t handle;
};

void port_timer_init(struct port_timer *t, void (*expired)(PORT_TIMER_TAKES));

KM_INLINE void port_timer_start(struct port_timer *t)
{
	xTimerStart(t->handle, portMAX_DELAY);
}

KM_INLINE void port_timer_stop(struct port_timer *t)
{
	xTimerStop(t->handle, portMAX_DELAY);
}

KM_INLINE bool port_timer_active(struct port_timer *t)
{
	return xTimerIsTimerActive(t->handle);
}

#define PORT_VIA_WORK "xTimerPendFunctionCall: the kernel's timer task calls " \
	"the function. FreeRTOS has no work queues; this is the nearest"

#define PORT_WORK_TAKES __attribute__((unused)) void *work_argument, \
	__attribute__((unused)) uint32_t work_number

struct port_work {
	PendedFunction_t body;
};

KM_INLINE void port_work_init(struct port_work *w, PendedFunction_t body)
{
	w->body = body;
}

KM_INLINE void port_work_submit(struct port_work *w)
{
	xTimerPendFunctionCall(w->body, NULL, 0, portMAX_DELAY);
}
#endif

#define PORT_VIA_TICK "the kernel's tick handler: " BOARD_VIA_TICK "; a sleep " \
	"is ulTaskNotifyTake with a timeout of one tick"

KM_INLINE void port_tick(void)
{
	board_tick();
}

KM_INLINE uint32_t port_tick_count(void)
{
	return xTaskGetTickCount();
}

KM_INLINE void port_sleep_tick(void)
{
	ulTaskNotifyTake(pdTRUE, 1);
}

#define PORT_VIA_SPINLOCK "taskENTER_CRITICAL, taskEXIT_CRITICAL: on one " \
	"processor, interrupts are masked and nothing else is locked"

struct port_spinlock {
	char unused;
};

KM_INLINE void port_spinlock_init(struct port_spinlock *l)
{
	(void)l;
}

KM_INLINE void port_spinlock_lock(struct port_spinlock *l)
{
	(void)l;
	taskENTER_CRITICAL();
}

KM_INLINE void port_spinlock_unlock(struct port_spinlock *l)
{
	(void)l;
	taskEXIT_CRITICAL();
}

#endif
