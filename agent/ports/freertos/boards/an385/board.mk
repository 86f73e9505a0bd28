include boards/arm/cortex-m3.mk
sources += boards/mps2/console.c
include += -Iboards/mps2
