#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""tools/picture.py TITLE < CAPTURE > SVG: draws the contents of a terminal.

CAPTURE is text with the escape sequences for bold, dim and the eight colours,
as `tmux capture-pane -e -p` prints it. Empty lines at the end are left out.
Nothing else is changed.
"""

import re
import sys
from xml.sax.saxutils import escape

FONT = 14
ADVANCE = 8.43  # width of a character, about 0.602 of the font size
LINE = 19
MARGIN = 16
BAR = 30
BACKGROUND, TEXT, DIM, BOLD = "#16181d", "#c8ccd4", "#7f8691", "#ffffff"
COLOURS = "#6b717d #e8716d #8fbf6f #d9b55b #6ca5e0 #c08bd6 #5fb9bd #c8ccd4".split()
BLOCKS = "▏▎▍▌▋▊▉█"  # one to eight eighths of a character
ESCAPE = re.compile("\x1b\\[([0-9;]*)m")


def pieces(line, codes):
    """Yields the words and bars of a line, each with its column and its codes.

    Words that are separated by a single space stay together.
    """
    column = 0
    for part in re.findall("\x1b[^m]*m|[^\x1b]+", line):
        match = ESCAPE.fullmatch(part)
        if match is None and part[0] == "\x1b":
            sys.exit(f"tools/picture.py: the escape sequence {part!r} is not supported; add it")
        if match is None:
            for word in re.finditer(f"[{BLOCKS}]+|[^ {BLOCKS}]+(?: [^ {BLOCKS}]+)*", part):
                yield column + word.start(), word.group(), codes
            column += len(part)
        else:
            apply_sequence(codes, match.group(1))


def apply_sequence(codes, sequence):
    """Updates the set of active codes by one escape sequence."""
    for code in (int(part or 0) for part in sequence.split(";")):
        if code == 0:
            codes.clear()
        elif code in (1, 2) or 30 <= code <= 37:
            codes.add(code)
        elif code == 22:
            codes -= {1, 2}
        elif code == 39:
            codes -= set(range(30, 38))
        elif code == 49:
            pass  # default background
        else:
            sys.exit(f"tools/picture.py: the escape sequence {sequence!r} is not supported; add it")


def attributes_for(codes):
    """The SVG attributes for a set of codes."""
    ink = BOLD if 1 in codes else DIM if 2 in codes else TEXT
    for code in codes & set(range(30, 38)):
        ink = COLOURS[code - 30]
    return f'fill="{ink}"' + (' font-weight="bold"' if 1 in codes else "")


def element(x, y, text, attributes):
    """A bar, or words with a textLength that keeps the columns in every font."""
    if text[0] in BLOCKS:
        length = sum(BLOCKS.index(block) + 1 for block in text) / 8 * ADVANCE
        return (f'<rect x="{x:.1f}" y="{y - LINE + 6}" width="{length:.1f}" '
                f'height="{LINE - 3}" {attributes}/>')
    return (f'<text x="{x:.1f}" y="{y}" textLength="{len(text) * ADVANCE:.1f}" '
            f'{attributes}>{escape(text)}</text>')


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = sys.stdin.read().rstrip().split("\n")
    columns = max(len(ESCAPE.sub("", line).rstrip()) for line in lines)
    width = round(columns * ADVANCE + 2 * MARGIN)
    height = BAR + len(lines) * LINE + MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
          f'width="{width}" height="{height}" font-size="{FONT}" '
          'font-family="ui-monospace, \'SFMono-Regular\', Menlo, \'DejaVu Sans Mono\', '
          'Consolas, monospace">')
    print(f"<title>{escape(sys.argv[1])}</title>")
    print(f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>')
    codes = set()
    for number, line in enumerate(lines):
        y = BAR + number * LINE
        for column, text, held in pieces(line, codes):
            print(element(MARGIN + column * ADVANCE, y, text, attributes_for(held)))
    print("</svg>")


main()
