/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The bodies shared by objects that copy bytes from thread to thread. The
 * operations are constants in the including file and every body is inlined
 * there. So there is no call through a pointer between the stamps.
 */
#ifndef KM_TRANSFER_H
#define KM_TRANSFER_H

#include "kernmark.h"

/* Maximum operations per sample, and bytes per operation. */
#define TRANSFER_BATCH 4
#define TRANSFER_LONGEST 256
/* Distance in bytes between the starts of two messages of a sample. */
#define TRANSFER_STEP 4

struct transfer {
	void (*send)(const void *from, uint32_t size);
	/* Returns the number of bytes that came. */
	uint32_t (*receive)(void *to, uint32_t size);
	/* Whether a message stays in the object until it is received. */
	bool holds;
};

/* Defined once, because user threads share little memory. */
extern uint8_t transfer_sent[TRANSFER_LONGEST + TRANSFER_BATCH * TRANSFER_STEP];
extern uint8_t transfer_received[TRANSFER_BATCH * TRANSFER_LONGEST];

static const uint32_t transfer_sizes[] = { 4, 64, TRANSFER_LONGEST, 0 };

/* The bytes to send differ from sample to sample and from message to message. */
static void transfer_fill(const struct km_run *r, uint32_t first)
{
	uint32_t n = r->argument + (r->batch - 1) * TRANSFER_STEP;

	for (uint32_t i = 0; i < n; i++)
		transfer_sent[i] = (uint8_t)(first + i);
}

/* Whether all messages have arrived that were filled with `first`. */
static bool transfer_arrived(const struct km_run *r, uint32_t first)
{
	const uint8_t *at = transfer_received;
	bool right = true;

	for (uint32_t k = 0; k < r->batch; k++)
		for (uint32_t i = 0; i < r->argument; i++) {
			uint32_t byte = first + k * TRANSFER_STEP + i;

			right = right && *at++ == (uint8_t)byte;
		}
	return right;
}

/* Sends and receives in one thread. */
KM_INLINE void transfer_both(struct km_run *r, struct transfer t)
{
	for_each_sample(r) {
		const uint8_t *from = transfer_sent;
		uint8_t *to = transfer_received;
		uint32_t came = 0;

		transfer_fill(r, km_sample);
		stamp(r, 0);
		for_each_repeat(r) {
			t.send(from, r->argument);
			from += TRANSFER_STEP;
		}
		stamp(r, 1);
		for_each_repeat(r) {
			came += t.receive(to, r->argument);
			to += r->argument;
		}
		stamp(r, 2);
		check(r, transfer_arrived(r, km_sample));
		r->bytes += came;
		record(r);
	}
}

/*
 * The receiver has the higher priority. It also fills what the sender sends:
 * the sender does nothing else between its stamp and the receiver's first.
 */
KM_INLINE void transfer_receiver(struct km_run *r, struct transfer t)
{
	for_each_sample(r) {
		uint32_t came;

		transfer_fill(r, km_sample);
		stamp(r, 0);
		came = t.receive(transfer_received, r->argument);
		stamp(r, 2);
		check(r, transfer_arrived(r, km_sample));
		r->bytes += came;
		record(r);
	}
}

KM_INLINE void transfer_sender(struct km_run *r, struct transfer t)
{
	for_each_sample(r) {
		stamp(r, 1);
		t.send(transfer_sent, r->argument);
	}
}

/*
 * The sender has the higher priority, and finds the object full. What the other
 * thread receives is the message before, if the object holds one. It has been
 * copied when the sender goes on, so the sender checks it.
 */
KM_INLINE void transfer_blocked_sender(struct km_run *r, struct transfer t)
{
	if (t.holds) {
		transfer_fill(r, 0);
		t.send(transfer_sent, r->argument);
	}
	for_each_sample(r) {
		transfer_fill(r, km_sample + t.holds);
		stamp(r, 0);
		t.send(transfer_sent, r->argument);
		stamp(r, 2);
		check(r, transfer_arrived(r, km_sample));
		r->bytes += r->argument;
		record(r);
	}
}

KM_INLINE void transfer_late_receiver(struct km_run *r, struct transfer t)
{
	for_each_sample(r) {
		stamp(r, 1);
		t.receive(transfer_received, r->argument);
	}
}

#endif
