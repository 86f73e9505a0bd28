/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The measured configuration: what most projects start from, but without the
 * tick, so that only requested work is counted. The Makefile sets a CONFIG_
 * macro below for each variant.
 */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board.h"

#define configUSE_PREEMPTION			1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION	BOARD_HAS_CLZ
#define configMAX_PRIORITIES			5
#define configMINIMAL_STACK_SIZE		160
#define configMAX_TASK_NAME_LEN			4
#define configTICK_TYPE_WIDTH_IN_BITS		TICK_TYPE_WIDTH_32_BITS
#define configTICK_RATE_HZ			1000
#define configCPU_CLOCK_HZ			16000000
#define configIDLE_SHOULD_YIELD			0
#define configUSE_IDLE_HOOK			1
#define configUSE_TICK_HOOK			0
#define configUSE_MUTEXES			1
#define configUSE_RECURSIVE_MUTEXES		1
#define configUSE_COUNTING_SEMAPHORES		1
#define configUSE_EVENT_GROUPS			1
#define configUSE_STREAM_BUFFERS		1
#define configSUPPORT_DYNAMIC_ALLOCATION	1
#define configSUPPORT_STATIC_ALLOCATION		0
#define configKERNEL_PROVIDED_STATIC_MEMORY	0
#define configAPPLICATION_ALLOCATED_HEAP	1
#define configCHECK_HANDLER_INSTALLATION	0

#define INCLUDE_vTaskDelete			1
#define INCLUDE_vTaskSuspend			1
#define INCLUDE_vTaskPrioritySet		1
#define INCLUDE_uxTaskPriorityGet		1
#define INCLUDE_xTaskGetCurrentTaskHandle	1

#ifdef CONFIG_TIMERS
#define configUSE_TIMERS			1
/* Above all other tasks, so that it does at once what it is told. */
#define configTIMER_TASK_PRIORITY		(configMAX_PRIORITIES - 1)
#define configTIMER_TASK_STACK_DEPTH		configMINIMAL_STACK_SIZE
/* All commands take the same place, so no count depends on earlier ones. */
#define configTIMER_QUEUE_LENGTH		1
#define INCLUDE_xTimerPendFunctionCall		1
#else
#define configUSE_TIMERS			0
#endif

#ifdef CONFIG_QUEUE_SETS
#define configUSE_QUEUE_SETS			1
#else
#define configUSE_QUEUE_SETS			0
#endif

#ifdef CONFIG_TIME_SLICING
#define configUSE_TIME_SLICING			1
#else
#define configUSE_TIME_SLICING			0
#endif

#ifdef CONFIG_OBJCORE
#define configUSE_TRACE_FACILITY		1
#define configGENERATE_RUN_TIME_STATS		1
#define configRUN_TIME_COUNTER_TYPE		uint32_t
#define portCONFIGURE_TIMER_FOR_RUN_TIME_STATS()
#define portGET_RUN_TIME_COUNTER_VALUE()	board_now()
#else
#define configUSE_TRACE_FACILITY		0
#define configGENERATE_RUN_TIME_STATS		0
#endif

#ifdef CONFIG_OVERFLOW_CHECK
#define configCHECK_FOR_STACK_OVERFLOW		2
#else
#define configCHECK_FOR_STACK_OVERFLOW		0
#endif

#ifdef CONFIG_ASSERTS
void port_assert_failed(const char *file, int line);
#define configASSERT(x) \
	do { \
		if (!(x)) \
			port_assert_failed(__FILE__, __LINE__); \
	} while (0)
#endif

#ifdef CONFIG_MPU
#define configENABLE_MPU			1
#define configUSE_MPU_WRAPPERS_V1		0
#define configENABLE_ACCESS_CONTROL_LIST	1
#define configPROTECTED_KERNEL_OBJECT_POOL_SIZE	128
#define configSYSTEM_CALL_STACK_SIZE		96
#define configTOTAL_MPU_REGIONS			8
#define configENFORCE_SYSTEM_CALLS_FROM_KERNEL_ONLY 1
#define configALLOW_UNPRIVILEGED_CRITICAL_SECTIONS 0
#define configTOTAL_HEAP_SIZE			BOARD_HEAP_MPU
#else
#define configTOTAL_HEAP_SIZE			BOARD_HEAP
#endif

/* Every context switch counts itself. The proof `switches` relies on this. */
#ifndef __ASSEMBLER__
extern volatile uint32_t port_switches;
#endif
#define traceTASK_SWITCHED_IN()			(port_switches++)

#endif
