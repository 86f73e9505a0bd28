// SPDX-License-Identifier: MIT OR Apache-2.0
#include "order.h"

/*
 * Returns the next word of text and ends it with a NUL; NULL if there is none.
 */
static char *word(char **text)
{
	char *begin = *text, *end;

	while (*begin == ' ')
		begin++;
	for (end = begin; *end && *end != ' ';)
		end++;
	*text = *end ? end + 1 : end;
	*end = '\0';
	return end > begin ? begin : NULL;
}

/* Returns what follows the prefix, or NULL if s does not start with it. */
static const char *behind(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return NULL;
	return s;
}

static bool is(const char *s, const char *other)
{
	const char *rest = behind(s, other);

	return rest && !*rest;
}

bool order_number(const char *digits, uint32_t *value)
{
	const uint32_t most = UINT32_MAX;

	if (!*digits)
		return false;
	for (*value = 0; *digits; digits++) {
		uint32_t digit = (uint32_t)(*digits - '0');

		if (digit > 9 || *value > (most - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	return true;
}

bool order_cases(const char *digits)
{
	if (!*digits)
		return false;
	for (; *digits; digits++)
		if (!(*digits >= '0' && *digits <= '9') &&
		    !(*digits >= 'a' && *digits <= 'f'))
			return false;
	return true;
}

static bool setting(struct order *o, const char *w, port_ticks hz)
{
	const char *value;
	uint32_t us;

	value = behind(w, "samples=");
	if (value)
		return order_number(value, &o->options.samples) &&
		       o->options.samples;
	value = behind(w, "budget_us=");
	if (value) {
		if (!order_number(value, &us))
			return false;
		o->options.budget = (port_ticks)((uint64_t)us * hz / 1000000);
		return true;
	}
	o->options.cases = behind(w, "cases=");
	return o->options.cases && order_cases(o->options.cases);
}

const char *order_read(struct order *o, char *text, port_ticks hz)
{
	char *w = word(&text);

	*o = (struct order){ .options = { .samples = 1000 } };
	if (!w)
		return NULL;
	o->list = is(w, "list");
	if (!o->list && !is(w, "run"))
		return w;
	while ((w = word(&text)))
		if (o->list || !setting(o, w, hz))
			return w;
	return NULL;
}
