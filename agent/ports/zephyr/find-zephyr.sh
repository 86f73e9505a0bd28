#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# find-zephyr.sh SOURCE BOARD: prints which Zephyr and which compiler build for a
# board. If something is missing, says what, and the command that installs it.
#
# Zephyr is in SOURCE. If that is empty, it is in ZEPHYR_BASE, or else in the west
# workspace of this folder. The toolchain is the one that Zephyr's own settings
# name, or a Zephyr SDK, or else Debian's compiler. build.sh reads this file for
# its settings.
set -eu

: "${source=$1}" "${board:=$2}"

die()
{
	echo "$*" >&2
	exit 1
}

# Prints the Zephyr of the west workspace that this folder belongs to.
workspace()
{
	folder=$PWD
	while [ ! -f "$folder/.west/config" ]; do
		[ "$folder" != / ] || return 0
		folder=$(dirname "$folder")
	done
	base=$(sed -n '/^\[zephyr\]/,/^\[/s/^base *= *//p' "$folder/.west/config")
	echo "$folder/${base:-zephyr}"
}

zephyr_version()
{
	sed -n 's/^VERSION_MAJOR *= *//p; s/^VERSION_MINOR *= */./p; s/^PATCHLEVEL *= */./p' \
		"$ZEPHYR_BASE/VERSION" | tr -d '\n'
}

from="ZEPHYR_BASE=${ZEPHYR_BASE-}; correct ZEPHYR_BASE or unset it"
if [ "$source" ]; then
	ZEPHYR_BASE=$source
	from=$source
elif [ ! "${ZEPHYR_BASE-}" ]; then
	ZEPHYR_BASE=$(workspace)
	from="the west workspace of this folder, $ZEPHYR_BASE"
fi
[ "$ZEPHYR_BASE" ] ||
	die "Zephyr is missing: ZEPHYR_BASE is not set, and this folder is in no west workspace;" \
		"name a Zephyr tree with source=FOLDER or ZEPHYR_BASE, or get one:" \
		"west init ~/zephyrproject && cd ~/zephyrproject && west update cmsis_6"
[ -f "$ZEPHYR_BASE/share/zephyr-package/cmake/ZephyrConfig.cmake" ] ||
	die "there is no Zephyr in $from"
ZEPHYR_BASE=$(realpath "$ZEPHYR_BASE")
export ZEPHYR_BASE

# The Python packages that the build imports, with Debian's names.
python=$(command -v python3) || die "python3 is missing: apt-get install python3"
missing=
packages=
for pair in elftools:pyelftools yaml:yaml pykwalify:pykwalify jsonschema:jsonschema packaging:packaging; do
	"$python" -c "import ${pair%:*}" 2> /dev/null && continue
	missing="$missing ${pair%:*}"
	packages="$packages python3-${pair#*:}"
done
[ ! "$missing" ] ||
	die "$python has no Python package$missing; apt-get install --no-install-recommends$packages," \
		"or in a virtual environment: pip install -r $ZEPHYR_BASE/scripts/requirements-base.txt"

arch=$(find "$ZEPHYR_BASE/boards" -name '*.yaml' -exec grep -lx "identifier: $board" {} + |
	head -n 1 | xargs -r sed -n 's/^arch: //p')
case $arch in
arm) prefix=arm-none-eabi- target=arm package=gcc-arm-none-eabi ;;
arm64) prefix=aarch64-linux-gnu- target=aarch64 package=gcc-aarch64-linux-gnu ;;
riscv) prefix=riscv64-unknown-elf- target=riscv package=gcc-riscv64-unknown-elf ;;
x86) prefix=x86_64-linux-gnu- target=x86_64 package=gcc-x86-64-linux-gnu ;;
*) prefix='' target='' package='' ;;
esac

# Without a module for the processor there are no registers.
if [ "$arch" = arm ] && [ ! "${ZEPHYR_MODULES-}" ] && ! west list cmsis_6 > /dev/null 2>&1; then
	for module in "$ZEPHYR_BASE"/../modules/hal/cmsis_6 "$ZEPHYR_BASE"/../modules/hal/cmsis; do
		[ ! -d "$module" ] || ZEPHYR_MODULES=$(realpath "$module")
	done
	[ "${ZEPHYR_MODULES-}" ] ||
		die "Zephyr's module cmsis_6 is missing: cd $ZEPHYR_BASE && west update cmsis_6"
	export ZEPHYR_MODULES
fi

# Whether Zephyr finds its SDK where it looks for it.
has_sdk()
{
	[ "${ZEPHYR_SDK_INSTALL_DIR-}" ] && return
	for path in ~/.cmake/packages/Zephyr-sdk ~/zephyr-sdk* ~/.local/zephyr-sdk* ~/bin/zephyr-sdk* \
		/opt/zephyr-sdk* /usr/zephyr-sdk* /usr/local/zephyr-sdk*; do
		[ ! -d "$path" ] || return 0
	done
	return 1
}

# A cross compiler that the user names may be one for another processor.
compiles_for()
{
	"$1gcc" -dumpmachine 2> /dev/null | grep -q "^$2"
}

case ${ZEPHYR_TOOLCHAIN_VARIANT-} in
'') has_sdk && prefix= ;;
cross-compile) ! compiles_for "${CROSS_COMPILE-}" "$target" || prefix= ;;
*) prefix= ;;
esac
if [ "$prefix" ]; then
	compiler=$(command -v "${prefix}gcc") ||
		die "a compiler for $arch is missing: apt-get install --no-install-recommends $package," \
			"or install the Zephyr SDK"
	ZEPHYR_TOOLCHAIN_VARIANT=cross-compile
	CROSS_COMPILE=${compiler%gcc}
	export ZEPHYR_TOOLCHAIN_VARIANT CROSS_COMPILE
fi
toolchain=${ZEPHYR_TOOLCHAIN_VARIANT-zephyr}
[ "$toolchain" != cross-compile ] || toolchain=$("${CROSS_COMPILE}gcc" --version | head -n 1)

echo "Zephyr $(zephyr_version) in $ZEPHYR_BASE, modules ${ZEPHYR_MODULES-of west}, $toolchain"
