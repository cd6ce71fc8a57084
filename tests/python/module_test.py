"""The Python module finds what the command line finds: python3 tests/python/module_test.py, where kith is installed."""
import os
import subprocess
import tempfile

import h5py
import numpy as np

import kith

rng = np.random.default_rng(1)
points = rng.normal(size=(300, 5)).astype(np.float32)

with tempfile.TemporaryDirectory() as folder:
    np.save(folder + "/points.npy", points)
    for words in (["cluster", "-k", "4", "--seed", "2"], ["knn", "-k", "3"]):
        command = [kith.program(), words[0], folder + "/points.npy", *words[1:], "-q", "-o", f"{folder}/{words[0]}.h5"]
        subprocess.run(command, check=True)
    result, lists = kith.cluster(points, 4, seed=2), kith.neighbors(points, 3)
    with h5py.File(folder + "/cluster.h5") as file:
        assert np.array_equal(result.labels, file["labels"][:])
        assert np.array_equal(result.centroids, file["centroids"][:])
        assert result.inertia == file.attrs["inertia"]
    with h5py.File(folder + "/knn.h5") as file:
        assert np.array_equal(lists.rows, file["neighbors"][:])
        assert np.array_equal(lists.distances, file["distances"][:])

assert result.stopped_by in ("labels", "tolerance") and result.iterations > 0
assert np.array_equal(kith.assign(points, result.centroids).labels, result.labels)
assert np.array_equal(kith.neighbors(points, 1, queries=points[:7]).rows[:, 0], np.arange(7))
begins, rows, distances = kith.within(points, 1.0)
assert len(begins) == 301 and begins[-1] == len(rows) == len(distances) > 0 and distances.max() <= 1.0
assert kith.cluster(points, 4, seed=2, metric="cosine", n_init=2).counts.sum() == 300
for call, code, said in (
    (lambda: kith.cluster(points, 301), 2, "300 rows"),
    (lambda: kith.cluster(points, 3, no_such_option=1), 2, "--no-such-option"),
    (lambda: kith.cluster(np.full((3, 2), np.nan), 2), 3, "points.npy"),
    (lambda: kith.cluster(points[0], 2), 2, "rows x columns"),
):
    try:
        call()
    except kith.Error as error:
        assert error.code == code and said in str(error), (error.code, str(error))
    else:
        raise AssertionError("no error: " + said)
if os.path.isdir("/dev/shm"):
    left = [name for name in os.listdir("/dev/shm") if name.startswith(f"kith-{os.getpid()}-")]
    assert not left, left
print("all equal")
