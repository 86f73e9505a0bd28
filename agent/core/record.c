// SPDX-License-Identifier: MIT OR Apache-2.0
#include "record.h"

/* Room that every record reserves for " *" and the checksum. */
#define TAIL 10

static char line[KM_RECORD_MAX + 1];
static size_t used;
static uint32_t sequence;

static void put(char c)
{
	if (used < KM_RECORD_MAX - TAIL)
		line[used++] = c;
}

static void put_word(const char *s)
{
	while (*s)
		put(*s++);
}

char *record_digits(char *text, port_ticks value)
{
	char *at = text + DIGITS_MAX - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return at;
}

static void put_number(port_ticks value)
{
	char text[DIGITS_MAX];

	put_word(record_digits(text, value));
}

static const char hex[] = "0123456789abcdef";

/* CRC-32 of IEEE 802.3, bit by bit: small code, and never in the timed path. */
static uint32_t crc32(const char *s, size_t n)
{
	uint32_t crc = ~0u;

	while (n--) {
		crc ^= (uint8_t)*s++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

void record_open(const char *kind)
{
	used = 0;
	put_word("@km1 ");
	put_number(sequence++);
	put(' ');
	put_word(kind);
}

void record_word(const char *key, const char *value)
{
	put(' ');
	put_word(key);
	put('=');
	put_word(value);
}

void record_number(const char *key, port_ticks value)
{
	char text[DIGITS_MAX];

	record_word(key, record_digits(text, value));
}

void record_open_for(const char *kind, const char *key, const char *value)
{
	record_open(kind);
	record_word(key, value);
}

bool record_count(port_ticks ticks, uint32_t count)
{
	size_t before = used;

	put(' ');
	put_number(ticks);
	put(':');
	put_number(count);
	if (used < KM_RECORD_MAX - TAIL)
		return true;
	used = before;
	return false;
}

void record_close(void)
{
	uint32_t crc = crc32(line, used);

	line[used++] = ' ';
	line[used++] = '*';
	for (int shift = 28; shift >= 0; shift -= 4)
		line[used++] = hex[crc >> shift & 15];
	line[used++] = '\n';
	port_write(line, used);
}

void record_close_with(const char *text, const char *kind, const char *key,
		       const char *value)
{
	for (;;) {
		put_word(" | ");
		/*
		 * An escaped byte takes three characters and must not be split.
		 */
		while (*text && used + 3 < KM_RECORD_MAX - TAIL) {
			char c = *text++;

			if (c >= ' ' && c <= '~' && c != '%') {
				put(c);
				continue;
			}
			put('%');
			put(hex[(uint8_t)c >> 4]);
			put(hex[c & 15]);
		}
		record_close();
		if (!*text)
			return;
		record_open_for(kind, key, value);
	}
}

void record_restart(void)
{
	sequence = 0;
}

uint32_t record_total(void)
{
	return sequence;
}
