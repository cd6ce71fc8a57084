"""Arrays of NumPy, SciPy and data frames as files that the program reads."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._errors import Error


def column_names(table: Any) -> list[str] | None:
    """The names of the columns of a data frame; None without names."""
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return [str(name) for name in names] if any(isinstance(name, str) for name in names) else None


def in_order(table: Any, names: list[str] | None, argument: str) -> Any:
    """The columns with these names of a data frame that has them in another order or with others between them."""
    own = column_names(table)
    if names is None or own is None or own == names:
        return table
    missing = [name for name in names if own.count(name) != 1]
    if missing:
        raise Error(3, f"{argument}: expected one column '{missing[0]}', found {own.count(missing[0])}; "
                       f"its columns are {', '.join(own)}")
    return table[names]


def is_table(values: Any) -> bool:
    """Whether a data frame with named columns holds other things than numbers, such as texts and dates."""
    if column_names(values) is None or not (hasattr(values, "to_csv") or hasattr(values, "write_csv")):
        return False
    types = values.dtypes
    kinds = [str(kind).lower() for kind in (types.tolist() if hasattr(types, "tolist") else types)]
    return not all(kind.startswith(("int", "uint", "float", "bool")) for kind in kinds)


def save_table(folder: str, argument: str, values: Any) -> str:
    """Writes a data frame as text, with the names of its columns and without its index. A missing value is an empty
    field; numbers have all their digits."""
    path = os.path.join(folder, argument + ".csv")
    if hasattr(values, "to_csv"):
        values.to_csv(path, index=False)
    else:
        values.write_csv(path)
    return path


def _numbers(values: Any, argument: str) -> np.ndarray[Any, Any]:
    """An array of another type than objects. Masked values and missing ones of a data frame become NaN."""
    if np.ma.is_masked(values):
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        return np.ma.filled(values.astype(kind), np.nan)
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    if all(isinstance(value, str) for value in array.flat):
        return array.astype(str)
    if hasattr(values, "isna"):  # pandas: pd.NA is no number
        array = np.where(np.asarray(values.isna()), np.nan, array)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise Error(3, f"{argument}: expected an array of numbers, found {error}") from None


def save(folder: str, argument: str, values: Any, dimensions: int | None = None) -> str:
    """Writes the array into the folder, in a file with the name of the argument. Returns its path."""
    path = os.path.join(folder, argument)
    try:
        if hasattr(values, "tocsr"):
            from scipy.sparse import csr_array, save_npz  # the caller has it: the matrix is of SciPy or made for it

            save_npz(path + ".npz", csr_array(values.tocsr()), compressed=False)
            return path + ".npz"
        array = _numbers(values, argument)
        if dimensions is not None and array.ndim != dimensions:
            raise Error(2, f"{argument}: expected an array of rows x columns, found {array.ndim} dimensions")
        np.save(path + ".npy", np.ascontiguousarray(array), allow_pickle=False)
    except (Error, OSError):
        raise
    except Exception as error:  # of NumPy, SciPy or the type of the argument
        raise Error(3, f"{argument}: expected an array of numbers, found {type(values).__name__}: {error}") from error
    return path + ".npy"
