"""What the programs of this folder share: data, clocks, checks against float64, kith's own report, and the table.

Not a program. It needs numpy, and no other package.
"""
import concurrent.futures
import json
import multiprocessing
import statistics
import subprocess
import sys
import time

import numpy as np

# The shapes of docs/performance.md: rows x columns, then centroids, or queries and neighbours.
CPU_CLUSTERINGS = ("1797x64,10 10000x64,10 200000x128,256 200000x128,1024 50000x784,256 20000x384,64 1000000x16,100 "
                   "2000000x2,16 273280x3,64 100000x64,4096 100000x512,1024")
CPU_SEARCHES = ("100000x128,2000,10 100000x128,2000,100 50000x768,1000,10 1000000x16,1000,10 20000x64,20000,10 "
                "100000x128,1,10")
GPU_CLUSTERINGS = ("1000000x128,1024 1000000x128,4096 1000000x256,4096 1000000x64,1024 1000000x784,256 8000000x32,1024 "
                   "10000000x16,100 10000000x2,16 10000x64,10")
GPU_SEARCHES = ("1000000x128,10000,10 1000000x128,10000,100 1000000x768,1000,10 10000000x128,1,10 "
                "10000000x128,128,10")


def parse_shape(text):
    """"200000x128,1024" as (200000, 128, 1024)."""
    size, *counts = text.split(",")
    return tuple(int(number) for number in size.split("x") + counts)


def name_of(job, shape):
    """The first column of the table: "knn 100000x128, 2000 queries, k 10"."""
    rows, columns, *counts = shape
    queries = f", {counts[0]} queries" if len(counts) == 2 else ""
    return f"{job} {rows}x{columns}{queries}, k {counts[-1]}"


def normal(rows, columns, seed=0):
    """Standard normal float32 rows; every program gets the same ones."""
    return np.random.default_rng(seed).standard_normal((rows, columns), dtype=np.float32)


def median_ms(call, repeat):
    """The median of `repeat` calls in milliseconds, after one call that is not counted."""
    call()
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


def iteration_ms(fit, repeat, few=2, many=7):
    """One Lloyd iteration: the difference of two fits, fit(iterations) each, so that their set-up cancels.

    0, for which the table has an empty cell, where noise exceeds the difference.
    """
    difference = median_ms(lambda: fit(many), repeat) - median_ms(lambda: fit(few), repeat)
    return max(0.0, difference / (many - few))


def wrong_labels(points, centroids, labels, sample=1000):
    """The share of the first rows whose label is not the nearest centroid in float64."""
    rows, centroids = points[:sample].astype(np.float64), centroids.astype(np.float64)
    nearest = [int(np.argmin(((centroids - row) ** 2).sum(1))) for row in rows]
    return float(np.mean(np.asarray(labels).ravel()[:len(rows)] != nearest))


def wrong_lists(base, queries, ids, sample=100):
    """The share of the first queries whose list differs from float64's; equal distances are ordered by row number."""
    base, wrong = base.astype(np.float64), 0
    for query, found in zip(queries[:sample].astype(np.float64), ids):
        distance = ((base - query) ** 2).sum(1)
        wrong += not np.array_equal(np.argsort(distance, kind="stable")[:len(found)], found)
    return wrong / min(len(queries), sample)


def in_own_process(function, *arguments):
    """What function(*arguments) returns in a new process, or None, with a message, where that process dies."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except concurrent.futures.process.BrokenProcessPool:
            print(f"{arguments[0]}: its process died", file=sys.stderr)
            return None


def kith_report(program, *arguments):
    """Runs kith and returns its JSON report, with the seconds of each phase under "seconds"."""
    command = [program, *map(str, arguments), "--json", "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {run.returncode}: {run.stderr.strip()}")
    report = json.loads(run.stdout)
    report["seconds"] = {phase["name"]: phase["seconds"] for phase in report.get("phases", [])}
    return report


class Table:
    """A Markdown table that is printed row by row; the first program is kith."""

    def __init__(self, programs):
        self.programs = programs
        head = ["work, ms", *programs, "fastest other / kith"]
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)

    def row(self, work, found):
        """found: {program: (ms, share of wrong answers or None)}"""
        times = [found[program][0] if program in found else None for program in self.programs]
        cells = []
        for program, ms in zip(self.programs, times):
            wrong = found[program][1] if ms else None
            cells.append((f"{ms:.3g}" if ms else "") + (f" ({100 * wrong:.2g} % wrong)" if wrong else ""))
        others = [ms for ms in times[1:] if ms]
        ratio = f"{min(others) / times[0]:.2f}" if times[0] and others else ""
        print("| " + " | ".join([work, *cells, ratio]) + " |", flush=True)
