# SPDX-License-Identifier: MIT OR Apache-2.0
cross := arm-none-eabi-
kernel_sources := $(if $(MPU),portable/Common/mpu_wrappers.c \
	portable/Common/mpu_wrappers_v2.c \
	portable/GCC/$(kernel_port)/mpu_wrappers_v2_asm.c)
family := arm
sources := boards/emulator.c boards/arm/start.c
include := -Iboards -Iboards/arm
# The compiler would put its guard into functions that have no stack frame for
# it.
unguarded := boards/arm/start.c portable/GCC/$(kernel_port)/port.c \
	portable/GCC/$(kernel_port)/mpu_wrappers_v2_asm.c
