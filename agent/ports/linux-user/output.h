/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The way of the records out of a Linux: to standard output, or to the debug
 * console of an emulated PC. An emulator takes a byte of that at once, whoever
 * reads it, and no interrupt follows. Needs _GNU_SOURCE.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* The highest I/O port there can be. */
#ifdef __x86_64__
#include <sys/io.h>
#define OUTPUT_IO_PORT_MOST 0xffff
#else
#define OUTPUT_IO_PORT_MOST 0
#endif

struct output {
	char bytes[1 << 16];
	size_t used;
	uint32_t debug_console;	/* its I/O port; 0: standard output */
};

/* Returns false if the bytes cannot leave; errno says why. */
static inline bool output_flush(struct output *o)
{
	const char *at = o->bytes;
	size_t n = o->used;

	o->used = 0;
#ifdef __x86_64__
	if (o->debug_console) {
		/* Switching to a thread that may use I/O ports costs more. */
		if (ioperm(o->debug_console, 1, 1))
			return false;
		outsb((unsigned short)o->debug_console, at, n);
		return !ioperm(o->debug_console, 1, 0);
	}
#endif
	while (n) {
		ssize_t written = write(STDOUT_FILENO, at, n);

		if (written <= 0)
			return false;
		at += written;
		n -= (size_t)written;
	}
	/* A terminal must not send and interrupt while something is measured. */
	tcdrain(STDOUT_FILENO);
	return true;
}

static inline bool output_add(struct output *o, const char *bytes, size_t n)
{
	bool left = o->used + n <= sizeof(o->bytes) || output_flush(o);

	memcpy(o->bytes + o->used, bytes, n);
	o->used += n;
	return left;
}

#endif
