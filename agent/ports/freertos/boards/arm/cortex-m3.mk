# SPDX-License-Identifier: MIT OR Apache-2.0
machine := -mcpu=cortex-m3 -mthumb
kernel_port := ARM_CM3$(if $(MPU),_MPU)
include boards/arm/arm.mk
