/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ping-pong: one side asks, the other answers, and both block in between.
 *
 * The functions that send and receive a number are parameters, always constant
 * ones. So the compiler puts their code between the stamps and makes no
 * indirect call. Only the asker stamps, checks and records. Its questions carry
 * even numbers, and each answer carries the next number. A last question
 * without an answer keeps the end of the answerer out of the last sample.
 */
#ifndef PINGPONG_H
#define PINGPONG_H

#include <unistd.h>

#include "linux.h"
#include "posix.h"

#define PINGPONG_BETWEEN "from the asker's send to the return of its receive " \
	"with the answer"

enum side { ASKER, ANSWERER };

/* File descriptors that a side reads and writes; -1: none. */
struct wire {
	int in, out;
};

static inline void cut_wires(struct wire *wire)
{
	for (int i = 0; i < 2; i++) {
		if (wire[i].in >= 0)
			close(wire[i].in);
		if (wire[i].out >= 0 && wire[i].out != wire[i].in)
			close(wire[i].out);
		wire[i].in = wire[i].out = -1;
	}
}

/* Reads n bytes, in pieces if necessary. */
KM_INLINE bool read_all(int fd, void *to, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read(fd, (char *)to + done, n - done);

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

KM_INLINE bool write_all(int fd, const void *from, size_t n)
{
	return write(fd, from, n) == (ssize_t)n;
}

KM_INLINE void ask(struct km_run *r, bool (*tell)(enum side, uint64_t),
		       bool (*hear)(enum side, uint64_t *))
{
	uint64_t number = 2;

	for_each_sample(r) {
		uint64_t answer = 0;
		bool right;

		stamp(r, 0);
		right = tell(ASKER, number) && hear(ASKER, &answer);
		stamp(r, 1);
		check(r, right && answer == number + 1);
		number += 2;
		record(r);
	}
	check(r, tell(ASKER, number));
}

/*
 * If a receive fails, there is no answer to send, and the asker waits forever.
 */
KM_INLINE void answer(struct km_run *r, bool (*tell)(enum side, uint64_t),
			  bool (*hear)(enum side, uint64_t *))
{
	uint64_t number = 0;

	for_each_sample(r) {
		if (!hear(ANSWERER, &number))
			return;
		tell(ANSWERER, number + 1);
	}
	hear(ANSWERER, &number);
}

#endif
