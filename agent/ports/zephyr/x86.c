// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * QEMU's devices for a PC: the order is a file that the emulator was started
 * with (QEMU's "Firmware Configuration Device"), and the records go to the
 * debug console.
 */
#include <stdint.h>

#include <zephyr/arch/cpu.h>
#include <zephyr/sys/byteorder.h>
#include <zephyr/sys/reboot.h>

#include "board.h"

enum { EXIT = 0xf4, CONSOLE = 0xe9, SELECTOR = 0x510, DATA = 0x511 };

/* The selector of the list of files. */
#define FILES 0x19

struct file {
	uint32_t size;		/* this and the next in big endian */
	uint16_t selector;
	uint16_t reserved;
	char name[56];
};

void board_write(const char *bytes, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(bytes), "+c"(n) : "d"(CONSOLE) : "memory");
}

static void read_file(void *to, size_t n)
{
	__asm__ volatile("rep insb" : "+D"(to), "+c"(n) : "d"(DATA) : "memory");
}

static bool is_order(const struct file *f)
{
	static const char name[] = "opt/kernmark/order";

	for (size_t i = 0; i < sizeof(name); i++)
		if (f->name[i] != name[i])
			return false;
	return true;
}

bool board_order(char *order, size_t size)
{
	uint32_t count, length;
	struct file f;

	sys_out16(FILES, SELECTOR);
	read_file(&count, sizeof(count));
	for (count = sys_be32_to_cpu(count); count; count--) {
		read_file(&f, sizeof(f));
		if (is_order(&f))
			break;
	}
	length = count ? sys_be32_to_cpu(f.size) : 0;
	if (length >= size)
		return false;
	sys_out16(sys_be16_to_cpu(f.selector), SELECTOR);
	read_file(order, length);
	order[length] = '\0';
	return true;
}

_Noreturn void board_end(int status)
{
	/* With this device, QEMU's own exit status is never 0. */
	if (status)
		sys_out32((uint32_t)status, EXIT);
	/* QEMU was started with -no-reboot. */
	sys_reboot(SYS_REBOOT_COLD);
}
