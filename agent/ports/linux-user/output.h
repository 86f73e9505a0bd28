/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The way of the records out of a Linux: to standard output, or to the debug
 * console of an emulator: a PC's I/O port, or semihosting on AArch64. It takes
 * the bytes at once, whoever reads them, and no interrupt follows. Needs
 * _GNU_SOURCE.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/*
 * The highest number of a debug console: an I/O port, or the call of semihosting
 * that prints a string.
 */
#if defined(__x86_64__)
#include <sys/io.h>
#define OUTPUT_DEBUGCON_MOST 0xffff
#elif defined(__aarch64__)
#define OUTPUT_DEBUGCON_MOST 4
#else
#define OUTPUT_DEBUGCON_MOST 0
#endif

struct output {
	char bytes[(1 << 16) + 1];	/* with room for the end of a string */
	size_t used;
	uint32_t debug_console;	/* its number; 0: standard output */
};

#if defined(__x86_64__)
static inline bool output_debug(const struct output *o, size_t n)
{
	/* Switching to a thread that may use I/O ports costs more. */
	if (ioperm(o->debug_console, 1, 1))
		return false;
	outsb((unsigned short)o->debug_console, o->bytes, n);
	return !ioperm(o->debug_console, 1, 0);
}
#elif defined(__aarch64__)
static inline bool output_debug(struct output *o, size_t n)
{
	register uint64_t call __asm__("x0") = o->debug_console;
	register const char *string __asm__("x1") = o->bytes;

	o->bytes[n] = '\0';
	__asm__ volatile("hlt #0xf000" : "+r"(call) : "r"(string) : "memory");
	return true;
}
#else
static inline bool output_debug(const struct output *o, size_t n)
{
	(void)o, (void)n;
	return false;
}
#endif

/* Returns false if the bytes cannot leave; errno says why. */
static inline bool output_flush(struct output *o)
{
	const char *at = o->bytes;
	size_t n = o->used;

	o->used = 0;
	if (o->debug_console)
		return output_debug(o, n);
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
	bool left = o->used + n < sizeof(o->bytes) || output_flush(o);

	memcpy(o->bytes + o->used, bytes, n);
	o->used += n;
	return left;
}

#endif
