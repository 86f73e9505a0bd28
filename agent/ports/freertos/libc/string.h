/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All that the kernel and the compiler need from a C library; see
 * libc/string.c.
 */
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memset(void *to, int byte, size_t n);
void *memcpy(void *restrict to, const void *restrict from, size_t n);

#endif
