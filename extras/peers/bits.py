#!/usr/bin/env python3
"""Times exact searches of rows of bits: kith, FAISS (IndexBinaryFlat) and usearch (exact search), on the same rows.

    pip install numpy faiss-cpu usearch
    bits.py --kith build/kith                               # 1M and 10M rows of 1024 bits, 1000 queries, k 10
    bits.py --kith build/kith --shape 100000x2048,1000,10 --kind fingerprints
    bits.py --kith build/kith --backend cuda --peers ""     # whole runs of kith alone, on a GPU

The rows are random, or like fingerprints: of different numbers of bits, with groups of similar rows. For each shape and
metric the programs take turns; the table has the medians in seconds: of the search alone for all (for kith its phase
"search"), and of the whole process of kith, which reads the file. A last column says whether all distances are equal.
FAISS has no Jaccard distance.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

from measuring import parse_shape


def rows_of(kind, rows, bits, seed):
    """Packed bits (rows, bits / 8)."""
    random = np.random.default_rng(seed)
    if kind == "random":
        return random.integers(0, 256, (rows, bits // 8), dtype=np.uint8)
    pack = np.empty((rows, bits // 8), np.uint8)
    groups = np.random.default_rng(7).random((997, bits)) < 0.06  # the same for base and queries
    for first in range(0, rows, 100_000):
        count = min(100_000, rows - first)
        common = groups[random.integers(0, len(groups), count)]
        kept = random.random((count, bits), dtype=np.float32) < random.uniform(0.2, 1.0, (count, 1))
        pack[first:first + count] = np.packbits(common & kept, axis=1)
    return pack


def by_kith(options, folder, metric, k):
    lists = folder / "lists.h5"
    words = [options.kith, "knn", str(folder / "base.npy"), "--queries", str(folder / "queries.npy"), "-k", str(k),
             "--metric", metric, "--threads", str(options.threads), "--backend", options.backend, "--json", "-q", "-f", "-o", str(lists)]
    start = time.perf_counter()
    report = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    whole = time.perf_counter() - start
    search = sum(phase["seconds"] for phase in report["phases"] if phase["name"] == "search")
    return search, whole, lists


def by_faiss(options, base, queries, metric, k):
    if metric != "hamming":
        return None
    import faiss
    faiss.omp_set_num_threads(options.threads)
    index = faiss.IndexBinaryFlat(base.shape[1] * 8)
    index.add(base)
    start = time.perf_counter()
    distances, _ = index.search(queries, k)
    return time.perf_counter() - start, np.sort(distances.astype(np.float64), axis=1)


def by_usearch(options, base, queries, metric, k):
    from usearch.index import MetricKind, search
    kind = MetricKind.Hamming if metric == "hamming" else MetricKind.Tanimoto
    start = time.perf_counter()
    found = search(base, queries, k, kind, exact=True, threads=options.threads, dtype="b1")
    return time.perf_counter() - start, np.sort(np.asarray(found.distances, dtype=np.float64), axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="kith")
    parser.add_argument("--shape", default="1000000x1024,1000,10 10000000x1024,1000,10",
                        help="ROWSxBITS,QUERIES,K with spaces between them")
    parser.add_argument("--kind", default="random", choices=("random", "fingerprints"))
    parser.add_argument("--metrics", default="hamming jaccard")
    parser.add_argument("--peers", default="faiss usearch")
    parser.add_argument("--backend", default="cpu", choices=("auto", "cpu", "cuda"), help="of kith")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    import h5py
    peers = {"faiss": by_faiss, "usearch": by_usearch}
    named = options.peers.split()
    print("| rows | metric | kith | kith, process | " + " | ".join(named) + " | distances |\n" + "|---" * (5 + len(named)) +
          "|")
    for shape in map(parse_shape, options.shape.split()):
        rows, bits, count, k = shape
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            base, queries = rows_of(options.kind, rows, bits, 1), rows_of(options.kind, count, bits, 2)
            np.save(folder / "base.npy", base)
            np.save(folder / "queries.npy", queries)
            for metric in options.metrics.split():
                times, answers = {}, {}
                for _ in range(options.repeat):
                    search, whole, lists = by_kith(options, folder, metric, k)
                    times.setdefault("kith", []).append(search)
                    times.setdefault("process", []).append(whole)
                    for peer in named:
                        result = peers[peer](options, base, queries, metric, k)
                        if result is not None:
                            times.setdefault(peer, []).append(result[0])
                            answers[peer] = result[1]
                with h5py.File(lists) as file:
                    own = np.sort(file["distances"][:].astype(np.float64), axis=1)
                equal = all(np.allclose(own, theirs, rtol=1e-5, atol=1e-6) for theirs in answers.values())
                cells = [f"{statistics.median(times[each]):.3f}" if each in times else ""
                         for each in ["kith", "process", *named]]
                print(f"| {rows} x {bits} bits, {options.kind}, {count} queries, k {k} | {metric} | " +
                      " | ".join(cells) + f" | {'equal' if equal else 'DIFFERENT'} |", flush=True)


if __name__ == "__main__":
    main()
