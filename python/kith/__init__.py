"""Exact k-means and nearest neighbours of NumPy arrays, computed by the program kith.

    import kith
    result = kith.cluster(points, 10)
    result.labels, result.centroids, result.inertia

Points are arrays of rows x columns: float32, float64 or integers. Each call runs the program once, through files in
memory (/dev/shm), so results are the bytes of the command line. Other options of a command are keywords, as in
cluster(points, 10, n_init=10, metric="cosine"): `kith cluster --help` lists them. True stands for an option without a
value; False and None leave it out.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Clusters", "Error", "Neighbors", "assign", "cluster", "neighbors", "program", "within"]
Option = "str | int | float | bool | None"


class Error(RuntimeError):
    """What kith refused, in its words. `code` is its exit code: 2 usage, 3 data, 4 device."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Clusters:
    """The result of cluster() or assign(). Without rounds of its own, assign() has stopped_by ""."""

    labels: NDArray[np.int32]  # (n)
    centroids: NDArray[np.float64]  # (k, d)
    counts: NDArray[np.int64]  # (k)
    inertia: float
    iterations: int
    stopped_by: str


@dataclass(frozen=True)
class Neighbors:
    """Lists of k rows each, nearest first, ties to the lowest row."""

    rows: NDArray[np.int64]  # (q, k)
    distances: NDArray[np.floating[Any]]  # (q, k)


def program() -> str:
    """The path of the program: the one installed with this module, else the one on PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "kith"
    found = str(beside) if beside.exists() else shutil.which("kith")
    if found is None:
        raise Error(1, f"the program kith was found neither as {beside} nor on PATH; install the package again")
    return found


def _folder() -> tempfile.TemporaryDirectory[str]:
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(prefix=f"kith-{os.getpid()}-", dir=memory if os.access(memory, os.W_OK) else None)


def _save(folder: str, name: str, array: ArrayLike) -> str:
    values = np.asarray(array)
    if values.ndim != 2:
        raise Error(2, f"{name}: expected an array of rows x columns, found {values.ndim} dimensions")
    path = os.path.join(folder, name + ".npy")
    np.save(path, np.ascontiguousarray(values), allow_pickle=False)
    return path


def _run(words: Sequence[str], options: dict[str, Any]) -> None:
    command = [program(), *words, "-q"]
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        command += [option] if value is True else [f"{option}={value}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(done.returncode, done.stderr.strip().removeprefix("kith: "))


def _clusters(path: str, centroids: NDArray[np.float64] | None = None) -> Clusters:
    with h5py.File(path) as file:
        stopped_by = file.attrs.get("stopped_by", b"")  # NumPy bytes: kith writes texts of fixed length
        return Clusters(
            labels=file["labels"][:],
            centroids=file["centroids"][:] if centroids is None else centroids,
            counts=file["counts"][:],
            inertia=float(file.attrs["inertia"]),
            iterations=int(file.attrs.get("iterations", 0)),
            stopped_by=stopped_by.decode() if isinstance(stopped_by, bytes) else str(stopped_by),
        )


def cluster(points: ArrayLike, clusters: int, **options: Option) -> Clusters:
    """k-means: `kith cluster POINTS -k CLUSTERS`. Raises Error."""
    with _folder() as folder:
        out = os.path.join(folder, "result.h5")
        _run(["cluster", _save(folder, "points", points), "-k", str(clusters), "-o", out], options)
        return _clusters(out)


def assign(points: ArrayLike, centroids: ArrayLike, **options: Option) -> Clusters:
    """The nearest centroid of each point: `kith assign POINTS --centroids CENTROIDS`. Raises Error."""
    given = np.asarray(centroids, dtype=np.float64)
    with _folder() as folder:
        out = os.path.join(folder, "result.h5")
        file = _save(folder, "centroids", given)
        _run(["assign", _save(folder, "points", points), "--centroids", file, "-o", out], options)
        return _clusters(out, given)


def neighbors(base: ArrayLike, k: int, queries: ArrayLike | None = None, **options: Option) -> Neighbors:
    """The k nearest rows of `base` for each query, or for each other row: `kith knn`. Raises Error."""
    with _folder() as folder:
        out = os.path.join(folder, "result.h5")
        words = ["knn", _save(folder, "base", base), "-k", str(k), "-o", out]
        if queries is not None:
            words += ["--queries", _save(folder, "queries", queries)]
        _run(words, options)
        with h5py.File(out) as file:
            return Neighbors(rows=file["neighbors"][:], distances=file["distances"][:])


def within(
    base: ArrayLike, radius: float, queries: ArrayLike | None = None, **options: Option
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.floating[Any]]]:
    """All rows within the radius: `kith knn --radius`. As in scipy.sparse.csr_array: begins, rows, distances."""
    with _folder() as folder:
        out = os.path.join(folder, "result.h5")
        words = ["knn", _save(folder, "base", base), f"--radius={radius!r}", "-o", out]
        if queries is not None:
            words += ["--queries", _save(folder, "queries", queries)]
        _run(words, options)
        with h5py.File(out) as file:
            return file["indptr"][:], file["indices"][:], file["distances"][:]
