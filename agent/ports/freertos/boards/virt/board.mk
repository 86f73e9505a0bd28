# SPDX-License-Identifier: MIT OR Apache-2.0
include boards/riscv/riscv.mk
sources += boards/emulated.c
