include boards/arm/cortex-m3.mk
sources += boards/stm32/console.c
include += -Iboards/stm32
