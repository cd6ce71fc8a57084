"""Arrays of NumPy, SciPy and data frames as files that the program reads."""
from __future__ import annotations

import os
import re
from decimal import Decimal
from typing import Any

import numpy as np

from ._errors import Error, make_error


def column_names(table: Any) -> list[str] | None:
    """The names of the columns of a data frame, of pyarrow's tables, of records, and of Points made of one; None
    without names."""
    if any(hasattr(type(table), mark) for mark in UNREAD):
        return None
    columns = getattr(table, "column_names", None) or getattr(getattr(table, "dtype", None), "names", None)
    if not isinstance(columns, (list, tuple)):
        columns = getattr(table, "columns", None)
    if columns is None or callable(columns) or isinstance(columns, int):  # the number of those of Points
        return None
    names = list(columns)
    return [str(name) for name in names] if any(isinstance(name, str) for name in names) else None


def _columns_at(table: Any, places: list[int]) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[:, places]
    if isinstance(table, np.ndarray):
        return table[[table.dtype.names[j] for j in places]]
    return table.select(places) if hasattr(table, "column_names") else table[:, places]  # of pyarrow; of Polars


def in_order(table: Any, names: list[str] | None, argument: str) -> Any:
    """The columns with these names of a data frame that has them in another order or with others between them."""
    own = column_names(table)
    if names is None or own is None or own == names:
        return table
    missing = [name for name in names if own.count(name) != 1]
    if missing:
        raise make_error(3, f"{argument}: expected one column '{missing[0]}', found {own.count(missing[0])}; "
                       f"its columns are {', '.join(own)}")
    if hasattr(table, "value_class"):
        raise make_error(2, f"{argument}: expected the columns {', '.join(names)}, in this order, found held Points "
                       f"with {', '.join(own)}; hold them in this order")
    return _columns_at(table, [own.index(name) for name in names])


def in_order_of(points: Any, centroids: Any, argument: str) -> Any:
    """Centroids in a data frame with the columns of the points, in their order."""
    names, own = column_names(points), column_names(centroids)
    return in_order(centroids, names, argument) if names and own and sorted(names) == sorted(own) else centroids


def of_metric(points: Any, metric: str, names: list[str] | None = None, argument: str = "points") -> Any:
    """Of a data frame, the columns that are compared: those with the names of other points; of places, latitude and
    longitude, which are found by their names as the program finds them."""
    own = column_names(points)
    if metric != "haversine" or own is None or is_table(points) or hasattr(points, "value_class"):
        return in_order(points, None if metric == "haversine" else names, argument)
    from ._choice import _native

    places = []
    for angle, known, found in _native.place_columns(own):
        if len(found) != 1:
            shown = ", ".join(own[j] for j in found) or "none"
            raise make_error(2, f"expected one column for metric haversine that is named as a {angle} "
                             f"({', '.join(known)}), found {shown} among {', '.join(own)}; give the two columns as an "
                             "array, latitude first")
        places.append(found[0])
    return _columns_at(points, places)


def _types(table: Any) -> list[str] | None:
    """The types of the columns of a data frame, in the words of its package; None: it is none."""
    types = table.schema.types if hasattr(table, "column_names") and hasattr(table, "schema") else None  # of pyarrow
    if types is None and (hasattr(table, "to_csv") or hasattr(table, "write_csv")):
        types = table.dtypes if hasattr(table, "dtypes") else list(table.schema.values())  # of narwhals
    if types is None or getattr(table, "ndim", 2) != 2:
        return None
    return [str(kind).lower() for kind in (types.tolist() if hasattr(types, "tolist") else types)]


def is_table(values: Any) -> bool:
    """Whether a data frame with named columns holds other things than numbers, such as texts and dates."""
    kinds = _types(values)
    if kinds is None or column_names(values) is None:
        return False
    return not all(re.match(r"u?int\d|float|double|halffloat|bool", kind) for kind in kinds)


def save_table(folder: str, argument: str, values: Any) -> str:
    """Writes a data frame as text, with the names of its columns and without its index. A missing value is an empty
    field; numbers have all their digits."""
    path = os.path.join(folder, argument + ".csv")
    values = values.to_native() if hasattr(values, "to_native") else values  # of narwhals
    # A first column without a name would name the rows.
    names = [name if name.strip() else f"column {j}" for j, name in enumerate(column_names(values) or [], 1)]
    try:
        if hasattr(values, "to_csv"):
            values.to_csv(path, index=False, header=names)
        elif hasattr(values, "write_csv"):
            from polars.selectors import duration  # the caller has it

            texts = values.with_columns(duration().dt.to_string("iso"))
            texts.rename(dict(zip(texts.columns, names))).write_csv(path)
        else:
            from pyarrow import csv

            csv.write_csv(_with_texts(values).rename_columns(names), path)
    except OSError:
        raise
    except Exception as failure:  # of the package of the table
        found = str(failure).partition("\n")[0]
        to_list = "to_pylist" if hasattr(values, "schema") and hasattr(values, "column_names") else "to_list"
        raise make_error(3, f"{argument}: expected columns of numbers, texts or dates, found {found}; cast such a "
                       "column to numbers or texts, or give a column of lists as an array of its own: "
                       f"numpy.array(table['NAME'].{to_list}())") from failure
    return path


def _with_texts(table: Any) -> Any:
    """A table of pyarrow whose durations are texts, PT90S, and whose bool8 are True and False."""
    for j, (name, kind) in enumerate(zip(table.column_names, table.schema.types)):
        if str(kind).startswith("duration"):
            each = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            counts = table[j].cast("int64").to_pylist()
            texts = [None if n is None else f"{'-' * (n < 0)}PT{Decimal(abs(n)) / each:f}S" for n in counts]
            table = table.set_column(j, name, [texts])
        elif "arrow.bool8" in str(kind):
            table = table.set_column(j, name, table[j].cast("bool"))
    return table


def without_mask(values: Any, argument: str = "X") -> Any:
    """An array whose masked values are NaN."""
    if not np.ma.is_masked(values):
        return values
    kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    filled = np.ma.filled(values.astype(kind), np.nan)
    if values.dtype.kind in "iu":
        _require_exact(np.ma.getdata(values), filled, argument)
    return filled


def _require_given(table: Any, rows: np.ndarray[Any, Any], argument: str) -> None:
    """Raises if NumPy, which makes one type of all columns, rounded an integer that a table or a list holds."""
    if rows.dtype != np.float64 or rows.ndim != 2 or (isinstance(table, np.ndarray) and table.dtype.names is None):
        return
    wide = np.flatnonzero((np.abs(rows) >= 2.0**53).any(axis=0)).tolist()
    if not wide:
        return
    given = np.array(table, dtype=object) if isinstance(table, (list, tuple)) else rows.astype(object)
    names = getattr(getattr(table, "dtype", None), "names", None)  # of records
    kinds = _types(table) or [str(table.dtype[name]) for name in names or ()]
    for j in wide if len(kinds) == rows.shape[1] else ():
        if "int" in kinds[j] or kinds[j] == "object":
            column = (table[names[j]] if names else table.iloc[:, j] if hasattr(table, "iloc")
                      else table.column(j) if hasattr(table, "column_names") else table[:, j])
            to_list = getattr(column, "to_pylist", None) or getattr(column, "to_list", None) or column.tolist
            given[:, j] = to_list()
    _require_exact(given, rows, argument)


def _numbers(values: Any, argument: str) -> np.ndarray[Any, Any]:
    """An array of another type than objects. Masked values and missing ones of a data frame become NaN."""
    if isinstance(values, (str, os.PathLike)):
        raise make_error(2, f"{argument}: expected an array, found the name {os.fspath(values)!r}; read the file first, "
                       "as with numpy.load(), or give it to the program kith")
    if hasattr(values, "value_class"):
        raise make_error(2, f"{argument}: expected an array, found held Points, which serve calls in this process; this "
                       "call needs the program, so give it the array")
    array = np.asarray(without_mask(values, argument))
    if array.dtype.names is not None:
        from numpy.lib.recfunctions import structured_to_unstructured

        array = structured_to_unstructured(array)
    if array.dtype.kind != "O":
        _require_given(values, array, argument)
        return array
    if array.ndim == 0:
        makers = {"__next__": "list", "__arrow_c_stream__": "pyarrow.table"}
        how = [f"; give {maker}({argument})" for mark, maker in makers.items() if hasattr(values, mark)]
        raise make_error(3, f"{argument}: expected an array of numbers, found {type(values).__name__}{''.join(how[:1])}")
    if all(isinstance(value, str) for value in array.flat):
        return array.astype(str)
    if hasattr(values, "isna"):  # pandas: pd.NA is no number
        array = np.where(np.asarray(values.isna()), np.nan, array)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        how = "; leave such columns out, or make numbers of them" if isinstance(error, ValueError) else ""
        if how and hasattr(values, "iloc"):
            how += "; for options such as encode=, name them: x.columns = [str(name) for name in x.columns]"
        if "sequence" in str(error):
            how = f"; rows of equal length become an array: numpy.array(list({argument}))"
        raise make_error(3, f"{argument}: expected an array of numbers, found {error}{how}") from None
    _require_exact(array, numbers, argument)
    return numbers


def save(folder: str, argument: str, values: Any, dimensions: int | None = None) -> str:
    """Writes the array into the folder, in a file with the name of the argument. Returns its path."""
    path = os.path.join(folder, argument)
    try:
        if hasattr(values, "tocsr"):
            from scipy.sparse import csr_array, save_npz  # the caller has it: the matrix is of SciPy or made for it

            save_npz(path + ".npz", csr_array(values.tocsr()), compressed=False)
            return path + ".npz"
        are_records = isinstance(values, np.ndarray) and values.dtype.names is not None  # the program finds their names
        array = values if are_records else _numbers(on_host(values, argument), argument)
        if dimensions is not None and not are_records:
            _require_rows(array, argument)
        np.save(path + ".npy", np.ascontiguousarray(array), allow_pickle=False)
    except (Error, OSError):
        raise
    except Exception as error:  # of NumPy, SciPy or the type of the argument
        raise make_error(3, f"{argument}: expected an array of numbers, found {type(values).__name__}: {error}") from error
    return path + ".npy"


HOST, CUDA = 1, 2  # of DLPack's devices


def is_on_gpu(values: Any) -> bool:
    """Whether an array of another package is in the memory of an NVIDIA GPU."""
    place = getattr(values, "__dlpack_device__", None)
    return place is not None and not isinstance(values, np.ndarray) and place()[0] == CUDA


# What values are taken from: frames of Polars, readers of pyarrow, AnnData; by what their types have.
UNREAD = {"collect": "collect()", "read_all": "read_all()", "obsm": "X"}


def on_host(values: Any, argument: str = "X") -> Any:
    """Values of another package (DLPack); those in the memory of a GPU are copied to the host. Masked ones are NaN."""
    for mark, how in UNREAD.items():
        if hasattr(type(values), mark):
            raise make_error(2, f"{argument}: expected an array, found {type(values).__name__}; give {argument}.{how}")
    place = getattr(values, "__dlpack_device__", None)
    if place is None or isinstance(values, np.ndarray):
        return without_mask(values, argument)
    if place()[0] == HOST:
        return values if hasattr(values, "__array__") else np.from_dlpack(values)
    for method in ("get", "cpu"):  # of CuPy; of PyTorch
        if hasattr(values, method):
            return getattr(values, method)()
    return np.from_dlpack(values, device="cpu", copy=True)


def _held_type(kind: np.dtype[Any]) -> np.dtype[Any] | None:
    """The type that numbers of another one are computed with, as the program reads them; None: they are no numbers."""
    if kind.kind == "f" and kind.itemsize <= 8:
        return np.dtype(np.float32 if kind.itemsize <= 4 else np.float64)
    if kind.kind in "iu":
        return np.dtype(kind.char if kind.itemsize == 1 else np.float32 if kind.itemsize == 2 else np.float64)
    return np.dtype(np.int8) if kind.kind == "b" else None  # bytes of uint8 are eight bits each for hamming and jaccard


def values(given: Any, argument: str) -> np.ndarray[Any, Any]:
    """The array of rows x columns that _native computes with: float32, float64, uint8 or int8, row after row. The
    values of an array that is one are not copied."""
    try:
        array = _numbers(given.toarray() if hasattr(given, "tocsr") else on_host(given, argument), argument)
    except Error:
        raise
    except Exception as failure:  # of NumPy, SciPy or the type of the argument
        found = f"{type(given).__name__}: {failure}"
        raise make_error(3, f"{argument}: expected an array of numbers, found {found}") from failure
    _require_rows(array, argument)
    kind = _held_type(array.dtype)
    if kind is None:
        how = f"; make numbers of them: {argument}.astype(float)" if array.dtype.kind in "fUSMm" else ""
        raise make_error(3, f"{argument}: expected an array of numbers, found values of type {array.dtype}{how}")
    rows = np.ascontiguousarray(array, dtype=kind)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        _require_exact(array, rows, argument)
    return rows


def _require_rows(array: np.ndarray[Any, Any], argument: str) -> None:
    if array.ndim != 2:
        how = f"; one column is numpy.reshape({argument}, (-1, 1))" if array.ndim == 1 else ""
        if array.ndim > 2:
            how = f"; rows of all their values are numpy.reshape({argument}, ({len(array)}, -1))"
        raise make_error(2, f"{argument}: expected an array of rows x columns, found {array.ndim} dimensions{how}")


def _require_exact(array: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], argument: str) -> None:
    """Raises if float64 does not hold one of the integers."""
    for place in map(tuple, np.argwhere((np.abs(rows) >= 2.0**53) & np.isfinite(rows))):
        if array[place] != int(rows[place]):
            where = ", ".join(f"{name} {at + 1}" for name, at in zip(("row", "column"), place))
            raise make_error(3, f"{argument}: {where} (counted from 1): expected an integer that is exactly a float64, "
                             f"found {array[place]}; replace the value or remove the row")


def matrix(given: Any, argument: str) -> np.ndarray[Any, Any]:
    """values() as float64."""
    return values(given, argument).astype(np.float64, copy=False)


def vector(given: Any, argument: str) -> np.ndarray[Any, Any]:
    """Numbers as float64, one after another; a column or a row of them too."""
    array = np.asarray(_numbers(on_host(given, argument), argument))
    if array.ndim != 1 and max(array.shape, default=1) != array.size:
        raise make_error(2, f"{argument}: expected one number for each row, found an array of {array.ndim} dimensions")
    return matrix(array.reshape(1, -1), argument)[0]


def codes(labels: Any) -> np.ndarray[Any, Any]:
    """The number of each label among the different ones in ascending order. Raises Error for a row without a label."""
    preparation = getattr(getattr(labels, "centroids", None), "preparation", "")  # of a result
    if preparation and not preparation.startswith("metric="):
        raise make_error(2, f"labels: expected a result of points without a preparation, found one after {preparation}; "
                       "to score the points as they are, give result.labels")
    labels = getattr(labels, "labels_", getattr(labels, "labels", labels))  # of an estimator; of a result
    array = np.asarray(on_host(labels, "labels")).reshape(-1)
    is_none = np.asarray(labels.isna()).reshape(-1) if hasattr(labels, "isna") else np.zeros(len(array), bool)
    if array.dtype.kind == "O":
        array = array.astype(str)
        is_none = is_none | np.isin(array, ("None", "nan", "-1", "-1.0"))
    else:
        is_none = is_none | (array != array) | (array.dtype.kind in "if" and array == -1)
    if is_none.any():
        raise make_error(3, f"labels: row {np.argmax(is_none) + 1} (counted from 1) has none: it is -1 (noise of DBSCAN, "
                       "dropped rows), NaN, None or masked; leave such rows out: evaluate(points[known], labels[known])")
    _, of_rows = np.unique(array, return_inverse=True)
    return of_rows.reshape(-1).astype(np.int32)
