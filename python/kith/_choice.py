"""Where a call is computed: in this process, by kith._native, or by the program. Decided here alone."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import is_table
from ._errors import make_error, warn
from ._program import number

try:
    from . import _native
except ImportError as error:  # sources that are not installed, or a module of another Python
    _native = None  # type: ignore[assignment]
    for file in Path(__file__).parent.glob("_native.*.so"):
        why = f" ({error})" if str(file) in str(error) else ""
        warn(f"this Python does not load {file}{why}; every call starts the program, which takes longer. Install the wheel "
             "again, with the pip of this Python: python -m pip install --force-reinstall WHEEL")

WHERE = {"backend": str, "device": int, "threads": int}
# The options that _native computes with, and their types; object: an array, or what else the option takes.
OPTIONS: dict[str, dict[str, type]] = {
    "cluster": {
        "init": object, "n_init": int, "max_iterations": int, "tolerance": float, "seed": int, "metric": str,
        "weights": object, "batch": int, "epochs": int, "no_finish": bool, "algorithm": str, "empty": str,
        "save_distances": bool, "medoids": bool, **WHERE,
    },
    "assign": {"metric": str, "weights": object, "save_distances": bool, **WHERE},
    "knn": {"metric": str, "include_self": bool, "squared": bool, **WHERE},
}  # fmt: skip
STARTS = {"k-means++", "k-means||", "random", "first", "farthest"}

OTHER_VARIABLES = {"KITH_CPU", "KITH_HDF5"}  # of the environment, which set no options


def _is_number(kind: type, value: Any) -> bool:
    return kind not in (int, float) or not isinstance(value, (bool, str, bytes))


def in_process(command: str, options: dict[str, Any], *arrays: Any) -> dict[str, Any] | None:
    """The options with which _native computes the call; None: the program does. It does where an array is a table of
    texts or sparse, where an option names a file or is none of _native, and where variables of the environment, which
    the program reads, set options (KITH_THREADS)."""
    for name, value in options.items():
        if OPTIONS[command].get(name) in (int, float) and isinstance(value, (bool, np.bool_)) and value:
            number(name, value)  # refuses it
    if _native is None or any(name.startswith("KITH_") and name not in OTHER_VARIABLES for name in os.environ):
        return None
    if any(is_table(array) or hasattr(array, "tocsr") or isinstance(array, (str, os.PathLike)) for array in arrays):
        return None
    taken: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if value is None or (isinstance(value, (bool, np.bool_)) and not value):
            continue
        kind = OPTIONS[command].get(name)
        if kind is None or not _is_number(kind, value):
            return None
        if kind is object:
            is_result = getattr(value, "_file", None) is not None or getattr(value, "preparation", "")
            is_file = isinstance(value, (str, os.PathLike)) and not (name == "init" and value in STARTS)
            if is_result or is_file or hasattr(value, "tocsr"):
                return None
            taken[name] = value
        elif kind is int or kind is float:
            text = number(name, value)
            if kind is int and not (text.isdigit() and len(text) < 19):
                return None  # the program says what is expected
            taken[name] = kind(text)
        elif isinstance(value, kind) or (kind is bool and isinstance(value, np.bool_)):
            taken[name] = kind(value)
        else:
            return None
    return taken


def held(values: Any, name: str, options: dict[str, Any]) -> Any:
    """The values as points of the device of the options, which are taken out of them."""
    where = {option: options.pop(option) for option in WHERE if option in options}
    if values is None:
        raise make_error(2, f"{name}: expected an array of rows x columns, found None")
    return _native.Points(values, name=name, **where)


def rounded(distances: Any, metric: str, *points: Any) -> Any:
    """Distances as the program writes them: of points of class f32, and of bits, as float32; km as float64."""
    is_narrow = metric in ("hamming", "jaccard") or all(held.value_class == "f32" for held in points)
    return distances.astype(np.float32) if is_narrow and metric != "haversine" and distances is not None else distances
