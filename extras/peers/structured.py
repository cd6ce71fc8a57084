#!/usr/bin/env python3
"""Times kith and other programs on data with structure: clusters, outliers, unscaled columns, duplicates, few columns.

    pip install numpy scikit-learn scikit-learn-intelex faiss-cpu

    structured.py --kith build/kith                                           # on the CPU, 100 000 x 128, k 1024
    structured.py --kith build/kith --peers oneDAL,FAISS --kinds normal,blobs_0.1,outliers
    structured.py --kith build/kith --backend cuda --rows 1000000 --peers ""  # on a GPU
    structured.py --kith build/kith --kinds blobs_0.1 --keep sets             # also writes sets/blobs_0.1.npy

Jobs of each kind of data, all in float32:
    iteration       a Lloyd iteration from rows of the data; for kith the median after the first of six
    after the last  what follows the last iteration of kith cluster: the last assignment, the inertia, the nearest rows
    knn 10, 100     exact neighbours of rows of the data, each scaled by 1.001

The peers compute in float32, and their cost depends little on the data; kith proves its answers, and on some kinds its
screens prove little. In brackets stands kith's time over its time for the first kind. Seeds are fixed. --keep writes
the sets, for `kith bench iteration --points` and for a profiler.
"""
import argparse
import os
import statistics
import tempfile
import warnings

import numpy as np

from cpu_peers import PEERS
from measuring import Table, in_own_process, iteration_ms, kith_report, median_ms


class Kinds:
    """Each method makes n float32 rows of d columns."""

    def __init__(self, seed=3):
        self.random = np.random.default_rng(seed)

    def normal(self, n, d):
        return self.random.standard_normal((n, d), dtype=np.float32)

    def blobs(self, n, d, spread, centres=100):
        """Normal clusters of this spread around standard normal centres, which lie sqrt(2 d) apart."""
        which = self.random.integers(0, centres, n)
        return self.normal(centres, d)[which] + np.float32(spread) * self.normal(n, d)

    def near_duplicates(self, n, d):
        """Every row about four times, the copies 1e-4 apart in each column."""
        return np.repeat(self.normal(n // 4 + 1, d), 4, axis=0)[:n] + np.float32(1e-4) * self.normal(n, d)

    def repeated(self, n, d):
        """Every row about fifty times, exactly."""
        return self.normal(n // 50 + 1, d)[self.random.integers(0, n // 50 + 1, n)]

    def offset(self, n, d):
        return self.normal(n, d) + np.float32(1000)

    def scales(self, n, d):
        """A table whose columns nobody scaled: one is 10^4 times, another 100 times as wide as the others."""
        rows = self.normal(n, d)
        rows[:, 0] *= 1e4
        rows[:, 1 % d] *= 100
        return rows

    def outliers(self, n, d):
        """One row in a thousand is 10^4 times as long as the others."""
        rows = self.normal(n, d)
        rows[::1000] *= 1e4
        return rows

    def counts(self, n, d):
        """Small counts, most of them zero."""
        return self.random.poisson(0.3 * np.exp(self.normal(n, d))).astype(np.float32)

    def low_rank(self, n, d):
        """Eight directions and a little noise, as embeddings have."""
        return self.normal(n, 8) @ self.normal(8, d) + np.float32(0.05) * self.normal(n, d)

    def cone(self, n, d):
        """Unit vectors around one direction."""
        rows = np.float32(0.15) * self.normal(n, d)
        rows[:, 0] += 3
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def spectrum(self, n, d):
        """Columns of falling width, as principal components have."""
        return self.normal(n, d) * (20 / np.sqrt(1 + np.arange(d))).astype(np.float32)

    def walks(self, n, d):
        """Time series: sums of steps."""
        return np.cumsum(self.normal(n, d), axis=1, dtype=np.float32)

    def make(self, kind, n, d):
        name, _, spread = kind.rpartition("_")
        return self.blobs(n, d, float(spread)) if name == "blobs" else getattr(self, kind)(n, d)


KINDS = ("normal blobs_1 blobs_0.1 blobs_0.01 near_duplicates repeated offset scales outliers counts low_rank cone "
         "spectrum walks").split()
JOBS = ("iteration", "after the last", "knn 10", "knn 100")


def measure_kith(options, files, out):
    """{job: ms} of kith, by its own report."""
    def seconds(*arguments):
        return [kith_report(options.kith, *arguments, "--backend", options.backend, "--force", "-o", out)
                for _ in range(options.repeat)]
    runs = seconds("cluster", files["points"], "-k", options.clusters, "--init", files["centroids"],
                   "--max-iterations", 6, "--tolerance", 0)
    ms = {"iteration": 1e3 * statistics.median(each["seconds"] for run in runs for each in run["iterations"][1:]),
          "after the last": 1e3 * statistics.median(run["seconds"]["assign"] for run in runs)}
    for k in (10, 100):
        runs = seconds("knn", files["points"], "--queries", files["queries"], "-k", k)
        ms[f"knn {k}"] = 1e3 * statistics.median(run["seconds"]["search"] for run in runs)
    return ms


def measure_peer(name, files, repeat):
    """{job: ms} of a peer."""
    warnings.filterwarnings("ignore")  # that a fit of few iterations has not converged
    peer, ms = PEERS[name](), {}
    points, centroids, queries = (np.load(files[which]) for which in ("points", "centroids", "queries"))
    if hasattr(peer, "fit"):
        ms["iteration"] = iteration_ms(lambda count: peer.fit(points, centroids, count), repeat, 1, 5)
    for k in (10, 100):
        ms[f"knn {k}"] = median_ms(peer.search(points, queries, k), repeat)
    return ms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", required=True, help="the program")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"some of {', '.join(KINDS)}; blobs_S has spread S")
    parser.add_argument("--peers", default="oneDAL,FAISS", help=f"some of {', '.join(PEERS)}; these run on the CPU")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--clusters", type=int, default=1024)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", metavar="FOLDER", help="write the sets into this folder")
    options = parser.parse_args()
    peers = [name for name in options.peers.split(",") if name]
    table, first = Table(["kith", *peers]), None
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.npy" for name in ("points", "centroids", "queries")}
        for kind in options.kinds.split(","):
            kinds = Kinds()
            points = np.ascontiguousarray(kinds.make(kind, options.rows, options.columns), dtype=np.float32)
            chosen = kinds.random.permutation(len(points))
            np.save(files["points"], points)
            np.save(files["centroids"], points[chosen[:options.clusters]])
            np.save(files["queries"], points[chosen[-options.queries:]] * np.float32(1.001))
            if options.keep:
                os.makedirs(options.keep, exist_ok=True)
                np.save(f"{options.keep}/{kind}.npy", points)
            measured = {"kith": measure_kith(options, files, f"{folder}/out.h5")}
            for name in peers:
                measured[name] = in_own_process(measure_peer, name, files, options.repeat) or {}
            first = first or measured["kith"]
            for job in JOBS:
                ratio = measured["kith"][job] / first[job]
                table.row(f"{kind}, {job} ({ratio:.1f})",
                          {name: (ms[job], None) for name, ms in measured.items() if job in ms})


if __name__ == "__main__":
    main()
