/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the benchmarks in this folder. */
#ifndef POSIX_H
#define POSIX_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * For code between stamps that takes functions as parameters. They are
 * constants, so the compiler inlines them and no indirect call is timed.
 */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * Returns why a setup failed: what failed, and the text of errno. The string is
 * valid until the next call.
 */
static inline const char *why(const char *what)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return text;
}

#endif
