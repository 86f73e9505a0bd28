#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# compare.sh: one job of CI. It measures, compares with a base, judges, and leaves all results in a
# folder. action.yml and kernmark.gitlab-ci.yml call it; doc/ci.md explains it. These variables say
# what to do:
#
#   KERNMARK_NEW       the target to measure, as `kernmark run --on` takes it [linux]
#   KERNMARK_BASE      the target to compare with; measured in alternation with NEW
#   KERNMARK_BASELINE  or saved runs to compare with, one path a line; with neither of the two, NEW
#                      is judged by the budget alone
#   KERNMARK_FILTER    measure only these: words, each the start of an id or a glob
#   KERNMARK_EFFORT    options for measuring: --runs 10 --samples 500
#   KERNMARK_MARGIN    as compare's --margin
#   KERNMARK_FAIL_ON   as compare's --fail-on; none for no gate [regression]
#   KERNMARK_BUDGET    a file with limits
#   KERNMARK_JUDGING   more options of `kernmark compare`: --only p50 --accept-speed=3
#   KERNMARK_OUTPUT    the folder for results [kernmark-results]
#   KERNMARK_PROGRAM   kernmark itself [kernmark]
#
# Values become arguments; no shell reads them, except the command of an exec: target.
#
# On GitHub the comparison is added to the job's summary, and status, verdict and files are outputs
# of the step. The exit status is kernmark's; one of measuring takes precedence.
set -euf

program=${KERNMARK_PROGRAM:-kernmark}
new=${KERNMARK_NEW:-linux}
base=${KERNMARK_BASE:-}
baseline=${KERNMARK_BASELINE:-}
filter=${KERNMARK_FILTER:-}
effort=${KERNMARK_EFFORT:-}
margin=${KERNMARK_MARGIN:-}
fail_on=${KERNMARK_FAIL_ON:-regression}
budget=${KERNMARK_BUDGET:-}
judging=${KERNMARK_JUDGING:-}
output=${KERNMARK_OUTPUT:-kernmark-results}

# Tells the log and the steps that follow what came of it, and ends.
finish()
{
	case $1 in
	0) verdict=passed ;;
	2) verdict=misused ;;
	3) verdict=regressed ;;
	4) verdict=inconclusive ;;
	5) verdict=incomparable ;;
	130) verdict=interrupted ;;
	*) verdict=failed ;;
	esac
	echo "kernmark: $verdict (exit status $1)"
	cat >> "${GITHUB_OUTPUT:-/dev/null}" << END
status=$1
verdict=$verdict
END
	exit "$1"
}

misuse()
{
	echo "compare.sh: $*" >&2
	finish 2
}

# Adds text to the summary of the job, where there is one.
summarise()
{
	cat >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
}

newline='
'
case $output in
*"$newline"*) misuse "KERNMARK_OUTPUT names one folder" ;;
-*) output=./$output ;;
esac
[ "$fail_on" != none ] || fail_on=
if [ "$base" ] && [ "$baseline" ]; then
	misuse "give a base to measure (KERNMARK_BASE: $base) or a saved run (KERNMARK_BASELINE:" \
		"$baseline), not both"
fi
# A base that is empty by mistake must not pass.
if [ -z "$base$baseline$budget" ] && [ "$fail_on" ]; then
	misuse "nothing to judge by: set KERNMARK_BASE, KERNMARK_BASELINE or KERNMARK_BUDGET;" \
		"KERNMARK_FAIL_ON=none measures without judging"
fi
if [ -z "$base$baseline" ] && [ "$margin$judging" ]; then
	misuse "KERNMARK_MARGIN and KERNMARK_JUDGING need KERNMARK_BASE or KERNMARK_BASELINE"
fi
command -v "$program" > /dev/null || misuse "there is no program $program: set KERNMARK_PROGRAM"
if [ "$budget" ] && [ ! -f "$budget" ]; then
	misuse "there is no budget $budget"
fi
saved_new=$output/run-new.km
for file in "$saved_new" "$output/run-base.km"; do
	[ ! -e "$file" ] || misuse "$file exists already: give each comparison a KERNMARK_OUTPUT of its own"
done
mkdir -p "$output"

# The saved runs to compare with become the arguments.
set --
if [ "$base" ]; then
	set -- "$output/run-base.km"
else
	ifs=$IFS
	IFS=$newline
	for file in $baseline; do
		[ -f "$file" ] || misuse "there is no baseline $file"
		set -- "$@" "$file"
	done
	IFS=$ifs
	[ "$#" -gt 0 ] || [ -z "$baseline" ] || misuse "KERNMARK_BASELINE names no file"
fi
saved_base=${1:-}

# report FORMAT OPTION...: what was measured, judged and printed in this format. Words of a variable
# are separate arguments.
# shellcheck disable=SC2086
report()
{
	format=$1
	shift
	if [ -z "$saved_base" ]; then
		"$program" show "$saved_new" "--format=$format" ${budget:+"--budget=$budget"}
	else
		"$program" compare "$@" "--format=$format" ${margin:+"--margin=$margin"} \
			${fail_on:+"--fail-on=$fail_on"} ${budget:+"--budget=$budget"} $judging
	fi
}

measured=0
# shellcheck disable=SC2086
if [ "$base" ]; then
	"$program" ab $effort --output="$output/run" -- "$base" "$new" $filter > /dev/null || measured=$?
else
	"$program" run $effort --output="$saved_new" --on="$new" -- $filter > /dev/null || measured=$?
fi

judged=0
if [ -f "$saved_new" ] && { [ -z "$saved_base" ] || [ -f "$saved_base" ]; } && [ "$measured" -ne 130 ]; then
	if [ "$saved_base" ]; then
		shift
		for file; do
			shift
			set -- "$@" "--base=$file"
		done
		set -- "$saved_base" "$saved_new" "$@"
	fi
	report table "$@" || judged=$?
	report json "$@" > "$output/report.json" 2> /dev/null || :
	report junit "$@" > "$output/junit.xml" 2> /dev/null || :
	if [ "$saved_base" ] && [ "${GITHUB_STEP_SUMMARY:-}" ]; then
		report md "$@" "--summary=$GITHUB_STEP_SUMMARY" > "$output/report.md" 2> /dev/null || :
	else
		report md "$@" > "$output/report.md" 2> /dev/null || :
		{
			echo "## kernmark"
			echo
			cat "$output/report.md"
		} | summarise
	fi
fi

{
	echo "results=$output"
	[ ! -f "$saved_base" ] || echo "base-run=$saved_base"
	[ ! -f "$saved_new" ] || echo "new-run=$saved_new"
} >> "${GITHUB_OUTPUT:-/dev/null}"
echo "results: $output"
if [ "$measured" -ne 0 ]; then
	echo "**kernmark could not measure everything (exit status $measured): see the log.**" | summarise
	finish "$measured"
fi
finish "$judged"
