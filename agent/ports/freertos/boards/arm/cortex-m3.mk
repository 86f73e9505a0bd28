machine := -mcpu=cortex-m3 -mthumb
kernel_port := ARM_CM3$(if $(MPU),_MPU)
include boards/arm/arm.mk
