# SPDX-License-Identifier: MIT OR Apache-2.0
include boards/arm/cortex-m3.mk
sources += boards/emulated.c boards/mps2/mps2.c
include += -Iboards/mps2
