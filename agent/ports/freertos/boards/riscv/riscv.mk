# SPDX-License-Identifier: MIT OR Apache-2.0
ifneq ($(MPU),)
$(error the variant userspace needs an MPU port of the kernel: boards m4, m3, an386, an385)
endif
cross := riscv64-unknown-elf-
# In this version of the manual, the processor's registers are part of i. The
# compiler has a library for that name, but not for rv32imac_zicsr.
machine := -march=rv32imac -misa-spec=2.2 -mabi=ilp32
kernel_port := RISC-V
kernel_sources := portable/GCC/$(kernel_port)/portASM.S
family := riscv
sources := boards/emulator.c boards/riscv/start.c
# The interrupt path is that of a chip whose timer is the tick, although it is off.
include := -Iboards -Iboards/riscv -isystem \
	$(kernel)/portable/GCC/$(kernel_port)/chip_specific_extensions/RISCV_MTIME_CLINT_no_extensions
# The compiler would put its guard into the function that has no stack frame for
# it.
unguarded := boards/riscv/start.c
