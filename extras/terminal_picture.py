"""Draws a session in a terminal, as README.md shows it, from what the commands print.

usage: terminal_picture.py KITH PICTURE.svg [--check]    in the root of a clone

--check compares the picture with what the commands print now, instead of writing it.
"""
import html
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# A command, and the line with which the part of its output begins that is shown.
COMMANDS = (
    ("head -n 4 customers.csv", ""),
    ("kith cluster customers.csv -k 3 --prepare auto --explain -o customers.h5", "cluster 0"),
)
COLUMNS, WIDTH, HEIGHT, MARGIN = 80, 8.4, 19, 16  # of a character, in pixels


def session(kith):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "customers.csv").write_bytes(Path("samples/customers.csv").read_bytes())
        environment = {**os.environ, "PATH": f"{Path(kith).resolve().parent}:{os.environ['PATH']}", "COLUMNS": str(COLUMNS)}
        for command, first in COMMANDS:
            yield "$ " + command
            run = subprocess.run(command + " 2>&1", shell=True, cwd=folder, env=environment, capture_output=True, text=True,
                                 check=True)
            printed = run.stdout.lstrip("\ufeff").splitlines()
            at = next(i for i, line in enumerate(printed) if line.startswith(first))
            if at > 0:
                yield "..."
            for line in printed[at:]:
                if line.startswith(("points ", "time ")):  # the summary; times differ
                    yield "..."
                    break
                yield line
            yield ""


def picture(lines):
    height = len(lines) * HEIGHT + 2 * MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * WIDTH + 2 * MARGIN:.0f} {height}" '
           f'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14">')
    yield '<title>A session in a terminal: what kith prints about samples/customers.csv</title>'
    yield '<rect width="100%" height="100%" rx="8" fill="#1c2128"/>'
    for i, line in enumerate(lines):
        color, weight = ("#7ee787", ' font-weight="bold"') if line.startswith("$ ") else ("#e6edf3", "")
        for part in re.finditer(r"\S+( \S+)*", line):  # each column at its place in every font
            yield (f'<text x="{MARGIN + part.start() * WIDTH:.1f}" y="{MARGIN + (i + 0.75) * HEIGHT:.1f}" fill="{color}"{weight} '
                   f'textLength="{len(part[0]) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs">{html.escape(part[0])}</text>')
    yield "</svg>"


kith, file, *check = sys.argv[1:]
lines = list(session(kith))[:-1]
assert max(map(len, lines)) <= COLUMNS, max(lines, key=len)
text = "\n".join(picture(lines)) + "\n"
if not check:
    Path(file).write_text(text)
elif Path(file).read_text() != text:
    sys.exit(f"{file} does not show what the commands print: python3 {sys.argv[0]} {kith} {file}")
