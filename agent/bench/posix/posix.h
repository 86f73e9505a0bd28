/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the benchmarks of this folder share. */
#ifndef POSIX_H
#define POSIX_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * For code between stamps that is shared by being given constant functions:
 * they become part of it, and no indirect call is timed.
 */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * Why a benchmark cannot be set up: what failed, and the text of errno. It lasts
 * until the next call.
 */
static inline const char *why(const char *what)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return text;
}

#endif
