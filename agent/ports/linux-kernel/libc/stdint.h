/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* The kernel has no C library; its own header replaces this one. */
#include <linux/types.h>
