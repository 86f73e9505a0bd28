// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernmark.h"

static struct port_stack stack;
static uintptr_t words[PORT_OBJECTS], got[PORT_OBJECTS];

static const char *empty(struct km_run *r)
{
	(void)r;
	port_stack_init(&stack, words, PORT_OBJECTS);
	return NULL;
}

/* Whether the words 0 .. batch - 1 came out in reverse order. */
static bool reversed(const struct km_run *r)
{
	bool right = true;

	for (uint32_t i = 0; i < r->batch; i++)
		right = right && got[i] == r->batch - 1 - i;
	return right;
}

static void push_pop(struct km_run *r)
{
	for_each_sample(r) {
		uintptr_t word = 0, *to = got;

		stamp(r, 0);
		for_each_repeat(r)
			port_stack_push(&stack, word++);
		stamp(r, 1);
		for_each_repeat(r)
			*to++ = port_stack_pop(&stack);
		stamp(r, 2);
		check(r, reversed(r));
		record(r);
	}
}

static void popper(struct km_run *r)
{
	for_each_sample(r) {
		uintptr_t word;

		stamp(r, 0);
		word = port_stack_pop(&stack);
		stamp(r, 2);
		check(r, word == km_sample);
		record(r);
	}
}

static void pusher(struct km_run *r)
{
	for_each_sample(r) {
		stamp(r, 1);
		port_stack_push(&stack, km_sample);
	}
}

KM_TABLE(stack) = {
	{
		.object = "stack",
		.about = "Push words onto a stack with no waiters, and pop them.",
		.via = PORT_VIA_STACK,
		.needs = KM_STACK,
		.batch = PORT_OBJECTS,
		.setup = empty,
		.role = { { push_pop, KM_LOW, 0 } },
		.span = {
			{ .name = "push.immediate.{from}", .between = "one push" },
			{ .name = "pop.immediate.{from}", .between = "one pop" },
		},
	},
	{
		.object = "stack",
		.about = "Block on an empty stack; a lower-priority thread "
			 "pushes a word.",
		.via = PORT_VIA_STACK,
		.needs = KM_STACK | KM_THREADS | KM_PRIORITY,
		.setup = empty,
		.role = { { popper, KM_HIGH, 0 }, { pusher, KM_LOW, 0 } },
		.span = {
			{
				.name = "pop.blocking.{pass}", .switches = 1,
				.from = 0, .to = 1,
				.between = "from the blocking pop to the next "
					   "instruction of the other thread",
			},
			{
				.name = "push.wake+ctx.{pass}", .switches = 1,
				.from = 1, .to = 0,
				.between = "from the push to the return of "
					   "the pop in the woken thread",
			},
		},
	},
	{ 0 },
};
