# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion of kernmark for bash. The tool itself says what fits.

_kernmark() {
	local words word first tool found
	# Bash breaks words at ':' and '=' too; kernmark needs them whole.
	read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
	[[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
	for first in "${!words[@]}"; do
		[[ ${words[first]} == "$1" ]] && break
	done
	word=${words[-1]}
	tool=${1/#\~/$HOME}
	mapfile -t found < <("$tool" complete -- "${words[@]:first + 1}" 2>/dev/null)
	found=("${found[@]%%$'\t'*}")
	COMPREPLY=()
	for word in "${found[@]}"; do
		if [[ $word == "<files>" ]]; then
			# With nothing else on offer, bash completes file names itself: better.
			((${#found[@]} > 1)) && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$2")
		else
			# Only what follows the last break is replaced.
			COMPREPLY+=("${word#"${words[-1]%"$2"}"}")
		fi
	done
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=,] ]] && compopt -o nospace
	return 0
}
complete -o default -F _kernmark kernmark
