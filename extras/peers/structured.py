#!/usr/bin/env python3
"""Times kith and other programs on data with structure: clusters, outliers, unscaled columns, duplicates, few columns.

    pip install numpy h5py scikit-learn scikit-learn-intelex faiss-cpu

    structured.py --kith build/kith                                           # on the CPU, 100 000 x 128, k 1024
    structured.py --kith build/kith --peers oneDAL,FAISS --kinds noise,blobs-0.1,outliers
    structured.py --kith build/kith --backend cuda --rows 1000000 --peers ""  # on a GPU
    structured.py --kith build/kith --silhouettes --rows 20000 --columns 384 --clusters 10 --peers scikit-learn

The points are those of `kith generate --kind KIND`. kith alone on the same points, without Python:
`kith bench iteration --data all` and `kith bench knn --data all`. Jobs of each kind of data, all in float32:
    iteration       a Lloyd iteration from rows of the data; for kith the median after the first of six
    after the last  what follows the last iteration of kith cluster: the last assignment, the inertia, the nearest rows
    knn 10, 100     exact neighbours of rows of the data, each scaled by 1.001
    silhouettes     with --silhouettes: the exact ones of all rows, of scikit-learn and kith

The peers compute in float32, and their cost depends little on the data; kith proves its answers, and on some kinds its
screens prove little. In brackets stands kith's time over its time for the first kind. Seeds are fixed.
"""
import argparse
import statistics
import tempfile
import warnings

import h5py
import numpy as np

from cpu_peers import PEERS
from measuring import Table, in_own_process, iteration_ms, kith_report, median_ms


KINDS = ("noise blobs-1 blobs-0.1 blobs-0.01 few-blobs blob-in-noise near-duplicates repeated offset scales outliers "
         "heavy-tails counts low-rank cone spectrum walks").split()
JOBS = ("iteration", "after the last", "knn 10", "knn 100", "silhouettes")


def read(file):
    with h5py.File(file) as opened:
        return opened["points"][:]


def measure_kith(options, files, out):
    """{job: ms} of kith, by its own report."""
    def seconds(*arguments):
        return [kith_report(options.kith, *arguments, "--backend", options.backend, "--force", "-o", out)
                for _ in range(options.repeat)]
    runs = seconds("cluster", files["points"], "-k", options.clusters, "--init", files["centroids"],
                   "--max-iterations", 6, "--tolerance", 0)
    ms = {"iteration": 1e3 * statistics.median(each["seconds"] for run in runs for each in run["iterations"][1:]),
          "after the last": 1e3 * statistics.median(run["seconds"]["assign"] for run in runs)}
    if options.silhouettes:
        with h5py.File(out) as result:
            np.save(files["labels"], result["labels"][:])
        runs = seconds("evaluate", files["labels"], "--points", files["points"], "--save-silhouette")
        ms["silhouettes"] = 1e3 * statistics.median(run["seconds"]["silhouette"] for run in runs)
    for k in (10, 100):
        runs = seconds("knn", files["points"], "--queries", files["queries"], "-k", k)
        ms[f"knn {k}"] = 1e3 * statistics.median(run["seconds"]["search"] for run in runs)
    return ms


def measure_peer(name, files, repeat):
    """{job: ms} of a peer."""
    warnings.filterwarnings("ignore")  # that a fit of few iterations has not converged
    peer, ms = PEERS[name](), {}
    points, centroids, queries = read(files["points"]), np.load(files["centroids"]), np.load(files["queries"])
    if hasattr(peer, "fit"):
        ms["iteration"] = iteration_ms(lambda count: peer.fit(points, centroids, count), repeat, 1, 5)
    for k in (10, 100):
        ms[f"knn {k}"] = median_ms(peer.search(points, queries, k), repeat)
    if name == "scikit-learn" and "labels" in files:
        from sklearn.metrics import silhouette_samples
        labels = np.load(files["labels"])
        ms["silhouettes"] = median_ms(lambda: silhouette_samples(points, labels), repeat)
    return ms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", required=True, help="the program")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of those of kith generate")
    parser.add_argument("--peers", default="oneDAL,FAISS", help=f"some of {', '.join(PEERS)}; these run on the CPU")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--clusters", type=int, default=1024)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--silhouettes", action="store_true", help="time exact silhouettes, too")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    peers = [name for name in options.peers.split(",") if name]
    table, first = Table(["kith", *peers]), None
    with tempfile.TemporaryDirectory() as folder:
        files = {"points": f"{folder}/points.h5", "centroids": f"{folder}/centroids.npy",
                 "queries": f"{folder}/queries.npy"}
        if options.silhouettes:
            files["labels"] = f"{folder}/labels.npy"
        for kind in options.kinds.split(","):
            kith_report(options.kith, "generate", files["points"], "--kind", kind, "--seed", 20, "--force",
                        "-n", options.rows, "-d", options.columns)
            points = read(files["points"])
            np.save(files["centroids"], points[:options.clusters])  # rows are in random order
            np.save(files["queries"], points[-options.queries:] * np.float32(1.001))
            measured = {"kith": measure_kith(options, files, f"{folder}/out.h5")}
            for name in peers:
                measured[name] = in_own_process(measure_peer, name, files, options.repeat) or {}
            first = first or measured["kith"]
            for job in JOBS:
                if job not in first:
                    continue
                ratio = measured["kith"][job] / first[job]
                table.row(f"{kind}, {job} ({ratio:.1f})",
                          {name: (ms[job], None) for name, ms in measured.items() if job in ms})


if __name__ == "__main__":
    main()
