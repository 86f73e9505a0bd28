// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The kernel fills and copies with these when it creates a task. They are our
 * own, so that counts do not depend on the toolchain's C library.
 */
#include <stdint.h>
#include <string.h>

#define WORD sizeof(uint32_t)

static int aligned(const void *p)
{
	return (uintptr_t)p % WORD == 0;
}

void *memset(void *to, int byte, size_t n)
{
	uint8_t *at = to;

	if (aligned(to))
		for (; n >= WORD; n -= WORD, at += WORD)
			*(uint32_t *)(void *)at = (uint8_t)byte * 0x01010101u;
	while (n--)
		*at++ = (uint8_t)byte;
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	const uint8_t *source = from;
	uint8_t *at = to;

	if (aligned(to) && aligned(from))
		for (; n >= WORD; n -= WORD, at += WORD, source += WORD)
			*(uint32_t *)(void *)at = *(const uint32_t *)(const void *)source;
	while (n--)
		*at++ = *source++;
	return to;
}
