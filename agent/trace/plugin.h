/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The part of QEMU's interface for plugins that trace.c uses; QEMU installs no header
 * for it on Debian. The names are QEMU's; see "QEMU TCG Plugins" in its manual.
 *
 * A plugin says which version of the interface it has, and QEMU refuses one that is
 * too old or too new: QEMU 6.0 to 8.2 take 0 and 1, 9.0 to 10.2 take 2, and 11.1 takes
 * 7 only. What is used here is the same in all of them, unless a comment says how it
 * differs.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

/* Whether a callback reads or writes registers: ours do not. */
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

/* What QEMU tells a plugin; there is more of it. */
struct qemu_info {
	const char *target_name;
	struct { int min, cur; } version;
};

/* Supplied by the plugin. */
__attribute__((visibility("default"))) extern int qemu_plugin_version;
__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv);

/* These show the version before QEMU tells it: from version 2 and from 6 on. */
__attribute__((weak)) void qemu_plugin_num_vcpus(void);
__attribute__((weak)) void qemu_plugin_register_vcpu_syscall_filter_cb(void);

/*
 * A function to call. What it gets depends on the version: before 7 the plugin's id
 * first, from 7 on `data` last, which earlier versions do not take from all of these.
 */
typedef void (*qemu_plugin_callback)(void);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
	qemu_plugin_callback translate, void *data);
/* Later, forgets all callbacks and translations, and calls `again`. */
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_callback again, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
	qemu_plugin_callback end, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
/*
 * Until version 2 this returns the address of the bytes and has no other arguments.
 * From version 3 on it copies them and returns their number.
 */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction,
				void *into, size_t room);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
/* The text is the caller's, who frees it. */
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_tb_exec_cb(
	struct qemu_plugin_tb *block,
	void (*execute)(unsigned int cpu, void *data),
	enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(
	struct qemu_plugin_insn *instruction,
	void (*execute)(unsigned int cpu, void *data),
	enum qemu_plugin_cb_flags flags, void *data);
/* Until version 1. */
__attribute__((weak)) void qemu_plugin_register_vcpu_insn_exec_inline(
	struct qemu_plugin_insn *instruction, enum qemu_plugin_op operation,
	void *to, uint64_t operand);
void qemu_plugin_register_vcpu_mem_cb(
	struct qemu_plugin_insn *instruction,
	void (*access)(unsigned int cpu, qemu_plugin_meminfo_t info,
		       uint64_t address, void *data),
	enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *
qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *where);

#endif
