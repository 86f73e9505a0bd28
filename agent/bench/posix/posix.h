/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the benchmarks in this folder. */
#ifndef POSIX_H
#define POSIX_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
