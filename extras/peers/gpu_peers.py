#!/usr/bin/env python3
"""Times k-means and exact nearest neighbours of other GPU programs, and of kith, on one NVIDIA GPU.

    pip install numpy torch                                    # needed; torch (CUDA) also makes the data
    pip install 'flashlib[cutedsl]' flash-kmeans               # FlashLib with its 16-bit kernels; flash-kmeans
    pip install cuvs-cu13                                      # cuVS
    pip install certex                                         # certex, which proves its answers; it needs cuVS
    pip install faiss-gpu                                      # FAISS

    gpu_peers.py --kith build/kith                             # all jobs and shapes of docs/performance.md
    gpu_peers.py --kith build/kith --jobs knn --peers cuVS,FAISS
    gpu_peers.py --kith build/kith --jobs assign,iteration --shape 1000000x128,4096

Jobs:
    assign      the nearest centroid of every row, for centroids that are rows of the data
    iteration   one Lloyd iteration: the difference of fits of 12 and of 2 iterations from given centroids
    knn         exact neighbours of given queries; an index that needs no training is built before the clock starts

A peer that cannot be imported is skipped with a message, and each runs in a process of its own. FlashLib has a column
for float32 input, which it multiplies as TF32, and one for input that was rounded to float16 first. torch is a plain
product of matrices followed by argmin or topk. Their data are in device memory. Labels and lists are compared with
float64 of the float32 data for some rows, and the table says which share is wrong. kith's times are those of
`kith bench assign`, `iteration` (row "later") and `knn` on data of the same distribution; its centroids, queries and
results travel between host and device within the time, and it checks its own answers.
"""
import argparse
import statistics
import sys
import time

from measuring import (GPU_CLUSTERINGS, GPU_SEARCHES, Table, in_own_process, iteration_ms, kith_report, name_of,
                       parse_shape)


class Torch:
    def __init__(self):
        import torch
        self.torch = torch

    def scores(self, base, queries):
        """|b|^2 - 2 q b, which orders like the squared distance. (queries, base rows)"""
        return self.torch.addmm((base * base).sum(1), queries, base.T, alpha=-2)

    def chunks(self, queries, base):
        return queries.split(max(1, 2**30 // len(base)))

    def assign(self, points, centroids):
        return self.torch.cat([self.scores(centroids, part).argmin(1) for part in self.chunks(points, centroids)])

    def search(self, base, k):
        return lambda queries: self.torch.cat(
            [self.scores(base, part).topk(k, largest=False).indices for part in self.chunks(queries, base)])


class FlashLib:
    """rounded: the type that the data are rounded to; float32 goes through Triton, float16 through CuTe."""

    def __init__(self, rounded="float32"):
        import torch
        import flashlib.primitives.kmeans as kmeans
        from flashlib.primitives.knn import flash_knn
        self.type, self.kmeans, self.knn = getattr(torch, rounded), kmeans, flash_knn
        self.backend = "triton" if rounded == "float32" else "cutedsl"

    def assign(self, points, centroids):
        triton = self.backend == "triton"
        call = self.kmeans.euclid_assign_triton if triton else self.kmeans.cutedsl_assign_euclid
        return call(points[None], centroids[None])

    def fit(self, points, centroids, iterations):
        self.kmeans.flash_kmeans(points, len(centroids), max_iters=iterations, tol=0.0, backend=self.backend,
                                 init_centroids=centroids.clone()[None])

    def search(self, base, k):
        return lambda queries: self.knn(queries, base, k, backend="triton")[1]


class FlashKMeans:
    def __init__(self):
        from flash_kmeans import batch_kmeans_Euclid
        self.kmeans = batch_kmeans_Euclid

    def fit(self, points, centroids, iterations):
        self.kmeans(points[None], len(centroids), max_iters=iterations, tol=0.0,
                    init_centroids=centroids.clone()[None])


class CuVS:
    def __init__(self):
        import torch
        from cuvs.cluster import kmeans
        from cuvs.neighbors import brute_force
        self.torch, self.kmeans, self.brute_force = torch, kmeans, brute_force

    def parameters(self, k, iterations):
        return self.kmeans.KMeansParams(n_clusters=k, init_method="Array", max_iter=iterations, tol=1e-30, n_init=1)

    def assign(self, points, centroids):
        labels = self.torch.empty(len(points), dtype=self.torch.int32, device="cuda")
        self.kmeans.predict(self.parameters(len(centroids), 1), points, centroids, labels=labels)
        return labels

    def fit(self, points, centroids, iterations):
        self.kmeans.fit(self.parameters(len(centroids), iterations), points, centroids=centroids.clone())

    def search(self, base, k):
        index = self.brute_force.build(base, metric="sqeuclidean")

        def find(queries):
            ids = self.torch.empty(len(queries), k, dtype=self.torch.int64, device="cuda")
            distances = self.torch.empty(len(queries), k, device="cuda")
            self.brute_force.search(index, queries, k, neighbors=ids, distances=distances)
            return ids
        return find


class Faiss:
    """Its k-means takes arrays of the host, which travel within the time."""

    def __init__(self):
        import faiss
        import faiss.contrib.torch_utils  # noqa: F401  (tensors as arguments)
        self.faiss, self.resources = faiss, faiss.StandardGpuResources()
        self.resources.setDefaultNullStreamAllDevices()

    def assign(self, points, centroids):
        return self.faiss.knn_gpu(self.resources, points, centroids, 1)[1]

    def fit(self, points, centroids, iterations):
        model = self.faiss.Kmeans(points.shape[1], len(centroids), niter=iterations, gpu=1, min_points_per_centroid=1,
                                  max_points_per_centroid=len(points))
        model.train(points.cpu().numpy(), init_centroids=centroids.cpu().numpy())

    def search(self, base, k):
        return lambda queries: self.faiss.knn_gpu(self.resources, queries, base, k)[1]


class Certex:
    def __init__(self):
        import certex
        self.certex = certex

    def search(self, base, k):
        index = self.certex.Index(base.shape[1])
        index.add(base)
        return lambda queries: index.search(queries, k=k)[1]


PEERS = {"FlashLib": FlashLib, "FlashLib float16": lambda: FlashLib("float16"), "flash-kmeans": FlashKMeans,
         "cuVS": CuVS, "certex": Certex, "FAISS": Faiss, "torch": Torch}


def median_device_ms(torch, call, repeat):
    """The median of `repeat` calls by the device's events, after one call that is not counted."""
    call()
    spans = []
    for _ in range(repeat):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        spans.append(begin.elapsed_time(end))
    return statistics.median(spans)


def wrong_share(torch, base, queries, ids, sample):
    """The share of some of the queries whose ids are not float64's, by (distance, row number)."""
    ids = ids.reshape(len(queries), -1)
    picked = torch.arange(0, len(queries), max(1, len(queries) // sample), device="cuda")[:sample]
    exact, k = base.double(), ids.shape[1]
    squares, wrong = (exact * exact).sum(1), 0
    for rows in picked.split(max(1, 2**28 // len(base))):
        scores = torch.addmm(squares, queries[rows].double(), exact.T, alpha=-2)
        some = scores.topk(min(k + 16, len(base)), largest=False).indices.sort(1).values
        order = scores.gather(1, some).sort(dim=1, stable=True).indices
        wrong += int((some.gather(1, order)[:, :k] != ids[rows].long()).any(1).sum())
    return wrong / len(picked)


def measure_peer(name, job, shape, repeat):
    """(ms, share of wrong answers); None where the peer does not do this job; a text where it cannot run."""
    try:
        import torch
        peer = PEERS[name]()
        if not hasattr(peer, {"assign": "assign", "iteration": "fit", "knn": "search"}[job]):
            return None
        torch.manual_seed(1)
        points = torch.randn(shape[0], shape[1], device="cuda")
        rounded = points.to(getattr(peer, "type", torch.float32))
        if job == "knn":
            queries = torch.randn(shape[2], shape[1], device="cuda")
            find, wanted = peer.search(rounded, shape[3]), queries.to(rounded.dtype)
            wrong = wrong_share(torch, points, queries, find(wanted), 1000)
            return median_device_ms(torch, lambda: find(wanted), repeat), wrong
        centroids = rounded[torch.randperm(len(points), device="cuda")[:shape[2]]].clone()
        if job == "assign":
            wrong = wrong_share(torch, centroids.float(), points, peer.assign(rounded, centroids), 20_000)
            return median_device_ms(torch, lambda: peer.assign(rounded, centroids), repeat), wrong

        def fit(iterations):
            peer.fit(rounded, centroids, iterations)
            torch.cuda.synchronize()
        return iteration_ms(fit, repeat, 2, 12), None
    except Exception as error:  # of any package that is missing or does not run here
        return f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"


def measure_kith(program, job, shape, repeat):
    rows, columns, *counts = shape
    text = f"{rows}x{columns}," + ",".join(map(str, counts))
    report = kith_report(program, "bench", job, "--backend", "cuda", "--shape", text, "--repeat", repeat)
    wanted = [row for row in report["rows"] if job != "iteration" or row["name"] == "later"]
    return 1e3 * wanted[0]["seconds"]["median"], None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", help="the program; without it the peers alone are timed")
    parser.add_argument("--jobs", default="assign,iteration,knn")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--shape", action="append", help="ROWSxCOLUMNS,K or, of knn, ROWSxCOLUMNS,QUERIES,K")
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    peers = [name for name in options.peers.split(",") if name]
    start, table = time.time(), Table(["kith", *peers])
    for job in options.jobs.split(","):
        shapes = options.shape or (GPU_SEARCHES if job == "knn" else GPU_CLUSTERINGS).split()
        for shape in map(parse_shape, shapes):
            if len(shape) != (4 if job == "knn" else 3):
                continue
            found = {}
            if options.kith:
                found["kith"] = measure_kith(options.kith, job, shape, options.repeat)
            for name in peers:
                measured = in_own_process(measure_peer, name, job, shape, options.repeat)
                if isinstance(measured, str):
                    print(measured, file=sys.stderr)
                elif measured:
                    found[name] = measured
            table.row(name_of(job, shape), found)
    print(f"took {time.time() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
