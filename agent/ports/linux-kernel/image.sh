#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
# image.sh OUT KERNEL: builds the module and its user side for a kernel, and
# writes to OUT/facts which kernel that is. KERNEL is one of
#   a Debian kernel by name (see kernel.sh);
#   `this`: the running kernel;
#   a folder with a slash in its path where modules are built: a kernel's build
#   folder with arch/x86/boot/bzImage, or a folder with vmlinuz and build;
#   a kernel, vmlinuz-RELEASE, with a slash in its path; its modules are built in
#   build next to it, or in /lib/modules/RELEASE/build.
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

# Prints the first of these paths that exists.
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
			die "$path contains neither vmlinuz nor arch/x86/boot/bzImage"
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
	[ -e "$kdir/Makefile" ] || die "cannot build modules in $kdir: it has no Makefile"
	# The kernel may have been rebuilt under the same name.
	rm -f "$out/kernmark.ko"
	make -s -C "$port" OUT="$out" KDIR="$kdir" VMLINUZ="$vmlinuz"
else
	make -s -C "$port" OUT="$out" KERNEL="$kernel" CACHE="$cache"
fi
objcopy -O binary -j .modinfo "$out/kernmark.ko" "$out/modinfo"
tr '\0' '\n' < "$out/modinfo" |
	sed -n 's/^vermagic=\([^ ]*\).*/module_for=\1/p' > "$out/facts"
