#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""tools/linux-pages.py measure PAGE DATA [SPEC...]: measures what a page is about.
tools/linux-pages.py where DATA: measures in which functions the greatest changes of the
page `releases` are, and replaces only that part of DATA.
tools/linux-pages.py page PAGE DATA: prints the page.
tools/linux-pages.py picture DATA: prints the picture of the page `releases` (SVG).

PAGE is releases or exact. DATA is the page's data, doc/linux-PAGE.json. It is
written from saved runs of kernmark, which stay in target/linux-PAGE. The program
is the one in KERNMARK, or target/release/kernmark. `page` and `picture` only read
DATA, so the same data give the same page everywhere.

`measure exact DATA A B` measures the kernels in the folders A and B, which differ
by one line, and replaces only that part of DATA. LINE says what the line is.
"""

import json
import math
import os
import re
import subprocess
import sys
from xml.sax.saxutils import escape

BASE = "linux-vm:tcg,agent=user"
# A busy machine may let an emulator wait long; the figures do not depend on it.
RUN = ["--samples", "100", "--case-timeout", "600"]
OFF = ",cmdline=mitigations=off"
# With paths a run has fewer samples, in an odd number, so that the median is that of a sample,
# and two boots: one cannot show that figures are exact.
WHY_SAMPLES = 21
WHY = ["--why", "--samples", str(WHY_SAMPLES), "--runs", "2", "--case-timeout", "600"]

# The kernel of each suite, which the tables show, and one of each series between
# them, which says in which release a cost changed.
SUITES = ["bullseye", "bookworm", "trixie", "sid", "experimental"]
BETWEEN = ["6.16", "6.17", "6.18", "6.19", "7.0", "7.1"]

# The variants of the page `exact`, in the tables that show them.
VARIANTS = [
    ("Boot line", ["cmdline=mitigations=off", "cmdline=psi=0", "cmdline=audit=0", "cmdline=init_on_alloc=0"]),
    ("Preemption", ["cmdline=preempt=none", "cmdline=preempt=voluntary", "cmdline=preempt=full", "kernel=rt"]),
    ("Another kernel, and a seccomp filter", ["kernel=backports", "seccomp=1", "seccomp=300"]),
]

# What the figures of a table do not say themselves.
NOTES = {
    "Another kernel, and a seccomp filter": "Since Linux 5.11 the kernel remembers for which calls a filter always "
    "gives the same permission. A filter that looks only at the number of a call then costs the same whatever its "
    "length. Before that, each call goes through all rules: compare `kernel=bullseye,seccomp=1` and "
    "`kernel=bullseye,seccomp=300`.",
}

# What the picture names: everyday operations.
NAMED = {
    "syscall.null": "system call",
    "pipe.read.64": "pipe read, 64 bytes",
    "semaphore.take.blocking.u_to_u": "semaphore take, blocking",
    "mmu.map": "map a page",
    "mmu.unmap": "unmap a page",
    "fault.cow": "copy-on-write fault",
    "channel.create": "create a channel",
    "thread.create.user.from.user": "create a thread",
}

# How many changes of each step have the functions in which they are.
MOST_WHERE = 10

# A change below half an instruction of an operation is none: a batch has a loop.
SMALLEST = 0.5


# Measuring


def kernmark(*arguments):
    """What the tool prints. Its status is not 0 if any metric has no number; the page counts them."""
    program = os.environ.get("KERNMARK", "target/release/kernmark")
    return subprocess.run([program, *arguments], check=False, stdout=subprocess.PIPE, text=True).stdout


def saved(path):
    """A saved run."""
    return json.loads(kernmark("show", "--format", "json", path))


def whole(run):
    return all(session["complete"] for session in run["target"]["sessions"])


def recorded(spec, path, options):
    """The run of a target that is saved in path, measured first if it is not there."""
    # What is there may be of a measurement that was interrupted.
    if not os.path.exists(path) or not whole(saved(path)):
        print(f"measuring {spec}", file=sys.stderr)
        kernmark("run", "--on", spec, *options, "-o", path)
    if not os.path.exists(path) or not whole(run := saved(path)):
        sys.exit(f"{spec} was not measured to its end")
    return run


def file_of(spec, folder, ending=".km"):
    return os.path.join(folder, re.sub("[^A-Za-z0-9.=_-]+", "_", spec) + ending)


def measured(spec, folder, boots):
    """Measures a target: its column, and the median of each metric or None."""
    run = recorded(spec, file_of(spec, folder), [*RUN, "--runs", str(boots)])
    session = run["target"]["sessions"][0]["facts"]
    differing = [metric["id"] for metric in run["metrics"] if len(set(metric["replicate_medians"])) > 1]
    if differing:
        print(f"{spec}: two boots differ in {', '.join(differing)}", file=sys.stderr)
    settings = run["host"].get("kernel_configuration", "")
    compiler = re.search('CC_VERSION_TEXT="([^"]*)"', settings)
    column = {
        "spec": spec,
        "kernel": session["kernel"],
        "kernel_compiler": compiler.group(1) if compiler else None,
        "compiler": f"{session['compiler']} {session['flags']}",
        "emulator": run["host"]["emulator"],
        "tool": run["host"]["tool"],
        "boots": len(run["target"]["sessions"]),
        "differing": len(differing),
    }
    return column, {m["id"]: m["median"] for m in run["metrics"]}


def measure_all(specs, folder):
    """Data of several targets."""
    os.makedirs(folder, exist_ok=True)
    columns, all_medians = [], []
    for spec in specs:
        # The second boot of the first column verifies that boots are equal.
        column, medians = measured(spec, folder, 1 if columns else 2)
        columns.append(column)
        all_medians.append(medians)
    ids = list(dict.fromkeys(metric for medians in all_medians for metric in medians))
    rows = {metric: [medians.get(metric) for medians in all_medians] for metric in ids}
    return {"columns": columns, "metrics": rows}


def where(data, folder):
    """In which functions the greatest changes are, of each two releases that the tables show."""
    os.makedirs(folder, exist_ok=True)
    suites = suites_of(data)
    paths = []
    for index, _ in suites:
        column = data["columns"][index]
        path = file_of(column["spec"], folder, "-why.km")
        run = recorded(column["spec"], path, WHY)
        kernel = run["target"]["sessions"][0]["facts"]["kernel"]
        if kernel != column["kernel"]:
            sys.exit(f"{column['spec']} is {kernel} now: measure the whole page again")
        paths.append(path)
    lines = []
    for (one, base), (other, new) in zip(suites, suites[1:]):
        changes = greatest(data, one, other)[:MOST_WHERE]
        compared = kernmark("compare", "--across", "--format", "json", *paths[:2])
        found = {metric["id"]: metric for metric in json.loads(compared)["metrics"]}
        paths.pop(0)
        for _, metric, more in changes:
            change = found[metric]
            why = change["why"]
            if not why:
                sys.exit(f"{metric}: the two runs say nothing about where it changed")
            lines.append({
                "base": base, "new": new, "metric": metric, "more": more,
                "before": change["base"]["median"], "after": change["new"]["median"],
                "where": why["text"] or f"unknown: {why['reason']}",
            })
    return lines


def write(path, data):
    """Writes data with one line for each column and metric."""
    def lines(value, indent):
        if isinstance(value, dict) and any(isinstance(v, (dict, list)) for v in value.values()):
            inner = ",\n".join(f"{indent} {json.dumps(k)}: {lines(v, indent + ' ')}" for k, v in value.items())
            return f"{{\n{inner}\n{indent}}}"
        if isinstance(value, list) and any(isinstance(v, dict) for v in value):
            inner = ",\n".join(f"{indent} {json.dumps(v)}" for v in value)
            return f"[\n{inner}\n{indent}]"
        return json.dumps(value)

    with open(path, "w", encoding="ascii") as file:
        file.write(lines(data, "") + "\n")


def measure(page, path, folders):
    folder = f"target/linux-{page}"
    if page == "releases":
        kernels = SUITES + [kernel + OFF for kernel in SUITES] + BETWEEN
        data = measure_all([f"{BASE},kernel={kernel}" for kernel in kernels], folder)
    elif folders:
        data = read(path)
        data["line"] = measure_all([f"{BASE},kernel={kernel}" for kernel in folders], folder)
        data["line"]["what"] = os.environ["LINE"]
        # The folders are somebody's; the page needs none of them.
        for column, name in zip(data["line"]["columns"], ["A", "B"]):
            column["spec"] = f"{BASE},kernel=./{name}"
    else:
        old = read(path) if os.path.exists(path) else {}
        specs = [BASE] + [f"{BASE},{variant}" for _, variants in VARIANTS for variant in variants]
        data = measure_all(specs, folder)
        if "line" in old:
            data["line"] = old["line"]
    write(path, data)


# From here on nothing but data is read.


def read(path):
    with open(path, encoding="ascii") as file:
        return json.load(file)


def version(column):
    """The version of a column's kernel, as its developers write it."""
    package = re.search(r"Debian (\S+)", column["kernel"])
    if not package:
        return column["kernel"].split()[1]
    return package.group(1).rsplit("-", 1)[0].replace("~", "-")


def ordered(text):
    """A key that orders versions; a release candidate comes before its release."""
    number, _, candidate = text.partition("-rc")
    return [int(part) for part in number.split(".")], not candidate, candidate


def columns_of(data, cmdline):
    """The columns with this command line: index and version, in ascending order."""
    found = [(index, version(column)) for index, column in enumerate(data["columns"])
             if column["spec"].endswith(OFF) == (cmdline == OFF)]
    return sorted(found, key=lambda column: ordered(column[1]))


def is_suite(column):
    kernel = re.search("kernel=([^,]*)", column["spec"])
    return kernel is not None and kernel.group(1) in SUITES


def suites_of(data):
    """The columns of the tables."""
    return [column for column in columns_of(data, "") if is_suite(data["columns"][column[0]])]


def number(value):
    """A count of instructions: whole, or with a decimal where it is small."""
    if value is None:
        return "–"
    return f"{value:,.1f}" if value < 10 and value != int(value) else f"{round(value):,}"


def signed(value):
    return ("+" if value > 0 else "−") + number(abs(value))


def per_cent(ratio):
    """A ratio as a change in per cent."""
    change = (ratio - 1) * 100
    text = f"{abs(change):.0f}" if abs(change) >= 100 else f"{abs(change):.1f}"
    return "0" if float(text) == 0 else ("+" if change > 0 else "−") + text


def geometric_mean(ratios):
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def shared(data, indexes):
    """The metrics that have a number above 0 in all of these columns."""
    return [metric for metric, values in data["metrics"].items() if all(values[i] for i in indexes)]


def mean_ratio(data, one, other):
    return geometric_mean([data["metrics"][m][other] / data["metrics"][m][one] for m in shared(data, [one, other])])


def table(head, rows):
    """A table whose first column is text and whose others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def boots(data):
    """What the boots of the same column had in common."""
    twice = [column for column in data["columns"] if column["boots"] > 1]
    differing = sum(column["differing"] for column in twice)
    equal = "all medians equal" if differing == 0 else f"all but {differing} medians equal"
    return f"one boot of each column, and a second one of {len(twice)}, with {equal}"


def spoken(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def named(metric):
    return f"`{metric}`"


def entry(metric, more):
    """A metric with the number of others of its family."""
    return named(metric) + (f" and {more} more" if more else "")


def family(metric):
    """A metric without its sizes and counts."""
    return re.sub(r"(\.\d+)+$", "", metric)


def by_family(changes):
    """Changes in their order, with one for each family and how many others follow it."""
    families = {}
    for ratio, metric in changes:
        families.setdefault(family(metric), []).append((ratio, metric))
    return [(*alike[0], len(alike) - 1) for alike in families.values()]


def by_change(data, one, other, metrics):
    """Metrics with their change from one column to another, the largest increase first."""
    values = data["metrics"]
    changes = [(values[m][other] / values[m][one], m) for m in metrics
               if abs(values[m][other] - values[m][one]) >= SMALLEST]
    return sorted(changes, key=lambda change: (-change[0], change[1]))


def greatest(data, one, other):
    """The changes from one column to another by family, the greatest first, up or down."""
    changes = by_change(data, one, other, shared(data, [one, other]))
    dearer = by_family([c for c in changes if c[0] > 1])
    cheaper = by_family([c for c in changes if c[0] < 1][::-1])
    return sorted(dearer + cheaper, key=lambda change: -abs(math.log(change[0])))


def releases_table(data, columns):
    """Every metric by release, sorted by the change from the first to the last."""
    indexes = [index for index, _ in columns]
    first, last = indexes[0], indexes[-1]

    def change(metric):
        values = data["metrics"][metric]
        return values[last] / values[first] if values[first] and values[last] else None

    metrics = [m for m, values in data["metrics"].items() if any(values[i] is not None for i in indexes)]
    metrics.sort(key=lambda m: (change(m) is None, -(change(m) or 0), m))
    rows = []
    for metric in metrics:
        ratio = change(metric)
        rows.append([named(metric), *(number(data["metrics"][metric][i]) for i in indexes),
                     per_cent(ratio) if ratio else "–"])
    return table(["instructions, median"] + [name for _, name in columns] + ["%"], rows)


def step(data, one, other, count=10):
    """What changed most between two releases."""
    metrics = shared(data, [one[0], other[0]])
    changes = by_change(data, one[0], other[0], metrics)
    dearer = [c for c in changes if c[0] > 1]
    cheaper = [c for c in changes if c[0] < 1]

    def rows(some):
        return [[entry(m, more), number(data["metrics"][m][one[0]]),
                 number(data["metrics"][m][other[0]]), per_cent(ratio)] for ratio, m, more in some]

    head = [one[1], other[1], "%"]
    text = [f"### {one[1]} to {other[1]}", ""]
    text.append(f"{len(dearer)} metrics became dearer, {len(cheaper)} cheaper, and "
                f"{len(metrics) - len(changes)} did not change. "
                f"The geometric mean of all is {per_cent(mean_ratio(data, one[0], other[0]))} %.")
    for what, some in [("dearer", by_family(dearer)[:count]), ("cheaper", by_family(cheaper[::-1])[:count])]:
        if some:
            text += ["", table([what] + head, rows(some))]
    lines = [line for line in data.get("where", []) if (line["base"], line["new"]) == (one[1], other[1])]
    if lines:
        text += ["", where_table(lines, *head)]
    return "\n".join(text)


def where_text(lines):
    apart = next((line for line in lines if "without repetitions" in line["where"]), None)
    example = ""
    if apart:
        total, once = re.search("^([^ :]+).*; ([^ ]+) without repetitions", minus(apart["where"])).groups()
        example = (f" An example: from {apart['base']} to {apart['new']}, {named(apart['metric'])} changes by {total}, "
                   f"and by {once} without repetitions.")
    return f"""The third table of a step says where the ten largest changes are: which functions execute more or fewer instructions in the median sample. The sum stands first, then the functions that differ most, then the sum of the others. The figures are from runs with `--why` and {WHY_SAMPLES} samples. A median of {WHY_SAMPLES} samples differs from one of 100 where the cost varies from sample to sample; the change can then even have the other sign. The names are those of each kernel's `/proc/kallsyms`, without source files, so a function that was inlined or renamed looks like one that is gone and one that is new. A string instruction such as the `rep stosb` of `memset_erms` counts once for each repetition. Where repetitions changed, the line also has the sum without them.{example}

```sh
kernmark run --why --on linux-vm:tcg,agent=user,kernel=bullseye --samples {WHY_SAMPLES} -o before.km
kernmark run --why --on linux-vm:tcg,agent=user,kernel=bookworm --samples {WHY_SAMPLES} -o after.km
kernmark compare --across before.km after.km
```

[Why](why.md) explains the traces."""


def minus(text):
    """A sentence with signs as the page has them."""
    return re.sub(r"(?<![^ (])-(?=\d)", "−", text)


def where_table(lines, *head):
    """In which functions the greatest changes of a step are."""
    rows = []
    for line in lines:
        before, after = line["before"], line["after"]
        text = minus(line["where"]).replace("_", "\\_")
        rows.append(f"| {entry(line['metric'], line['more'])} | {number(before)} | {number(after)} "
                    f"| {per_cent(after / before)} | {text} |")
    return "\n".join(["| where | " + " | ".join(head) + " | functions |", "| --- | ---: | ---: | ---: | --- |", *rows])


def in_which_release(data, columns, suites):
    """The largest change of any two neighbours, for the metrics whose cost changed by a quarter."""
    rows = []
    for one, other in zip(suites, suites[1:]):
        path = columns[columns.index(one):columns.index(other) + 1]
        if len(path) < 3:
            continue
        metrics = shared(data, [index for index, _ in path])
        for _, metric in by_change(data, one[0], other[0], metrics):
            values = data["metrics"][metric]
            total = math.log(values[other[0]] / values[one[0]])
            if abs(total) < math.log(1.25):
                continue
            steps = [(math.log(values[b[0]] / values[a[0]]), a, b) for a, b in zip(path, path[1:])]
            largest, a, b = max(steps, key=lambda s: s[0] * math.copysign(1, total))
            if largest / total > 0.5:
                rows.append((ordered(b[1]), -math.exp(total), [
                    named(metric), number(values[one[0]]), number(values[other[0]]),
                    f"{series(a[1])} → {series(b[1])}", per_cent(math.exp(largest))]))
    rows.sort(key=lambda row: row[:2])
    return [row for _, _, row in rows]


def series(text):
    return ".".join(text.split(".")[:2])


def sources(data, columns):
    rows = []
    for index, name in columns:
        column = data["columns"][index]
        kernel = re.search("kernel=([^,]*)", column["spec"]).group(1)
        numbers = sum(values[index] is not None for values in data["metrics"].values())
        compiler = column["kernel_compiler"] or "not known"
        rows.append([f"`kernel={kernel}`", name, column["kernel"].split()[1], compiler.replace("_", "\\_"), str(numbers)])
    return rows


def text_table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def releases_page(data):
    every = columns_of(data, "")
    suites = suites_of(data)
    without = columns_of(data, OFF)
    first = suites[0][0]
    common = shared(data, [index for index, _ in suites])
    made = data["columns"][first]

    def means(columns, base):
        return [f"{geometric_mean([data['metrics'][m][i] / data['metrics'][m][base] for m in common]):.3f}"
                for i, _ in columns]

    # The same kernel with and without mitigations.
    pairs = [(one, next(index for index, name in without if name == one[1])) for one in suites]
    common_both = shared(data, [index for index, _ in suites + without])
    off = []
    for metric in ["syscall.null", *(m for m in NAMED if m != "syscall.null")]:
        if all(data["metrics"].get(metric, [None] * len(data["columns"]))[i] for (i, _), j in pairs for i in (i, j)):
            off.append([named(metric), *(f"{number(data['metrics'][metric][i])} → {number(data['metrics'][metric][j])}"
                                         for (i, _), j in pairs)])
    share = [per_cent(geometric_mean([data["metrics"][m][j] / data["metrics"][m][i] for m in common_both])) + " %"
             for (i, _), j in pairs]

    everyday = [[named(m), *(number(data["metrics"][m][i]) for i, _ in suites)] for m in NAMED if m in common]
    everyday.append([f"geometric mean of {len(common)} metrics, {suites[0][1]} = 1", *means(suites, first)])
    steps = "\n\n".join(step(data, one, other) for one, other in zip(suites, suites[1:]))
    explained = f"\n\n{where_text(data['where'])}" if "where" in data else ""
    narrowed = in_which_release(data, every, suites)
    parts = [f"""# Linux, release by release

What each primitive costs in the Linux kernels that Debian carries today: the instructions between two time stamps in a process, counted by an emulator. The figures are exact. They are the same on every machine, so every difference is a difference between the kernels. This page is made by `make linux-releases`; `doc/linux-releases.json` has its data.

![The cost of each metric from one release to the next, relative to the first](linux-releases.svg)

{table(["instructions, median"] + [name for _, name in suites], everyday)}

An instruction count is not a time. It shows neither cache and TLB misses nor what a mitigation stalls. It shows how much work a kernel does for the same operation.

## How to repeat it

```sh
kernmark run --on linux-vm:tcg,agent=user,kernel=trixie --samples 100
kernmark matrix --on linux-vm:tcg,agent=user --variant kernel=bullseye --variant kernel=sid --samples 100
make linux-releases
```

Each kernel takes about half a minute of CPU. {made["tool"]}, {made["emulator"].split(" (")[0]}, Skylake-Server, one CPU; agent: {made["compiler"]}; 100 samples, {boots(data)}. The kernels are Debian's for virtual machines:

{text_table(["option", "version", "release", "compiler", "metrics"], sources(data, every))}

A kernel's configuration is Debian's of its time, and its compiler too: both are part of a difference. `kernel=VERSION` measures any other kernel of Debian's ([Linux in a virtual machine](linux-kernel.md#linux-vm)), and `kernel=FOLDER` one of your own.

## Without mitigations

`cmdline=mitigations=off` takes this off the geometric mean of {len(common_both)} metrics: {spoken([f"{change} ({name})" for change, (_, name) in zip(share, suites)])}. Each cell has the cost with and without mitigations.

{table(["instructions, median"] + [name for _, name in suites], off)}

## What each release changed

For each step, the ten largest increases and decreases in per cent. Metrics that differ only in sizes and counts share a row, which has the figures of the one that changed most.{explained}

{steps}"""]
    if narrowed:
        parts.append(f"""## In which release

Debian's backports have the releases between {suites[2][1]} and {suites[3][1]}. For every metric whose cost changed by a quarter or more between two of the kernels above, this is the one release that made most of that change.

{text_table(["metric", "before", "after", "release", "% there"], narrowed)}""")
    parts.append(f"""## Every metric

Sorted by the change from {suites[0][1]} to {suites[-1][1]}. A dash means that there is no number: the case was skipped, or a proof failed.

{releases_table(data, suites)}

## Every metric, without mitigations

{releases_table(data, without)}""")
    return "\n\n".join(parts)


# The page `exact`


def changed(data, index, base=0):
    metrics = shared(data, [base, index])
    return metrics, by_change(data, base, index, metrics)


def object_of(metric):
    return metric.split(".")[0]


def dominant(data, index, changes):
    """Which objects changed most: each with the geometric mean of its metrics that changed."""
    groups = {}
    for ratio, metric in changes:
        groups.setdefault(object_of(metric), []).append(ratio)
    means = [(geometric_mean(ratios), len(ratios), name) for name, ratios in groups.items() if len(ratios) > 1]
    means.sort(key=lambda group: -abs(math.log(group[0])))
    return [f"`{name}` {per_cent(mean)} % ({count} metrics)" for mean, count, name in means[:4]]


def variant_name(column):
    spec = column["spec"][len(BASE) + 1:]
    return spec.removeprefix("cmdline=")


def cell(value, base):
    if value is None or base is None:
        return "–"
    if abs(value - base) < SMALLEST:
        return ""
    return f"{signed(value - base)} ({per_cent(value / base)} %)" if base else signed(value)


def exact_section(data, title, indexes):
    text = [f"## {title}", ""]
    for index in indexes:
        metrics, changes = changed(data, index)
        name = named(variant_name(data["columns"][index]))
        sentence = f"- {name}: none of {len(metrics)} metrics changes."
        if changes:
            sentence = (f"- {name}: {len(changes)} of {len(metrics)} metrics change, "
                        f"the geometric mean of all by {per_cent(mean_ratio(data, 0, index))} %.")
            up = [c for c in changes if c[0] > 1]
            down = [c for c in changes if c[0] < 1]
            if up:
                sentence += f" The largest increase is {named(up[0][1])}, {per_cent(up[0][0])} %"
                sentence += f"; {len(up)} increase." if down else "."
            if down:
                sentence += f" The largest decrease is {named(down[-1][1])}, {per_cent(down[-1][0])} %"
                sentence += f"; {len(down)} decrease." if up else "."
            groups = dominant(data, index, changes)
            if groups:
                sentence += f" By object: {spoken(groups)}."
        text.append(sentence)
    rows = []
    same = 0
    for metric, values in data["metrics"].items():
        if values[0] is None:
            continue
        cells = [cell(values[i], values[0]) for i in indexes]
        if any(c not in ("", "–") for c in cells):
            rows.append([named(metric), number(values[0]), *(c or "0" for c in cells)])
        else:
            same += 1
    text += ["", table(["instructions, median", "default"] + [variant_name(data["columns"][i]) for i in indexes], rows)]
    if same:
        cost = "metric costs" if same == 1 else "metrics cost"
        text += ["", f"{same} more {cost} the same in all of these, to half an instruction."]
    if title in NOTES:
        text += ["", NOTES[title]]
    return "\n".join(text)


def line_section(data):
    """What a kernel built twice shows."""
    line = data["line"]
    metrics, changes = changed(line, 1)
    rows = [[named(m), number(line["metrics"][m][0]), number(line["metrics"][m][1]),
             signed(line["metrics"][m][1] - line["metrics"][m][0])] for _, m in changes]
    kernel = line["columns"][0]["kernel"].split()[1]
    return f"""## One line of source

Linux {kernel} from Debian's `linux-source`, built twice with one difference: {line["what"]}. {len(changes)} of {len(metrics)} metrics differ:

{table(["instructions, median", "A", "B", "difference"], rows)}

The other {len(metrics) - len(changes)} are equal. An operation that runs the line differs by exactly what it adds, each time that it runs it. Operations that allocate, or last long enough for ticks of the timer, can differ too: what ran before took longer, so ticks and free pages are in other places."""


def exact_page(data):
    base = data["columns"][0]
    index = {column["spec"]: i for i, column in enumerate(data["columns"])}
    sections = [exact_section(data, title, [index[f"{BASE},{v}"] for v in variants]) for title, variants in VARIANTS]
    numbers = sum(values[0] is not None for values in data["metrics"].values())
    if "line" in data:
        sections.append(line_section(data))
    kernels = [[named(variant_name(c)), c["kernel"].split(" #")[0].removeprefix("Linux "), version(c)]
               for c in data["columns"] if "kernel=" in c["spec"]]
    kernels.insert(0, ["default", base["kernel"].split(" #")[0].removeprefix("Linux "), version(base)])
    return f"""# Linux to the instruction

What a boot option, a preemption model, a filter or another kernel changes, for each of {numbers} metrics of a process on Linux. An emulator counts the instructions between two time stamps. The figures are exact, the same on every machine, so every difference is real. This page is made by `make linux-exact`; `doc/linux-exact.json` has its data. [Linux, release by release](linux-releases.md) compares versions.

## How to repeat it

```sh
kernmark run --on linux-vm:tcg,agent=user --samples 100
kernmark matrix --on linux-vm:tcg,agent=user --samples 100 \\
    --variant default --variant cmdline=mitigations=off --variant kernel=rt --variant seccomp=300
make linux-exact
```

For a kernel of your own, name the folder in which it is built, and compare two of them:

```sh
kernmark run --on linux-vm:tcg,agent=user,kernel=../linux --samples 100 -o before.km
kernmark run --on linux-vm:tcg,agent=user,kernel=../linux --samples 100 -o after.km
kernmark compare before.km after.km
```

A small configuration needs `CONFIG_BINFMT_ELF`, `CONFIG_BLK_DEV_INITRD`, `CONFIG_X86_IOPL_IOPERM` (the records leave through an I/O port), `CONFIG_PROC_FS`, `CONFIG_SYSFS`, `CONFIG_DEVTMPFS`, `CONFIG_SHMEM`, `CONFIG_TMPFS`, and `CONFIG_SERIAL_8250_CONSOLE` to say what is wrong.

{base["tool"]}, {base["emulator"].split(" (")[0]}, Skylake-Server, one CPU; agent: {base["compiler"]}; 100 samples, {boots(data)}.

{text_table(["variant", "release", "version"], kernels)}

A change in a table is in instructions, and in per cent of the default. A dash means that there is no number. Differences of a few instructions also come from where the compiler and the linker put things, or from what ran before.

""" + "\n\n".join(sections)


# The picture

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 52, 262, 62, 56
BACKGROUND, TEXT, DIM, GRID, MEAN = "#16181d", "#c8ccd4", "#7f8691", "#2c3038", "#ffffff"
INKS = "#e8716d #d9b55b #8fbf6f #5fb9bd #6ca5e0 #c08bd6 #e59a5c #b5bd68".split()


def spread(wanted, gap):
    """Places as near as possible to those wanted, at least a gap apart, in their order."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Neighbours that are too close move together, as one block around its middle.
    blocks = []
    for i in order:
        blocks.append([[i], wanted[i]])
        while len(blocks) > 1:
            (upper, above), (lower, below) = blocks[-2], blocks[-1]
            if below - above >= gap * (len(upper) + len(lower)) / 2:
                break
            members = upper + lower
            blocks[-2:] = [[members, (above * len(upper) + below * len(lower)) / len(members)]]
    places = [0.0] * len(wanted)
    for members, middle in blocks:
        for position, i in enumerate(members):
            places[i] = middle + (position - (len(members) - 1) / 2) * gap
    return places


def releases_picture(data):
    columns = suites_of(data)
    indexes = [index for index, _ in columns]
    common = shared(data, indexes)
    named_here = [m for m in NAMED if m in common]
    ratios = {m: [data["metrics"][m][i] / data["metrics"][m][indexes[0]] for i in indexes] for m in common}
    mean = [geometric_mean([ratios[m][k] for m in common]) for k in range(len(columns))]
    ends = [r for m in named_here for r in ratios[m]]
    low, high = min(0.3, *ends) * 0.9, max(3.0, *ends) * 1.1

    def x(k):
        return LEFT + (WIDTH - LEFT - RIGHT) * k / (len(columns) - 1)

    def y(ratio):
        place = math.log(min(max(ratio, low), high) / low) / math.log(high / low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * place

    def line(points, attributes):
        path = " ".join(f"{x(k):.1f},{y(r):.1f}" for k, r in enumerate(points))
        return f'<polyline points="{path}" fill="none" {attributes}/>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-size="13" font-family="system-ui, -apple-system, \'Segoe UI\', '
           '\'DejaVu Sans\', sans-serif">',
           "<title>What kernel operations cost in each Linux release</title>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{BACKGROUND}"/>',
           f'<text x="20" y="28" font-size="16" font-weight="bold" fill="{MEAN}">'
           f"Linux {series(columns[0][1])} to {columns[-1][1]}: instructions per operation, "
           f"relative to {columns[0][1]}</text>",
           f'<text x="20" y="47" fill="{DIM}">{len(common)} metrics of a process, each a thin line; exact counts '
           "in QEMU, Debian's kernels</text>"]
    for tick in [0.25, 0.5, 1, 2, 4, 8]:
        if low <= tick <= high:
            out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
                       f'stroke="{GRID}" stroke-width="{2 if tick == 1 else 1}"/>')
            out.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="{DIM}">{tick:g}×</text>')
    for k, (index, name) in enumerate(columns):
        out.append(f'<text x="{x(k):.1f}" y="{HEIGHT - BOTTOM + 24}" text-anchor="middle" fill="{TEXT}">{name}</text>')
        suite = re.search("kernel=([^,]*)", data["columns"][index]["spec"]).group(1)
        out.append(f'<text x="{x(k):.1f}" y="{HEIGHT - BOTTOM + 40}" text-anchor="middle" fill="{DIM}" '
                   f'font-size="12">{suite}</text>')
    for m in common:
        if m not in named_here:
            out.append(line(ratios[m], f'stroke="{DIM}" stroke-opacity="0.22"'))
    labels = [("geometric mean", f"{mean[-1]:.2f}×", mean, MEAN, 4)]
    for m, ink in zip(named_here, INKS):
        first, last = data["metrics"][m][indexes[0]], data["metrics"][m][indexes[-1]]
        labels.append((NAMED[m], f"{number(first)} → {number(last)}", ratios[m], ink, 2.2))
    # The mean is drawn last, above the others.
    for _, _, points, ink, width in reversed(labels):
        out.append(line(points, f'stroke="{ink}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="round"'))
    places = spread([y(points[-1]) for _, _, points, _, _ in labels], 34)
    for (name, figures, points, ink, _), place in zip(labels, places):
        end = WIDTH - RIGHT
        out.append(f'<line x1="{end + 3}" y1="{y(points[-1]):.1f}" x2="{end + 20}" y2="{place:.1f}" stroke="{ink}" '
                   'stroke-opacity="0.6"/>')
        out.append(f'<text x="{end + 25}" y="{place - 2:.1f}" fill="{ink}" font-weight="bold">{escape(name)}</text>')
        out.append(f'<text x="{end + 25}" y="{place + 13:.1f}" fill="{TEXT}">{escape(figures)}</text>')
    return "\n".join(out + ["</svg>"])


PAGES = {"releases": releases_page, "exact": exact_page}


def main(arguments):
    match arguments:
        case ["measure", ("releases" | "exact") as page, path, *folders] if len(folders) in (0, 2):
            measure(page, path, folders)
        case ["where", path]:
            data = read(path)
            data["where"] = where(data, "target/linux-releases")
            write(path, data)
        case ["page", ("releases" | "exact") as page, path]:
            print(PAGES[page](read(path)))
        case ["picture", path]:
            print(releases_picture(read(path)))
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
