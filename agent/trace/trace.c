// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A plugin for QEMU that follows every instruction between two readings of the
 * agent's clock:
 *
 *	-plugin trace.so,marks=FILE,into=FILE[,cases=N:N...][,counts=on][,text=on]
 *	-plugin trace.so,check=on	only shows that this QEMU takes the plugin
 *
 * MARKS holds what the programs say about themselves (see agent/mark.h), one line
 * each:
 *
 *	stamp|case|part|row|word ADDRESS [BYTES]	a mark, and the first bytes of
 *						its instruction, in hexadecimal
 *	module BYTES	what follows are offsets in the text of a module, which is
 *			loaded anywhere. BYTES are its text, where .. is a byte that
 *			the loader changes
 *
 * INTO becomes a text, in which all numbers but those after 0x are decimal:
 *
 *	base 0xADDRESS		where the module's text is
 *	case N			case N of this session begins, counted from 0
 *	part			a part of it begins
 *	path ID LENGTH IDLE RUN...	what lies between two readings: LENGTH
 *			instructions, IDLE of which wait for an interrupt. A RUN is
 *			FIRST or FIRST+MORE, instructions with consecutive numbers.
 *			*N repeats the run before it N times
 *	data ID NUMBER:LOADS:STORES:DEVICES...	how often its instructions accessed
 *			memory; DEVICES of the accesses were to devices
 *	lines ID RUN...	the 64-byte lines of data that it accessed, in order, without
 *			repetitions in a row; numbered like instructions
 *	row N PATH...	N samples with these paths, one after the other in time. Rows
 *			follow each other in the order in which they were measured.
 *			A path is SITE:ID, where the instruction SITE ended it; ID is -
 *			before a row's first reading. *N repeats the path before it N
 *			times
 *	said TEXT		a line that the machine wrote with marked words
 *	line NUMBER 0xADDRESS	a line of data
 *	insn NUMBER 0xADDRESS BYTES [TEXT]	an instruction of a path
 *	lost BYTES	paths were left out, because INTO reached its limit
 *	end TOTAL	nothing is missing before this line; instructions executed in
 *			the cases that were followed
 *
 * It takes no part in what it follows: no clock, no register and no memory of the
 * emulated machine is read or changed. With -icount, a run prints the same values with
 * and without it.
 *
 * Instructions count as they do for the clock of -icount: each repetition of a string
 * instruction is one, and one that faults is none until it completes. The interface
 * does not tell of faults. QEMU executes blocks of instructions, and a fault is the
 * only way to leave a block in its middle, but for these: an access to a device, after
 * which the instruction completes and the next one follows; and code that changes its
 * own block, which then starts again. A fault of a block's last instruction is known
 * by where it leads: to the same handler as another before it.
 *
 * Outside the cases that were asked for, nothing but marks is observed, so that the
 * boot of a machine costs no more than without the plugin.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* Bytes of INTO after which no further path is written. */
#define INTO_MAX (UINT64_C(2) << 30)
/* Readings of the clock in one row; a row with more is cut at its start. */
#define ROW_MAX 65536
/* Equal bytes of a block that may belong to the module. */
#define ALIKE_BYTES 16
#define LINE_SHIFT 6
/* No instruction of any processor is longer. */
#define INSTRUCTION_MAX 16
/* Most instructions in a block of QEMU's. */
#define BLOCK_MAX 512
/* Of the hash of a block: odd, so that no bit is lost. */
#define POWER UINT64_C(0xd6e8feb86659fd93)

enum kind { STAMP, CASE, PART, ROW, WORD, KINDS };

/* An instruction that was translated. Its number is its index. */
struct instruction {
	uint64_t address;
	uint8_t bytes[INSTRUCTION_MAX];
	uint8_t size;
	bool used;		/* is part of a path */
	uint32_t loads, stores, devices;	/* in the current path */
	char *text;
};

/* What a block handles, as the start of a handler. */
enum handles { NOT_KNOWN, FAULTS, OTHERS };

/*
 * Instructions that QEMU executes one after the other, or the first or last part of
 * them. The hash of two in a row is hash * power + hash.
 */
struct block {
	uint32_t first;		/* of `count` numbers in blocks.number */
	uint32_t count;
	uint32_t idle;		/* of these wait for an interrupt */
	enum handles handles;	/* if an exception led to it */
	uint64_t hash, power;
};

struct mark {
	uint64_t address;	/* or an offset in the module */
	uint8_t bytes[INSTRUCTION_MAX];
	uint32_t size;
	enum kind kind;
};

/* Numbers that grow at their end. */
struct list {
	uint32_t *item;
	size_t count, room;
};

/* Finds the number of a key: open addressing, a power of two of slots. */
struct table {
	struct { uint64_t key; uint32_t number; } *slot;
	size_t slots, used;
};

static struct {
	FILE *file;
	uint64_t written;	/* bytes of paths */
	uint64_t lost;
} into;

static struct {
	struct instruction *item;
	size_t count, room;
	struct table numbers;	/* by address and bytes */
} instructions;

static struct {
	struct block *item;
	size_t count, room;
	struct list number;
	struct table known;	/* by hash */
} blocks;

struct marks {
	struct mark *item;	/* by address, rising */
	size_t count, room;
};

static struct marks marks;

static struct {
	struct marks marks;
	uint8_t *byte;
	bool *changed;		/* by the loader */
	size_t size;
	uint64_t base;		/* 0: not found yet */
	struct table bases;	/* where it may be */
	struct list alike;	/* for each, the offset of a block that was alike */
} module;

static struct {
	bool counts, text;
	const char *cases;	/* NULL: all */
} options;

/* The path since the last reading of the clock. */
static struct {
	bool followed;
	struct list run;	/* blocks */
	size_t length;		/* instructions in them */
	struct list line;	/* lines of data */
	struct list accessing;	/* instructions that accessed memory */
} path;

/* The block that is executing. */
static struct {
	bool known;
	uint32_t block;
	uint32_t taken;		/* instructions that are in a path already */
	uint64_t before;	/* `executed` at its start */
} now;

/* An instruction at the end of a block of the path, which may have faulted. */
struct doubt {
	bool open;
	size_t at;		/* its block's place in path.run */
};

/*
 * A program's last instruction in a block, after which a fault was handled: its own
 * if it executes again, else that of fetching what follows it.
 */
static struct {
	struct doubt it;
	uint64_t address;
} repeats;

/* An exception in the middle of a block. The next block tells what its handler is. */
static struct {
	struct doubt it;
	bool open;
	uint32_t handler;
} exception;

static struct {
	bool followed;		/* the current case was asked for */
	bool started;		/* it has a part */
	int64_t number;
	struct list row, last;	/* pairs of site and path */
	uint64_t repeated;	/* how often `last` occurred */
} current = { .number = -1 };

/* A line that the machine is writing. */
static struct {
	char *byte;
	size_t count, room;
} said;

static struct table paths, lines;
static uint32_t path_count, line_count;
static struct list line_high, line_low;
/* Counted by instructions themselves, before each executes. */
static uint64_t executed;

static struct {
	bool all;		/* not only marks */
	bool wanted;		/* `all` from now on */
	qemu_plugin_id_t id;
} observed;

static int interface;	/* QEMU's version of it */

/* What the plugin has to know of an instruction set. NULL: never. */
static struct machine {
	const char *name;
	/* Whether an instruction waits for an interrupt. */
	bool (*waits)(const struct instruction *in);
	/* Whether it completes where it leads to a handler of faults. */
	bool (*leaves)(const struct instruction *in);
	/* What a block handles that may be the start of a handler. */
	enum handles (*handles)(const struct block *b);
} machine;

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return items;
	*room = *room ? 2 * *room : 1024;
	items = realloc(items, *room * size);
	if (!items) {
		fputs("kernmark: the trace needs more memory than there is\n",
		      stderr);
		abort();
	}
	return items;
}

static void add(struct list *l, uint32_t item)
{
	l->item = grown(l->item, l->count, &l->room, sizeof(*l->item));
	l->item[l->count++] = item;
}

/* A round of a multiplicative hash; the high bits of the result are the best. */
static uint64_t mixed(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/*
 * Returns the number of a key, which is not 0. A key that is new gets `next`. The
 * caller sees by the number whether it was new.
 */
static uint32_t number_of(struct table *t, uint64_t key, uint32_t next)
{
	size_t at;

	if (t->used * 2 >= t->slots) {
		struct table wide = { .slots = t->slots ? 2 * t->slots : 4096 };

		wide.slot = calloc(wide.slots, sizeof(*wide.slot));
		if (!wide.slot)
			abort();
		for (size_t i = 0; i < t->slots; i++)
			if (t->slot[i].key)
				number_of(&wide, t->slot[i].key,
					  t->slot[i].number);
		free(t->slot);
		*t = wide;
	}
	for (at = key >> 20 & (t->slots - 1); t->slot[at].key;
	     at = (at + 1) & (t->slots - 1))
		if (t->slot[at].key == key)
			return t->slot[at].number;
	t->slot[at].key = key;
	t->slot[at].number = next;
	t->used++;
	return next;
}

/* Writes consecutive numbers as runs, and repetitions of a run once. */
static void put_runs(const struct list *l)
{
	uint32_t first = 0, more = 0, times = 0;
	char text[48];

	for (size_t i = 0; i < l->count;) {
		uint32_t start = l->item[i], length = 1;

		while (i + length < l->count &&
		       l->item[i + length] == start + length)
			length++;
		i += length;
		if (times && start == first && length - 1 == more) {
			times++;
			continue;
		}
		if (times > 1)
			into.written += fprintf(into.file, " *%u", times - 1);
		first = start;
		more = length - 1;
		times = 1;
		if (more)
			snprintf(text, sizeof(text), " %u+%u", first, more);
		else
			snprintf(text, sizeof(text), " %u", first);
		into.written += strlen(text);
		fputs(text, into.file);
	}
	if (times > 1)
		into.written += fprintf(into.file, " *%u", times - 1);
	fputc('\n', into.file);
}

static void put_data(uint32_t number)
{
	into.written += fprintf(into.file, "data %u", number);
	for (size_t i = 0; i < path.accessing.count; i++) {
		uint32_t n = path.accessing.item[i];
		const struct instruction *in = &instructions.item[n];

		into.written += fprintf(into.file, " %u:%u:%u:%u", n, in->loads,
					in->stores, in->devices);
	}
	fprintf(into.file, "\nlines %u", number);
	put_runs(&path.line);
}

static const struct instruction *nth(const struct block *b, uint32_t n)
{
	return &instructions.item[blocks.number.item[b->first + n]];
}

static bool is(const struct instruction *in, const char *bytes, size_t size)
{
	return in->size == size && !memcmp(in->bytes, bytes, size);
}

static bool x86_waits(const struct instruction *in)
{
	return is(in, "\xf4", 1);
}

/* iretq, and sysretq */
static bool x86_leaves(const struct instruction *in)
{
	return is(in, "\x48\xcf", 2) || is(in, "\x48\x0f\x07", 3);
}

/*
 * The processor pushes an error code for those exceptions that are faults. For all
 * others, and for interrupts, Linux first pushes a number in its place.
 */
static enum handles x86_handles(const struct block *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		uint8_t code = nth(b, i)->bytes[0];

		if (code == 0x6a || code == 0x68)
			return OTHERS;
		if (code == 0xe8 || code == 0xe9)
			return FAULTS;
	}
	return NOT_KNOWN;
}

static bool aarch64_waits(const struct instruction *in)
{
	return is(in, "\x7f\x20\x03\xd5", 4);
}

/* eret, and what calls for an exception: svc, hvc, smc, brk */
static bool aarch64_leaves(const struct instruction *in)
{
	return is(in, "\xe0\x03\x9f\xd6", 4) || in->bytes[3] == 0xd4;
}

/* Synchronous exceptions have vectors of their own, from either mode. */
static enum handles aarch64_handles(const struct block *b)
{
	uint64_t offset = nth(b, 0)->address & 0x7ff;

	return offset == 0x200 || offset == 0x400 ? FAULTS : OTHERS;
}

static bool arm_waits(const struct instruction *in)
{
	return is(in, "\x30\xbf", 2);
}

static bool riscv_waits(const struct instruction *in)
{
	return is(in, "\x73\x00\x50\x10", 4);
}

static const struct machine machines[] = {
	{ "x86_64", x86_waits, x86_leaves, x86_handles },
	{ "aarch64", aarch64_waits, aarch64_leaves, aarch64_handles },
	{ "arm", arm_waits, NULL, NULL },
	{ "riscv32", riscv_waits, NULL, NULL },
	{ "riscv64", riscv_waits, NULL, NULL },
};

/* Returns the number of these instructions as a block. */
static uint32_t block_number(const uint32_t *number, uint32_t count)
{
	struct block new = { .count = count, .power = 1 };
	uint32_t known;

	for (uint32_t i = 0; i < count; i++) {
		new.hash = new.hash * POWER + mixed(1, number[i] + 1);
		new.power *= POWER;
		new.idle += machine.waits &&
			    machine.waits(&instructions.item[number[i]]);
	}
	known = number_of(&blocks.known, mixed(new.hash, count) | 1,
			  (uint32_t)blocks.count);
	if (known < blocks.count)
		return known;
	new.first = (uint32_t)blocks.number.count;
	for (uint32_t i = 0; i < count; i++)
		add(&blocks.number, number[i]);
	blocks.item = grown(blocks.item, blocks.count, &blocks.room,
			    sizeof(*blocks.item));
	blocks.item[blocks.count++] = new;
	return known;
}

/* Returns the number of a part of a block. */
static uint32_t part_of(uint32_t block, uint32_t from, uint32_t to)
{
	const struct block *whole = &blocks.item[block];
	uint32_t number[BLOCK_MAX];

	if (!from && to == whole->count)
		return block;
	memcpy(number, blocks.number.item + whole->first + from,
	       (to - from) * sizeof(*number));
	return block_number(number, to - from);
}

/* Writes the path if it is new. Returns its number. */
static uint32_t path_number(void)
{
	static struct list all;
	uint64_t hash = 0;
	uint32_t number, idle = 0;

	for (size_t i = 0; i < path.run.count; i++) {
		const struct block *b = &blocks.item[path.run.item[i]];

		hash = hash * b->power + b->hash;
		idle += b->idle;
	}
	number = number_of(&paths, mixed(hash, path.length) | 1, path_count);
	if (number < path_count)
		return number;
	path_count++;
	into.written += fprintf(into.file, "path %u %zu %u", number, path.length, idle);
	if (into.written > INTO_MAX) {
		into.lost++;
		fputs(" -\n", into.file);
		return number;
	}
	all.count = 0;
	for (size_t i = 0; i < path.run.count; i++) {
		const struct block *b = &blocks.item[path.run.item[i]];

		for (uint32_t k = b->first; k < b->first + b->count; k++) {
			add(&all, blocks.number.item[k]);
			instructions.item[blocks.number.item[k]].used = true;
		}
	}
	put_runs(&all);
	if (options.counts)
		put_data(number);
	return number;
}

/* Writes the pairs of site and path of a row. */
static void put_row(const struct list *row)
{
	const size_t pair = 2 * sizeof(*row->item);

	fprintf(into.file, " %u:-", row->item[0]);
	for (size_t i = 2; i < row->count;) {
		const uint32_t *at = row->item + i;
		unsigned int more = 0;

		fprintf(into.file, " %u:%u", at[0], at[1]);
		for (i += 2; i < row->count && !memcmp(at, row->item + i, pair);
		     i += 2)
			more++;
		if (more)
			fprintf(into.file, " *%u", more);
	}
}

static void put_rows(void)
{
	if (current.repeated) {
		fprintf(into.file, "row %llu",
			(unsigned long long)current.repeated);
		put_row(&current.last);
		fputc('\n', into.file);
	}
	current.repeated = 0;
}

static void start_path(void)
{
	path.followed = true;
	for (size_t i = 0; i < path.accessing.count; i++) {
		struct instruction *in =
			&instructions.item[path.accessing.item[i]];

		in->loads = in->stores = in->devices = 0;
	}
	path.run.count = path.line.count = path.accessing.count = 0;
	path.length = 0;
	repeats.it.open = exception.it.open = false;
}

static void end_row(void)
{
	struct list row = current.row;

	path.followed = false;
	if (!row.count)
		return;
	if (!current.repeated || row.count != current.last.count ||
	    memcmp(row.item, current.last.item, row.count * sizeof(*row.item))) {
		put_rows();
		current.row = current.last;
		current.last = row;
	}
	current.repeated++;
	current.row.count = 0;
}

static void end_part(void)
{
	put_rows();
	path.followed = false;
	current.row.count = 0;
}

static bool is_asked_for(int64_t number)
{
	const char *at = options.cases;

	if (!at)
		return true;
	for (;;) {
		char *after;

		if (strtoll(at, &after, 10) == number && after > at)
			return true;
		if (*after != ':')
			return false;
		at = after + 1;
	}
}

/* Adds the executing block to the path, up to an instruction. */
static void take(uint32_t to)
{
	if (path.followed && to > now.taken) {
		add(&path.run, part_of(now.block, now.taken, to));
		path.length += to - now.taken;
	}
	if (to > now.taken)
		now.taken = to;
}

static bool in_kernel(uint64_t address)
{
	return address >> 63;
}

/* Removes the last instruction of a block of the path, since it did not complete. */
static void take_back(size_t at)
{
	uint32_t block = path.run.item[at];

	path.run.item[at] = part_of(block, 0, blocks.item[block].count - 1);
	path.length--;
}

static struct doubt doubt_it(void)
{
	return (struct doubt){ .open = path.followed, .at = path.run.count - 1 };
}

/*
 * Adds what was executed of a block when another one starts. Its last instruction may
 * have faulted.
 */
static void settle(uint32_t block)
{
	struct block *next = &blocks.item[block];
	uint32_t count = blocks.item[now.block].count;
	uint32_t done = (uint32_t)(executed - now.before);
	const struct instruction *last, *to;
	enum handles handles = next->handles;

	if (!done || (done == count && handles != FAULTS)) {
		take(done);
		return;
	}
	last = nth(&blocks.item[now.block], done - 1);
	to = nth(next, 0);
	if (done < count) {
		bool excepted = machine.handles && in_kernel(to->address) &&
				to->address != last->address + last->size;

		if (excepted && handles == NOT_KNOWN)
			handles = next->handles = machine.handles(next);
		done -= to->address == last->address ||
			(excepted && handles == FAULTS);
		take(done);
		if (excepted && handles == NOT_KNOWN) {
			exception.open = true;
			exception.handler = block;
			exception.it = doubt_it();
		}
	} else if (machine.leaves(last)) {
		take(done);
	} else if (in_kernel(last->address)) {
		take(done - 1);
	} else {
		take(done);
		repeats.it = doubt_it();
		repeats.address = last->address;
	}
}

/* Decides what an earlier block left open. */
static void decide(uint32_t block)
{
	uint64_t address = nth(&blocks.item[block], 0)->address;

	if (exception.open && block != exception.handler) {
		enum handles handles = machine.handles(&blocks.item[block]);

		blocks.item[exception.handler].handles = handles;
		if (exception.it.open && handles == FAULTS)
			take_back(exception.it.at);
		exception.open = false;
	}
	if (repeats.it.open && !in_kernel(address)) {
		if (address == repeats.address)
			take_back(repeats.it.at);
		repeats.it.open = false;
	}
}

static void start_block(unsigned int cpu, void *number)
{
	uint32_t block = (uint32_t)(uintptr_t)number;

	(void)cpu;
	if (now.known)
		settle(block);
	now.known = true;
	now.block = block;
	now.taken = 0;
	now.before = executed;
	if (exception.open || repeats.it.open)
		decide(block);
}

/* The callbacks of marks have the place of the instruction in its block. */
static void read_clock(unsigned int cpu, void *index)
{
	uint32_t at = (uint32_t)(uintptr_t)index, site;

	(void)cpu;
	if (!now.known || !current.followed || !current.started)
		return;
	take(at + 1);
	site = blocks.number.item[blocks.item[now.block].first + at];
	if (current.row.count == 2 * ROW_MAX) {
		memmove(current.row.item, current.row.item + 2,
			(current.row.count - 2) * sizeof(*current.row.item));
		current.row.count -= 2;
	}
	add(&current.row, site);
	add(&current.row, path.followed ? path_number() : 0);
	instructions.item[site].used = true;
	start_path();
}

static void observe_from_now_on(void);

/* Has QEMU forget what it translated, and ask again what shall be observed of it. */
static void observe(bool all)
{
	if (observed.wanted == all)
		return;
	observed.wanted = all;
	qemu_plugin_reset(observed.id, observe_from_now_on, NULL);
}

static void begin_case(unsigned int cpu, void *index)
{
	(void)cpu, (void)index;
	end_part();
	current.number++;
	current.started = false;
	current.followed = is_asked_for(current.number);
	if (current.followed)
		fprintf(into.file, "case %lld\n", (long long)current.number);
	observe(current.followed);
}

static void begin_part(unsigned int cpu, void *index)
{
	(void)cpu, (void)index;
	end_part();
	current.started = true;
	if (current.followed)
		fputs("part\n", into.file);
}

static void finish_row(unsigned int cpu, void *index)
{
	(void)cpu, (void)index;
	if (current.followed)
		end_row();
}

static void (*const on[])(unsigned int cpu, void *index) = {
	[STAMP] = read_clock,
	[CASE] = begin_case,
	[PART] = begin_part,
	[ROW] = finish_row,
};

static void say(char c)
{
	said.byte = grown(said.byte, said.count, &said.room, 1);
	if (c != '\n') {
		said.byte[said.count++] = c;
		return;
	}
	fprintf(into.file, "said %.*s\n", (int)said.count, said.byte);
	said.count = 0;
}

/* The address of a word is two bytes of text; see agent/mark.h. */
static void hear(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address,
		 void *data)
{
	(void)cpu, (void)info, (void)data;
	if (current.followed) {
		end_part();
		current.followed = false;
		observe(false);
	}
	say((char)address);
	if (address >> 8 & 0xff)
		say((char)(address >> 8));
}

static void access_data(unsigned int cpu, qemu_plugin_meminfo_t info,
			uint64_t address, void *number)
{
	struct instruction *in = &instructions.item[(uintptr_t)number];
	const struct qemu_plugin_hwaddr *where;
	uint64_t last = address + (1u << qemu_plugin_mem_size_shift(info)) - 1;

	(void)cpu;
	if (!path.followed)
		return;
	if (!in->loads && !in->stores)
		add(&path.accessing, (uint32_t)(uintptr_t)number);
	if (qemu_plugin_mem_is_store(info))
		in->stores++;
	else
		in->loads++;
	where = qemu_plugin_get_hwaddr(info, address);
	if (where && qemu_plugin_hwaddr_is_io(where)) {
		in->devices++;
		return;
	}
	for (uint64_t l = address >> LINE_SHIFT; l <= last >> LINE_SHIFT; l++) {
		uint32_t n = number_of(&lines, mixed(1, l) | 1, line_count);

		if (n == line_count) {
			line_count++;
			add(&line_high, (uint32_t)(l >> 32));
			add(&line_low, (uint32_t)l);
		}
		if (!path.line.count ||
		    path.line.item[path.line.count - 1] != n)
			add(&path.line, n);
	}
}

static void copy_bytes(const struct qemu_plugin_insn *in, uint8_t *bytes,
		       size_t size)
{
	uintptr_t at = qemu_plugin_insn_data(in, bytes, size);

	if (interface < 3)
		memcpy(bytes, (const void *)at, size);
}

/*
 * Whether a block may be this part of the module's text. An instruction that the loader
 * changes does not count, whatever it has become.
 */
static bool is_alike(const struct qemu_plugin_tb *block, uint64_t offset)
{
	uint64_t start =
		qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));
	size_t equal = 0;

	for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(block, i);
		uint64_t at = offset + qemu_plugin_insn_vaddr(in) - start;
		size_t size = qemu_plugin_insn_size(in);
		uint8_t bytes[INSTRUCTION_MAX];
		bool changed = false;

		if (at + size > module.size || size > sizeof(bytes))
			return false;
		for (size_t k = 0; k < size; k++)
			changed |= module.changed[at + k];
		if (changed)
			continue;
		copy_bytes(in, bytes, size);
		if (memcmp(bytes, module.byte + at, size))
			return false;
		equal += size;
	}
	return equal >= ALIKE_BYTES;
}

/*
 * Looks for a block at the same place in a page of the module's text, which starts at
 * a page. Much code begins alike, so it takes two different blocks to tell where the
 * module is.
 */
static void find_module(const struct qemu_plugin_tb *block)
{
	uint64_t start =
		qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));

	for (uint64_t at = start & 0xfff; at < module.size; at += 0x1000) {
		uint32_t number;

		if (!is_alike(block, at))
			continue;
		number = number_of(&module.bases, mixed(1, start - at) | 1,
				   (uint32_t)module.alike.count);
		if (number == module.alike.count) {
			add(&module.alike, (uint32_t)at);
		} else if (module.alike.item[number] != at) {
			module.base = start - at;
			fprintf(into.file, "base 0x%llx\n",
				(unsigned long long)module.base);
			return;
		}
	}
}

/* Returns the mark of an instruction, or NULL. */
static const struct mark *mark_at(const struct marks *m, uint64_t address,
				  const uint8_t *bytes, size_t size)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (m->item[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < m->count && m->item[low].address == address; low++)
		if (!memcmp(m->item[low].bytes, bytes,
			    size < m->item[low].size ? size : m->item[low].size))
			return &m->item[low];
	return NULL;
}

static enum kind kind_of(const struct instruction *in)
{
	const struct mark *m = mark_at(&marks, in->address, in->bytes, in->size);

	if (!m && module.base)
		m = mark_at(&module.marks, in->address - module.base, in->bytes,
			    in->size);
	return m ? m->kind : KINDS;
}

static struct instruction read_instruction(const struct qemu_plugin_insn *in)
{
	struct instruction new = { .address = qemu_plugin_insn_vaddr(in) };
	size_t size = qemu_plugin_insn_size(in);

	new.size = (uint8_t)(size < sizeof(new.bytes) ? size : sizeof(new.bytes));
	copy_bytes(in, new.bytes, new.size);
	return new;
}

static uint32_t instruction_number(const struct qemu_plugin_insn *in,
				   struct instruction new)
{
	uint64_t word[2];
	uint32_t number;

	memcpy(word, new.bytes, sizeof(word));
	number = number_of(&instructions.numbers,
			   mixed(mixed(mixed(1, new.address), word[0]), word[1]) | 1,
			   (uint32_t)instructions.count);
	if (number < instructions.count)
		return number;
	if (options.text)
		new.text = qemu_plugin_insn_disas(in);
	instructions.item = grown(instructions.item, instructions.count,
				  &instructions.room,
				  sizeof(*instructions.item));
	instructions.item[instructions.count++] = new;
	return number;
}

/* Registers what is always observed of an instruction. */
static void observe_mark(struct qemu_plugin_insn *in, enum kind kind, size_t index)
{
	if (kind == WORD)
		qemu_plugin_register_vcpu_mem_cb(in, hear, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	else if (kind == CASE || observed.all)
		qemu_plugin_register_vcpu_insn_exec_cb(in, on[kind],
						       QEMU_PLUGIN_CB_NO_REGS,
						       (void *)index);
}

static void count(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	executed++;
}

static void count_execution(struct qemu_plugin_insn *in)
{
	if (qemu_plugin_register_vcpu_insn_exec_inline)
		qemu_plugin_register_vcpu_insn_exec_inline(
			in, QEMU_PLUGIN_INLINE_ADD_U64, &executed, 1);
	else
		qemu_plugin_register_vcpu_insn_exec_cb(
			in, count, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void translate(struct qemu_plugin_tb *block, void *data)
{
	size_t n = qemu_plugin_tb_n_insns(block);
	uint32_t number[BLOCK_MAX];

	(void)data;
	if (module.size && !module.base)
		find_module(block);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(block, i);
		struct instruction read = read_instruction(in);
		enum kind kind = kind_of(&read);

		if (kind < KINDS)
			observe_mark(in, kind, i);
		if (!observed.all)
			continue;
		number[i] = instruction_number(in, read);
		count_execution(in);
		if (options.counts)
			qemu_plugin_register_vcpu_mem_cb(
				in, access_data, QEMU_PLUGIN_CB_NO_REGS,
				QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)number[i]);
	}
	if (observed.all)
		qemu_plugin_register_vcpu_tb_exec_cb(
			block, start_block, QEMU_PLUGIN_CB_NO_REGS,
			(void *)(uintptr_t)block_number(number, (uint32_t)n));
}

static void translate_before_7(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	translate(block, NULL);
}

static void end(void)
{
	end_part();
	for (uint32_t i = 0; i < line_count; i++)
		fprintf(into.file, "line %u 0x%llx\n", i,
			(unsigned long long)((uint64_t)line_high.item[i] << 32 |
					     line_low.item[i]) << LINE_SHIFT);
	for (size_t i = 0; i < instructions.count; i++) {
		const struct instruction *in = &instructions.item[i];

		if (!in->used)
			continue;
		fprintf(into.file, "insn %zu 0x%llx ", i,
			(unsigned long long)in->address);
		for (size_t k = 0; k < in->size; k++)
			fprintf(into.file, "%02x", in->bytes[k]);
		fprintf(into.file, in->text ? " %s\n" : "\n", in->text);
	}
	if (into.lost)
		fprintf(into.file, "lost %llu\n", (unsigned long long)into.lost);
	fprintf(into.file, "end %llu\n", (unsigned long long)executed);
	if (fclose(into.file))
		perror("kernmark: the trace cannot be written");
}

static void observe_from_now_on(void)
{
	observed.all = observed.wanted;
	now.known = false;
	qemu_plugin_register_vcpu_tb_trans_cb(
		observed.id,
		interface < 7 ? (qemu_plugin_callback)translate_before_7 :
				(qemu_plugin_callback)translate, NULL);
	qemu_plugin_register_atexit_cb(observed.id, end, NULL);
}

/* Returns the value of a hexadecimal digit, or -1. */
static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads hexadecimal bytes; .. is a byte that changes. Returns their number. */
static size_t read_bytes(const char *text, uint8_t *byte, bool *changed,
			 size_t most)
{
	size_t n = 0;

	for (; n < most; n++, text += 2) {
		bool dots = text[0] == '.' && text[1] == '.';

		if (!dots && (digit(text[0]) < 0 || digit(text[1]) < 0))
			break;
		byte[n] = dots ? 0 : (uint8_t)(digit(text[0]) * 16 + digit(text[1]));
		if (changed)
			changed[n] = dots;
	}
	return n;
}

static int read_module(const char *text)
{
	size_t most = strlen(text) / 2;

	module.byte = malloc(most);
	module.changed = malloc(most * sizeof(*module.changed));
	if (!module.byte || !module.changed)
		return -1;
	module.size = read_bytes(text, module.byte, module.changed, most);
	return 0;
}

static int read_mark(const char *line)
{
	static const char *const names[] = {
		[STAMP] = "stamp", [CASE] = "case", [PART] = "part",
		[ROW] = "row", [WORD] = "word",
	};
	struct marks *all = module.size ? &module.marks : &marks;
	struct mark m = { .kind = KINDS };
	unsigned long long address;
	char name[8], bytes[40] = "";

	if (sscanf(line, "%7s %llx %39s", name, &address, bytes) < 2)
		return -1;
	for (enum kind k = 0; k < KINDS; k++)
		if (!strcmp(name, names[k]))
			m.kind = k;
	m.address = address;
	m.size = (uint32_t)read_bytes(bytes, m.bytes, NULL, sizeof(m.bytes));
	if (m.kind == KINDS)
		return -1;
	all->item = grown(all->item, all->count, &all->room, sizeof(m));
	all->item[all->count++] = m;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct mark *one = a, *other = b;

	return (one->address > other->address) - (one->address < other->address);
}

static int read_marks(const char *name)
{
	FILE *file = fopen(name, "r");
	char *line = NULL;
	size_t room = 0;
	int wrong = 0;

	if (!file)
		return -1;
	while (!wrong && getline(&line, &room, file) > 0)
		wrong = strncmp(line, "module ", 7) ? read_mark(line) :
						      read_module(line + 7);
	free(line);
	fclose(file);
	if (marks.count)
		qsort(marks.item, marks.count, sizeof(*marks.item), by_address);
	if (module.marks.count)
		qsort(module.marks.item, module.marks.count,
		      sizeof(*module.marks.item), by_address);
	return wrong;
}

int qemu_plugin_version = 1;

/* QEMU reads the version after it has loaded the plugin. */
__attribute__((constructor)) static void choose_version(void)
{
	if (qemu_plugin_register_vcpu_syscall_filter_cb)
		qemu_plugin_version = 7;
	else if (qemu_plugin_num_vcpus)
		qemu_plugin_version = 2;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv)
{
	interface = info->version.cur;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (!strcmp(info->target_name, machines[i].name))
			machine = machines[i];
	for (int i = 0; i < argc; i++) {
		const char *value = strchr(argv[i], '=');

		if (!value++)
			return -1;
		if (!strncmp(argv[i], "marks=", 6)) {
			if (read_marks(value)) {
				fprintf(stderr, "kernmark: cannot read %s\n",
					value);
				return -1;
			}
		} else if (!strncmp(argv[i], "into=", 5)) {
			into.file = fopen(value, "w");
		} else if (!strncmp(argv[i], "cases=", 6)) {
			options.cases = strdup(value);
		} else if (!strcmp(argv[i], "counts=on")) {
			options.counts = true;
		} else if (!strcmp(argv[i], "check=on")) {
			exit(0);
		} else if (!strcmp(argv[i], "text=on")) {
			options.text = true;
		} else {
			fprintf(stderr, "kernmark: unknown option %s\n", argv[i]);
			return -1;
		}
	}
	if (!into.file) {
		perror("kernmark: the trace cannot be written");
		return -1;
	}
	observed.id = id;
	observe_from_now_on();
	return 0;
}
