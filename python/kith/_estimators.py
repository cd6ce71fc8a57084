"""KMeans, NearestNeighbors and DBSCAN with the names, defaults, attributes and errors of scikit-learn. Where it is
installed they are estimators of it; else they provide the same methods without it."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import on_host
from ._choice import _native, rounded
from ._conventions import (
    BaseEstimator, ClassNamePrefixFeaturesOutMixin, ConvergenceWarning, HoldsValues, SparseClusters, TakesSparse,
    TransformerMixin, check_is_fitted, is_real, is_whole, metric_of, points, require, seed_of, threads_of, weights,
)  # fmt: skip


def _cosine_radius(radius: float) -> float:
    """A cosine distance, 1 - cos, as the distance of directions."""
    return float(np.sqrt(2.0 * radius))


LARGEST_RADIUS = 1e150  # whose square float64 holds


class KMeans(HoldsValues, SparseClusters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """k-means, exact: every label is the nearest centroid, decided in float64, on any number of threads.

    Parameters
    ----------
    n_clusters : int, default 8
    init : "k-means++", "random", array of shape (n_clusters, n_features) or callable(X, n_clusters, random_state)
    n_init : "auto" or int
        Starts, of which the one with the lowest inertia is kept. "auto": 10 for "random" and a callable, else 1.
    max_iter : int, default 300
    tol : float, default 1e-4
        scikit-learn's rule: the squared shift of all centroids, relative to the mean variance of the columns.
    random_state : int, RandomState or None
        None means the seed 0: calls with the same data give the same result.
    verbose, copy_x, algorithm : taken for the sake of scikit-learn's signature, without effect. X is never changed.

    Attributes
    ----------
    cluster_centers_ : float64 array of shape (n_clusters, n_features)
    labels_ : int32 array of shape (n_samples,)
    inertia_ : float
        The sum of the squared distances to the nearest centroids, times sample_weight.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names of columns

    Raises
    ------
    ValueError
        For NaN, infinity, another shape than (n_samples, n_features), and parameters out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from kith import KMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmeans = KMeans(n_clusters=2).fit(X)
    >>> kmeans.predict([[0.0, 0.0], [12.0, 3.0]]).tolist() == kmeans.labels_[[0, 3]].tolist()
    True
    """

    def __init__(
        self, n_clusters: int = 8, *, init: Any = "k-means++", n_init: Any = "auto", max_iter: int = 300,
        tol: float = 1e-4, verbose: int = 0, random_state: Any = None, copy_x: bool = True, algorithm: str = "lloyd",
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    def _start(self, X: NDArray[Any]) -> tuple[Any, int]:
        """The start as kith takes it, and the number of starts."""
        init, n_init = self.init, self.n_init
        if callable(init):
            init = init(X, self.n_clusters, random_state=np.random.RandomState(seed_of(self.random_state)))
        if isinstance(init, str):
            require(init in ("k-means++", "random"), "init", "'k-means++', 'random', an array or a callable", init)
            return init, (10 if init == "random" else 1) if n_init == "auto" else int(n_init)
        init = np.asarray(on_host(init), dtype=np.float64)
        shape = (self.n_clusters, X.shape[1])
        if init.shape != shape:
            raise ValueError(f"The shape of the initial centers {init.shape} does not match the number of clusters "
                             f"and features {shape}.")
        if n_init not in ("auto", 1):
            warnings.warn(f"Explicit initial center position passed: performing only one init instead of "
                          f"n_init={n_init}.", RuntimeWarning, stacklevel=3)
        return init, 1

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> KMeans:
        """Finds the centroids of X, of shape (n_samples, n_features). sample_weight: one number from 0 for each row."""
        require(is_whole(self.n_clusters) and self.n_clusters >= 1, "n_clusters", "a whole number from 1",
                self.n_clusters)
        require(isinstance(self.n_init, str) and self.n_init == "auto" or is_whole(self.n_init) and self.n_init >= 1,
                "n_init", "'auto' or a whole number from 1", self.n_init)
        require(is_whole(self.max_iter) and self.max_iter >= 1, "max_iter", "a whole number from 1", self.max_iter)
        require(is_real(self.tol) and self.tol >= 0, "tol", "a number from 0", self.tol)
        require(self.algorithm in ("lloyd", "elkan"), "algorithm", "'lloyd' or 'elkan'", self.algorithm)
        rows = points(self, X, reset=True, stays=not callable(self.init))
        if len(rows) < self.n_clusters:
            raise ValueError(f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}.")
        init, n_init = self._start(rows)
        found = _native.cluster(
            rows, int(self.n_clusters), init=init, n_init=n_init, max_iterations=int(self.max_iter),
            tolerance=float(self.tol), seed=seed_of(self.random_state), weights=weights(on_host(sample_weight), rows),
        )  # fmt: skip
        self.cluster_centers_, self.labels_ = np.asarray(found.centroids), np.asarray(found.labels)
        self.inertia_, self.n_iter_ = float(found.inertia), int(found.iterations)
        self._held = _native.Model(self.cluster_centers_)
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                          "Possibly due to duplicate points in X.", ConvergenceWarning, stacklevel=2)
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """The number of the nearest centroid of each row; ties go to the lowest. Shape (n_samples,)."""
        check_is_fitted(self)
        rows = points(self, X, reset=False, stays=True)
        if self._held is None or not self._held.is_of(self.cluster_centers_):
            self._held = _native.Model(self.cluster_centers_)
        return np.asarray(self._held.labels(rows))

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Distances to all centroids, in the type of X: shape (n_samples, n_clusters)."""
        check_is_fitted(self)
        rows = points(self, X, reset=False, stays=True)
        held = rows if isinstance(rows, _native.Points) else _native.Points(rows, name="X")
        return np.asarray(rounded(_native.distances(held, self.cluster_centers_), "euclidean", held))

    def fit_transform(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[Any]:
        """fit(X).transform(X)"""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The inertia of X with a minus, so that larger is better."""
        check_is_fitted(self)
        rows = points(self, X, reset=False, stays=True)
        return -float(_native.assign(rows, self.cluster_centers_, weights=weights(on_host(sample_weight), rows)).inertia)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class NearestNeighbors(HoldsValues, TakesSparse, BaseEstimator):
    """Exact nearest neighbours: nothing is approximate, and ties go to the lowest row.

    Parameters
    ----------
    n_neighbors : int, default 5
    radius : float, default 1.0
    metric : "minkowski" with p 1, 2 or inf, "euclidean", "manhattan", "chebyshev", "cosine" (1 - cos)
    n_jobs : int or None
        Threads; None and -1: all that this process may use.
    algorithm, leaf_size : taken for the sake of scikit-learn's signature, without effect.

    Attributes
    ----------
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : array of str, if X has names of columns
    effective_metric_ : str

    Raises
    ------
    ValueError
        For NaN, infinity, another shape than (n_samples, n_features), parameters out of range, and another metric.

    Examples
    --------
    >>> from kith import NearestNeighbors
    >>> near = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = near.kneighbors([[0.9]])
    >>> rows.tolist()
    [[1, 0]]
    """

    def __init__(
        self, *, n_neighbors: int = 5, radius: float = 1.0, algorithm: str = "auto", leaf_size: int = 30,
        metric: Any = "minkowski", p: float = 2, metric_params: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None) -> NearestNeighbors:
        """Holds the rows of X, of shape (n_samples, n_features), in which the other methods search."""
        self.effective_metric_ = metric_of(self.metric, self.p, self.metric_params)
        self._fit_X = points(self, X, reset=True)
        self.n_samples_fit_ = len(self._fit_X)
        self._held = None
        return self

    def _search(self) -> Any:
        check_is_fitted(self)
        if self._held is None:
            self._held = _native.Index(self._fit_X, self.effective_metric_, threads=threads_of(self.n_jobs))
        return self._held

    def _distances(self, found: Any) -> NDArray[Any]:
        """Of cosine, kith has 2 - 2 cos, and scikit-learn half of it."""
        return np.asarray(found) / 2.0 if self.effective_metric_ == "cosine" else np.asarray(found)

    def kneighbors(self, X: ArrayLike | None = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """(distances, rows), both of shape (n_queries, n_neighbors), nearest first; rows alone without
        return_distance. X None: the rows of fit(), each without itself."""
        index = self._search()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not is_whole(k):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        queries = None if X is None else points(self, X, reset=False)
        most = self.n_samples_fit_ - (1 if X is None else 0)
        if k > most:
            sign = "<" if X is None else "<="
            raise ValueError(f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                             f"{self.n_samples_fit_}, n_samples = {self.n_samples_fit_ if X is None else len(queries)}")
        rows, distances = index.search(queries, int(k), squared=self.effective_metric_ == "cosine")
        return (self._distances(distances), rows) if return_distance else rows

    def _within(self, X: ArrayLike | None, radius: float | None) -> tuple[Any, Any, Any]:
        index = self._search()
        limit = self.radius if radius is None else radius
        require(is_real(limit) and limit >= 0, "radius", "a number from 0", limit)
        is_cosine = self.effective_metric_ == "cosine"
        queries = None if X is None else points(self, X, reset=False)
        limit = min(_cosine_radius(limit) if is_cosine else float(limit), LARGEST_RADIUS)
        begin, rows, distances = index.within(queries, limit, squared=is_cosine)
        return np.asarray(begin), np.asarray(rows), self._distances(distances)

    def radius_neighbors(self, X: ArrayLike | None = None, radius: float | None = None, return_distance: bool = True,
                         sort_results: bool = False) -> Any:
        """(distances, rows): for each query an array of the rows within the radius, which is included. They are always
        sorted, nearest first."""
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        begin, rows, distances = self._within(X, radius)

        def lists(of_all: NDArray[Any]) -> NDArray[Any]:
            parts = np.empty(len(begin) - 1, dtype=object)
            parts[:] = np.split(of_all, begin[1:-1])
            return parts

        return (lists(distances), lists(rows)) if return_distance else lists(rows)

    def _graph(self, begin: Any, rows: Any, distances: Any, mode: str) -> Any:
        from scipy.sparse import csr_matrix

        require(mode in ("connectivity", "distance"), "mode", "'connectivity' or 'distance'", mode)
        data = np.ones(len(rows)) if mode == "connectivity" else distances
        return csr_matrix((data, rows, begin), shape=(len(begin) - 1, self.n_samples_fit_))

    def kneighbors_graph(self, X: ArrayLike | None = None, n_neighbors: int | None = None,
                         mode: str = "connectivity") -> Any:
        """The lists of kneighbors() as a sparse matrix (n_queries, n_samples_fit_) of 1 or, with mode "distance", of
        distances."""
        distances, rows = self.kneighbors(X, n_neighbors)
        begin = np.arange(len(rows) + 1) * rows.shape[1]
        return self._graph(begin, rows.ravel(), distances.ravel(), mode)

    def radius_neighbors_graph(self, X: ArrayLike | None = None, radius: float | None = None,
                               mode: str = "connectivity", sort_results: bool = False) -> Any:
        """The lists of radius_neighbors() as a sparse matrix (n_queries, n_samples_fit_)."""
        check_is_fitted(self)
        return self._graph(*self._within(X, radius), mode)


class DBSCAN(SparseClusters, BaseEstimator):
    """Clusters of rows that are dense: a core row has min_samples rows within eps, itself among them.

    Parameters
    ----------
    eps : float, default 0.5
    min_samples : int, default 5
    metric : as of NearestNeighbors
    n_jobs : int or None
        Threads; None and -1: all that this process may use.
    algorithm, leaf_size : taken for the sake of scikit-learn's signature, without effect.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        -1 is noise.
    core_sample_indices_ : array of shape (n_core_samples,)
    components_ : array of shape (n_core_samples, n_features)
        The core rows of X.
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names of columns

    Raises
    ------
    ValueError
        For NaN, infinity, another shape than (n_samples, n_features), parameters out of range, and another metric.

    Examples
    --------
    >>> from kith import DBSCAN
    >>> DBSCAN(eps=3, min_samples=2).fit_predict([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]]).tolist()
    [0, 0, 0, 1, 1, -1]
    """

    def __init__(
        self, eps: float = 0.5, *, min_samples: int = 5, metric: Any = "euclidean", metric_params: Any = None,
        algorithm: str = "auto", leaf_size: int = 30, p: float | None = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> DBSCAN:
        """Clusters X, of shape (n_samples, n_features). sample_weight: a row counts so many times, also less than
        once or negative, among the min_samples."""
        require(is_real(self.eps) and self.eps > 0, "eps", "a number greater than 0", self.eps)
        require(is_whole(self.min_samples) and self.min_samples >= 1, "min_samples", "a whole number from 1",
                self.min_samples)
        metric, threads = metric_of(self.metric, self.p, self.metric_params), threads_of(self.n_jobs)
        rows = points(self, X, reset=True)
        radius = min(_cosine_radius(self.eps) if metric == "cosine" else float(self.eps), LARGEST_RADIUS)
        if sample_weight is None:
            labels, core = _native.dbscan(rows, radius, int(self.min_samples), metric=metric, threads=threads)
        else:
            labels, core = self._weighted(rows, radius, metric, threads, sample_weight)
        self.labels_ = np.asarray(labels).astype(np.intp)
        self.core_sample_indices_ = np.asarray(core).astype(np.intp)
        self.components_ = rows[self.core_sample_indices_].copy()
        return self

    def _weighted(self, rows: NDArray[Any], radius: float, metric: str, threads: int, sample_weight: Any) -> Any:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        of_rows = np.asarray(on_host(sample_weight), dtype=np.float64)
        of_rows = np.full(len(rows), of_rows) if of_rows.ndim == 0 else of_rows
        if of_rows.shape != (len(rows),):
            raise ValueError(f"sample_weight.shape == {of_rows.shape}, expected {(len(rows),)}!")
        if not np.isfinite(of_rows).all():
            raise ValueError("Input sample_weight contains NaN or infinity.")
        if not of_rows.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        begin, near, _ = _native.Index(rows, metric, threads=threads).within(None, radius, include_self=True)
        begin, near = np.asarray(begin), np.asarray(near)
        is_core = np.add.reduceat(of_rows[near], begin[:-1]) >= self.min_samples
        row = np.repeat(np.arange(len(rows)), np.diff(begin))
        both = is_core[row] & is_core[near]
        graph = csr_matrix((np.ones(both.sum(), np.int8), (row[both], near[both])), shape=(len(rows), len(rows)))
        _, part = connected_components(graph, directed=False)
        core = np.flatnonzero(is_core)
        labels = np.full(len(rows), len(rows))
        _, first, of_core = np.unique(part[core], return_index=True, return_inverse=True)
        labels[core] = np.argsort(np.argsort(first))[of_core]  # clusters are numbered by their first core row
        borders = ~is_core[row] & is_core[near]
        np.minimum.at(labels, row[borders], labels[near[borders]])
        return np.where(labels == len(rows), -1, labels), core
