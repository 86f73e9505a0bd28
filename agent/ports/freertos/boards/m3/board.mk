# SPDX-License-Identifier: MIT OR Apache-2.0
include boards/arm/cortex-m3.mk
sources += boards/stm32/stm32.c
include += -Iboards/stm32
