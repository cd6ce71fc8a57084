"""What calls of the module raise and warn of."""
from __future__ import annotations


class Error(RuntimeError):
    """What kith refused, in its words. `code` is its exit code: 2 usage, 3 data, 4 device, 5 output, 6 memory."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[Error], tuple[int, str]]:
        return Error, (self.code, str(self))


class Warning(UserWarning):  # as kith.Warning, beside kith.Error
    """What kith warns of: rows that were dropped, a run that has not converged, digits that are lost."""
