// SPDX-License-Identifier: MIT OR Apache-2.0
#include "record.h"

#define ID_MAX 64
/* Samples in the pilot, which finds the batch size. */
#define PILOT 4
/* Minimum number of samples, whatever the budget. */
#define SAMPLES_MIN 5

/* The pilot of a case with as many threads as there can be, and a spare row. */
_Static_assert(PORT_STAMPS >= 8 * (PORT_THREADS + PILOT + 1),
	       "PORT_STAMPS is too small for PORT_THREADS");

/*
 * A count may deviate by at least SLACK_LEAST, or by this fraction of the
 * expected count if that is more: other threads of the machine add some.
 */
#define SLACK_LEAST 4
#define SLACK_SHARE 50
/*
 * This fraction of the slack lies below: a thread on another CPU may be late.
 */
#define SLACK_BELOW 4

/* One variant of an entry: its argument, and the roles in user mode as bits. */
struct km_case {
	const struct km_bench *const *table;
	const struct km_bench *bench;
	const uint32_t *argument;
	uint32_t user;
};

/* Totals over the parts of a case. */
struct tally {
	struct km_counts counts;
	uint32_t parts;
	uint32_t samples;	/* including each part's lead-in */
	uint32_t misordered;
	uint32_t wrong;
	port_ticks moved;
	port_ticks bytes;
	bool unable;		/* the setup or the port refuses it */
};

static uint32_t role_count(const struct km_bench *b)
{
	uint32_t n = 0;

	while (n < KM_ROLES && b->role[n].body)
		n++;
	return n;
}

static uint32_t span_count(const struct km_bench *b)
{
	uint32_t n = 0;

	while (n < KM_SPANS && b->span[n].name)
		n++;
	return n;
}

static uint32_t span_begin(const struct km_bench *b, uint32_t i)
{
	return b->span[i].begin || b->span[i].end ? b->span[i].begin : i;
}

static uint32_t span_end(const struct km_bench *b, uint32_t i)
{
	return b->span[i].begin || b->span[i].end ? b->span[i].end : i + 1;
}

static uint32_t stamp_count(const struct km_bench *b)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < span_count(b); i++)
		if (span_end(b, i) > last)
			last = span_end(b, i);
	return last + 1;
}

/* Whether threads run in either mode. */
static bool has_both_modes(void)
{
	return (PORT_HAS & KM_KERNEL) != 0 && (PORT_HAS & KM_USER) != 0;
}

/* The lowest set of roles in user mode that this port can run, one bit each. */
static uint32_t user_first(void)
{
	return PORT_HAS & KM_KERNEL ? 0 : ~0u;
}

/* Whether the ids of b name the modes of its threads. */
static bool names_modes(const struct km_bench *b)
{
	for (const char *c = b->span[0].name; *c; c++)
		if (*c == '{')
			return true;
	return false;
}

static void case_first(struct km_case *c)
{
	c->table = port_tables;
	c->bench = *c->table;
	c->argument = c->bench ? c->bench->argument : NULL;
	c->user = user_first();
}

/* Skips the ends of tables. Returns false after the last entry. */
static bool case_settle(struct km_case *c)
{
	while (c->bench && !c->bench->object) {
		c->bench = *++c->table;
		if (c->bench)
			c->argument = c->bench->argument;
	}
	return c->bench;
}

static void case_next(struct km_case *c)
{
	uint32_t all = (1u << role_count(c->bench)) - 1;

	if (has_both_modes() && names_modes(c->bench) && c->user < all) {
		c->user++;
		return;
	}
	c->user = user_first();
	if (c->argument && *++c->argument)
		return;
	c->bench++;
	c->argument = c->bench->argument;
}

#define for_each_case(c) \
	for (case_first(&(c)); case_settle(&(c)); case_next(&(c)))

static uint32_t case_argument(const struct km_case *c)
{
	return c->argument ? *c->argument : 0;
}

static char *append(char *to, const char *end, const char *s)
{
	while (*s && to < end)
		*to++ = *s++;
	return to;
}

static const char *word(bool user)
{
	return user ? "user" : "kernel";
}

/* Why span i has no number in this case, which can run; or NULL. */
static const char *span_lacks(const struct km_case *c, uint32_t i)
{
	return port_lacks_span(c->bench, c->user, i);
}

/* Writes the id of span i into id, which holds ID_MAX bytes. */
static const char *metric_id(char *id, const struct km_case *c, uint32_t i)
{
	static const char pass[][7] = { "k_to_k", "u_to_k", "k_to_u", "u_to_u" };
	const struct km_span *span = &c->bench->span[i];
	bool from = c->user >> span->from & 1, to = c->user >> span->to & 1;
	char *end = id + ID_MAX - 1, *at = append(id, end, c->bench->object);
	uint32_t argument = case_argument(c);

	at = append(at, end, ".");
	for (const char *s = span->name; *s && at < end; s++) {
		const char *with = pass[from + 2 * to];

		if (*s != '{') {
			*at++ = *s;
			continue;
		}
		if (s[1] == 'f')
			with = word(from);
		if (s[1] == 't')
			with = word(to);
		at = append(at, end, with);
		while (*s != '}')
			s++;
	}
	if (argument) {
		char text[DIGITS_MAX];

		at = append(at, end, ".");
		at = append(at, end, record_digits(text, argument));
	}
	*at = '\0';
	return id;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint32_t expected_switches(const struct km_case *c, uint32_t i)
{
	const struct km_span *span = &c->bench->span[i];

	return span->switches + span->switches_each * case_argument(c);
}

static uint32_t most_switches(const struct km_case *c, uint32_t i)
{
	uint32_t most = c->bench->span[i].switches_most;

	return most ? most : expected_switches(c, i);
}

static const struct {
	uint32_t need;
	const char *name;
} needs[] = {
	{ KM_THREADS, "threads" },	{ KM_PRIORITY, "priority" },
	{ KM_SEMAPHORE, "semaphore" },	{ KM_MUTEX, "mutex" },
	{ KM_CONDVAR, "condvar" },	{ KM_QUEUE, "queue" },
	{ KM_EVENTS, "events" },	{ KM_STACK, "stack" },
	{ KM_HEAP, "heap" },		{ KM_IRQ, "irq" },
	{ KM_SMP, "smp" },		{ KM_PROCESSES, "processes" },
	{ KM_ABORT, "abort" },		{ KM_MSGQ, "message_queue" },
	{ KM_STREAM, "stream" },	{ KM_MESSAGE_BUFFER, "message_buffer" },
	{ KM_MAILBOX, "mailbox" },	{ KM_NOTIFICATION, "notification" },
	{ KM_POLL, "poll" },		{ KM_TIMER, "timer" },
	{ KM_TICK, "tick" },		{ KM_WORK, "workqueue" },
	{ KM_SPINLOCK, "spinlock" },	{ KM_SLAB, "slab" },
	{ KM_PRIVATE_HEAP, "private_heap" },
	{ KM_CONDVAR_TIMEOUT, "condvar_timeout" },
	{ KM_HANDLER, "handler" },	{ KM_IRQ_LOCK, "irq_lock" },
	{ KM_IPI, "ipi" },		{ KM_USER, "user" },
};

#define NEEDS_MAX 128

/*
 * Writes the names of the capabilities in mask, comma-separated, at `at`. That
 * is a place in text, which holds NEEDS_MAX bytes. Returns the end of the
 * names.
 */
static char *put_names(char *text, char *at, uint32_t mask)
{
	const char *between = "", *end = text + NEEDS_MAX - 1;

	for (uint32_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		if (!(mask & needs[i].need))
			continue;
		at = append(at, end, between);
		at = append(at, end, needs[i].name);
		between = ",";
	}
	*at = '\0';
	return at;
}

static void put_needs(uint32_t mask)
{
	char text[NEEDS_MAX];

	if (put_names(text, text, mask) > text)
		record_word("needs", text);
}

static void put_text(const char *kind, const char *metric, const char *text)
{
	record_open_for(kind, "metric", metric);
	record_close_with(text, kind, "metric", metric);
}

/* Omits the key if the value is 0. */
static void put_some(const char *key, port_ticks value)
{
	if (value)
		record_number(key, value);
}

static void put_entry(const struct km_case *c, uint32_t i)
{
	const struct km_bench *b = c->bench;
	char metric[ID_MAX], first[ID_MAX];

	metric_id(metric, c, i);
	record_open_for("bench", "metric", metric);
	record_word("case", metric_id(first, c, 0));
	record_number("from", span_begin(b, i));
	record_number("to", span_end(b, i));
	record_number("switches", expected_switches(c, i));
	put_some("switches_most", b->span[i].switches_most);
	put_some("batch", b->batch > 1 ? b->batch : 0);
	put_some("bytes", b->unit == KM_BYTES ? case_argument(c) : 0);
	put_some("items", b->unit == KM_ITEMS ? case_argument(c) : 0);
	put_needs(b->needs);
	if (b->needs & (PORT_IDIOMS))
		record_word("idiom", "yes");
	record_close_with(b->about, "bench", "metric", metric);
	put_text("between", metric, b->span[i].between);
	put_text("via", metric, b->via);
}

void km_catalog(void)
{
	struct km_case c;

	for_each_case(c)
		for (uint32_t i = 0; i < span_count(c.bench); i++)
			put_entry(&c, i);
}

void km_hello(const struct km_hello *h)
{
	record_restart();
	record_open("hello");
	record_word("port", h->port);
	record_word("arch", h->arch);
	record_word("mode", h->mode);
	record_word("clock", h->clock);
	record_word("unit", h->unit);
	record_number("hz", h->hz);
	record_word("realtime", h->realtime ? "yes" : "no");
	record_close();
}

void km_info(const char *name, const char *text)
{
	record_open_for("info", "name", name);
	record_close_with(text, "info", "name", name);
}

void km_bye(void)
{
	uint32_t before = record_total();

	record_open("bye");
	record_number("records", before);
	record_close();
}

bool km_has(const char *id)
{
	struct km_case c;
	char first[ID_MAX];

	for_each_case(c)
		if (same(metric_id(first, &c, 0), id))
			return true;
	return false;
}

/*
 * Lists the threads that the port creates, and tells the benchmark the mode of
 * those it creates itself. Returns their number, 0 if there are too many. Threads that
 * take turns each have a sample in the lead-in, in which they have just started.
 */
static uint32_t list_threads(struct km_thread *list, const struct km_case *c,
			     struct km_run *r)
{
	uint32_t n = 0;

	r->lead = 1;
	for (uint32_t i = 0; i < role_count(c->bench); i++) {
		const struct km_role *role = &c->bench->role[i];
		uint32_t copies = role->flags & KM_EACH ? case_argument(c) : 1;
		bool user = c->user >> i & 1;

		if (role->flags & KM_MADE) {
			r->made_user = user;
			continue;
		}
		if (copies > r->lead)
			r->lead = copies;
		for (uint32_t k = 0; k < copies; k++) {
			if (n == PORT_THREADS)
				return 0;
			list[n].role = role;
			list[n++].user = user;
		}
	}
	return n;
}

struct plan {
	uint32_t samples;	/* in this part, without the lead-in sample */
	uint32_t batch;
};

/* Volatile, because otherwise a compiler may call memset(). */
static void clear(void *object, size_t size)
{
	volatile uint8_t *byte = object;

	while (size--)
		*byte++ = 0;
}

/* Adds the counts of one part, without its lead-in. */
static void add_counts(struct km_counts *sum, const struct km_run *r)
{
	sum->switches += r->count[1].switches - r->count[0].switches;
	sum->preempted += r->count[1].preempted - r->count[0].preempted;
	sum->faults += r->count[1].faults - r->count[0].faults;
#if PORT_COUNTS_CPU_TIME
	sum->cpu_ns += r->count[1].cpu_ns - r->count[0].cpu_ns;
#endif
}

/*
 * Runs one part: the lead-in, then the plan's samples. Returns NULL, or what
 * went wrong.
 */
static const char *run_part(const struct km_case *c, struct km_memory *m,
			    const struct plan *p, struct tally *t)
{
	const struct km_bench *b = c->bench;
	struct km_thread threads[PORT_THREADS];
	struct km_run *r = &m->run;
	const char *wrong;
	uint32_t n;

	clear(r, sizeof(*r));
	n = list_threads(threads, c, r);
	t->unable = !n;
	if (!n)
		return "this benchmark needs more threads than this port can run";
	r->row = m->stamp;
	r->stamps = stamp_count(b);
	r->samples = p->samples + r->lead;
	r->left = r->samples;
	r->batch = p->batch;
	r->argument = case_argument(c);
	for (uint32_t i = 0; i < r->samples * r->stamps; i++)
		m->stamp[i] = 0;
	wrong = b->setup ? PORT_SETUP(b, r) : NULL;
	t->unable = wrong;
	if (wrong)
		return wrong;
	__asm__ volatile __inline(KM_MARK(".parts") :);
	wrong = port_run(threads, n, r, &t->counts);
	if (b->teardown)
		PORT_TEARDOWN(b, r);
	if (!wrong && r->left)
		wrong = "the threads did not record all requested samples";
	add_counts(&t->counts, r);
	t->parts++;
	t->samples += r->samples;
	t->wrong += r->wrong;
	t->bytes += r->bytes;
	return wrong;
}

static port_ticks since(port_ticks from, port_ticks to)
{
	return (port_ticks)(to - from);
}

/* Whether `to` is a stamp and not before `from`. The clock may wrap. */
static bool ordered(port_ticks from, port_ticks to)
{
	return to && since(from, to) <= (port_ticks)-1 / 2;
}

static uint32_t misordered(const struct km_run *r, const port_ticks *rows)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < r->samples; s++) {
		const port_ticks *row = rows + s * r->stamps;
		bool right = row[0] && (!s || ordered(row[-1], row[0]));

		for (uint32_t i = 1; i < r->stamps; i++)
			right = right && ordered(row[i - 1], row[i]);
		n += !right;
	}
	return n;
}

/* Shell sort with Knuth's gaps: no recursion, no extra memory. */
static void sort(port_ticks *v, uint32_t n)
{
	uint32_t gap = 1;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap; gap /= 3)
		for (uint32_t i = gap; i < n; i++) {
			port_ticks x = v[i];
			uint32_t k = i;

			for (; k >= gap && v[k - gap] > x; k -= gap)
				v[k] = v[k - gap];
			v[k] = x;
		}
}

static void open_hist(const char *metric, uint32_t part)
{
	record_open_for("hist", "metric", metric);
	record_number("part", part);
}

static void put_distribution(const char *metric, uint32_t part,
			     const port_ticks *v, uint32_t n)
{
	open_hist(metric, part);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k] == v[i];)
			k++;
		if (record_count(v[i], k - i))
			continue;
		record_close();
		open_hist(metric, part);
		record_count(v[i], k - i);
	}
	record_close();
}

static port_ticks span_ticks(const struct km_bench *b, const port_ticks *row,
			     uint32_t i)
{
	port_ticks ticks = since(row[span_begin(b, i)], row[span_end(b, i)]);

	return PORT_COUNT(ticks);
}

/* Prints the distributions of a part, without the lead-in. */
static void put_part(const struct km_case *c, const struct km_memory *m,
		     uint32_t part)
{
	static port_ticks values[PORT_STAMPS / 2];
	const struct km_run *r = &m->run;
	char id[ID_MAX];

	for (uint32_t i = 0; i < span_count(c->bench); i++) {
		const port_ticks *row = m->stamp + r->lead * r->stamps;
		uint32_t n = r->samples - r->lead;

		if (span_lacks(c, i))
			continue;
		for (uint32_t s = 0; s < n; s++, row += r->stamps)
			values[s] = span_ticks(c->bench, row, i);
		sort(values, n);
		put_distribution(metric_id(id, c, i), part, values, n);
	}
}

static port_ticks elapsed(const struct km_memory *m)
{
	const struct km_run *r = &m->run;

	return since(m->stamp[0], m->stamp[r->samples * r->stamps - 1]);
}

/* The shortest span in the part, so that no metric of the case is too short. */
static port_ticks shortest(const struct km_case *c, const struct km_memory *m)
{
	const struct km_bench *b = c->bench;
	port_ticks least = (port_ticks)-1;

	for (uint32_t s = m->run.lead; s < m->run.samples; s++)
		for (uint32_t i = 0; i < span_count(b); i++) {
			port_ticks t = span_ticks(b, m->stamp + s * m->run.stamps, i);

			if (t < least && !span_lacks(c, i))
				least = t;
		}
	return least;
}

/* Prints the very first sample: nothing in this case has run before it. */
static void put_cold(const struct km_case *c, const struct km_memory *m)
{
	char id[ID_MAX];

	for (uint32_t i = 0; i < span_count(c->bench); i++) {
		if (span_lacks(c, i))
			continue;
		record_open_for("cold", "metric", metric_id(id, c, i));
		record_number("ticks", span_ticks(c->bench, m->stamp, i));
		record_close();
	}
}

/* Says which metrics of a case have no number, while the others have. */
static void put_skips(const struct km_case *c)
{
	char id[ID_MAX];

	for (uint32_t i = 0; i < span_count(c->bench); i++) {
		const char *why = span_lacks(c, i);

		if (why)
			put_text("skip", metric_id(id, c, i), why);
	}
}

/*
 * Finds the plan. Doubles the operations per sample until half an epoch is
 * reached, then takes as many samples as the budget allows. The very first
 * sample is the cold one, unless it is wrong. Batches are powers of two so that
 * they are the same in every run.
 */
static const char *pilot(const struct km_case *c, struct km_memory *m,
			 const struct km_options *o, struct plan *p,
			 struct tally *t)
{
	const struct km_bench *b = c->bench;
	struct plan try = { .samples = 0, .batch = 1 };
	const char *wrong = run_part(c, m, &try, t);
	port_ticks each;

	if (wrong)
		return wrong;
	if (!m->run.wrong && !misordered(&m->run, m->stamp))
		put_cold(c, m);
	try.samples = PILOT;
	if (o->epoch && b->batch_least)
		try.batch = b->batch_least;
	for (;;) {
		port_ticks least;

		wrong = run_part(c, m, &try, t);
		if (wrong)
			return wrong;
		least = shortest(c, m);
		if (least >= o->epoch / 2 || try.batch * 2 > b->batch)
			break;
		do
			try.batch *= 2;
		while (try.batch * 2 <= b->batch && least < o->epoch / 2 &&
		       (least *= 2) < o->epoch / 2);
	}
	each = elapsed(m) / m->run.samples;
	p->batch = try.batch;
	p->samples = o->samples;
	if (o->budget && each && o->budget / each < p->samples)
		p->samples = (uint32_t)(o->budget / each);
	if (p->samples < SAMPLES_MIN)
		p->samples = SAMPLES_MIN;
	return NULL;
}

/*
 * Samples in one part: limited by the burst and by the memory. The memory also
 * holds the lead-in and a spare row, for a thread that ends after the recorder
 * and for a stamp after the end of the row.
 */
static uint32_t part_limit(const struct km_case *c, const struct km_memory *m,
			   const struct km_options *o)
{
	uint32_t most = PORT_STAMPS / stamp_count(c->bench) - m->run.lead - 1;
	port_ticks each = elapsed(m) / m->run.samples;

	if (o->burst && each && o->burst / each < most)
		most = (uint32_t)(o->burst / each);
	return most ? most : 1;
}

/* `expected` is printed only if slack makes the range wider than it. */
struct proof {
	const char *name;
	port_ticks counted, low, high, expected;
};

static void put_proof(const char *id, const struct proof *p)
{
	record_open_for("proof", "case", id);
	record_word("name", p->name);
	record_number("counted", p->counted);
	record_number("low", p->low);
	record_number("high", p->high);
	put_some("expected", p->expected);
	record_close();
}

/* Proves that something did not happen. */
static void put_none(const char *id, const char *name, port_ticks counted)
{
	put_proof(id, &(struct proof){ name, counted, 0, 0, 0 });
}

/* Proves a count of the kernel, within the slack. */
static void put_count(const char *id, struct proof *p)
{
	port_ticks slack = p->high / SLACK_SHARE, below;

	if (slack < SLACK_LEAST)
		slack = SLACK_LEAST;
	below = slack / SLACK_BELOW;
	p->low = p->low > below ? p->low - below : 0;
	p->high += slack - below;
	put_proof(id, p);
}

static void put_proofs(const char *id, const struct km_case *c,
		       const struct tally *t, const struct km_run *r)
{
	const struct km_bench *b = c->bench;
	const struct km_counts *counts = &t->counts;
	uint32_t samples = t->samples - t->parts * r->lead;
	port_ticks least = b->switches, most = least, each;

	for (uint32_t i = 0; i < span_count(b); i++) {
		least += expected_switches(c, i);
		most += most_switches(c, i);
	}
	least *= samples;
	most = most * samples + counts->preempted;

	put_none(id, "order", t->misordered);
	put_proof(id, &(struct proof){ "clock", t->moved, 1, (port_ticks)-1, 0 });
	put_none(id, "results", t->wrong);
	if (PORT_COUNTS_SWITCHES)
		put_count(id, &(struct proof){ "switches", counts->switches,
			  least, most, least });
	put_none(id, "pinned", counts->strayed);
	put_none(id, "priority", counts->demoted);
	each = b->faults + b->faults_each * r->argument;
	each *= (port_ticks)samples * r->batch;
	if (each)
		put_count(id, &(struct proof){ "faults", counts->faults, each,
			  each, each });
	each = (port_ticks)t->samples * r->batch * r->argument;
	if (b->unit == KM_BYTES)
		put_proof(id, &(struct proof){ "bytes", t->bytes, each, each, 0 });
}

/* Prints the CPU time of all samples, if the port counts it and knows it. */
static void put_cpu_time(const char *id, const struct km_counts *counts)
{
#if PORT_COUNTS_CPU_TIME
	if (!counts->cpu_ns)
		return;
	record_open_for("cpu", "case", id);
	record_number("ns", counts->cpu_ns);
	record_close();
#else
	(void)id, (void)counts;
#endif
}

static void put_end(const char *id, const char *status, uint32_t samples,
		    const char *text)
{
	record_open_for("end", "case", id);
	record_word("status", status);
	record_number("samples", samples);
	if (text)
		record_close_with(text, "end", "case", id);
	else
		record_close();
}

/*
 * Returns why the port cannot run this case, or NULL. text holds NEEDS_MAX
 * bytes.
 */
static const char *lacks(const struct km_case *c, char *text)
{
	uint32_t absent = c->bench->needs & ~(uint32_t)(PORT_HAS);
	char *at;

	if (!absent)
		return port_lacks(c->bench, c->user);
	at = append(text, text + NEEDS_MAX - 1, "this port has no ");
	put_names(text, at, absent);
	return text;
}

static void measure(const struct km_case *c, struct km_memory *m,
		    const struct km_options *o)
{
	struct tally t;
	struct plan plan, part;
	const char *wrong;
	char id[ID_MAX], text[NEEDS_MAX];
	uint32_t done = 0, limit;

	__asm__ volatile __inline(KM_MARK(".cases") :);
	record_open_for("begin", "case", metric_id(id, c, 0));
	record_number("asked", o->samples);
	record_close();
	wrong = lacks(c, text);
	if (wrong) {
		put_end(id, "skip", 0, wrong);
		return;
	}
	put_skips(c);
	clear(&t, sizeof(t));
	wrong = pilot(c, m, o, &plan, &t);
	if (wrong) {
		put_end(id, t.unable ? "skip" : "error", 0, wrong);
		return;
	}
	record_open_for("plan", "case", id);
	record_number("samples", plan.samples);
	record_number("batch", plan.batch);
	record_close();
	limit = part_limit(c, m, o);
	clear(&t, sizeof(t));
	part.batch = plan.batch;
	while (done < plan.samples && !wrong) {
		part.samples = plan.samples - done;
		if (part.samples > limit)
			part.samples = limit;
		port_rest();
		wrong = run_part(c, m, &part, &t);
		if (wrong)
			break;
		t.misordered += misordered(&m->run, m->stamp);
		t.moved += elapsed(m);
		put_part(c, m, t.parts - 1);
		done += part.samples;
	}
	if (!wrong) {
		put_cpu_time(id, &t.counts);
		put_proofs(id, c, &t, &m->run);
	}
	put_end(id, wrong ? "error" : "ok", done, wrong);
}

/* Value of a hexadecimal digit; 0 for the NUL. */
static uint32_t hex_value(char digit)
{
	return (digit & 15u) + (digit > '9' ? 9 : 0);
}

void km_measure(const char *id, struct km_memory *m, const struct km_options *o)
{
	const char *digit = o->cases ? o->cases : "";
	uint32_t bit = 8;
	struct km_case c;
	char first[ID_MAX];

	for_each_case(c) {
		if (id ? same(metric_id(first, &c, 0), id) :
			 !o->cases || hex_value(*digit) & bit)
			measure(&c, m, o);
		bit /= 2;
		if (!bit && *digit)
			digit++;
		if (!bit)
			bit = 8;
	}
}
