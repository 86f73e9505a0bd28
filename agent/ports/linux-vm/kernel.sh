#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# kernel.sh KERNEL CACHE ARCHITECTURE PART: fetches a Debian kernel from its
# mirror into the folder CACHE/ARCHITECTURE/KERNEL:
#
#   vmlinuz	the kernel
#   config	its configuration, if the mirror still has it
#   release	its release, as uname -r prints it
#   package	the suite, the version and the name of its package
#   build	the folder in which its modules are built, only if PART is `build`
#   debug	vmlinux with its debug information, which has the source line of each
#		instruction, only if PART is `debug`: 300 MB to download, 600 MB to keep
#
# KERNEL is one of
#   cloud, generic, rt: the kernel for virtual machines, for all machines, with
#     PREEMPT_RT, of the Debian release that this system runs, or of the stable
#     release;
#   backports: the newest kernel for virtual machines in the backports or the
#     security updates of that release;
#   bullseye, bookworm, trixie, sid, experimental: that suite's kernel for
#     virtual machines, with security updates;
#   VERSION or VERSION-FLAVOUR, such as 6.12, 6.12.107 or 6.12-rt: the newest one
#     of that version that any of these suites has. FLAVOUR is cloud if left out.
#
# ARCHITECTURE is Debian's name for it, amd64 or arm64, and need not be this
# machine's. PART is `vmlinuz`, `build` or `debug`. A later call may add a part.
#
# It installs nothing, needs no privilege, and uses a state of apt of its own.
# A kernel that was fetched is used as it is; remove its folder to get the
# mirror's current version. Calls at the same time wait for each other.
set -eu

kernel=$1
cache=$2
arch=$3
part=$4
into=$cache/$arch/$kernel
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
archives="bullseye bullseye-security bookworm bookworm-security bookworm-backports
	trixie trixie-security trixie-backports sid experimental"

die()
{
	echo "kernel.sh: $*" >&2
	exit 1
}

case $part in
vmlinuz | build | debug)	[ -e "$into/$part" ] && exit 0 ;;
*)				die "PART is vmlinuz, build or debug, not $part" ;;
esac
case $arch in
amd64 | arm64)	;;
*)		die "Debian's kernels are fetched for amd64 and arm64, not for $arch" ;;
esac

# The Debian release of this system. Its derivatives use other names.
release=$(
	# shellcheck source=/dev/null
	. /etc/os-release
	[ "${ID-}" = debian ] && echo "${VERSION_CODENAME-}"
) || release=
case $release in
bullseye | bookworm | trixie)	;;
*)				release=trixie ;;
esac

version=
flavour=cloud
case $kernel in
cloud | generic | rt)
	suites="$release $release-security"
	flavour=$kernel
	;;
backports)
	[ "$release" = bullseye ] && die "bullseye has no backports any more; name a version instead"
	suites="$release-backports $release-security"
	;;
bullseye | bookworm | trixie)	suites="$kernel $kernel-security" ;;
sid | experimental)		suites=$kernel ;;
[0-9]*)
	suites=$archives
	version=${kernel%%-*}
	[ "$version" = "$kernel" ] || flavour=${kernel#*-}
	;;
*)
	die "unknown kernel $kernel; available: cloud generic rt backports bullseye bookworm" \
		"trixie sid experimental, or a version such as 6.12 or 6.12-rt"
	;;
esac
case $flavour in
cloud | rt)	suffix=-$flavour-$arch ;;
generic)	suffix=-$arch ;;
*)		die "$kernel: unknown flavour $flavour; available: cloud generic rt" ;;
esac

for program in apt-get apt-cache apt-config dpkg-deb flock; do
	command -v $program > /dev/null ||
		die "Debian's kernels need $program. You can use a kernel of your own instead"
done
[ -e $keyring ] ||
	die "$keyring is missing, which signs Debian's packages: install the package" \
		"debian-archive-keyring. Or use a kernel of your own"

mkdir -p "$cache/$arch" "$cache/apt"
exec 9> "$cache/apt/lock"
flock 9
[ -e "$into/$part" ] && exit 0
work=$into.part
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir "$work"

# The mirror that this system gets Debian from, without a slash at the end.
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2> /dev/null |
	sed -n '\|^https\{0,1\}://.*/debian/$| { s|/$||p; q; }') || mirror=
mirror=${mirror:-http://deb.debian.org/debian}

# apt NAME ARCHITECTURE COMMAND...: runs one of apt's programs on what an archive
# has for an architecture. Of this system's settings it takes those of the network.
apt()
{
	state=$cache/apt/$1-$2
	shift 2
	APT_CONFIG=$state/conf "$@"
}

# Gets the list of packages of an archive: from the mirror, from Debian's own if
# the mirror lacks the archive, or from where Debian keeps its old releases.
update()
{
	state=$cache/apt/$1-$2
	mkdir -p "$state/lists/partial" "$state/etc"
	: > "$state/status"
	{
		apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets'
		echo "Dir::State \"$state\"; Dir::State::status \"$state/status\";"
		echo "Dir::Cache \"$state\"; Dir::Etc::main \"/dev/null\";"
		for name in parts preferencesparts sourceparts; do
			echo "Dir::Etc::$name \"$state/etc\";"
		done
		echo "Dir::Etc::preferences \"/dev/null\"; Dir::Etc::sourcelist \"$state/sources\";"
		echo "APT::Architecture \"$2\"; APT::Architectures \"$2\"; APT::Sandbox::User \"$(id -un)\";"
		echo "APT::Update::Error-Mode \"any\"; APT::Get::List-Cleanup \"false\";"
	} > "$state/conf"
	for base in "$mirror" http://deb.debian.org/debian http://archive.debian.org/debian; do
		case $1 in
		*-security)	base=$base-security ;;
		esac
		echo "deb [signed-by=$keyring arch=$2 target=Packages lang=none] $base $1 main" \
			> "$state/sources"
		apt "$1" "$2" apt-get -q update > "$work/log" 2>&1 && return
		[ -s "$work/first" ] || cp "$work/log" "$work/first"
	done
	grep '^[EW]:' "$work/first" | head -n 3 >&2
	die "could not download the list of packages of $1 from $mirror: is there a network?" \
		"You can use a kernel of your own instead"
}

# kernels SUITE: prints the version of each kernel of this flavour in an archive,
# its release, the archive and the package that contains it. Since 7.0 that is
# linux-binary; what is called linux-image depends on it. A package that is not
# signed yet is the same kernel.
kernels()
{
	names=$(apt "$1" "$arch" apt-cache pkgnames linux- |
		grep -E "^linux-(image|binary|binary-unsigned)-[0-9].*-$arch(-unsigned)?\$") || return 0
	# shellcheck disable=SC2086
	apt "$1" "$arch" apt-cache show $names | awk -v suite="$1" -v suffix="$suffix" '
		$1 == "Package:" { name = $2 }
		$1 == "Version:" {
			release = name
			sub(/^linux-(image|binary-unsigned|binary)-/, "", release)
			sub(/-unsigned$/, "", release)
			start = length(release) - length(suffix) + 1
			if (start < 1 || substr(release, start) != suffix)
				next
			if (substr(release, 1, start - 1) ~ /-(cloud|rt)$/)
				next
			rank = name ~ /^linux-binary/ ? 2 : 0
			rank += name !~ /unsigned/
			id = $2 " " release
			if (!(id in best) || rank > best[id]) {
				best[id] = rank
				package[id] = name
			}
		}
		END { for (id in best) print id, suite, package[id] }'
}

# available VERSION: of kernels in ascending order, names those of the same series
# as a version, or if there is none the newest of each series.
available()
{
	awk -v wanted="$1" '
		function series(version, part)
		{
			split(version, part, /[.~-]/)
			return part[1] "." part[2]
		}
		!NF { next }
		{
			sub(/-.*/, "", $1)
			if (series($1) != series(wanted))
				newest[series($1)] = $1
			else if (!seen[$1]++)
				same = same ", " $1
			if (!order[series($1)]++)
				list[++count] = series($1)
		}
		END {
			for (i = 1; i <= count; i++)
				others = others ", " newest[list[i]]
			print substr(same != "" ? same : others, 3)
		}'
}

# Chooses the package, unless only its headers are still missing.
if [ -e "$into/package" ]; then
	read -r suite version release package < "$into/package"
	update "$suite" "$arch"
else
	found=
	newest=
	for suite in $suites; do
		update "$suite" "$arch"
		more=$(kernels "$suite")
		case $kernel in
		[0-9]* | backports)	;;
		*)
			# What the suite itself would install, not another version beside it.
			chosen=$(apt "$suite" "$arch" apt-cache show "linux-image$suffix" 2> /dev/null |
				sed -n 's/^Version: //p' | sort -V | tail -n 1)
			more=$(echo "$more" | awk -v version="$chosen" '$1 == version')
			;;
		esac
		found="$found$more
"
	done
	newest=$(echo "$found" | awk -v version="$version" '
		NF && (version == "" || $1 == version || index($1, version) == 1 &&
			substr($1, length(version) + 1) ~ /^[^0-9]/)' | sort -V | tail -n 1)
	[ "$newest" ] || die "Debian has no kernel $kernel for $arch; it has" \
		"$(echo "$found" | sort -V | available "$version")"
	echo "$newest" > "$work/package"
	read -r version release suite package < "$work/package"
	echo "$suite $version $release $package" > "$work/package"
fi

# download ARCHITECTURE PACKAGE...: gets packages of the suite into deb.
download()
{
	of=$1
	shift
	mkdir "$work/deb"
	(cd "$work/deb" && apt "$suite" "$of" apt-get -q download "$@" > ../log 2>&1) || {
		tail -n 3 "$work/log" >&2
		die "could not download the packages of Linux $release from $suite: is there a" \
			"network? If $suite no longer has $version, remove $into"
	}
}

# fetch ARCHITECTURE PACKAGE...: unpacks packages of the suite below root.
fetch()
{
	download "$@"
	for deb in "$work"/deb/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	rm -r "$work/deb"
}

echo "kernel.sh: fetching Linux $release ($part)" >&2
if ! [ -e "$into/vmlinuz" ]; then
	# What has the configuration in a package of its own may have lost that package.
	base=linux-base-$release
	apt "$suite" "$arch" apt-cache show "$base" 2> /dev/null | grep -qxF "Version: $version" &&
		base=$base=$version || base=
	# shellcheck disable=SC2086
	fetch "$arch" "$package=$version" $base
	for name in vmlinuz config; do
		for file in "$work/root/boot/$name-$release" "$work/root/usr/lib/modules/$release/$name"; do
			[ ! -e "$file" ] || mv "$file" "$work/$name"
		done
	done
	# Its modules are most of the size, and none of them is loaded.
	rm -rf "$work/root"
	echo "$release" > "$work/release"
	rm -f "$work/log" "$work/first"
	chmod 755 "$work"
	mv -T "$work" "$into"
fi
[ "$part" != vmlinuz ] || exit 0

mkdir -p "$work"
if [ "$part" = debug ]; then
	download "$arch" "linux-image-$release-dbg=$version"
	# Most of the package is for modules.
	mkdir "$work/root"
	for deb in "$work"/deb/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$work/root" --wildcards './usr/lib/debug/*/vmlinux*'
	done
	vmlinux=$(find "$work/root" -type f -name 'vmlinux*' | head -n 1)
	[ "$vmlinux" ] || die "the package linux-image-$release-dbg has no vmlinux"
	mv "$vmlinux" "$into/debug"
	exit 0
fi
case $version in
[0-5].*)	die "the kernel module needs Linux 6.1 or later. Measure $release with agent=user" ;;
esac
headers=linux-headers-$release
depends=$(apt "$suite" "$arch" apt-cache show "$headers=$version" 2> /dev/null |
	sed -n 's/^Depends: //p' | tr ',' '\n') || depends=
common=$(echo "$depends" | sed -n 's/^ *\(linux-headers-[^ ]*\).*/\1/p')
kbuild=$(echo "$depends" | sed -n 's/^ *\(linux-kbuild-[^ ]*\).*/\1/p')
if [ -z "$common" ] || [ -z "$kbuild" ]; then
	die "$suite no longer has the headers of Linux $release ($version): remove $into to" \
		"get the current kernel"
fi
fetch "$arch" "$headers=$version" "$common=$version"
# These are programs that run here.
native=$(dpkg --print-architecture)
[ "$native" = "$arch" ] || update "$suite" "$native"
fetch "$native" "$kbuild"
src=usr/src/$headers
impossible="modules for Linux $release cannot be built on this system. Measure it with agent=user, or"
programs=$(find -L "$work/root/$src/scripts" "$work/root/$src/tools" -type f \
	\( -name fixdep -o -name modpost -o -name objtool -o -name 'objtool.real-x86' \))
# shellcheck disable=SC2086
lacks=$(ldd $programs 2>&1 | sed -n 's/.*: version .\(GLIBC[^ ]*\). not found.*/\1/p' | sort -V | tail -n 1)
[ -z "$lacks" ] ||
	die "$impossible use a newer one: the programs that build them need $lacks"
compiler=$(sed -n 's/^CC = .*)\(gcc[^ ]*\)$/\1/p' "$work/root/$src/.kernelvariables")
command -v "$compiler" > /dev/null || die "$impossible install the package $compiler"

# The headers refer to their common part by its path on an installed system.
sed "s|/usr/src/|$into/root/usr/src/|" "$work/root/$src/Makefile" > "$work/Makefile"
mv "$work/Makefile" "$work/root/$src/Makefile"
rm -rf "$into/root" "$work/root/lib" "$work/root/boot"
mv "$work/root" "$into/root"
ln -sfn "root/$src" "$into/build"
