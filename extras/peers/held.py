#!/usr/bin/env python3
"""Times repeated calls from Python on points that stay in memory: kith's module beside scikit-learn, FAISS and oneDAL.

    pip install numpy scikit-learn scikit-learn-intelex faiss-cpu, and kith itself
    held.py
    held.py --base 1000000x128 --calls 200
    held.py --gpu --base 1000000x128                           # with the packages of gpu_peers.py, on an NVIDIA GPU

Rows of the table: searches of 1, 10 and 1000 queries in a base that is held (kith.Index, sklearn.neighbors'
NearestNeighbors(algorithm="brute"), the same of oneDAL, faiss.IndexFlatL2), each call with queries of its own;
KMeans.predict of 1 and 1000 rows with 1024 rows of the base as centroids (not oneDAL); and KMeans.fit of the digits
(1797 x 64, 10 clusters, one start). With --gpu: the searches alone, in a base that the GPU holds; queries and lists are
NumPy's, so that they travel within the time. Each cell: median and 99th percentile of the calls in milliseconds. The
answers of the first call are compared with float64; a share of wrong ones is written behind the times.
"""
import argparse
import time

import numpy as np

from measuring import in_own_process, normal, wrong_labels, wrong_lists

K = 10
CLUSTERS = 1024


def timed(call, arguments, seconds=20.0):
    """Median and 99th percentile in ms of one call for each argument, after three that are not counted."""
    for argument in arguments[:3]:
        call(argument)
    times, end = [], time.perf_counter() + seconds
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        times.append(1e3 * (time.perf_counter() - start))
        if time.perf_counter() > end and len(times) >= 5:
            break
    return f"{np.median(times):.3g} / {np.percentile(times, 99):.3g}"


def digits():
    from sklearn.datasets import load_digits

    return load_digits().data.astype(np.float32)


def searches(base, calls, make, search):
    """{row of the table: cell} of searches of 1, 10 and 1000 queries."""
    cells, index = {}, make(base)
    for count in (1, 10, 1000):
        queries = [normal(count, base.shape[1], seed=100 + i) for i in range(max(5, calls // count))]
        times = timed(lambda asked: search(index, asked), queries)
        wrong = wrong_lists(base, queries[0], search(index, queries[0]))
        cells[f"{count} queries in {base.shape[0]} x {base.shape[1]}"] = times + (f" ({wrong:.1%} wrong)" if wrong else "")
    return cells


def predictions(base, calls, make):
    cells, centroids = {}, base[:CLUSTERS].copy()
    predict = make(base, centroids)
    for count in (1, 1000):
        rows = [normal(count, base.shape[1], seed=500 + i) for i in range(max(5, calls if count == 1 else calls // 10))]
        times, wrong = timed(predict, rows), wrong_labels(rows[0], centroids, predict(rows[0]))
        cells[f"labels of {count} rows, {CLUSTERS} centroids"] = times + (f" ({wrong:.1%} wrong)" if wrong else "")
    return cells


def of_kith(base, calls):
    import kith

    cells = searches(base, calls, kith.Index, lambda index, queries: index.search(queries, K)[0])

    def predict_with(rows, centroids):
        model = kith.KMeans(CLUSTERS, init=centroids, n_init=1, max_iter=1).fit(rows[:CLUSTERS])
        return model.predict

    cells |= predictions(base, calls, predict_with)
    data = digits()
    cells["fit of the digits"] = timed(lambda seed: kith.KMeans(10, random_state=seed, n_init=1).fit(data), range(calls))
    return cells


def of_scikit_learn(base, calls):
    from sklearn.cluster import KMeans
    from sklearn.neighbors import NearestNeighbors

    cells = searches(base, calls, lambda rows: NearestNeighbors(n_neighbors=K, algorithm="brute").fit(rows),
                     lambda index, queries: index.kneighbors(queries, return_distance=False))

    def predict_with(rows, centroids):
        return KMeans(CLUSTERS, init=centroids, n_init=1, max_iter=1).fit(rows[:CLUSTERS]).predict

    cells |= predictions(base, calls, predict_with)
    data = digits()
    cells["fit of the digits"] = timed(lambda seed: KMeans(10, random_state=seed, n_init=1).fit(data), range(calls))
    return cells


def of_onedal(base, calls):
    from sklearnex import patch_sklearn

    patch_sklearn(verbose=False)
    from sklearn.neighbors import NearestNeighbors

    return searches(base, calls, lambda rows: NearestNeighbors(n_neighbors=K, algorithm="brute").fit(rows),
                    lambda index, queries: index.kneighbors(queries, return_distance=False))


def of_faiss(base, calls):
    import faiss

    def index_of(rows):
        index = faiss.IndexFlatL2(rows.shape[1])
        index.add(rows)
        return index

    cells = searches(base, calls, index_of, lambda index, queries: index.search(queries, K)[1])
    cells |= predictions(base, calls, lambda _, centroids: (
        lambda index: lambda rows: index.search(rows, 1)[1])(index_of(centroids)))
    data = digits()
    cells["fit of the digits"] = timed(lambda seed: faiss.Kmeans(64, 10, niter=25, seed=seed).train(data), range(calls))
    return cells


def of_gpu(base, calls, name):
    """Searches by kith on the GPU, or by a peer of gpu_peers.py."""
    if name == "kith":
        import kith

        return searches(base, calls, lambda rows: kith.Index(rows, backend="cuda"),
                        lambda index, queries: index.search(queries, K)[0])
    import torch

    from gpu_peers import PEERS as gpu_peers

    peer = gpu_peers[name]()
    return searches(base, calls, lambda rows: peer.search(torch.from_numpy(rows).cuda(), K),
                    lambda find, queries: find(torch.from_numpy(queries).cuda()).cpu().numpy())


GPU_PEERS = ("kith", "FlashLib", "cuVS", "certex", "FAISS", "torch")
PEERS = {"kith": of_kith, "scikit-learn": of_scikit_learn, "oneDAL": of_onedal, "FAISS": of_faiss}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="100000x128,1000000x128", help="rows x columns of the bases")
    parser.add_argument("--calls", type=int, default=1000, help="calls of each, fewer where they take over 20 seconds")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--peers", help="names with commas between them; default: all")
    options = parser.parse_args()
    for text in options.base.split(","):
        rows, columns = map(int, text.split("x"))
        base = normal(rows, columns)
        found = {}
        for peer in options.peers.split(",") if options.peers else GPU_PEERS if options.gpu else PEERS:
            try:
                call, *more = (of_gpu, peer) if options.gpu else (PEERS[peer],)
                found[peer] = in_own_process(call, base, options.calls, *more)
            except Exception as error:  # not installed
                print(f"{peer}: {error}")
        print(f"\n| median / 99th percentile, ms | {' | '.join(found)} |\n|---|{'---|' * len(found)}")
        for row in next(iter(found.values())):
            print(f"| {row} | {' | '.join(cells.get(row, '') for cells in found.values())} |", flush=True)


if __name__ == "__main__":
    main()
