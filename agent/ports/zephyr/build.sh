#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# build.sh OUT SOURCE BOARD [WORD]...: builds Zephyr with the agent in OUT/build
# and writes facts about it to OUT/facts. SOURCE is as for find-zephyr.sh. The
# words are CMake's, such as -DCONFIG_USERSPACE=y.
set -eu

port=$(dirname "$(realpath "$0")")
out=$1
source=$2
board=$3
shift 3
found=$("$port/find-zephyr.sh" "$source" "$board")
# shellcheck source=agent/ports/zephyr/find-zephyr.sh
. "$port/find-zephyr.sh" > /dev/null

mkdir -p "$out"
build=$out/build
log=$out/log

# Prints the lines of the log that say why a build failed.
explain()
{
	grep -E 'error:|^CMake Error|warning: .* was assigned|undefined (symbol|reference)' "$log" |
		head -n 3 | grep . || tail -n 3 "$log"
}

run()
{
	"$@" >> "$log" 2>&1 || die "$(explain)"
}

# Start afresh if the build was set up differently.
recipe="$port $found $board $*"
if [ "$(cat "$out/recipe" 2> /dev/null)" != "$recipe" ]; then
	rm -rf "$build" "$out/recipe"
	: > "$log"
	run cmake -GNinja -S "$port" -B "$build" -DBOARD="$board" \
		-DPython3_EXECUTABLE="$python" "$@"
	echo "$recipe" > "$out/recipe"
fi
: > "$log"
run ninja -C "$build"
# QEMU boots x86_64 from files that Zephyr's build makes only for QEMU.
if grep -q '^CONFIG_BOARD_QEMU_X86_64=y' "$build/zephyr/.config"; then
	run ninja -C "$build" qemu_kernel_target
fi

# Text, data and bss in the last line of what `size` prints.
sizes()
{
	"$size" "$@" | awk 'END { print "text " $1 ", data " $2 ", bss " $3 " bytes" }'
}

# The flags that the kernel was compiled with, without paths and warnings.
flags()
{
	"$python" - "$build/compile_commands.json" << 'EOF'
import json, sys
command = next(c["command"] for c in json.load(open(sys.argv[1])) if c["file"].endswith("/kernel/sched.c"))
print(" ".join(w for w in command.split()[1:] if w[:2] in ("-f", "-m", "-O", "-s") and "/" not in w))
EOF
}

compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
case $compiler in
*gcc) size=${compiler%gcc}size ;;
*) size=size ;;
esac
config=$build/zephyr/.config
version=$(sed -n 's/^#define BUILD_VERSION  *//p' "$build/zephyr/include/generated/zephyr/version.h")
{
	echo "zephyr=$(zephyr_version)${version:+ ($version)}"
	echo "flags=$(flags)"
	echo "configuration=$(grep '^CONFIG_' "$config" | paste -s -d ' ')"
	echo "configuration_sha256=$(sha256sum < "$config" | cut -d ' ' -f 1)"
	echo "footprint_image=$(sizes "$build/zephyr/zephyr.elf")"
	echo "footprint_kernel=$(sizes -t "$build/zephyr/kernel/libkernel.a")"
} > "$out/facts"
