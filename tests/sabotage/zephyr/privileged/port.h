/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* User threads run in kernel mode. */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include_next "port.h"

#undef K_USER
#define K_USER 0

#endif
