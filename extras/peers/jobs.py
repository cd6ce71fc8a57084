#!/usr/bin/env python3
"""Times five jobs from file to file: kith as one command, pandas and scikit-learn as one script, both as new processes.

    pip install numpy pandas scipy scikit-learn
    jobs.py --kith build/kith                 # all jobs
    jobs.py --kith build/kith --jobs table,dbscan --repeat 5
    jobs.py --kith build/kith --files descriptions.h5:/train,digits.h5:/train        # also needs h5py and faiss-cpu

With --files, the jobs are `kith cluster FILE -k 100` and `kith knn FILE -k 10` for each file, beside scikit-learn and
FAISS: from HDF5 file to HDF5 file, from the start of the process to its end.

Jobs:
    table       200 000 rows of a CSV table with words, decimal commas and missing values in 8 clusters; the table with labels
    embeddings  100 000 float16 rows of 256 columns in 100 clusters by cosine; labels as .npy
    duplicates  50 000 rows of 128 columns, a fifth of them nearly equal to others: the groups within cosine distance 0.05
    classes     the classes of 20 000 rows of a CSV table by the 5 nearest of 20 000 known ones
    dbscan      100 000 places of a CSV table in clusters of any shape, and noise

Each script does what users of these packages write for the job. The data of these jobs are clusters; all programs use
all cores.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from measuring import median_ms

SCRIPTS = {
    "table": """
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
t = pd.read_csv("table.csv", sep=";", decimal=",", na_values=["?"])
x = pd.get_dummies(t.drop(columns="name"), dtype=float)
x = StandardScaler().fit_transform(x.fillna(x.median()))
t["label"] = KMeans(8, random_state=0).fit_predict(x)
t.to_csv("out.csv", sep=";", decimal=",", index=False)
""",
    "embeddings": """
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize
x = normalize(np.load("embeddings.npy").astype(np.float32))
np.save("out.npy", KMeans(100, random_state=0).fit_predict(x))
""",
    "duplicates": """
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
x = np.load("duplicates.npy")
graph = NearestNeighbors(radius=0.05, metric="cosine", n_jobs=-1).fit(x).radius_neighbors_graph()
np.save("out.npy", connected_components(graph, directed=False)[1])
""",
    "classes": """
import pandas as pd
from sklearn.neighbors import KNeighborsClassifier
known, new = pd.read_csv("known.csv"), pd.read_csv("new.csv")
model = KNeighborsClassifier(5, n_jobs=-1).fit(known.drop(columns="kind"), known["kind"])
pd.Series(model.predict(new), name="kind").to_csv("out.csv", index=False)
""",
    "dbscan": """
import pandas as pd
from sklearn.cluster import DBSCAN
x = pd.read_csv("places.csv")
pd.Series(DBSCAN(eps=0.05, min_samples=5, n_jobs=-1).fit_predict(x), name="label").to_csv("out.csv", index=False)
""",
}

# For --files: NAME and DATASET are replaced.
READ = "import h5py, numpy as np\nx = h5py.File('NAME')['DATASET'][:].astype(np.float32)\n"
WRITE = "with h5py.File('out.h5', 'w') as f:\n  for name, value in out.items(): f[name] = value\n"
FILE_SCRIPTS = {
    "cluster": {
        "scikit-learn": READ + """
from sklearn.cluster import KMeans
model = KMeans(100, random_state=0).fit(x)
out = {"labels": model.labels_, "centroids": model.cluster_centers_}
""" + WRITE,
    },
    "knn": {
        "scikit-learn": READ + """
from sklearn.neighbors import NearestNeighbors
distances, neighbors = NearestNeighbors(n_neighbors=10, n_jobs=-1).fit(x).kneighbors()
out = {"neighbors": neighbors, "distances": distances}
""" + WRITE,
        "FAISS": READ + """
import faiss
index = faiss.IndexFlatL2(x.shape[1])
index.add(x)
distances, neighbors = index.search(x, 11)
out = {"neighbors": neighbors, "distances": distances}
""" + WRITE,
    },
}
FILE_COMMANDS = {"cluster": "cluster FILE -k 100 -o out.h5", "knn": "knn FILE -k 10 -o out.h5"}

COMMANDS = {
    "table": "cluster table.csv -k 8 --id-column name --decimal comma --encode onehot --nan median --scale zscore "
             "--append -o out.csv",
    "embeddings": "cluster embeddings.npy -k 100 --metric cosine -o out.npy",
    "duplicates": "knn duplicates.npy --radius 0.05 --metric cosine --components -o out.npy",
    "classes": "knn known.csv --label-column kind --classify known.csv:kind -k 5 --queries new.csv -o out.csv",
    "dbscan": "dbscan places.csv --radius 0.05 --min-points 5 -o out.csv",
}


def blobs(random, rows, columns, count, spread):
    """Float32 rows around `count` standard normal centres, and the centre of each."""
    centres = random.standard_normal((count, columns), dtype=np.float32)
    of = random.integers(count, size=rows)
    return centres[of] + np.float32(spread) * random.standard_normal((rows, columns), dtype=np.float32), of


def write_csv(path, header, lines):
    path.write_text(header + "\n" + "\n".join(lines) + "\n")


def make_table(folder, random):
    values, _ = blobs(random, 200_000, 6, 8, 0.3)
    cities = ["Lyon", "Paris", "Rome", "Oslo", "Bonn"]

    def line(i, row):
        numbers = ["?" if random.random() < 0.01 else f"{value:.3f}".replace(".", ",") for value in row]
        return f"customer {i};{cities[i % 5]};" + ";".join(numbers)

    write_csv(folder / "table.csv", "name;city;a;b;c;d;e;f", [line(i, row) for i, row in enumerate(values)])


def make_embeddings(folder, random):
    np.save(folder / "embeddings.npy", blobs(random, 100_000, 256, 200, 0.5)[0].astype(np.float16))


def make_duplicates(folder, random):
    rows = random.standard_normal((50_000, 128), dtype=np.float32)
    rows[40_000:] = rows[:10_000] + np.float32(0.05) * random.standard_normal((10_000, 128), dtype=np.float32)
    np.save(folder / "duplicates.npy", rows)


def make_classes(folder, random):
    values, of = blobs(random, 40_000, 16, 12, 1.0)
    header = ",".join(f"x{j}" for j in range(16))
    text = [",".join(f"{value:.4f}" for value in row) for row in values]
    write_csv(folder / "known.csv", header + ",kind", [f"{row},kind {c}" for row, c in zip(text[:20_000], of)])
    write_csv(folder / "new.csv", header, text[20_000:])


def make_dbscan(folder, random):
    values, _ = blobs(random, 100_000, 3, 50, 0.1)
    write_csv(folder / "places.csv", "x,y,z", [",".join(f"{value:.4f}" for value in row) for row in values])


MAKERS = {"table": make_table, "embeddings": make_embeddings, "duplicates": make_duplicates, "classes": make_classes,
          "dbscan": make_dbscan}


def seconds(words, folder, repeat):
    """The median of `repeat` whole processes, after one that is not counted."""
    def run():
        for out in folder.glob("out.*"):
            out.unlink()
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{words} failed:\n{done.stderr}")

    return median_ms(run, repeat) / 1e3


def time_files(kith, files, repeat):
    print("| job | file | kith, s | scikit-learn, s | FAISS, s |\n|---|---|---|---|---|")
    for location in files.split(","):
        name, dataset = location.split(":")
        path = pathlib.Path(name).resolve()
        for job, scripts in FILE_SCRIPTS.items():
            with tempfile.TemporaryDirectory() as folder:
                command = FILE_COMMANDS[job].replace("FILE", f"{path}:{dataset}")
                cells = [seconds([kith, *command.split(), "-q"], pathlib.Path(folder), repeat)]
                for peer in ("scikit-learn", "FAISS"):
                    script = scripts.get(peer, "").replace("NAME", str(path)).replace("DATASET", dataset)
                    words = [sys.executable, "-W", "ignore", "-c", script]
                    cells.append(seconds(words, pathlib.Path(folder), repeat) if script else None)
                shown = " | ".join("" if cell is None else f"{cell:.2f}" for cell in cells)
                print(f"| {job} | {path.name} | {shown} |", flush=True)


def time_jobs(kith, jobs, repeat):
    print("| job | kith, s | pandas and scikit-learn, s | times |\n|---|---|---|---|")
    for job in jobs.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            MAKERS[job](folder, np.random.default_rng(0))
            ours = seconds([kith, *COMMANDS[job].split(), "-q"], folder, repeat)
            theirs = seconds([sys.executable, "-W", "ignore", "-c", SCRIPTS[job]], folder, repeat)
            print(f"| {job} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="build/kith")
    parser.add_argument("--jobs", default=",".join(COMMANDS))
    parser.add_argument("--files", default="", help="FILE:DATASET of HDF5 files, with commas between them")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    kith = str(pathlib.Path(options.kith).resolve())
    if options.files:
        time_files(kith, options.files, options.repeat)
    else:
        time_jobs(kith, options.jobs, options.repeat)


if __name__ == "__main__":
    main()
