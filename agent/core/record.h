/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records: lines of the stream that doc/protocol.md describes. */
#ifndef KM_RECORD_H
#define KM_RECORD_H

#include "kernmark.h"

/* Longest record, without its line end. */
#define KM_RECORD_MAX 240

/* A record is opened, filled with pairs or counts, and closed. */
void record_open(const char *kind);
/* Opens one whose first pair says what it is about. */
void record_open_for(const char *kind, const char *key, const char *value);
void record_word(const char *key, const char *value);
void record_number(const char *key, port_ticks value);
void record_close(void);

/* One ticks:count; false when the record is full and must be closed first. */
bool record_count(port_ticks ticks, uint32_t count);

/*
 * Closes the record with a text. What does not fit is continued in records of
 * that kind and pair.
 */
void record_close_with(const char *text, const char *kind, const char *key,
		       const char *value);

/* Room for the decimal digits of 64 bits, and the zero behind them. */
#define DIGITS_MAX 21
/* Writes them to the end of text, which has that room; returns their start. */
char *record_digits(char *text, port_ticks value);

/* Starts the sequence numbers at 0. */
void record_restart(void);
/* Records since then. */
uint32_t record_total(void);

#endif
