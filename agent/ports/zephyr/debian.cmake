# SPDX-License-Identifier: MIT OR Apache-2.0
# What Zephyr's build needs to know about Debian's compilers.

# Its RISC-V gcc has no libgcc for exactly Zephyr's -march, and links one for 64
# bits instead.
if(CONFIG_RISCV)
  if(CONFIG_64BIT)
    set(machine -march=rv64imac -mabi=lp64)
  else()
    set(machine -march=rv32imac -mabi=ilp32)
  endif()
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${machine} --print-libgcc-file-name
    OUTPUT_VARIABLE libgcc OUTPUT_STRIP_TRAILING_WHITESPACE)
  cmake_path(GET libgcc PARENT_PATH libgcc)
  zephyr_ld_options(-L${libgcc})
endif()

# Its gcc for 64-bit Arm calls the C library to choose atomic instructions.
if(CONFIG_ARM64)
  zephyr_compile_options(-mno-outline-atomics)
endif()

# Its gcc 12 for Linux has limits.h where gcc 13 has it, and no include-fixed.
get_target_property(folders compiler nostdinc_include)
list(FILTER folders EXCLUDE REGEX "^include-fixed$")
set_target_properties(compiler PROPERTIES nostdinc_include "${folders}")
