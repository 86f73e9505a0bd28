/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Marks, which tell a tracer (agent/trace) what an instruction means. A mark is the
 * address of the next instruction in a section that is not loaded, so it costs
 * neither an instruction nor a byte of the image:
 *
 *   .stamps	reads the clock; every reading is marked
 *   .cases	a case begins
 *   .parts	a part of a case begins: its threads start next
 *   .rows	a sample ends, and its row of stamps is complete
 *   .words	loads from an address whose last 16 bits are two characters of a text
 *		for the tracer, the first one in the low bits; a second one of 0 is none
 */
#ifndef KM_MARK_H
#define KM_MARK_H

/* Assembler that marks the instruction after it. */
#define KM_MARK(section) \
	"997: .pushsection " section ",\"\",%%progbits\n\t" \
	".dc.a 997b\n\t" \
	".popsection\n\t"

#endif
