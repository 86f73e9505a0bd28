/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A multiboot header, a stack, and a call of port_main(). */
	.section .multiboot, "a"
	.long 0x1badb002, 0, -0x1badb002

	.text
	.globl start
start:
	cli
	movl $stack_end, %esp
	call port_main
	hlt

	.bss
	.balign 16
	.skip 16384
stack_end:

	.section .note.GNU-stack, "", @progbits
