#!/usr/bin/env python3
"""Times k-means and exact nearest neighbours of other CPU programs, and of kith, on the same arrays in one run.

    pip install numpy h5py scipy scikit-learn scikit-learn-intelex faiss-cpu

    cpu_peers.py --kith build/kith                              # all jobs and shapes of docs/performance.md
    cpu_peers.py --kith build/kith --jobs knn --repeat 3
    cpu_peers.py --kith build/kith --jobs assign --shape 100000x64,4096 --peers oneDAL,FAISS
    KITH_CPU=avx2 cpu_peers.py --kith build/kith --jobs iteration --peers ""

Jobs:
    assign      the nearest centroid of every row; for kith the phase "assign" of kith assign, inertia included
    iteration   one Lloyd iteration from given centroids; for kith the median after the second of seven
    knn         exact neighbours; an index that needs no training is built before the clock starts

Peers: scikit-learn; oneDAL, through scikit-learn-intelex; FAISS, flat indexes; cKDTree of scipy, with its tree built
before the clock starts (knn only; a tree suits few columns, so it is asked for by name). Each peer uses all cores and
runs in a process of its own, since the OpenMP runtimes disturb each other. The labels and lists of every program are
compared with float64 for some rows; the table says which share is wrong.
"""
import argparse
import os
import statistics
import tempfile
import warnings

from measuring import (CPU_CLUSTERINGS, CPU_SEARCHES, Table, in_own_process, iteration_ms, kith_report, median_ms,
                       name_of, normal, parse_shape, wrong_labels, wrong_lists)


class ScikitLearn:
    def __init__(self):
        from sklearn.cluster import KMeans
        from sklearn.neighbors import NearestNeighbors
        self.KMeans, self.NearestNeighbors = KMeans, NearestNeighbors

    def fit(self, points, centroids, iterations):
        model = self.KMeans(len(centroids), init=centroids, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
        return model.fit(points)

    def assign(self, points, centroids):
        """(what assigns, the centroids that it assigns to)"""
        model = self.fit(points, centroids, 1)
        return lambda: model.predict(points), model.cluster_centers_

    def search(self, base, queries, k):
        index = self.NearestNeighbors(n_neighbors=k, algorithm="brute").fit(base)
        return lambda: index.kneighbors(queries, return_distance=False)


class OneDal(ScikitLearn):
    def __init__(self):
        super().__init__()
        from sklearnex.cluster import KMeans
        from sklearnex.neighbors import NearestNeighbors
        self.KMeans, self.NearestNeighbors = KMeans, NearestNeighbors


class Faiss:
    def __init__(self):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(len(os.sched_getaffinity(0)))

    def fit(self, points, centroids, iterations):
        model = self.faiss.Kmeans(points.shape[1], len(centroids), niter=iterations, min_points_per_centroid=1,
                                  max_points_per_centroid=len(points))
        model.train(points, init_centroids=centroids)

    def assign(self, points, centroids):
        search = self.search(centroids, points, 1)
        return search, centroids

    def search(self, base, queries, k):
        index = self.faiss.IndexFlatL2(base.shape[1])
        index.add(base)
        return lambda: index.search(queries, k)[1]


class CKDTree:
    def __init__(self):
        from scipy.spatial import cKDTree
        self.tree = cKDTree

    def search(self, base, queries, k):
        tree = self.tree(base)
        return lambda: tree.query(queries, k, workers=-1)[1].reshape(len(queries), k)


PEERS = {"scikit-learn": ScikitLearn, "oneDAL": OneDal, "FAISS": Faiss, "cKDTree": CKDTree}


def measure_peer(name, job, shape, repeat):
    """(ms, share of wrong answers), or None where the peer does not do this job."""
    warnings.filterwarnings("ignore")  # that a fit of few iterations has not converged
    peer = PEERS[name]()
    if job == "knn" and hasattr(peer, "search"):
        rows, columns, queries, k = shape
        base, wanted = normal(rows, columns), normal(queries, columns, 1)
        search = peer.search(base, wanted, k)
        return median_ms(search, repeat), wrong_lists(base, wanted, search())
    if job == "knn" or not hasattr(peer, "fit"):
        return None
    rows, columns, k = shape
    points, centroids = normal(rows, columns), normal(k, columns, 1)
    if job == "iteration":
        return iteration_ms(lambda iterations: peer.fit(points, centroids, iterations), repeat), None
    assign, centroids = peer.assign(points, centroids)
    return median_ms(assign, repeat), wrong_labels(points, centroids, assign())


def measure_kith(program, job, shape, repeat):
    """The same of kith, from a file, by its own report."""
    import h5py
    with tempfile.TemporaryDirectory() as folder:
        file, out = f"{folder}/in.h5", f"{folder}/out.h5"
        rows, columns, k = shape[0], shape[1], shape[-1]
        points, others = normal(rows, columns), normal(shape[2], columns, 1)  # centroids or queries
        with h5py.File(file, "w") as written:
            written["points"], written["others"] = points, others
        common = ["--backend", "cpu", "--force", "-o", out]
        if job == "iteration":
            report = kith_report(program, "cluster", f"{file}:/points", "-k", k, "--init", f"{file}:/others",
                                 "--max-iterations", 7, "--tolerance", 0, *common)
            return 1e3 * statistics.median(each["seconds"] for each in report["iterations"][2:]), None
        if job == "assign":
            command, phase = ["assign", f"{file}:/points", "--centroids", f"{file}:/others"], "assign"
        else:
            command, phase = ["knn", f"{file}:/points", "--queries", f"{file}:/others", "-k", k], "search"
        reports = [kith_report(program, *command, *common) for _ in range(repeat)]
        ms = 1e3 * statistics.median(report["seconds"][phase] for report in reports)
        with h5py.File(out) as result:
            if job == "assign":
                return ms, wrong_labels(points, others, result["labels"][:])
            return ms, wrong_lists(points, others, result["neighbors"][:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", help="the program; without it the peers alone are timed")
    parser.add_argument("--jobs", default="assign,iteration,knn")
    parser.add_argument("--peers", default="scikit-learn,oneDAL,FAISS", help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--shape", action="append", help="ROWSxCOLUMNS,K or, of knn, ROWSxCOLUMNS,QUERIES,K")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    peers = [name for name in options.peers.split(",") if name]
    table = Table(["kith", *peers])
    for job in options.jobs.split(","):
        shapes = options.shape or (CPU_SEARCHES if job == "knn" else CPU_CLUSTERINGS).split()
        for shape in map(parse_shape, shapes):
            if len(shape) != (4 if job == "knn" else 3):
                continue
            found = {}
            if options.kith:
                found["kith"] = measure_kith(options.kith, job, shape, options.repeat)
            for name in peers:
                measured = in_own_process(measure_peer, name, job, shape, options.repeat)
                if measured:
                    found[name] = measured
            table.row(name_of(job, shape), found)


if __name__ == "__main__":
    main()
