# SPDX-License-Identifier: MIT OR Apache-2.0
machine := -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
kernel_port := ARM_CM4$(if $(MPU),_MPU,F)
include boards/arm/arm.mk
