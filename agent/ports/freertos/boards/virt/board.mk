include boards/riscv/riscv.mk
sources += boards/emulated.c
