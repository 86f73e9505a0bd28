#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# uml.sh CONSOLE AGENT ARGUMENT...: runs the agent as the only program of
# user-mode Linux, with the program linux.uml. Its root is this machine's file
# system, which it does not change. Its console goes to the file CONSOLE. This
# script is also the first process in there.
set -eu

if [ $$ -eq 1 ]; then
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mkdir -p /dev/shm /dev/pts
	mount -t tmpfs tmpfs /dev/shm
	mount -t devpts devpts /dev/pts
	ip link set lo up 2> /dev/null || ifconfig lo up || :
	# Both may be below /tmp, which the agent gets for itself.
	cp "$1" /dev/shm/kernmark-agent
	read -r order < "$2"
	mount -t tmpfs tmpfs /tmp
	stty raw < /dev/tty1
	# shellcheck disable=SC2086 # The order is words.
	/dev/shm/kernmark-agent $order > /dev/tty1 < /dev/null || :
	echo o > /proc/sysrq-trigger
	sleep 60
fi

console=$1
agent=$2
shift 2
# A kernel's command line is too short for the ids of all cases.
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
echo "$@" > "$work/order"
# Without these names, it adds a root and a console after init's words.
linux.uml mem=256M root=/dev/root rootfstype=hostfs rootflags=/ ro quiet \
	console=tty0 con=null con0=null,fd:3 con1=null,fd:1 uml_dir="$work" \
	init="$(realpath "$0")" -- "$agent" "$work/order" \
	< /dev/null 3> "$console" 2>&3
