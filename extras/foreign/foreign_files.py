#!/usr/bin/env python3
"""Compares what kith reads in the files of other packages with what the library of each format reads there.

    pip install numpy scipy pandas h5py anndata pyarrow Pillow scikit-learn

    foreign_files.py --kith build/kith --cache DIR                          # fetches the packages into DIR first
    foreign_files.py --kith build/kith --cache DIR --packages scipy,pillow --formats mat,PNG
    foreign_files.py --kith build/kith --cache DIR --check                  # with changed numbers: are they noticed?

pip download and apt-get download fetch the packages by name, once; nothing of them is installed or run. The files go to
--cache, never into the repository. Tables are compared by their shape, the names and the statistics of their columns,
and all values where these are few; columns of words as labels; pictures by the colour of every pixel. Each file counts
once in the table that is printed:
    equal      kith read what the library reads
    refused    kith read nothing of it, with a message that explanations.py lists
    explained  kith and the library differ, for a reason that explanations.py lists
    DIFFERENT  all else: another value, a crash, a refusal without a known reason; each is listed with its command
The exit code is 1 if a file is DIFFERENT.
"""
import argparse
import collections
import pathlib
import sys
import tempfile
import warnings

import numpy as np

import comparing
import libraries
from explanations import explained, refusal
from packages import fetch

PICTURES = ("PNG", "JPEG", "PNM")  # BMP, GIF and TIFF are refused
ALL_PICTURES = (*PICTURES, "GIF", "BMP", "TIFF", "gif", "bmp", "tif", "other picture")
JPEG_TOLERANCE = 6  # of 255: versions of libjpeg round differently
OUTCOMES = ("equal", "refused", "explained", "DIFFERENT")


def changed(table):
    """The table with one number changed, which a comparison must notice."""
    values = table.values.copy()
    finite = np.argwhere(np.isfinite(values))
    if not len(finite):
        return None
    row, column = finite[len(finite) // 2]
    values[row, column] += max(1.0, np.abs(values[np.isfinite(values[:, column]), column]).max())
    return table._replace(values=values)


def judge_picture(kith, path, kind, mutate):
    pixels = libraries.read_picture(path)
    if mutate:
        pixels = pixels.copy()
        half = pixels[:, : (pixels.shape[1] + 1) // 2, :3]
        half[:] = (half + 128) % 256
    return comparing.compare_picture(kith, path, pixels, JPEG_TOLERANCE if kind == "JPEG" else 0)


def judge(kith, path, kind, mutate):
    """What happened with a file: pairs of an outcome and a remark, one for each table in it."""
    try:
        if kind in PICTURES:
            tables = [None]
        else:
            tables = libraries.read(path, kind)
            if not tables:
                raise libraries.NoTable("no matrix of numbers in it")
    except Exception as failure:  # any library may fail in its own way: then kith must refuse the file
        return [judge_unread(kith, path, kind, f"{type(failure).__name__}: {failure}")]
    found = []
    for table in tables:
        if mutate and table:
            table = changed(table)
            if table is None:
                continue
        try:
            how = comparing.compare_table(kith, path, table) if table else judge_picture(kith, path, kind, mutate)
            found.append(("equal", how, ""))
        except comparing.Refused as message:
            part = table.part if table else ""
            found.append(("refused", str(message), f"kith info {path}{':' + part if part else ''}"))
        except comparing.Different as difference:
            found.append(("DIFFERENT", str(difference), difference.command))
        except Exception as failure:  # Pillow could not read the picture
            found.append(judge_unread(kith, path, kind, f"{type(failure).__name__}: {failure}"))
    return found


def judge_unread(kith, path, kind, reason):
    """A file in which the library finds nothing that kith could read: kith should find nothing either, and say so."""
    command = ["image", path, "-k", "1"] if kind in ALL_PICTURES else ["info", path, "--stats", "--json"]
    try:
        entries = comparing.datasets(kith.run(*command, accept_failure=True))
        readable = [entry for entry in entries if entry.get("statistics") and not entry.get("unreadable")]
        if kind not in ALL_PICTURES and not readable:
            return "no table", "; ".join(map(comparing.reason_of, entries)) or "no dataset", f"kith info {path}"
    except comparing.Refused as message:
        return "no table", str(message), f"kith info {path}"
    except comparing.Different as difference:
        return "DIFFERENT", str(difference), difference.command
    return "unread", reason, " ".join(["kith", *map(str, command)])


def outcome_of(path, kind, found):
    """One outcome for the file, with the remarks that belong to it."""
    outcomes, remarks = [], []
    for outcome, remark, command in found:
        reason = None
        if outcome in ("refused", "no table"):
            reason = refusal(kind, remark, outcome == "refused")
            outcome, remark = ("refused", reason) if reason else ("DIFFERENT", f"{outcome}: {remark}")
        if outcome in ("DIFFERENT", "unread"):
            reason = explained(str(path), remark)
            outcome = "explained" if reason else "DIFFERENT"
        outcomes.append(outcome)
        if outcome != "equal":
            remarks.append((outcome, reason or remark, command))
    for outcome in ("DIFFERENT", "explained", "equal"):
        if outcome in outcomes:
            return outcome, remarks
    return "refused", remarks


def print_table(counts):
    width = max(len(kind) for kind in counts) if counts else 6
    print(f"| {'format':{width}} | files | equal | refused | explained | DIFFERENT |")
    print(f"|{'-' * (width + 2)}|------:|------:|--------:|----------:|----------:|")
    total = collections.Counter()
    for kind in sorted(counts, key=str.lower):
        total += counts[kind]
    for kind, count in [*sorted(counts.items(), key=lambda item: item[0].lower()), ("all", total)]:
        cells = [sum(count.values()), *(count[outcome] for outcome in OUTCOMES)]
        print(f"| {kind:{width}} | {cells[0]:5} | {cells[1]:5} | {cells[2]:7} | {cells[3]:9} | {cells[4]:9} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="build/kith", help="the program (build/kith)")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="the folder of all packages and files")
    parser.add_argument("--packages", default="", help="only these, separated by commas")
    parser.add_argument("--formats", default="", help="only these, as the table names them, separated by commas")
    parser.add_argument("--match", default="", help="only files whose path contains this")
    parser.add_argument("--each", type=int, default=40, help="at most so many files of a package and an ending (40)")
    parser.add_argument("--check", action="store_true", help="compare with changed numbers: no file may be equal")
    parser.add_argument("--list", action="store_true", help="print the outcome of every file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    names = [name for name in options.packages.split(",") if name]
    formats = [name for name in options.formats.split(",") if name]
    groups = collections.defaultdict(list)
    for package, path in fetch(options.cache.resolve(), names):
        if options.match in str(path):
            groups[package, path.suffix].append(path)
    counts = collections.defaultdict(collections.Counter)
    reasons = collections.Counter()
    different = 0
    with tempfile.TemporaryDirectory() as scratch:
        kith = comparing.Kith(options.kith, scratch)
        for (package, _), paths in sorted(groups.items()):
            step = max(1, len(paths) / options.each)
            for path in [paths[int(i * step)] for i in range(min(len(paths), options.each))]:
                kind = libraries.format_of(path)
                if formats and kind not in formats:
                    continue
                found = judge(kith, path, kind, options.check)
                if not found:
                    continue
                outcome, remarks = outcome_of(path, kind, found)
                counts[kind][outcome] += 1
                if options.list:
                    print(f"{outcome:9} {kind:12} {path}", flush=True)
                for verdict, remark, command in remarks:
                    if verdict == "DIFFERENT" and not options.check:
                        print(f"DIFFERENT {path}\n  {remark}\n  {command}", flush=True)
                        different += 1
                    elif verdict == "explained":
                        reasons[remark] += 1
                if options.check and outcome == "equal" and found:
                    print(f"NOT NOTICED {path}: {found}", flush=True)
                    different += 1
    print_table(counts)
    for reason, count in reasons.most_common():
        print(f"{count:5} explained: {reason}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
