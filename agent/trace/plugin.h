/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The part of QEMU's interface for plugins that trace.c uses. It is the same in
 * versions 1 to 4 of the interface (QEMU 6.0 to 10); QEMU installs no header for it on
 * Debian. The names are QEMU's; see "QEMU TCG Plugins" in its manual.
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

/* Supplied by the plugin. */
__attribute__((visibility("default"))) extern int qemu_plugin_version;
__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
	void (*translate)(qemu_plugin_id_t id, struct qemu_plugin_tb *block));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
/* The text is the caller's, who frees it. */
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(
	struct qemu_plugin_insn *instruction,
	void (*execute)(unsigned int cpu, void *data),
	enum qemu_plugin_cb_flags flags, void *data);
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
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id,
	void (*idle)(qemu_plugin_id_t id, unsigned int cpu));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
	void (*end)(qemu_plugin_id_t id, void *data), void *data);

#endif
