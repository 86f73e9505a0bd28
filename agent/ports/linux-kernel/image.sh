#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
# image.sh OUT KERNEL: builds the module and its user side for a kernel, and
# writes what kernel that is to OUT/facts. KERNEL is one of Debian's (see
# kernel.sh); `this`, the one that runs here; or a path, with a slash: of a
# folder in which modules are built (a kernel's own, with arch/x86/boot/bzImage;
# one with vmlinuz and build), or of a kernel, vmlinuz-RELEASE, whose modules are
# built in /lib/modules/RELEASE/build.
set -eu

out=$1
kernel=$2
port=$(dirname "$(realpath "$0")")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kernmark/kernels

die()
{
	echo "$*" >&2
	exit 1
}

# The first of these that is there.
first()
{
	for path; do
		[ -e "$path" ] && echo "$path" && return
	done
	return 1
}

vmlinuz=
kdir=
case $kernel in
this)
	kdir=/lib/modules/$(uname -r)/build
	;;
*/*)
	path=$(realpath -e "$kernel" 2> /dev/null) || die "there is no kernel $kernel"
	if [ -d "$path" ]; then
		kdir=$(first "$path/build" "$path")
		vmlinuz=$(first "$path/vmlinuz" "$path/arch/x86/boot/bzImage") ||
			die "$path has neither vmlinuz nor arch/x86/boot/bzImage"
	else
		vmlinuz=$path
		release=$(basename "$path")
		release=${release#vmlinuz-}
		kdir=$(first "$(dirname "$path")/build" "/lib/modules/$release/build") ||
			die "there is neither $(dirname "$path")/build nor" \
				"/lib/modules/$release/build to build modules of $path in"
	fi
	;;
esac

if [ "$kdir" ]; then
	[ -e "$kdir/Makefile" ] || die "no modules can be built in $kdir: it has no Makefile"
	# What is there may have been built anew under the same name.
	rm -f "$out/kernmark.ko"
	make -s -C "$port" OUT="$out" KDIR="$kdir" VMLINUZ="$vmlinuz"
else
	# One download of a kernel at a time.
	mkdir -p "$cache"
	exec 9> "$cache/$kernel.lock"
	flock 9
	make -s -C "$port" OUT="$out" KERNEL="$kernel" CACHE="$cache"
fi
objcopy -O binary -j .modinfo "$out/kernmark.ko" "$out/modinfo"
tr '\0' '\n' < "$out/modinfo" |
	sed -n 's/^vermagic=\([^ ]*\).*/module_for=\1/p' > "$out/facts"
