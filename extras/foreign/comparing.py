"""Runs kith on a table or a picture, and compares what it read with what the library of the format read."""
import json
import pathlib
import subprocess

import numpy as np

LIMIT_OF_VALUES = 300_000  # tables with more values, or more columns than the next limit, are compared by statistics
LIMIT_OF_COLUMNS = 300
LIMIT_OF_PAIRS = 3e7  # pictures with more (pixels x colours) are compared by their sums of squares


class Refused(Exception):
    """kith's message, on one line."""


class Different(Exception):
    """What differs; the command that shows it is in `command`."""

    def __init__(self, message, command):
        super().__init__(message)
        self.command = " ".join(command)


class Kith:
    """The program, with a folder for its outputs."""

    def __init__(self, program, scratch):
        self.program, self.scratch = str(pathlib.Path(program).resolve()), pathlib.Path(scratch)

    def run(self, *words, accept_failure=False):
        """Standard output; raises Refused on a documented exit code, Different if kith crashes or hangs."""
        command = [self.program, *map(str, words)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
        except subprocess.TimeoutExpired:
            raise Different("no answer within 120 s", command)
        if run.returncode not in (0, 1, 2, 3, 4):
            raise Different(f"exit code {run.returncode}: {run.stderr[-200:]}", command)
        message = " ".join(run.stderr.split())
        if run.returncode and not message:
            raise Different(f"exit code {run.returncode} without a word", command)
        if run.returncode and not (accept_failure and datasets(run.stdout)):
            raise Refused(message)
        return run.stdout


def datasets(report):
    """The datasets of a JSON report of kith info; none if it is not such a report."""
    try:
        return [entry for file in json.loads(report)["files"] for entry in file.get("datasets", [])]
    except (ValueError, KeyError):
        return []


def reason_of(entry):
    return entry.get("without_statistics") or entry.get("unreadable") or ""


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-12 or (np.isnan(a) and np.isnan(b))


def compare_table(kith, path, table):
    """Compares; where kith asks whether line 1 names the columns, the comparison goes on with the answer."""
    try:
        return compare_with(kith, path, table, [])
    except Refused as message:
        header = "yes" if table.names else "no"
        if f"--header {header}" not in str(message):
            raise
        compare_with(kith, path, table, ["--header", header])
        return "asked"


def compare_with(kith, path, table, options):
    """Shape, names, statistics of every column, all values where they are few, and labels where a column has words."""
    name = f"{path}:{table.part}" if table.part else str(path)
    values = table.values
    columns = values.shape[1]
    numeric = table.numeric or [True] * columns
    command = ["kith", "info", str(path), "--stats", *options]
    answer = datasets(kith.run("info", path, "--stats", "--json", *options, accept_failure=True))
    found = next((entry for entry in answer if entry["path"].strip("/") == table.part.strip("/")), None)
    if found is None:
        raise Different(f"{table.part or 'the table'} is not among its datasets", command)
    statistics = found.get("statistics", [])
    if not statistics:
        raise Refused(reason_of(found) or "no statistics, without a reason")
    is_vector = len(found["shape"]) == 1 or (columns == 1 and found["shape"] == [1, len(values)])
    rows, width = [len(values), columns] if found["shape"] == [1, len(values)] and is_vector else [
        *found["shape"], columns][:2]
    names = found.get("columns") or []
    identifiers = width - columns  # row names; in Arrow the levels of an index
    if rows != len(values) or identifiers not in ((0, 1) if found["type"] != "table" else range(9)):
        raise Different(f"{rows} x {width} instead of {len(values)} x {columns}", command)
    if table.names and names:
        read = [str(entry["column"]).strip() for entry in statistics]
        expected = [name for name, number in zip(table.names, numeric) if number]
        if len(read) == len(expected) and read != expected:
            at = next(i for i in range(len(read)) if read[i] != expected[i])
            raise Different(f"a column is called {read[at]!r} instead of {expected[at]!r}", command)
    if bool(table.names) != bool(names) and found["type"] == "text":
        raise Different(f"the first line {'names columns' if names else 'is read as a row'}", command)
    compare_statistics(statistics, values, numeric, command)
    compare_labels(kith, path, table, options)
    largest = np.abs(values[np.isfinite(values)]).max(initial=0)
    is_large = values.size > LIMIT_OF_VALUES or columns > LIMIT_OF_COLUMNS
    if is_vector or is_large or not np.isfinite(values).all() or largest > 1e150:
        return "statistics"
    compare_values(kith, name, values, options)
    return "values"


def compare_statistics(statistics, values, numeric, command):
    expected = [i for i in range(values.shape[1]) if numeric[i]]
    if len(statistics) != len(expected):
        raise Different(f"statistics of {len(statistics)} columns instead of {len(expected)}", command)
    for entry, i in zip(statistics, expected):
        column = values[:, i]
        finite = column[np.isfinite(column)]
        if entry.get("missing", 0) != len(column) - len(finite):
            raise Different(f"column {i + 1} has {entry.get('missing', 0)} missing values instead of "
                            f"{len(column) - len(finite)}", command)
        if not len(finite):
            continue
        largest = max(abs(finite.max()), abs(finite.min()))
        for key, number in (("minimum", finite.min()), ("maximum", finite.max()), ("mean", finite.mean())):
            if not close(entry[key], number) and abs(entry[key] - number) > 1e-9 * largest:
                raise Different(f"{key} of column {i + 1} is {entry[key]!r} instead of {float(number)!r}", command)


def compare_values(kith, name, values, options):
    """All values: the inner products with the rows of the identity are the values themselves."""
    identity, output = kith.scratch / "identity.npy", kith.scratch / "values.npy"
    np.save(identity, np.eye(values.shape[1]))
    command = ["distances", name, identity, "--metric", "inner-product", "-o", output, "-f", "-q", *options]
    kith.run(*command)
    read = np.load(output).astype(float)
    if read.shape != values.shape:
        raise Different(f"{read.shape} values instead of {values.shape}", ["kith", *map(str, command)])
    wrong = np.argwhere(read != values)
    if len(wrong):
        row, column = wrong[0]
        raise Different(f"row {row}, column {column + 1} is {read[row, column]!r} instead of {values[row, column]!r}",
                        ["kith", *map(str, command)])


def compare_labels(kith, path, table, options):
    """A column of words as labels against the same words numbered by the library: they must agree in every row."""
    if table.words is None:
        return
    column, words = table.words
    codes = kith.scratch / "codes.npy"
    np.save(codes, np.unique(words, return_inverse=True)[1].astype(np.int64))
    command = ["evaluate", f"{path}:{column}", "--truth", codes, "--json", *options]
    report = json.loads(kith.run(*command))
    index = report["evaluation"]["adjusted_rand_index"]
    if index != 1:
        raise Different(f"labels of column {column}: adjusted Rand index {index}",
                        ["kith", *map(str, command)])


def palette_around(colors):
    """The colours, and others that kith could find in the picture instead: nearest ones, and ones from everywhere."""
    steps = np.vstack([np.eye(3), -np.eye(3)])
    near = (colors[:200, None, :] + steps[None, :, :]).reshape(-1, 3)
    grid = np.stack(np.meshgrid(*[[0, 64, 128, 192, 255]] * 3), axis=-1).reshape(-1, 3)
    return np.unique(np.clip(np.vstack([colors, near, grid]), 0, 255), axis=0)


def compare_picture(kith, path, pixels, tolerance):
    """The colour of every pixel; or their sum of squares where pixels and colours are many, or of more than 8 bits."""
    visible = pixels[:, :, 3] > 0 if pixels.shape[2] == 4 else np.ones(pixels.shape[:2], bool)
    colors = pixels[:, :, :3][visible]
    distinct = np.unique(colors, axis=0)
    exact = len(colors) and (colors == colors.round()).all()
    if not exact or len(distinct) * len(colors) > LIMIT_OF_PAIRS:
        command = ["image", path, "--space", "srgb", "-k", "1", "--json"]
        report = json.loads(kith.run(*command))
        total = ((colors - colors.mean(axis=0)) ** 2).sum() / 255 ** 2 if len(colors) else 0
        if abs(report["totss"] - total) > (1e-3 if tolerance else 1e-6) * total + 1e-9:
            raise Different(f"sum of squares {report['totss']!r} instead of {float(total)!r}",
                            ["kith", *map(str, command)])
        return "statistics"
    import h5py
    labels, palette = kith.scratch / "labels.h5", kith.scratch / "palette.npy"
    offered = palette_around(distinct)
    np.save(palette, offered)
    command = ["image", path, "--space", "srgb", "--palette-from", palette, "--labels", labels, "-f", "-q"]
    kith.run(*command)
    command = ["kith", *map(str, command)]
    with h5py.File(labels) as file:
        read = file["labels"][:]
    if read.shape != visible.shape:
        raise Different(f"{read.shape} pixels instead of {visible.shape}", command)
    if ((read >= 0) != visible).any():
        raise Different("other pixels are transparent", command)
    distance = np.abs(offered[read[visible]] - colors).max(axis=1)
    if distance.max() > tolerance:
        at = int(distance.argmax())
        raise Different(f"{(distance > tolerance).sum()} of {len(colors)} pixels have another colour, pixel {at} "
                        f"{offered[read[visible]][at]} instead of {colors[at]}", command)
    return "values"
