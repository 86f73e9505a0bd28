/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel has no C library: its own header stands for this one. */
#include <linux/types.h>
