/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The bodies that fifo.c and lifo.c share. The operations are constants in the
 * including file and every body is inlined there. So there is no call through a
 * pointer between the stamps.
 */
#ifndef KM_QUEUE_H
#define KM_QUEUE_H

#include "kernmark.h"

#ifndef PORT_QUEUE_ALLOCATES
#define PORT_VIA_QUEUE_ALLOC PORT_VIA_QUEUE "; " PORT_VIA_HEAP

/*
 * Returns an item from the heap that points to `own`. If the heap is full, it
 * returns `own` itself, without data. That counts as a wrong result, but nobody
 * waits forever.
 */
KM_INLINE struct port_item *queue_allocate(struct port_item *own)
{
	struct port_item *item = port_malloc(sizeof(*item));

	if (__builtin_expect(!item, 0)) {
		own->data = NULL;
		return own;
	}
	item->data = own;
	return item;
}

KM_INLINE void *queue_free(struct port_item *item)
{
	void *data = item->data;

	if (data)
		port_free(item);
	return data;
}

KM_INLINE void port_fifo_alloc_put(struct port_queue *q, struct port_item *own)
{
	port_fifo_put(q, queue_allocate(own));
}

KM_INLINE void port_lifo_alloc_put(struct port_queue *q, struct port_item *own)
{
	port_lifo_put(q, queue_allocate(own));
}

KM_INLINE void *port_fifo_get_free(struct port_queue *q)
{
	return queue_free(port_fifo_get(q));
}

KM_INLINE void *port_lifo_get_free(struct port_queue *q)
{
	return queue_free(port_lifo_get(q));
}
#endif

/* A queueing order: how items are put and got. */
struct queue_order {
	void (*put)(struct port_queue *q, struct port_item *item);
	struct port_item *(*get)(struct port_queue *q);
	void (*alloc_put)(struct port_queue *q, struct port_item *own);
	void *(*get_free)(struct port_queue *q);
	/*
	 * Of n items put in the order 0, 1, ..., the index of the i-th item
	 * got.
	 */
	uint32_t (*place)(uint32_t i, uint32_t n);
};

static struct port_queue queue;
static struct port_item items[PORT_OBJECTS];
static void *got[PORT_OBJECTS];

KM_INLINE const char *queue_empty(enum port_queue_order order)
{
	port_queue_init(&queue, order);
	for (uint32_t i = 0; i < PORT_OBJECTS; i++)
		items[i].data = &items[i];
	return NULL;
}

/* Detects a full heap here, where it can be reported. */
KM_INLINE const char *queue_on_heap(struct km_run *r, enum port_queue_order order)
{
	const char *wrong = NULL;
	uint32_t n = 0;

	while (n < r->batch && (got[n] = port_malloc(sizeof(struct port_item))))
		n++;
	if (n < r->batch)
		wrong = "the heap has no room for the items of one sample";
	while (n)
		port_free(got[--n]);
	return wrong ? wrong : queue_empty(order);
}

/* Whether the items of a sample came out in the right order. */
KM_INLINE bool queue_in_order(const struct km_run *r, struct queue_order o)
{
	bool right = true;

	for (uint32_t i = 0; i < r->batch; i++)
		right = right && got[i] == &items[o.place(i, r->batch)];
	return right;
}

KM_INLINE void queue_put_get(struct km_run *r, struct queue_order o)
{
	for_each_sample(r) {
		struct port_item *item = items;
		void **to = got;

		stamp(r, 0);
		for_each_repeat(r)
			o.put(&queue, item++);
		stamp(r, 1);
		for_each_repeat(r)
			*to++ = o.get(&queue);
		stamp(r, 2);
		check(r, queue_in_order(r, o));
		record(r);
	}
}

KM_INLINE void queue_alloc_put_get_free(struct km_run *r, struct queue_order o)
{
	for_each_sample(r) {
		struct port_item *own = items;
		void **to = got;

		stamp(r, 0);
		for_each_repeat(r)
			o.alloc_put(&queue, own++);
		stamp(r, 1);
		for_each_repeat(r)
			*to++ = o.get_free(&queue);
		stamp(r, 2);
		check(r, queue_in_order(r, o));
		record(r);
	}
}

KM_INLINE void queue_getter(struct km_run *r, struct queue_order o)
{
	for_each_sample(r) {
		struct port_item *item;

		stamp(r, 0);
		item = o.get(&queue);
		stamp(r, 2);
		check(r, item == &items[km_sample % PORT_OBJECTS]);
		record(r);
	}
}

KM_INLINE void queue_putter(struct km_run *r, struct queue_order o)
{
	for_each_sample(r) {
		struct port_item *item = &items[km_sample % PORT_OBJECTS];

		stamp(r, 1);
		o.put(&queue, item);
	}
}

KM_INLINE void queue_free_getter(struct km_run *r, struct queue_order o)
{
	for_each_sample(r) {
		void *data;

		stamp(r, 0);
		data = o.get_free(&queue);
		stamp(r, 2);
		check(r, data == &items[km_sample % PORT_OBJECTS]);
		record(r);
	}
}

KM_INLINE void queue_alloc_putter(struct km_run *r, struct queue_order o)
{
	for_each_sample(r) {
		struct port_item *own = &items[km_sample % PORT_OBJECTS];

		stamp(r, 1);
		o.alloc_put(&queue, own);
	}
}

#endif
