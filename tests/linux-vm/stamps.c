// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A plugin for QEMU: counts the instructions that an emulated x86-64 executes, and
 * writes a line for each reading of the clock in user mode: its address, and the
 * number of instructions so far. It does not know what the clock returned.
 *
 *	-plugin stamps.so,into=FILE
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The part of QEMU's interface for plugins that this needs; see its manual. */
typedef uint64_t plugin_id;
struct plugin_block;
struct plugin_instruction;
enum { NO_REGISTERS };
enum { ADD };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
	void (*translate)(plugin_id id, struct plugin_block *block));
size_t qemu_plugin_tb_n_insns(const struct plugin_block *block);
struct plugin_instruction *
qemu_plugin_tb_get_insn(const struct plugin_block *block, size_t index);
const void *qemu_plugin_insn_data(const struct plugin_instruction *instruction);
size_t qemu_plugin_insn_size(const struct plugin_instruction *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct plugin_instruction *instruction);
void qemu_plugin_register_vcpu_insn_exec_inline(
	struct plugin_instruction *instruction, int operation, void *to,
	uint64_t operand);
void qemu_plugin_register_vcpu_insn_exec_cb(
	struct plugin_instruction *instruction,
	void (*execute)(unsigned int cpu, void *data), int registers, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id,
	void (*end)(plugin_id id, void *data), void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
__attribute__((visibility("default")))
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

static uint64_t executed;
static FILE *file;

static void read_clock(unsigned int cpu, void *address)
{
	(void)cpu;
	fprintf(file, "%p %llu\n", address, (unsigned long long)executed);
}

static void translate(plugin_id id, struct plugin_block *block)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
		struct plugin_instruction *one = qemu_plugin_tb_get_insn(block, i);
		uint64_t address = qemu_plugin_insn_vaddr(one);

		qemu_plugin_register_vcpu_insn_exec_inline(one, ADD, &executed, 1);
		if (address >> 47 || qemu_plugin_insn_size(one) != 2 ||
		    memcmp(qemu_plugin_insn_data(one), "\x0f\x31", 2))
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(one, read_clock,
						       NO_REGISTERS,
						       (void *)(uintptr_t)address);
	}
}

static void end(plugin_id id, void *data)
{
	(void)id, (void)data;
	fclose(file);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "into=", 5))
		return -1;
	file = fopen(argv[0] + 5, "w");
	if (!file)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, end, NULL);
	return 0;
}
