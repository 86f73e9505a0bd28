/* Why a benchmark cannot be set up. */
#ifndef WHY_H
#define WHY_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What failed, and the text of errno. Lasts until the next call. */
static inline const char *why(const char *what)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return text;
}

#endif
