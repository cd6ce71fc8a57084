"""Runs the program: options as its words, arrays as files in memory, its errors and warnings as those of Python."""
from __future__ import annotations

import csv
import json
import operator
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator, TypeVar

import h5py
import numpy as np

from ._arrays import column_names, is_table, save, save_table
from ._errors import Error, make_error, warn

Result = TypeVar("Result")

MEMORY = "/dev/shm"
# Options whose value is a file of the command line.
FILES = {"freeze", "init", "init_labels", "truth", "weights"}
# Options that print, or write something else than the result that a call returns.
COMMAND_LINE = {
    "all_distances", "append", "classify", "components", "dry_run", "explain", "force", "format", "graph", "help",
    "json", "labels", "mutual", "outliers", "output", "profile", "quiet", "symmetric", "top", "verbose", "write_obs",
    "write_obsp",
}  # fmt: skip


class _NoSpace(Exception):
    """The folder cannot hold the files of the call."""


def program() -> str:
    """The path of the program: the one installed with this module, else the one on PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "kith"
    found = str(beside) if beside.exists() else shutil.which("kith")
    if found is None:
        raise make_error(1, f"the program kith was found neither as {beside} nor on PATH; install the package again")
    return found


def installed_version() -> str:
    """That of the program: "0.2.0"."""
    return subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def number(name: str, value: Any) -> str:
    """A number of any type as a word: of Python, NumPy or the standard library, or an array of one value."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    is_number = not isinstance(value, (str, bytes, bool, np.bool_))
    try:
        if is_number:
            return str(operator.index(value))
    except TypeError:
        pass
    try:
        if not is_number:
            raise TypeError
        real = float(value)
    except (TypeError, ValueError, OverflowError):
        raise make_error(2, f"{name}: expected a number, found {value!r}") from None
    return str(int(real)) if real.is_integer() and abs(real) < 2**53 else repr(real)


def whole(name: str, value: Any) -> int:
    text = number(name, value)
    if not text.lstrip("-").isdigit():
        raise make_error(2, f"{name}: expected a whole number, found {text}")
    return int(text)


def _refuse_outputs(command: str, options: dict[str, Any]) -> None:
    for name in options:
        if name in COMMAND_LINE:
            option = name.replace("_", "-")
            raise make_error(2, f"{name}: what this option prints or writes is not what the call returns; run the program: "
                           f"kith {command} --{option}")


def _words(folder: str, options: dict[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if value is None or (isinstance(value, (bool, np.bool_)) and not value):
            continue
        if isinstance(value, (bool, np.bool_)):
            yield option
        elif isinstance(value, (str, os.PathLike)):
            yield f"{option}={os.fspath(value)}"
        elif name in FILES:
            yield f"{option}={as_file(folder, name, value)}"
        elif isinstance(value, dict):  # of columns: encode={"town": "onehot"}
            items = [f"{key}={word if isinstance(word, str) else number(name, word)}" for key, word in value.items()]
            quoted = ('"{}"'.format(item.replace('"', '""')) if re.search('[,"]', item) else item for item in items)
            yield f"{option}={','.join(quoted)}"
        elif isinstance(value, (list, tuple)):
            each = (word if isinstance(word, str) else number(name, word) for word in value)
            yield f"{option}={','.join(each)}"
        else:
            yield f"{option}={number(name, value)}"


# Options that find columns by their names.
OF_COLUMNS = {
    "column_weights", "columns", "drop_columns", "encode", "id_column", "label_column", "prepare", "weight_column",
}  # fmt: skip


def reads_table(values: Any, options: dict[str, Any]) -> bool:
    """Whether the program reads the columns of a data frame with their names."""
    by_name = any(options.get(name) is not None for name in OF_COLUMNS)
    return is_table(values) or (by_name and column_names(values) is not None)


def as_points(folder: str, argument: str, value: Any, as_table: bool = False) -> list[str]:
    """The path of a file with points, and the options that read it. as_table: the columns of any data frame are found
    by their names, and may hold texts."""
    is_frame = is_table(value) or (as_table and column_names(value) is not None)
    if isinstance(value, np.ndarray) or not is_frame:
        return [as_file(folder, argument, value, 2)]
    try:
        path = save_table(folder, argument, value)
        return [path, "--header", "yes", "--delimiter", "comma", "--quote", "double"]
    except OSError as error:
        raise _NoSpace(f"{argument}: cannot be written to {folder}: {error}") from error


def as_file(folder: str, argument: str, value: Any, dimensions: int | None = None) -> str:
    """The path of a file with an array, or with the result of cluster()."""
    stored = getattr(value, "_file", None)
    if stored is None and hasattr(value, "stopped_by"):  # a result of points that were not prepared
        value = np.asarray(value.centroids)
    if preparation := getattr(value, "preparation", ""):
        raise make_error(2, f"{argument}: expected centroids of points without a preparation, found those of points after "
                       f"{preparation}; give the whole result: {argument}=result")
    try:
        if not isinstance(stored, bytes):
            return save(folder, argument, value, dimensions)
        path = os.path.join(folder, argument + ".h5")
        Path(path).write_bytes(stored)
        return path
    except OSError as error:
        raise _NoSpace(f"{argument}: cannot be written to {folder}: {error}") from error


def _row_of(path: str, line: int) -> int:
    """The row of a data frame, counted from 0, that is in this line of its file."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file)  # fields between quotation marks may have line ends
            return next(row for row, _ in enumerate(rows, -1) if rows.line_num >= line)
    except (OSError, ValueError, csv.Error, StopIteration):
        return line - 2


def _in_words_of_caller(message: str, folder: str) -> str:
    """The message with the names of arguments in place of their files, rows of a data frame in place of lines, and
    with a call in place of a command."""
    if (table := re.search(re.escape(folder) + r"/\w+\.csv", message)) is not None:
        def row(line: re.Match[str]) -> str:
            return f"row {_row_of(table[0], int(line[1]))} (counted from 0)"

        message = re.sub(r"\bline ([2-9]|\d\d+)\b", row, message).replace("remove the line", "remove the row")
    message = re.sub(r": sed '[\dd;]+' IN > OUT", "", message)
    message = message.replace("write each number of its lists in a column of its own",
                              "give a column of lists as an array of its own: numpy.array(list(table['NAME']))")
    message = re.sub(r"continue with: kith cluster .*", "init=result continues it", message, flags=re.DOTALL)
    message = re.sub(re.escape(folder) + r"/(\w+)\.(?:npy|npz|h5|csv)(?::/?\w+)?", r"\1", message)
    option = None if message.startswith("unknown option") else re.search(r"--([a-z][a-z-]+)", message)
    return f"{message} (here --{option[1]} is {option[1].replace('-', '_')}=)" if option else message


def _run(command: list[str], folder: str) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise make_error(1, f"{command[0]}: cannot be started: {error}; install the package again") from error
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {}
    if done.returncode == 0:
        for text in report.get("warnings", []):
            warn(_in_words_of_caller(text, folder))
        return
    message = report.get("error", {}).get("message") or done.stderr.strip().removeprefix("kith: ")
    message = _in_words_of_caller(message, folder)
    if done.returncode == 5:  # the folder is full, unless another output was asked for
        raise _NoSpace(message)
    raise make_error(done.returncode if done.returncode > 0 else 128 - done.returncode, message)


def call(
    command: str,
    arguments: Callable[[str], list[str]],
    options: dict[str, Any],
    read: Callable[[h5py.File, str], Result],
) -> Result:
    """Runs `kith COMMAND ARGUMENTS OPTIONS` and reads its result. arguments: the words, with files in a folder."""
    _refuse_outputs(command, options)
    full = make_error(5, "")
    for parent in (MEMORY, None):  # None: the folder for temporary files
        if parent is not None and not os.access(parent, os.W_OK):
            continue
        try:
            with tempfile.TemporaryDirectory(prefix=f"kith-{os.getpid()}-", dir=parent) as folder:
                out = os.path.join(folder, "result.h5")
                words = [command, *arguments(folder), *_words(folder, options), "-q", "--json", "-o", out]
                _run([program(), *words], folder)
                return _read(out, read)
        except _NoSpace as error:
            full = make_error(5, str(error))
        except OSError as error:
            full = make_error(5, f"the files of the call cannot be written or read: {error}")
    raise full


def _read(out: str, read: Callable[[h5py.File, str], Result]) -> Result:
    try:
        with h5py.File(out) as file:
            return read(file, out)
    except (KeyError, FileNotFoundError):
        raise make_error(2, "the options make another result than the call returns; run the program itself: kith") from None
