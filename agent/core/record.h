/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes records, the lines of the stream (see doc/protocol.md). */
#ifndef KM_RECORD_H
#define KM_RECORD_H

#include "kernmark.h"

/* Longest record in bytes, without the newline. */
#define KM_RECORD_MAX 240

/* Open a record, add pairs or counts, then close it. */
void record_open(const char *kind);
/* Opens a record whose first pair names its subject. */
void record_open_for(const char *kind, const char *key, const char *value);
void record_word(const char *key, const char *value);
void record_number(const char *key, port_ticks value);
void record_close(void);

/* Adds ticks:count. Returns false if the record is full: close it first. */
bool record_count(port_ticks ticks, uint32_t count);

/*
 * Appends a text and closes the record. What does not fit continues in further
 * records of the same kind with the same first pair.
 */
void record_close_with(const char *text, const char *kind, const char *key,
		       const char *value);

/* Room for the decimal digits of 64 bits and a NUL. */
#define DIGITS_MAX 21
/*
 * Writes value into text, which holds DIGITS_MAX bytes. Returns its first
 * digit.
 */
char *record_digits(char *text, port_ticks value);

/* Restarts the sequence numbers at 0. */
void record_restart(void);
/* Number of records since the restart. */
uint32_t record_total(void);

#endif
