#!/usr/bin/env python3
"""Times whole processes until they reach an inertia: 1.05, 1.02, 1.01 and 1.00 times that of kith with its defaults.

    pip install numpy scikit-learn faiss-cpu          # on a GPU also torch and flashlib
    inertia.py --kith build/kith                      # kinds of kith generate, on the processor
    inertia.py --kith build/kith --backend cuda --programs kith,kith-batch,FlashLib
    inertia.py --kith build/kith --files descriptions.npy,150 --limit 20
    inertia.py --kith build/kith --iterations 20      # seconds and inertias of 20 iterations

Every program reads the same .npy file and writes its centroids, in a process of its own, with 1, 2, 5, 10, ...
iterations or epochs, until it has reached kith's inertia or has taken longer than the limit. The inertia of its
centroids is that of `kith assign`, so that all are measured by the same definition. The table has the shortest time
that reached each inertia; an empty cell: none did within the limit. A program that cannot be imported is left out.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TARGETS = (1.05, 1.02, 1.01, 1.0)
STEPS = (1, 2, 5, 10, 20, 50, 100, 300)
DATA = ("noise 200000x64,500", "blobs 300000x32,400", "scales 200000x32,400", "blobs 1000000x16,100",
        "blobs 1000000x128,1024")
READ = "import sys, numpy as np\nname, k, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\nx = np.load(name)\n"
SCRIPTS = {
    "KMeans": READ + """
from sklearn.cluster import KMeans
np.save("out.npy", KMeans(k, n_init=1, max_iter=steps, random_state=0).fit(x).cluster_centers_)
""",
    "MiniBatchKMeans": READ + """
import os
from sklearn.cluster import MiniBatchKMeans
model = MiniBatchKMeans(k, n_init=1, max_iter=steps, batch_size=256 * os.cpu_count(), random_state=0)
np.save("out.npy", model.fit(x).cluster_centers_)
""",
    "FAISS": READ + """
import faiss
model = faiss.Kmeans(x.shape[1], k, niter=steps, seed=0, max_points_per_centroid=10**9)
model.train(x)
np.save("out.npy", model.centroids)
""",
    "FlashLib": READ + """
import torch
import flashlib.primitives.kmeans as kmeans
points = torch.from_numpy(x).cuda()
start = points[torch.randperm(len(points), device="cuda", generator=torch.Generator("cuda").manual_seed(0))[:k]]
found = kmeans.flash_kmeans(points[None], k, max_iters=steps, tol=0.0, backend="triton", init_centroids=start[None])
shape = (1, k, x.shape[1])
np.save("out.npy", next(part for part in found if tuple(getattr(part, "shape", ())) == shape)[0].float().cpu().numpy())
""",
}
KITH = {"kith": [], "kith-random": ["--init", "random"], "kith-batch": ["--batch", "8192"]}


def command(program, options, points, clusters, steps):
    if program in KITH:
        return [options.kith, "cluster", points, "-k", str(clusters), "--max-iterations", str(steps), "-q", "-f",
                "--backend", options.backend, "-o", "out.h5", *KITH[program]]
    return [sys.executable, "-W", "ignore", "-c", SCRIPTS[program], points, str(clusters), str(steps)]


def measure(program, options, folder, points, clusters, steps):
    """Seconds of a process, and the inertia of its centroids; None if it failed or ran past the limit."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command(program, options, points, clusters, steps), cwd=folder, capture_output=True,
                              text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return None
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        print(f"{program}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    centroids = "out.h5:/centroids" if program in KITH else "out.npy"
    words = [options.kith, "assign", points, "--centroids", centroids, "-o", "labels.h5", "-f", "-q", "--json"]
    report = json.loads(subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout)
    return seconds, report["inertia"]


def times(program, options, folder, points, clusters, reference):
    """The shortest time that reached each of the targets."""
    best = {}
    for steps in STEPS:
        run = measure(program, options, folder, points, clusters, steps)
        if run is None:
            break
        for target in TARGETS:
            if run[1] <= reference * target * (1 + 1e-9):
                best[target] = min(best.get(target, run[0]), run[0])
        if 1.0 in best:
            break
    return best


def make(options, folder, text):
    """The .npy file and the number of clusters of "blobs 300000x32,400"."""
    kind, shape = text.split(" ")
    size, clusters = shape.split(",")
    rows, columns = size.split("x")
    subprocess.run([options.kith, "generate", "points.h5", "--kind", kind, "-n", rows, "-d", columns, "-q", "-f"],
                   cwd=folder, check=True)
    import h5py
    import numpy
    with h5py.File(folder / "points.h5") as file:
        numpy.save(folder / "points.npy", file["points"][:])
    return str(folder / "points.npy"), int(clusters)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="build/kith")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--data", default=";".join(DATA), help="KIND ROWSxCOLUMNS,K with semicolons between them")
    parser.add_argument("--files", default="", help="FILE.npy,K with spaces between them, in place of --data")
    parser.add_argument("--programs", default=",".join([*KITH, "KMeans", "MiniBatchKMeans", "FAISS"]))
    parser.add_argument("--iterations", type=int, default=0, help="times of so many, in place of times to an inertia")
    parser.add_argument("--limit", type=float, default=60, help="seconds of one process")
    options = parser.parse_args()
    options.kith = str(pathlib.Path(options.kith).resolve())
    heads = ["seconds", "inertia"] if options.iterations else [f"{target:.2f}, s" for target in TARGETS]
    print("| data | program | " + " | ".join(heads) + " |\n|" + "---|" * (2 + len(heads)))
    for text in options.files.split() or options.data.split(";"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if options.files:
                file, clusters = text.rsplit(",", 1)
                points, clusters = str(pathlib.Path(file).resolve()), int(clusters)
            else:
                points, clusters = make(options, folder, text)
            if options.iterations:
                for program in options.programs.split(","):
                    run = measure(program, options, folder, points, clusters, options.iterations)
                    print(f"| {text} | {program} | " + (f"{run[0]:.2f} | {run[1]:.6g} |" if run else "| |"), flush=True)
                continue
            whole = measure("kith", options, folder, points, clusters, 300)
            if whole is None:
                raise SystemExit(f"{text}: kith did not end within {options.limit} s")
            for program in options.programs.split(","):
                best = times(program, options, folder, points, clusters, whole[1])
                if program == "kith":
                    best[1.0] = min(best.get(1.0, whole[0]), whole[0])
                cells = " | ".join(f"{best[target]:.2f}" if target in best else "" for target in TARGETS)
                print(f"| {text} | {program} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
