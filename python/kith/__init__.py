"""Exact k-means and nearest neighbours of NumPy arrays.

    import kith
    result = kith.cluster(points, 10)
    result.labels, result.centroids, result.inertia
    kith.assign(others, result).labels

Points are arrays of rows x columns: float32, float64 or integers; masked arrays, whose masked values are NaN; data
frames and sparse matrices of SciPy. Data frames may hold texts, dates and missing values too, if options say what
becomes of them: cluster(frame, 3, encode="date,yesno,onehot", nan="mean").

Calls are computed in this process, on arrays that are borrowed where their type allows it, or by the program kith
through files in memory (/dev/shm), where an option needs the program; results are the bytes of the command line either
way. Index holds points for many searches. Options are keywords, as in cluster(points, 10, n_init=10, metric="cosine"):
`kith cluster --help` lists them. True stands for an option without a value; False and None leave it out; an option
that takes a file also takes an array, as in cluster(points, 10, weights=w).
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import column_names, in_order, in_order_of, is_table, matrix, of_metric
from ._choice import WHERE, _native, held, in_process, rounded
from ._errors import Error, Warning, make_error
from ._program import as_file, as_points, call, installed_version, number, program, reads_table, whole

if TYPE_CHECKING:
    from ._estimators import DBSCAN, KMeans, NearestNeighbors
    from ._native import Index, Points, dbscan, distances, evaluate, sweep

__all__ = [
    "Clusters", "DBSCAN", "Error", "Index", "KMeans", "NearestNeighbors", "Neighbors", "Points", "PreparedCentroids",
    "Warning", "assign", "cluster", "dbscan", "distances", "evaluate", "neighbors", "program", "sweep", "within",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """What only the module in the process has (_native.pyi); estimators import scikit-learn when they are first used."""
    estimators = ("DBSCAN", "KMeans", "NearestNeighbors")
    if name in (*estimators, "Index", "Points", "dbscan", "distances", "evaluate", "sweep"):
        if _native is None:
            raise Error(1, f"kith.{name}: this kith was installed without its compiled module, kith._native; install "
                           "it with pip install .")
        from importlib import import_module

        return getattr(import_module("._estimators", __name__) if name in estimators else _native, name)
    if name == "__version__":
        return _native.version() if _native is not None else installed_version()
    raise AttributeError(f"module 'kith' has no attribute '{name}'")


def __dir__() -> list[str]:
    """What help(kith) and the completion of names show, also before it is used."""
    return [name for name in __all__ if _native is not None or name in globals()]


class PreparedCentroids(np.ndarray[Any, Any]):
    """Centroids of prepared points: scaled, in principal components, or of length 1. Distances to other points mean
    nothing, so assign() takes the result instead. Arithmetic gives plain arrays."""

    preparation = ""  # "scale='zscore'"

    def __array_finalize__(self, source: Any) -> None:
        self.preparation = getattr(source, "preparation", "")

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        def plain(value: Any) -> Any:
            return value.view(np.ndarray) if isinstance(value, PreparedCentroids) else value

        if "out" in kwargs:
            kwargs["out"] = tuple(plain(value) for value in kwargs["out"])
        return getattr(ufunc, method)(*(plain(value) for value in inputs), **kwargs)


@dataclass(frozen=True, repr=False, eq=False)
class Clusters:
    """The result of cluster() or assign(). Without rounds of its own, assign() has stopped_by ""."""

    labels: NDArray[np.int32]  # (n) -1: a row that was dropped
    centroids: NDArray[np.float64]  # (k, d) of the points as they were prepared; then PreparedCentroids
    counts: NDArray[np.int64]  # (k)
    inertia: float
    iterations: int
    stopped_by: str
    centroids_original: NDArray[np.float64] | None = None  # (k, d) in the units of the points, after scale=
    distances: NDArray[np.floating[Any]] | None = None  # (n) with save_distances=True
    medoids: NDArray[np.float64] | None = None  # (k, d) with medoids=True
    columns: list[str] | None = None  # the names that a data frame gives them
    changed: int = 0  # labels that the last assignment of cluster() changed
    metric: str = "euclidean"
    _file: bytes | None = field(default=None)  # the result of the program, which holds the preparation
    _reads_table: bool = field(default=False)  # it describes the columns of a data frame with texts

    def __repr__(self) -> str:
        rounds = f", {self.iterations} iterations, stopped by {self.stopped_by}" if self.stopped_by else ""
        sizes = f"{len(self.labels)} points, {len(self.counts)} clusters"
        return f"<kith.Clusters: {sizes}, inertia {self.inertia:.6g}{rounds}>"


@dataclass(frozen=True, repr=False, eq=False)
class Neighbors:
    """Lists of k rows each, nearest first, ties to the lowest row."""

    rows: NDArray[np.int64]  # (q, k)
    distances: NDArray[np.floating[Any]]  # (q, k)

    def __repr__(self) -> str:
        return f"<kith.Neighbors: {self.rows.shape[1]} neighbours of each of {self.rows.shape[0]} rows>"


def _text(file: h5py.File, name: str) -> str:
    value = file.attrs.get(name, b"")  # NumPy bytes: kith writes texts of fixed length
    return value.decode() if isinstance(value, bytes) else str(value)


def _preparation(file: h5py.File) -> str:
    """What was done to the points, as options: "scale='zscore', pca=3"."""
    done = [f"scale='{_text(file, 'scale')}'"] if "scale" in file.attrs else []
    done += [f"pca={int(file.attrs['pca'])}"] if "pca" in file.attrs else []
    metric = _text(file, "metric")
    done += [_direction(metric)] if _direction(metric) else []
    return ", ".join(done)


def _marked(centroids: NDArray[np.float64], preparation: str) -> NDArray[np.float64]:
    if not preparation:
        return centroids
    prepared = centroids.view(PreparedCentroids)
    prepared.preparation = preparation
    return prepared


def _clusters(file: h5py.File, centroids: NDArray[np.float64], **more: Any) -> Clusters:
    return Clusters(
        labels=file["labels"][:],
        centroids=centroids,
        counts=file["counts"][:],
        inertia=float(file.attrs["inertia"]),
        iterations=int(file.attrs.get("iterations", 0)),
        stopped_by=_text(file, "stopped_by"),
        changed=int(file.attrs.get("changed", 0)),
        metric=_text(file, "metric"),
        distances=file["distances"][:] if "distances" in file else None,
        **more,
    )


def _clusters_of(found: Any, points: Any, **more: Any) -> Clusters:
    """What _native found."""
    names = ("labels", "centroids", "counts", "inertia", "iterations", "stopped_by", "medoids", "changed")
    fields = {name: getattr(found, name) for name in names}
    return Clusters(**{**fields, "distances": rounded(found.distances, more["metric"], points), **more})


def _direction(metric: str) -> str:
    return f"metric='{metric}'" if metric in ("cosine", "correlation") else ""


def cluster(points: ArrayLike, clusters: int, **options: Any) -> Clusters:
    """k-means: `kith cluster POINTS -k CLUSTERS`. Raises Error."""
    start = options.get("init")
    if hasattr(start, "cluster_centers_"):  # of KMeans
        options = {**options, "init": start.cluster_centers_}
    if isinstance(start, Clusters):
        points = in_order(points, start.columns, "points")
        if start._file is None:  # a result has its metric
            options = {"metric": start.metric, **options}
    options = {name: in_order_of(points, value, name) if name in ("init", "freeze") else value
               for name, value in options.items()}
    if (taken := in_process("cluster", options, points)) is not None:
        own, names = held(points, "points", taken), column_names(points)
        found = _native.cluster(own, whole("clusters", clusters), **taken)
        metric = taken.get("metric", "euclidean")
        centroids = _marked(found.centroids, _direction(metric))
        return _clusters_of(found, own, centroids=centroids, columns=names, metric=metric)

    as_table = reads_table(points, options)

    def read(file: h5py.File, path: str) -> Clusters:
        return _clusters(
            file,
            _marked(file["centroids"][:], _preparation(file)),
            centroids_original=file["centroids_original"][:] if "centroids_original" in file else None,
            medoids=file["medoids"][:] if "medoids" in file else None,
            columns=None if as_table else column_names(points),
            _file=Path(path).read_bytes(),
            _reads_table=as_table,
        )

    def words(folder: str) -> list[str]:
        return [*as_points(folder, "points", points, as_table), "-k", str(whole("clusters", clusters))]

    return call("cluster", words, options, read)


def assign(points: ArrayLike, centroids: Clusters | ArrayLike, **options: Any) -> Clusters:
    """The nearest centroid of each point: `kith assign POINTS --centroids CENTROIDS`. With the result of cluster() the
    points are prepared as its points were: columns of a data frame are found by their names, texts and dates encoded,
    and missing values replaced. A row with a value that the result does not know gets the label -1. Raises Error."""
    centroids = getattr(centroids, "cluster_centers_", centroids)  # of KMeans
    if isinstance(centroids, Clusters):
        return _assign(in_order(points, centroids.columns, "points"), centroids, centroids, options)
    if isinstance(centroids, PreparedCentroids):
        same_metric = centroids.preparation == f"metric='{options.get('metric')}'"
        if not same_metric:
            raise make_error(2, "centroids: expected a result, or centroids of points without a preparation, found those "
                           f"of points after {centroids.preparation or 'a preparation'}; give the whole result: "
                           "kith.assign(points, result)")
    return _assign(points, in_order_of(points, centroids, "centroids"), None, options)


def _assign(points: Any, centroids: Any, model: Clusters | None, options: dict[str, Any]) -> Clusters:
    if model is not None and options.get("metric", model.metric) != model.metric:
        raise make_error(2, f"metric: expected {model.metric}, that of the result, found {options['metric']}; leave it "
                       "out, or give numpy.array(result.centroids)")
    if model is not None and model._file is None:  # its points were not prepared
        found = _assign(points, np.asarray(model.centroids), None, {"metric": model.metric, **options})
        return replace(found, centroids=model.centroids, columns=model.columns)
    taken = in_process("assign", options, points, centroids) if model is None else None
    if taken is not None:
        own, metric = held(points, "points", taken), taken.get("metric", "euclidean")
        of_given = _marked(matrix(centroids, "centroids"), _direction(metric))
        return _clusters_of(_native.assign(own, centroids, **taken), own, centroids=of_given, metric=metric)

    def words(folder: str) -> list[str]:
        given = model if model is not None else matrix(centroids, "centroids")  # a plain array
        as_table = model._reads_table if model is not None else reads_table(points, options)
        return [*as_points(folder, "points", points, as_table), "--centroids", as_file(folder, "centroids", given)]

    def read(file: h5py.File, _: str) -> Clusters:
        if model is None:
            return _clusters(file, _marked(matrix(centroids, "centroids"), _preparation(file)))
        return _clusters(file, model.centroids, centroids_original=model.centroids_original, columns=model.columns,
                         _file=model._file, _reads_table=model._reads_table)

    return call("assign", words, options, read)


def _search(
    base: ArrayLike, how: list[str], queries: ArrayLike | None, options: dict[str, Any]
) -> Callable[[str], list[str]]:
    by_names = reads_table(base, options) or options.get("metric") == "haversine"  # the program finds the columns

    def words(folder: str) -> list[str]:
        given = [*as_points(folder, "base", base, by_names), *how]
        if queries is not None:
            asked = queries if by_names else in_order(queries, column_names(base), "queries")
            path, *reading = as_points(folder, "queries", asked, by_names)
            given += ["--queries", path, *reading]
        return given

    return words


def _index(base: Any, queries: Any, taken: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
    """An index of the base, the queries, and both as points. The options of an index are taken out of the others."""
    where = {option: taken[option] for option in WHERE if option in taken}
    metric = taken.pop("metric", "euclidean")
    own = held(of_metric(base, metric), "base", taken)
    index = _native.Index(own, metric)
    if queries is None:
        return index, None, [own]
    asked = _native.Points(of_metric(queries, metric, column_names(own), "queries"), name="queries", **where)
    return index, asked, [own, asked]


def neighbors(base: ArrayLike, k: int, queries: ArrayLike | None = None, **options: Any) -> Neighbors:
    """The k nearest rows of `base` for each query, or for each other row: `kith knn`. Raises Error."""
    if (taken := in_process("knn", options, base, queries)) is not None:
        search, asked, points = _index(base, queries, taken)
        rows, distances = search.search(asked, whole("k", k), **taken)
        return Neighbors(rows=rows, distances=rounded(distances, search.metric, *points))
    return call(
        "knn",
        _search(base, ["-k", str(whole("k", k))], queries, options),
        options,
        lambda file, _: Neighbors(rows=file["neighbors"][:], distances=file["distances"][:]),
    )


def within(
    base: ArrayLike, radius: float, queries: ArrayLike | None = None, **options: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.floating[Any]]]:
    """All rows within the radius: `kith knn --radius`. As in scipy.sparse.csr_array: begins, rows, distances."""
    if (taken := in_process("knn", options, base, queries)) is not None:
        search, asked, points = _index(base, queries, taken)
        begins, rows, distances = search.within(asked, float(number("radius", radius)), **taken)
        return begins, rows, rounded(distances, search.metric, *points)
    return call(
        "knn",
        _search(base, [f"--radius={number('radius', radius)}"], queries, options),
        options,
        lambda file, _: (file["indptr"][:], file["indices"][:], file["distances"][:]),
    )
