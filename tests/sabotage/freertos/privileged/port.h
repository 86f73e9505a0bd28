/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* User threads have all the kernel's privileges. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include_next "port.h"

static inline BaseType_t sabotage_create(const TaskParameters_t *p,
					 TaskHandle_t *task)
{
	TaskParameters_t privileged = *p;

	privileged.uxPriority |= portPRIVILEGE_BIT;
	return xTaskCreateRestricted(&privileged, task);
}

#undef xTaskCreateRestricted
#define xTaskCreateRestricted sabotage_create

#endif
