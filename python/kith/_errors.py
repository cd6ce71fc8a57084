"""What calls of the module raise and warn of."""
from __future__ import annotations

import sys
import warnings
from typing import Callable


class Error(RuntimeError):
    """What kith refused, in its words. `code` is its exit code: 2 usage, 3 data, 4 device, 5 output, 6 memory."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Callable[[int, str], Error], tuple[int, str]]:
        return make_error, (self.code, str(self))


class InputError(Error, ValueError):
    """An argument that is not what the call needs: of code 2 an option, of code 3 values."""


def make_error(code: int, message: str) -> Error:
    return InputError(code, message) if code in (2, 3) else Error(code, message)


def error_of_library(code: int, message: str) -> Error:
    """An error of the C++ interface, with what a caller in Python can do."""
    if ": expected a finite number, found" in message:
        message += (": x[numpy.isfinite(x).all(axis=1)], or frame.dropna(); or fill it in, as "
                    "sklearn.impute.SimpleImputer does; cluster(), assign() and neighbors() also take nan='drop', "
                    "'mean' or 'median' beside points")
    return make_error(code, message)


class Warning(UserWarning):  # as kith.Warning, beside kith.Error
    """What kith warns of: rows that were dropped, a run that has not converged, digits that are lost."""


def _frames_of_module() -> int:
    """How many frames below the caller of this function belong to the module: a warning shows the line below them."""
    frame, count = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, count = frame.f_back, count + 1
    return count


def warn(text: str) -> None:
    warnings.warn(text, Warning, stacklevel=_frames_of_module())


def warn_of_limit(changed: int, rows: int, iterations: int) -> None:
    rounds = f"{iterations} iteration{'' if iterations == 1 else 's'}"
    share = 100 * changed / max(rows, 1)
    warn(f"{changed} of {rows} labels ({share:.2g} %) still change after {rounds}; init=result (of KMeans: "
         "cluster_centers_) continues it")
