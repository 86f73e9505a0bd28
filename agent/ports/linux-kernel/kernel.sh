#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
# kernel.sh KERNEL CACHE: creates CACHE/KERNEL with a Debian kernel: the kernel
# as vmlinuz, the files to build its modules with as build/, and its release as
# release. KERNEL is cloud, generic, rt or backports. Installs nothing and needs
# no privilege. An existing folder is used as it is; remove it to get the
# mirror's current version.
set -eu

kernel=$1
cache=$2
into=$cache/$kernel

die()
{
	echo "kernel.sh: $*" >&2
	exit 1
}

[ -e "$into/release" ] && exit 0

case $kernel in
cloud)		meta=linux-headers-cloud-amd64 ;;
generic)	meta=linux-headers-amd64 ;;
rt)		meta=linux-headers-rt-amd64 ;;
backports)	meta=linux-headers-6.12-cloud-amd64 ;;
*)		die "unknown kernel $kernel; available: cloud generic rt backports" ;;
esac
for program in apt-get apt-cache dpkg; do
	command -v $program > /dev/null ||
		die "Debian's kernels need $program; use KDIR= and VMLINUZ= instead"
done

# Prints the first package that a package depends on and whose name matches.
depends()
{
	apt-cache depends --important "$1" 2> /dev/null |
		sed -n 's/^ *|\{0,1\}Depends: //p' | grep -E "$2" | head -n 1
}

headers=$(depends $meta '^linux-headers-') || headers=
[ "$headers" ] || die "apt does not know $meta: run apt-get update as root, or use KDIR= and VMLINUZ="
version=${headers#linux-headers-}
common=$(depends "$headers" '^linux-headers-.*-common')
kbuild=$(depends "$headers" '^linux-kbuild-')

echo "kernel.sh: fetching Linux $version" >&2
# In a separate folder: another process may be fetching the same kernel.
work=$(mktemp -d "$cache/$kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/deb"
(cd "$work/deb" && apt-get -q download "linux-image-$version" "$headers" \
	"$common" "$kbuild" > ../log 2>&1) || {
	tail -n 3 "$work/log" >&2
	die "could not download the packages of Linux $version: is there a network?" \
		"Or use a local kernel with KDIR= and VMLINUZ="
}
for deb in "$work"/deb/*.deb; do
	dpkg -x "$deb" "$work/root"
done
rm -r "$work/deb"

# The headers refer to their common part by its path on an installed system.
src=usr/src/$headers
sed "s|/usr/src/|$into/root/usr/src/|" "$work/root/$src/Makefile" > "$work/Makefile"
mv "$work/Makefile" "$work/root/$src/Makefile"
mv "$work/root/boot/vmlinuz-$version" "$work/vmlinuz"
# Debian's own modules are most of the size, and none of them is loaded.
rm -rf "$work/root/lib" "$work/root/boot"
ln -s "root/$src" "$work/build"
echo "$version" > "$work/release"
mv -T "$work" "$into" 2> /dev/null || [ -e "$into/release" ]
