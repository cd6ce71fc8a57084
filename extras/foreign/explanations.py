"""The refusals and differences that are right, each a pattern and its reason. What no pattern matches is DIFFERENT."""
import re

# Files in which the library of the format finds no table of numbers either: what kith's message must say.
NAMED = {
    "arff": "ARFF", "bmp": "BMP|picture", "bzip2": "bzip2", "dbf": "DBF|dBASE", "dta": "Stata", "fif": "FIF", "gif": "GIF",
    "GIF": "GIF", "json": "JSON", "NetCDF 3": "netCDF", "ORC": "ORC", "pkl": "pickle", "rda": "R ", "rds": "R ",
    "sav": "SPSS|IDL", "tif": "TIFF", "TIFF": "TIFF", "xls": "Excel|compound", "BMP": "BMP", "zip": "zip",
}
NO_TABLE = r"expected .*(found|only)|no dataset|line 1 "

# Tables of the library that kith refuses: a pattern of the format, and of the message.
REFUSALS = [
]

# (pattern of the path, pattern of the difference, reason)
EXPLANATIONS = [
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
