"""The refusals and differences that are right, each a pattern and its reason. What no pattern matches is DIFFERENT."""
import re

# Files in which the library of the format finds no table of numbers either: what kith's message must say.
NAMED = {
    "arff": "ARFF", "bmp": "BMP", "BMP": "BMP", "bzip2": "bzip2", "dbf": "DBF|dBASE", "dta": "Stata", "fif": "FIF",
    "gif": "GIF", "GIF": "GIF", "json": "JSON", "NetCDF 3": "netCDF", "ORC": "ORC", "pkl": "pickle", "rda": "an R ",
    "rds": "an R ", "sav": "SPSS|IDL", "tif": "TIFF", "TIFF": "TIFF|PNG, JPEG or PNM", "xls": "Excel", "zip": "zip",
}
NO_TABLE = ("expected .*(found|only|at least)|no dataset|line 1 |damaged|declared as|which kith does not support|"
            "external link|no column holds numbers|are they quotes|the table seems to begin in line")

# Tables of the library that kith refuses: a pattern of the format, and of the message.
REFUSALS = [
    (".*text", "expected lines that end with LF or CR LF, found CR only; convert it"),
    (".*text", "found vectors of word2vec below a line with their sizes; (leave that out|say --skip-lines 1)"),
    ("HDF5", "found (enum|bitfield|MATLAB text|an empty matrix|a compound with values of variable length)"),
    ("HDF5", "declared as .*, but no value was ever written"),
    ("npz", "found the type '<f16'"),
    ("JPEG", "Corrupt JPEG data"),  # Pillow shows what can be decoded
]

# (pattern of the path, pattern of the difference, reason)
EXPLANATIONS = [
    ("svmlight_invalid_order", "should be sorted",
     "scikit-learn refuses features that are not in order; kith orders them"),
    ("test_corpus_small.mm", "Missing banner", "SciPy refuses a banner in small letters"),
    ("compound-dtype-complex.h5", "", "h5py makes complex numbers of the fields r and i; to kith they are two columns"),
    ("adata.h5ad|10x_pbmc68k_reduced.h5ad", "/obsm/X_.* is not among its datasets",
     "before AnnData 0.7 obsm was one dataset: kith reads F.h5ad:/obsm with --columns X_pca"),
    ("krumsiek11_params|toggleswitch_params", "all columns are words",
     "True is 1 to kith, and a word to pandas beside numbers"),
    ("histopt.dat", "ClassA|2 columns instead of 1",
     "a blank between the names, a tab between the values: kith takes both for separators"),
    ("test-h5link.h5|attr-u16.h5", "not among its datasets", "kith lists a dataset with two names (hard links) once"),
    ("russellCRCRLF.csv", "statistics of 1 columns instead of 2",
     "lines end with CR CR LF: kith shows the last field as text with its CRs, pandas removes them"),
    ("coil_def(_Elekta)?.dat", "x 7 instead of", "two kinds of rows in turn: line 1 is a row to kith, and names here"),
    ("indexes_2_[01].h5", "statistics of 2 columns instead of 3",
     "h5py makes bytes of PyTables' bits; kith names the type, bitfield, and leaves the column out"),
    ("metacells.median.txt.gz", "12 x 4 instead of 13 x 4",
     "GENE, 1, 2, 3 above words and decimals are names, as kith says; the comparison takes them for a row"),
    ("commits.txt.gz", "no column holds numbers",
     "dates with commas: kith divides them there, the comparison at blanks"),
    ("lcdemo.dat", "37 x 3", "tabs and blanks mix: kith shows two columns of text; --delimiter blanks reads the file"),
    ("gb18030.txt", "is called",
     "the text has an encoding that the comparison does not know; the numbers are equal"),
    ("bad_miutf8_array_name.mat", "Non ascii", "SciPy refuses a variable's name that is no ASCII"),
    ("corrupted_zlib_checksum.mat", "incorrect data check",
     "SciPy stops at the damaged variable; kith names it and reads the others"),
    ("float.h5", "Insufficient precision", "h5py refuses the whole file for a type that kith does not read either"),
    ("sprint.csv", "different numbers of fields", "blanks stand between a quoted text and its comma"),
]


def refusal(kind, message, library_reads):
    """The message if it is one that is right for the format, else None."""
    if library_reads:
        right = any(re.fullmatch(kinds, kind) and re.search(pattern, message) for kinds, pattern in REFUSALS)
    else:
        right = re.search(NAMED.get(kind, NO_TABLE), message)
    return message if right else None


def explained(path, remark):
    for paths, pattern, reason in EXPLANATIONS:
        if re.search(paths, path) and re.search(pattern, remark):
            return reason
    return None
