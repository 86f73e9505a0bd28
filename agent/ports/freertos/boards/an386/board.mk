include boards/arm/cortex-m4.mk
sources += boards/mps2/console.c
include += -Iboards/mps2
