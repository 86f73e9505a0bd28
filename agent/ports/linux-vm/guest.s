# SPDX-License-Identifier: MIT OR Apache-2.0
# The whole memory of the guest that kvm-works runs. It goes from the reset vector into
# protected mode, uses its stack for some 15 million instructions, and makes QEMU exit with
# status 5.
	.code16
start:
	lgdtl	%cs:table - start
	movl	%cr0, %eax
	orl	$1, %eax
	movl	%eax, %cr0
	ljmpl	$8, $0xffff0000 + (flat - start)

	.code32
flat:
	movw	$16, %ax
	movw	%ax, %ss
	movl	$0x7000, %esp
	movl	$5000000, %ecx
1:	pushl	%ecx
	popl	%eax
	loop	1b
	rdtsc
	movb	$2, %al
	outb	%al, $0xf4
2:	hlt
	jmp	2b

	.balign	8
segments:
	.quad	0
	.quad	0x00cf9b000000ffff
	.quad	0x00cf93000000ffff
table:
	.word	23
	.long	0xffff0000 + (segments - start)

	.org	0xfff0
	.code16
	jmp	start
	.org	0x10000
