"""What the library of each format reads in a file: tables of numbers, each with the name that kith knows it by."""
import collections
import csv
import gzip
import io
import re

import numpy as np

# values: rows x columns, float64, NaN where missing or where the column is no number; numeric: whether a column is one;
# names: the columns' names, or None; words: a column of words that could be labels, as (number from 1, words), or None
Table = collections.namedtuple("Table", "part values names numeric words", defaults=(None, None, None))

BLANKS = r"\s+"
MISSING = ["", "?", "."]  # beside the words of pandas


class NoTable(Exception):
    """The library reads the file and finds no table of numbers, or there is no library for it here."""


def first_bytes(path, count=520):
    with open(path, "rb") as file:
        return file.read(count)


def format_of(path):
    """The format by the content, and by the name where the content does not tell."""
    name, head = path.name.lower(), first_bytes(path)
    signatures = [(b"\x89HDF", "HDF5"), (b"\x93NUMPY", "npy"), (b"CDF", "NetCDF 3"), (b"PAR1", "Parquet"),
                  (b"ARROW1", "Arrow"), (b"ORC", "ORC"), (b"%%MatrixMarket", "MatrixMarket"), (b"\x89PNG", "PNG"),
                  (b"\xff\xd8", "JPEG"), (b"GIF8", "GIF"), (b"BM", "BMP"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF")]
    if head[512:516] == b"\x89HDF":  # MATLAB 7.3
        return "HDF5"
    for signature, found in signatures:
        if head.lower().startswith(signature.lower()):
            return found
    if b"\x89HDF" in head or name.endswith((".h5ad", ".h5", ".hdf5")):
        return "HDF5"
    if name.endswith(".mat") and b"\0" in head:
        return "mat"
    if head[:2] in (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6") and name.endswith(("pbm", "pgm", "ppm", "pnm")):
        return "PNM"
    ending = re.sub(r"\.(gz|bz2)$", "", name).rpartition(".")[2]
    if head[:2] == b"PK":
        return "npz" if ending == "npz" else "zip"
    if ending in ("arff", "json", "dbf", "sav", "rds", "rda", "dta", "xls", "fif", "pkl", "tif", "bmp", "gif"):
        return ending
    if ending in ("png", "jpg", "jpeg", "ppm", "pgm", "pbm", "pnm"):
        return "other picture"
    if head[:2] == b"BZ":
        return "bzip2"
    try:
        with (gzip.open if head[:2] == b"\x1f\x8b" else open)(path, "rb") as file:
            content = file.read(4096)
    except (OSError, EOFError):
        return "damaged gzip"
    if b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "other binary"
    lines = [line for line in content.split(b"\n")[:-1] or [content] if not line.startswith(b"#")]
    if lines and re.match(rb"[-+.\d,eE]+( qid:\d+)?(\s+\d+:[-+.\deE]+)+\s*(#.*)?$", lines[0]):
        return "svmlight"
    return "gzipped text" if head[:2] == b"\x1f\x8b" else "text"


def read(path, kind):
    if kind not in READERS:
        raise NoTable(f"no table is expected in {kind}")
    return READERS[kind](path)


# ---- text -----------------------------------------------------------------------------------------------------------

def decoded(path):
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def fields(lines, separator):
    if separator == BLANKS:
        return [[field.strip('"') for field in re.findall(r'"[^"]*"|\S+', line)] for line in lines]
    return list(csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True))


def is_number(field):
    try:
        float(field)
        return True
    except ValueError:
        return False


def layout(text):
    """The separator and the rows of a text: the separator that gives all rows equally many fields, and most of them."""
    lines = re.split(r"\r\n|\n|\r", text)
    while lines and (not lines[0].strip() or lines[0].startswith("#")):
        lines.pop(0)
    best = None
    for separator in [",", "\t", ";", "|", BLANKS]:
        try:
            rows = [row for row in fields([line + "\n" for line in lines if line.strip()], separator) if row]
        except csv.Error:
            continue
        widths = {len(row) for row in rows[1:] or rows}
        if not rows or len(widths) != 1 or len(rows[0]) not in (max(widths), max(widths) - 1):
            continue
        if best is None or len(rows[-1]) > len(best[1][-1]):
            best = separator, rows
    if best is None:
        raise NoTable("its rows have different numbers of fields, or it has none")
    return best[0], best[1], lines


def read_text(path):
    """The table that pandas reads, with the separator and the header that the rows show."""
    import pandas
    separator, rows, lines = layout(decoded(path))
    first, rest = rows[0], rows[1:]
    width = len(rows[-1])
    row_names = len(first) == width - 1 or first[0] == ""
    has_header = len(first) < width or not any(is_number(field) for field in first if field not in MISSING)
    has_header = has_header or any(not is_number(a) and sum(is_number(row[i]) for row in rest) > len(rest) / 2
                                   for i, a in enumerate(first) if a not in ("", "NA", "?", ".", "nan"))
    if has_header and not rest:
        raise NoTable("it has one line, of words")
    index = 0 if row_names and has_header else False
    frame = pandas.read_csv(io.StringIO("\n".join(lines)), sep=separator, header=0 if has_header else None,
                            na_values=MISSING, float_precision="round_trip", skipinitialspace=True, index_col=index,
                            low_memory=False)
    columns, numeric, words = [], [], None
    for number, name in enumerate(frame.columns, 2 if row_names and has_header else 1):
        column = frame[name]
        numeric.append(column.dtype.kind in "biuf")
        columns.append(column.to_numpy(float) if numeric[-1] else np.full(len(frame), np.nan))
        if words is None and column.dtype == object and column.notna().all() and 1 < column.nunique() <= 50:
            words = number, column.astype(str).to_list()
    names = [name.strip() for name in first[len(first) - len(numeric):]] if has_header else None
    if not any(numeric):
        raise NoTable("all columns are words")
    return [Table("", np.column_stack(columns), names, numeric, words)]


# ---- binary formats -------------------------------------------------------------------------------------------------

def numbers(array):
    return isinstance(array, np.ndarray) and array.dtype.kind in "biuf"


def column_or_matrix(array):
    """As float64; a vector is a column."""
    return (array[:, None] if array.ndim == 1 else array).astype(float)


def has_numbers(dtype):
    """Whether an array of this type is a table: it has fields, and one of them is a number, or several numbers."""
    return bool(dtype.names) and any(dtype[i].base.kind in "iuf" for i in range(len(dtype)))


def structured(part, array):
    """The fields as columns; a field of several values is as many columns, name_1, name_2 ..."""
    columns, names, numeric = [], [], []
    for name in array.dtype.names:
        field = array[name].reshape(len(array), -1)
        for i in range(field.shape[1]):
            names.append(name if array.dtype[name].shape == () else f"{name}_{i + 1}")
            numeric.append(field.dtype.kind in "iuf")  # a bit of PyTables is no number
            columns.append(field[:, i].astype(float) if numeric[-1] else np.full(len(array), np.nan))
    return Table(part, np.column_stack(columns), names, numeric)


def read_npy(path):
    array = np.load(path, allow_pickle=False)
    if array.ndim == 1 and has_numbers(array.dtype):
        return [structured("", array)]
    if not numbers(array) or array.ndim > 2:
        raise NoTable(f"an array of {array.ndim} dimensions and type {array.dtype}")
    return [Table("", column_or_matrix(array))]


def read_npz(path):
    import scipy.sparse
    try:
        return [Table("", scipy.sparse.load_npz(path).toarray().astype(float))]
    except (ValueError, KeyError, OSError, TypeError, NotImplementedError):
        pass
    with np.load(path, allow_pickle=False) as archive:
        tables = []
        for name in archive.files:
            try:
                array = archive[name]
            except ValueError:  # objects
                continue
            if numbers(array) and array.ndim in (1, 2) and array.size:
                tables.append(Table(name, column_or_matrix(array)))
    return tables


def read_mat(path):
    import scipy.io
    import scipy.sparse
    tables = []
    variables = scipy.io.loadmat(path)
    sparse = [name for name, array in variables.items() if scipy.sparse.issparse(array)]
    for name, array in variables.items():
        if name in sparse and array.dtype.kind in "biuf":
            array = array.toarray()
        if not name.startswith("__") and numbers(array) and array.ndim == 2 and array.size:
            is_row = array.shape[0] == 1 and name not in sparse  # as kith documents, it is read as a column
            tables.append(Table(name, array.T.astype(float) if is_row else array.astype(float)))
    return tables


def read_hdf5(path):
    import h5py
    tables = []

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or not item.size:
            return
        if item.ndim == 1 and has_numbers(item.dtype):
            tables.append(structured("/" + name, item[:]))
        if item.ndim not in (1, 2) or item.dtype.kind not in "biuf":
            return
        turned = item.ndim == 2 and ("MATLAB_class" in item.attrs or "rhdf5-NA.OK" in item.attrs)
        try:
            values = column_or_matrix(item[:])
        except (OSError, TypeError):  # a filter that h5py lacks
            return
        tables.append(Table("/" + name, values.T if turned else values))
    with h5py.File(path) as file:
        file.visititems(visit)
    return tables


def read_h5ad(path):
    import anndata
    import scipy.sparse
    data = anndata.read_h5ad(path)
    tables = []
    for part, matrix in [("/X", data.X), *((f"/obsm/{key}", data.obsm[key]) for key in data.obsm),
                         *((f"/layers/{key}", data.layers[key]) for key in data.layers)]:
        if matrix is not None:
            matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
            if matrix.dtype.kind in "biuf" and matrix.ndim == 2 and matrix.size:
                tables.append(Table(part, matrix.astype(float)))
    return tables


def read_matrix_market(path):
    import scipy.io
    import scipy.sparse
    matrix = scipy.io.mmread(path)
    matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    if matrix.dtype.kind not in "biuf":
        raise NoTable("complex numbers")
    return [Table("", matrix.astype(float))]


def read_svmlight(path):
    import sklearn.datasets
    points, labels = sklearn.datasets.load_svmlight_file(str(path))
    return [Table("", points.toarray(), words=("label", [str(label) for label in labels]))]


def read_arrow(path):
    import pyarrow.feather
    import pyarrow.parquet
    is_parquet = first_bytes(path, 4) == b"PAR1"
    frame = (pyarrow.parquet if is_parquet else pyarrow.feather).read_table(path).to_pandas()  # without its index
    numeric = [frame[name].dtype.kind in "biuf" for name in frame]
    columns = [frame[name].to_numpy(float) if number else np.full(len(frame), np.nan)
               for name, number in zip(frame, numeric)]
    return [Table("", np.column_stack(columns), [str(name) for name in frame], numeric)]


READERS = {"text": read_text, "gzipped text": read_text, "npy": read_npy, "npz": read_npz, "mat": read_mat,
           "HDF5": lambda path: (read_h5ad if path.name.endswith(".h5ad") else read_hdf5)(path),
           "MatrixMarket": read_matrix_market, "svmlight": read_svmlight, "Parquet": read_arrow, "Arrow": read_arrow}


def read_picture(path):
    """The pixels that Pillow reads, turned as EXIF says: rows x columns x 3 or 4 values of 0 to 255."""
    from PIL import Image, ImageOps
    with Image.open(path) as picture:
        picture = ImageOps.exif_transpose(picture)
        if picture.mode.startswith("I"):  # gray values of 16 bits
            gray = np.asarray(picture).astype(float) / 257
            return np.repeat(gray[:, :, None], 3, axis=2)
        has_alpha = "A" in picture.mode or "transparency" in picture.info
        return np.asarray(picture.convert("RGBA" if has_alpha else "RGB")).astype(float)
