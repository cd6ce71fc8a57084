"""The computations of kith in this process: kith/ of the C++ interface, bound by python/native.cpp.

Points are held where they are computed with, once, and then searched and clustered as often as wanted. Every function
takes held Points, or values that it holds for the call: an array of rows x columns, or what kith._arrays.values() makes
one of. Arrays of NumPy in row order of float32, float64, uint8 and int8 are borrowed: they must not change while they
are held. Everything else is converted once, as the program converts it: bool to int8, float16 and 16-bit integers
to float32, other integers to float64. Arrays in the memory of a GPU (DLPack: PyTorch, CuPy, JAX) stay there, and
backend="auto" is that GPU, if they are in row order and of one of these types; metrics that compare other values than
the given ones (cosine, correlation, haversine, bits), dbscan and searches of the base itself copy them to the host.

Results are the bytes of the command line, on any number of threads. Names of options are those of the command line.
A value that is masked, NaN or infinite, and an option out of range, is an Error that is a ValueError too and names row
and column. The interpreter lock is released meanwhile, and KeyboardInterrupt ends a call. Calls of several threads
take turns on a device. A device is opened when it is first used, and again in a child after fork().
"""
from typing import Any, Sequence, TypedDict

from numpy.typing import NDArray
import numpy as np

Values = Any  # Points, or what becomes an array of rows x columns

def version() -> str: ...
def place_columns(names: list[str]) -> list[tuple[str, list[str], list[int]]]:
    """Latitude, then longitude: what it is called, how a column may be named, and the columns that are, from 0."""
def missing(backend: str, device: int = 0) -> str:
    """Why a backend ("cpu", "cuda") cannot be used; empty: it can."""

class Points:
    """Rows x columns of finite values, held by a device. backend: "auto", "cpu" or "cuda". threads: 0: all that this
    process may use. name: what errors call the values."""

    def __init__(
        self, values: Values, *, name: str = "points", backend: str = "auto", device: int = 0, threads: int = 0
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def column_names(self) -> list[str] | None:
        """The names of the data frame that they are made of."""
    @property
    def shape(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    @property
    def value_class(self) -> str:
        """"f32" or "f64": the class in which the program writes distances between these points."""

class Model:
    """Centroids (k, d) that give points their labels again and again; they are copied, and checked once."""

    def __init__(self, centroids: Values, metric: str = "euclidean") -> None: ...
    def is_of(self, centroids: NDArray[np.float64]) -> bool:
        """Whether the centroids are still the same."""
    def labels(
        self, points: Values, *, backend: str = "auto", device: int = 0, threads: int = 0
    ) -> NDArray[np.int32]:
        """(n,) the labels of assign()."""

class Index:
    """Exact neighbours among `base`. metric: "euclidean", "cosine", "correlation", "inner-product", "manhattan" or
    "chebyshev"; "haversine" for two columns, latitude and longitude in degrees, in this order, in km; "hamming" or
    "jaccard" for rows of bits: eight in each uint8, as numpy.packbits makes them, or columns of 0 and 1 of any other
    type, such as bool."""

    def __init__(
        self, base: Values, metric: str = "euclidean", *, backend: str = "auto", device: int = 0, threads: int = 0
    ) -> None: ...
    @property
    def points(self) -> Points: ...
    @property
    def metric(self) -> str: ...
    def search(
        self, queries: Values | None = None, k: int = 10, *, include_self: bool = False, squared: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(q, k) rows, nearest first, ties to the lowest row, and their distances. queries=None: the rows of the base,
        each without itself unless include_self."""
    def within(
        self, queries: Values | None, radius: float, *, include_self: bool = False, squared: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """(q + 1) begins, rows and distances, as in scipy.sparse.csr_array: the rows within the radius, inclusive."""

class Clusters:
    """What cluster() and assign() have found."""

    labels: NDArray[np.int32]  # (n)
    centroids: NDArray[np.float64]  # (k, d)
    counts: NDArray[np.int64]  # (k)
    inertia_per_cluster: NDArray[np.float64]  # (k)
    nearest_row: NDArray[np.int64]  # (k); of assign(): empty
    distances: NDArray[np.float64] | None  # (n) to the own centroid, with save_distances
    medoids: NDArray[np.float64] | None  # (k, d) with medoids
    inertia: float
    iterations: int  # of assign(): 0
    stopped_by: str  # "labels", "tolerance", "max-iterations", "epochs", "splits"; of assign(): ""
    changed: int  # labels that the last assignment changed

def cluster(
    points: Values,
    clusters: int,
    *,
    init: Any = None,  # "k-means++", "k-means||", "random", "first", "farthest", or centroids (k, d); None: kith chooses
    n_init: int = 1,
    max_iterations: int = 300,
    tolerance: float = 1e-4,
    seed: int = 0,
    metric: str = "euclidean",  # or "cosine", "correlation"
    weights: Any = None,  # (n) at least 0
    batch: int = 0,
    epochs: int = 3,
    no_finish: bool = False,
    algorithm: str = "lloyd",  # or "bisecting"
    empty: str = "relocate",  # or "keep", "drop", "error"
    save_distances: bool = False,
    medoids: bool = False,
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> Clusters: ...
def assign(
    points: Values,
    centroids: Any,
    *,
    metric: str = "euclidean",
    weights: Any = None,
    save_distances: bool = False,
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> Clusters: ...
def distances(
    a: Values,
    b: Values | None = None,
    *,
    metric: str = "euclidean",
    squared: bool = False,
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> NDArray[np.float64]:
    """(rows of a, rows of b); b=None: a again."""

def dbscan(
    points: Values,
    radius: float,
    min_points: int = 5,
    *,
    metric: str = "euclidean",
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(n) labels, -1 for noise, and the rows of core points, ascending."""

class Scores(TypedDict, total=False):
    clusters: int  # of sweep()
    iterations: int  # of sweep()
    stopped_by: str  # of sweep()
    inertia: float  # of sweep()
    silhouette: float  # the mean; exact unless silhouette="simplified"
    simplified_silhouette: float
    calinski_harabasz: float
    davies_bouldin: float
    silhouettes: NDArray[np.float64]  # (n) of evaluate() with save_silhouette

def evaluate(
    points: Values,
    labels: Any,
    *,
    silhouette: str = "exact",  # or "simplified", "none"
    save_silhouette: bool = False,
    metric: str = "euclidean",
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> Scores: ...
def sweep(
    points: Values,
    clusters: Sequence[int],
    *,
    init: str | None = None,
    n_init: int = 1,
    max_iterations: int = 300,
    tolerance: float = 1e-4,
    seed: int = 0,
    metric: str = "euclidean",
    silhouette: str = "simplified",  # or "exact"
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> list[Scores]:
    """k-means for each number of clusters, with scores that help to choose one."""
