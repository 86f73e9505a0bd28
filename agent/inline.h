/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How an operation is defined: inlined at every level of optimisation, -Os
 * among them. No call stands between a stamp and the kernel.
 */
#ifndef KM_INLINE
#define KM_INLINE static inline __attribute__((always_inline))
#endif
