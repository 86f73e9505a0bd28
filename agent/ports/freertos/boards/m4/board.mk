include boards/arm/cortex-m4.mk
sources += boards/stm32/console.c
include += -Iboards/stm32
