#!/usr/bin/env python3
"""Compares the final inertias of kith's starts: k-means||, which is the default for many rows and clusters, and random
rows, with greedy k-means++.

    starts.py --kith build/kith                       # all kinds of kith generate
    starts.py --kith build/kith --files photo.h5:/pixels,1024 --workers 4 --seeds 10

For each data set the table has the mean over the seeds of the inertia after Lloyd's iterations with each start, in
per cent above (or below) the mean with k-means++; the range of the inertias with k-means++; and the seconds of the
phase "seed". The program needs nothing but Python. --files takes FILE,K with spaces between several; the sets of the
kinds have 100 000 rows of 32 columns and 400 clusters by default.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

KINDS = ("noise uniform shells blobs blobs-0.01 blobs-0.1 blobs-1 few-blobs blob-in-noise scales outliers heavy-tails "
         "repeated near-duplicates offset low-rank cone spectrum counts walks")
STARTS = ("k-means++", "k-means||", "random")


def run(kith, points, clusters, start, seed, threads):
    """The final inertia and the seconds of seeding of one run."""
    words = [kith, "cluster", points, "-k", str(clusters), "--init", start, "--seed", str(seed), "--json", "-q",
             "--threads", str(threads), "--backend", "cpu"]
    report = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    seconds = sum(phase["seconds"] for phase in report["phases"] if phase["name"] == "seed")
    return report["inertia"], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="kith")
    parser.add_argument("--kinds", default=KINDS)
    parser.add_argument("--shape", default="100000x32,400")
    parser.add_argument("--files", default="", help="FILE,K with spaces between them")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1, help="runs at a time")
    parser.add_argument("--threads", type=int, default=0, help="of each run")
    options = parser.parse_args()
    shape, clusters = options.shape.split(",")
    rows, columns = shape.split("x")
    with tempfile.TemporaryDirectory() as folder:
        sets = [(name.split("/")[-1], *name.rsplit(",", 1)) for name in options.files.split()]
        for kind in options.kinds.split():
            path = str(pathlib.Path(folder) / f"{kind}.h5")
            subprocess.run([options.kith, "generate", path, "--kind", kind, "-n", rows, "-d", columns, "-q"], check=True)
            sets.append((f"{kind} {shape},{clusters}", path + ":/points", clusters))
        pool = concurrent.futures.ThreadPoolExecutor(options.workers)
        runs = {(name, start, seed): pool.submit(run, options.kith, points, k, start, seed, options.threads)
                for name, points, k in sets for start in STARTS for seed in range(options.seeds)}
        print("| data | " + " | ".join(f"{start}, %" for start in STARTS[1:]) + " | k-means++ from, to, % | " +
              " | ".join(f"{start}, s" for start in STARTS[:2]) + " |\n|---|" + "---|" * 5)
        above = {start: [] for start in STARTS[1:]}
        for name, _, _ in sets:
            results = {start: [runs[name, start, seed].result() for seed in range(options.seeds)] for start in STARTS}
            mean = {start: statistics.mean(inertia for inertia, _ in results[start]) for start in STARTS}
            base = mean["k-means++"]
            per_cent = {start: 100 * (mean[start] / base - 1) for start in STARTS[1:]}
            for start, value in per_cent.items():
                above[start].append(value)
            inertias = [inertia for inertia, _ in results["k-means++"]]
            print(f"| {name} | " + " | ".join(f"{value:+.3f}" for value in per_cent.values()) +
                  f" | {100 * (min(inertias) / base - 1):+.3f}, {100 * (max(inertias) / base - 1):+.3f} | " +
                  " | ".join(f"{statistics.median(seconds for _, seconds in results[start]):.3f}"
                             for start in STARTS[:2]) + " |", flush=True)
        for start, values in above.items():
            print(f"\n{start}: on average {statistics.mean(values):+.3f} %, at most {max(values):+.3f} %")


if __name__ == "__main__":
    main()
