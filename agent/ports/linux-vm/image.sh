#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# image.sh OUT AGENT KERNEL [ARCH]: builds a machine with an agent, kernel or user, and
# a kernel. ARCH is the kernel's name of its architecture, x86_64 (the default) or
# arm64. KERNEL is one of
#   a Debian kernel by name (see kernel.sh);
#   a folder with a slash in its path where modules are built: a kernel's build
#   folder with its image, or a folder with vmlinuz and build;
#   a kernel, vmlinuz-RELEASE, with a slash in its path; its modules are built in
#   build next to it, or in /lib/modules/RELEASE/build.
set -eu

out=$1
agent=$2
kernel=$3
arch=${4-x86_64}
port=$(dirname "$(realpath "$0")")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kernmark/kernels

case $arch in
arm64)	image=arch/arm64/boot/Image ;;
*)	image=arch/x86/boot/bzImage ;;
esac

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

case $kernel in
*/*)
	path=$(realpath -e "$kernel" 2> /dev/null) || die "there is no kernel $kernel"
	if [ -d "$path" ]; then
		kdir=$(first "$path/build" "$path")
		vmlinuz=$(first "$path/vmlinuz" "$path/$image") ||
			die "$path contains neither vmlinuz nor $image"
	else
		vmlinuz=$path
		release=$(basename "$path")
		release=${release#vmlinuz-}
		kdir=$(first "$(dirname "$path")/build" "/lib/modules/$release/build") ||
			[ "$agent" = user ] ||
			die "there is neither $(dirname "$path")/build nor" \
				"/lib/modules/$release/build to build modules of $path in"
	fi
	# The kernel may have been rebuilt under the same name.
	rm -f "$out/agent/kernmark.ko"
	make -s -C "$port" OUT="$out" ARCH="$arch" AGENT="$agent" KDIR="$kdir" VMLINUZ="$vmlinuz"
	;;
*)
	make -s -C "$port" OUT="$out" ARCH="$arch" AGENT="$agent" KERNEL="$kernel" CACHE="$cache"
	;;
esac
