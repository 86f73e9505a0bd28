// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A plugin for QEMU that follows every instruction between two readings of the
 * agent's clock:
 *
 *	-plugin trace.so,marks=FILE,into=FILE[,cases=N:N...][,counts=on][,text=on]
 *	-plugin trace.so,check=on	only shows that this QEMU takes the plugin
 *
 * MARKS holds what the agent's images say about themselves (see agent/mark.h), one
 * line each:
 *
 *	stamp|case|part|row ADDRESS BYTES	a mark, and the first bytes of its
 *						instruction, in hexadecimal
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
 *			instructions, in which the processor waited IDLE times. A RUN
 *			is FIRST or FIRST+MORE, instructions with consecutive numbers.
 *			*N repeats the run before it N times
 *	data ID NUMBER:LOADS:STORES:DEVICES...	how often its instructions accessed
 *			memory; DEVICES of the accesses were to devices
 *	lines ID RUN...	the 64-byte lines of data that it accessed, in order, without
 *			repetitions in a row; numbered like instructions
 *	row N PATH...	N samples with these paths, one after the other in time. Rows
 *			follow each other in the order in which they were measured.
 *			A path is SITE:ID, where the instruction SITE ended it; ID is -
 *			before a row's first reading
 *	line NUMBER 0xADDRESS	a line of data
 *	insn NUMBER 0xADDRESS BYTES [TEXT]	an instruction of a path
 *	lost BYTES	paths were left out, because INTO reached its limit
 *	end TOTAL	nothing is missing before this line; instructions executed
 *
 * It takes no part in what it follows: no clock, no register and no memory of the
 * emulated machine is read or changed. With -icount, a run prints the same values with
 * and without it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* Bytes of INTO after which no further path is written. */
#define INTO_MAX (UINT64_C(2) << 30)
/* Readings of the clock in one row; a row with more is cut at its start. */
#define ROW_MAX 4096
/* Equal bytes that prove that a block belongs to the module. */
#define PROOF_BYTES 24
#define LINE_SHIFT 6
/* No instruction of any processor is longer. */
#define INSTRUCTION_MAX 16

enum kind { PLAIN, STAMP, CASE, PART, ROW };

/* An instruction that was translated. Its number is its index. */
struct instruction {
	uint64_t address;
	uint8_t bytes[INSTRUCTION_MAX];
	uint8_t size;
	uint8_t kind;
	bool used;		/* is part of a path */
	uint32_t loads, stores, devices;	/* in the current path */
	char *text;
};

struct mark {
	uint64_t address;
	uint8_t bytes[INSTRUCTION_MAX];
	uint32_t size;
	enum kind kind;
	bool moves;		/* with the module */
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
	struct mark *item;
	size_t count;
} marks;

static struct {
	uint8_t *byte;
	bool *changed;		/* by the loader */
	size_t size;
	uint64_t base;		/* 0: not found yet */
} module;

static struct {
	bool counts, text;
	const char *cases;	/* NULL: all */
} options;

/* The path since the last reading of the clock. */
static struct {
	bool followed;
	struct list run;	/* instructions */
	struct list line;	/* lines of data */
	struct list accessing;	/* instructions that accessed memory */
	uint32_t idle;
} path;

static struct {
	bool followed;		/* the current case was asked for */
	bool started;		/* it has a part */
	int64_t number;
	struct list row, last;	/* pairs of site and path */
	uint64_t repeated;	/* how often `last` occurred */
} current = { .number = -1 };

static struct table paths, lines;
static uint32_t path_count, line_count;
static struct list line_high, line_low;
static uint64_t executed;
static int interface;	/* QEMU's version of it */

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

/* Writes the path if it is new. Returns its number. */
static uint32_t path_number(void)
{
	uint64_t hash = mixed(path.run.count, path.idle);
	uint32_t number;

	for (size_t i = 0; i < path.run.count; i++)
		hash = mixed(hash, path.run.item[i]);
	number = number_of(&paths, hash | 1, path_count);
	if (number < path_count)
		return number;
	path_count++;
	if (into.written > INTO_MAX) {
		into.lost++;
		fprintf(into.file, "path %u %zu %u -\n", number, path.run.count,
			path.idle);
		return number;
	}
	for (size_t i = 0; i < path.run.count; i++)
		instructions.item[path.run.item[i]].used = true;
	fprintf(into.file, "path %u %zu %u", number, path.run.count, path.idle);
	put_runs(&path.run);
	if (options.counts)
		put_data(number);
	return number;
}

static void put_rows(void)
{
	if (current.repeated) {
		fprintf(into.file, "row %llu",
			(unsigned long long)current.repeated);
		for (size_t i = 0; i < current.last.count; i += 2) {
			fprintf(into.file, " %u:", current.last.item[i]);
			if (i)
				fprintf(into.file, "%u", current.last.item[i + 1]);
			else
				fputc('-', into.file);
		}
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
	path.idle = 0;
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

static void execute(unsigned int cpu, void *number)
{
	(void)cpu;
	executed++;
	if (path.followed)
		add(&path.run, (uint32_t)(uintptr_t)number);
}

static void read_clock(unsigned int cpu, void *number)
{
	uint32_t site = (uint32_t)(uintptr_t)number;

	execute(cpu, number);
	if (!current.followed || !current.started)
		return;
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

static void begin_case(unsigned int cpu, void *number)
{
	execute(cpu, number);
	end_part();
	current.number++;
	current.started = false;
	current.followed = is_asked_for(current.number);
	if (current.followed)
		fprintf(into.file, "case %lld\n", (long long)current.number);
}

static void begin_part(unsigned int cpu, void *number)
{
	execute(cpu, number);
	end_part();
	current.started = true;
	if (current.followed)
		fputs("part\n", into.file);
}

static void finish_row(unsigned int cpu, void *number)
{
	execute(cpu, number);
	if (current.followed)
		end_row();
}

static void (*const on[])(unsigned int cpu, void *number) = {
	[PLAIN] = execute,
	[STAMP] = read_clock,
	[CASE] = begin_case,
	[PART] = begin_part,
	[ROW] = finish_row,
};

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

static void wait(void)
{
	path.idle++;
}

static void copy_bytes(const struct qemu_plugin_insn *in, uint8_t *bytes,
		       size_t size)
{
	uintptr_t at = qemu_plugin_insn_data(in, bytes, size);

	if (interface < 3)
		memcpy(bytes, (const void *)at, size);
}

/*
 * Looks for a block in the module's text, at the same place in a page. An instruction
 * that the loader changes does not count, whatever it has become.
 */
static void find_module(const struct qemu_plugin_tb *block)
{
	size_t n = qemu_plugin_tb_n_insns(block);
	uint64_t start =
		qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));

	for (uint64_t at = start & 0xfff; at < module.size; at += 0x1000) {
		size_t equal = 0, i;

		for (i = 0; i < n; i++) {
			struct qemu_plugin_insn *in =
				qemu_plugin_tb_get_insn(block, i);
			size_t size = qemu_plugin_insn_size(in), k;
			uint64_t offset = at + qemu_plugin_insn_vaddr(in) - start;
			uint8_t bytes[INSTRUCTION_MAX];
			bool changed = false;

			if (offset + size > module.size)
				break;
			for (k = 0; k < size; k++)
				changed |= module.changed[offset + k];
			if (changed)
				continue;
			copy_bytes(in, bytes, size);
			if (memcmp(bytes, module.byte + offset, size))
				break;
			equal += size;
		}
		if (i == n && equal >= PROOF_BYTES) {
			module.base = start - at;
			fprintf(into.file, "base 0x%llx\n",
				(unsigned long long)module.base);
			return;
		}
	}
}

static enum kind kind_of(uint64_t address, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < marks.count; i++) {
		const struct mark *m = &marks.item[i];
		uint64_t base = m->moves ? module.base : 0;

		if (m->address + base == address && (base || !m->moves) &&
		    !memcmp(m->bytes, bytes, size < m->size ? size : m->size))
			return m->kind;
	}
	return PLAIN;
}

static uint32_t instruction_number(const struct qemu_plugin_insn *in)
{
	struct instruction new = { .address = qemu_plugin_insn_vaddr(in) };
	size_t size = qemu_plugin_insn_size(in);
	uint64_t word[2];
	uint32_t number;

	new.size = (uint8_t)(size < sizeof(new.bytes) ? size : sizeof(new.bytes));
	copy_bytes(in, new.bytes, new.size);
	memcpy(word, new.bytes, sizeof(word));
	number = number_of(&instructions.numbers,
			   mixed(mixed(mixed(1, new.address), word[0]), word[1]) | 1,
			   (uint32_t)instructions.count);
	if (number < instructions.count)
		return number;
	new.kind = kind_of(new.address, new.bytes, new.size);
	if (options.text)
		new.text = qemu_plugin_insn_disas(in);
	instructions.item = grown(instructions.item, instructions.count,
				  &instructions.room,
				  sizeof(*instructions.item));
	instructions.item[instructions.count++] = new;
	return number;
}

static void translate(struct qemu_plugin_tb *block, void *data)
{
	size_t n = qemu_plugin_tb_n_insns(block);

	(void)data;
	if (module.size && !module.base)
		find_module(block);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(block, i);
		uint32_t number = instruction_number(in);

		qemu_plugin_register_vcpu_insn_exec_cb(
			in, on[instructions.item[number].kind],
			QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)number);
		if (options.counts)
			qemu_plugin_register_vcpu_mem_cb(in, access_data,
							 QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW,
							 (void *)(uintptr_t)number);
	}
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
		[PLAIN] = "", [STAMP] = "stamp", [CASE] = "case",
		[PART] = "part", [ROW] = "row",
	};
	struct mark m = { .moves = module.size };
	unsigned long long address;
	char name[8], bytes[40];

	if (sscanf(line, "%7s %llx %39s", name, &address, bytes) != 3)
		return -1;
	for (uint32_t k = STAMP; k <= ROW; k++)
		if (!strcmp(name, names[k]))
			m.kind = (enum kind)k;
	m.address = address;
	m.size = (uint32_t)read_bytes(bytes, m.bytes, NULL, sizeof(m.bytes));
	marks.item = realloc(marks.item, (marks.count + 1) * sizeof(m));
	if (!marks.item || !m.kind || !m.size)
		return -1;
	marks.item[marks.count++] = m;
	return 0;
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
	qemu_plugin_register_vcpu_tb_trans_cb(
		id, interface < 7 ? (qemu_plugin_callback)translate_before_7 :
				    (qemu_plugin_callback)translate, NULL);
	qemu_plugin_register_vcpu_idle_cb(id, wait, NULL);
	qemu_plugin_register_atexit_cb(id, end, NULL);
	return 0;
}
