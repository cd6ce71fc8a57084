"""kith._native finds what the program finds, ends when it is asked to, and goes on after fork() and in threads:
python3 tests/python/native_test.py, where kith is installed or build/python is in PYTHONPATH. ROUNDS: of interrupted
calls, forks and threads at random moments."""
import importlib.util
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

for needed in ("numpy", "h5py"):
    if importlib.util.find_spec(needed) is None:
        print(f"skipped: {needed} is not installed")
        sys.exit(77)
import h5py
import numpy as np

import kith
import kith._choice
from kith import Index, Points, _native

ROUNDS = int(os.environ.pop("ROUNDS", "5"))
for variable in [name for name in os.environ if name.startswith("KITH_")]:
    del os.environ[variable]  # with any, the program computes every call
rng = np.random.default_rng(3)
points = rng.normal(size=(700, 6)).astype(np.float32)
queries = rng.normal(size=(40, 6)).astype(np.float32)
LARGE = rng.normal(size=(60_000, 48)).astype(np.float32)


def by_program(command, base, *words, **arrays):
    """The datasets of a result of the program. arrays: options whose values are files."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/base.npy", base)
        for name, values in arrays.items():
            np.save(f"{folder}/{name}.npy", values)
        files = [word for name in arrays for word in ("--" + name.replace("_", "-"), f"{folder}/{name}.npy")]
        subprocess.run([kith.program(), command, folder + "/base.npy", *words, *files, "-q", "-o", folder + "/r.h5"],
                       check=True)
        with h5py.File(folder + "/r.h5") as file:
            return {**{name: file[name][:] for name in file}, "inertia": file.attrs.get("inertia")}


def fails(call, kind, *said):
    try:
        call()
    except kind as error:
        assert all(text in str(error) for text in said), str(error)
        return error
    raise AssertionError(f"no error: {said}")


def same_clusters(found, expected):
    assert np.array_equal(found.labels, expected["labels"]) and found.inertia == expected["inertia"]
    assert np.array_equal(found.centroids, expected["centroids"]) and np.array_equal(found.counts, expected["counts"])
    assert np.array_equal(found.nearest_row, expected["nearest_row"])
    assert np.array_equal(found.inertia_per_cluster, expected["inertia_per_cluster"])


def test_clusters_of_the_program():
    weights = np.arange(700.0) % 3
    for words, options in (
        (["--seed", "4"], {"seed": 4}),
        (["--metric", "cosine", "--n-init", "3"], {"metric": "cosine", "n_init": 3}),
        (["--init", "random", "--tolerance", "0"], {"init": "random", "tolerance": 0.0}),
        (["--batch", "50", "--epochs", "2"], {"batch": 50, "epochs": 2}),
        (["--algorithm", "bisecting"], {"algorithm": "bisecting"}),
    ):
        same_clusters(_native.cluster(points, 7, **options), by_program("cluster", points, "-k", "7", *words))
    expected = by_program("cluster", points, "-k", "7", weights=weights)
    same_clusters(_native.cluster(points, 7, weights=weights), expected)
    same_clusters(_native.cluster(points, 7, init=points[:7]), by_program("cluster", points, "-k", "7", init=points[:7]))
    kept = by_program("cluster", points, "-k", "7", "--save-distances", "--medoids")
    found = _native.cluster(points, 7, save_distances=True, medoids=True)
    assert np.array_equal(found.distances.astype(np.float32), kept["distances"])
    assert np.array_equal(found.medoids, kept["medoids"])
    given = _native.assign(queries, found.centroids, save_distances=True)
    expected = by_program("assign", queries, "--save-distances", centroids=found.centroids)
    assert np.array_equal(given.labels, expected["labels"]) and given.inertia == expected["inertia"]
    assert np.array_equal(given.distances.astype(np.float32), expected["distances"])
    one = _native.cluster(points, 7, threads=1)
    assert one.inertia == found.inertia and np.array_equal(one.labels, found.labels)


def test_neighbors_of_the_program():
    small = (points * 20 + 30).clip(1, 100).astype(np.int8)
    for base, kind in ((points, np.float32), (points.astype(np.float64), np.float64), (small, np.float32)):
        asked = small[:40] if base is small else queries.astype(base.dtype)
        for metric in ("euclidean", "cosine", "inner-product", "manhattan", "chebyshev"):
            index = Index(base, metric)
            for given, files in ((None, {}), (asked, {"queries": asked})):
                rows, distances = index.search(given, 4)
                expected = by_program("knn", base, "-k", "4", "--metric", metric, **files)
                assert np.array_equal(rows, expected["neighbors"]), metric
                assert np.array_equal(distances.astype(kind), expected["distances"]), metric
        begins, rows, distances = Index(base).within(asked, 2.0)
        expected = by_program("knn", base, "--radius", "2", queries=asked)
        assert np.array_equal(begins, expected["indptr"]) and np.array_equal(rows, expected["indices"])
        assert np.array_equal(distances.astype(kind), expected["distances"])
    assert Index(points).search(None, 1, include_self=True)[0][:, 0].tolist() == list(range(700))
    large = Index(LARGE)
    rows = large.search(LARGE[:50], 3)[0]
    for count in (1, 2, 10, 21, 22):  # of queries, which are searched in other ways
        assert np.array_equal(large.search(LARGE[:count], 3)[0], rows[:count]), count
    rows, squares = Index(points).search(queries, 3, squared=True)
    assert np.array_equal(np.sqrt(squares), Index(points).search(queries, 3)[1])


def test_other_results_of_the_program():
    for base in (points, points.astype(np.float64)):
        expected = by_program("distances", base[:50], "--metric", "cosine")["distances"]
        assert np.array_equal(kith.distances(base[:50], metric="cosine").astype(base.dtype), expected)
    labels, core = kith.dbscan(points, 1.2, 4)
    expected = by_program("dbscan", points, "--radius", "1.2", "--min-points", "4")
    assert np.array_equal(labels, expected["labels"]) and np.array_equal(core, expected["core_rows"])
    rows = kith.sweep(points, [2, 5, 3], seed=1)
    assert [row["clusters"] for row in rows] == [2, 3, 5]
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/p.npy", points)
        np.save(folder + "/l.npy", kith.cluster(points, 5, seed=1).labels)
        for kind in ("simplified", "exact"):
            rows = kith.sweep(points, [2, 3, 5], seed=1, silhouette=kind)
            subprocess.run([kith.program(), "sweep", folder + "/p.npy", "-k", "2,3,5", "--seed", "1", "-q", "-f", "-o",
                            folder + "/s.csv", "--silhouette", kind], check=True, stdout=subprocess.DEVNULL)
            table = np.genfromtxt(folder + "/s.csv", delimiter=",", names=True, dtype=None, encoding=None)
            for name in ("inertia", "calinski_harabasz", "davies_bouldin"):
                assert np.array_equal([row[name] for row in rows], table[name]), name
            name = "silhouette" if kind == "exact" else "simplified_silhouette"
            assert np.array_equal([row[name] for row in rows], table["silhouette"])
        subprocess.run([kith.program(), "evaluate", folder + "/l.npy", "--points", folder + "/p.npy", "-q", "-o",
                        folder + "/e.h5", "--save-silhouette"], check=True, stdout=subprocess.DEVNULL)
        scores = kith.evaluate(points, kith.cluster(points, 5, seed=1).labels, save_silhouette=True)
        with h5py.File(folder + "/e.h5") as file:
            for name in ("silhouette", "simplified_silhouette", "calinski_harabasz", "davies_bouldin"):
                assert scores[name] == file.attrs[name], name
            assert np.array_equal(scores["silhouettes"], file["silhouette"][:])
    names = np.array(["b", "a", "c"])[kith.cluster(points, 3).labels]
    assert kith.evaluate(points, names)["silhouette"] == kith.evaluate(points, kith.cluster(points, 3).labels)["silhouette"]
    known = np.arange(700) % 3
    for none in (-1, np.nan, None):
        labels = known.astype(object)
        labels[5] = none
        for given in (labels, labels.tolist()) if none is None else (labels, labels.astype(float)):
            fails(lambda: kith.evaluate(points, given), ValueError, "labels: row 6 (counted from 1) has none")
    for given in (np.ma.masked_equal(known, 2), np.array(["2020-01-01", "2020-01-02", "NaT"], "M8[D]")[known]):
        fails(lambda: kith.evaluate(points, given), ValueError, "labels: row 3 (counted from 1)")


def test_held_points_in_place_of_arrays():
    held = Points(points)
    assert np.array_equal(kith.cluster(held, 5).labels, kith.cluster(points, 5).labels)
    assert np.array_equal(kith.assign(held, points[:3]).labels, kith.assign(points, points[:3]).labels)
    assert np.array_equal(kith.neighbors(held, 2, queries=Points(queries)).rows, kith.neighbors(points, 2, queries).rows)
    assert np.array_equal(kith.within(held, 1.0)[1], kith.within(points, 1.0)[1])
    fails(lambda: kith.cluster(held, 5, scale="zscore"), ValueError, "points: expected an array, found held Points")


def test_values_of_any_type():
    whole = (points * 10).round()
    expected = {kind: by_program("knn", whole.astype(kind), "-k", "2") for kind in
                ("float16", "int8", "int16", "int32", "int64", "bool", ">f4", ">i8")}
    for kind, result in expected.items():
        rows, distances = Index(whole.astype(kind)).search(None, 2)
        assert np.array_equal(rows, result["neighbors"]), kind
        lists = kith.neighbors(whole.astype(kind), 2)
        assert lists.distances.dtype == result["distances"].dtype, kind
        assert np.array_equal(lists.distances, result["distances"]), kind
    rows = Index(points).search(None, 2)[0]
    for form in (np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2], points.tolist(),
                 np.ma.masked_array(points, mask=False), Points(points)):
        assert np.array_equal(Index(form).search(None, 2)[0], rows)
    points.flags.writeable = False
    assert np.array_equal(Index(points).search(None, 2)[0], rows)
    points.flags.writeable = True

    class OnlyDlpack:
        """As an array of another package in the memory of the host."""

        def __dlpack__(self, **options):
            return points.__dlpack__(**options)

        def __dlpack_device__(self):
            return points.__dlpack_device__()

    assert np.array_equal(Index(OnlyDlpack()).search(None, 2)[0], rows)


def test_models():
    """The labels of a model are those of assign(), of few points and many, with ties and other centroids."""
    for centroids in (points[:5], points[:400], np.repeat(points[:30], 3, axis=0), np.zeros((4, 6))):
        model = _native.Model(centroids)
        for rows in (points[:1], points[:16], points[:17], points[:60], points, points[:3].astype(np.float64),
                     np.repeat(points[:2], 9, axis=0)):
            assert np.array_equal(model.labels(rows), _native.assign(rows, centroids).labels), (len(centroids), len(rows))
            assert np.array_equal(model.labels(Points(rows)), _native.assign(rows, centroids).labels)
    cosine = _native.Model(points[:9], "cosine")
    assert np.array_equal(cosine.labels(points[:2]), _native.assign(points[:2], points[:9], metric="cosine").labels)
    fails(lambda: _native.Model(np.full((2, 2), np.nan)), ValueError, "centroids: row 1, column 1")
    fails(lambda: model.labels(points[:, :2]), ValueError, "points: expected 6 columns", "found 2")
    estimator = kith.KMeans(5).fit(points)
    assert np.array_equal(estimator.predict(points[:3]), estimator.labels_[:3])
    estimator.cluster_centers_[0] = points[2]  # in place
    expected = _native.assign(points[:3], estimator.cluster_centers_).labels
    assert expected[2] == 0 and np.array_equal(estimator.predict(points[:3]), expected)
    again = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(again.predict(points[:3]), expected)


def test_arrays_on_a_gpu():
    """What is in the memory of a GPU is computed with there: PyTorch and CuPy, every type, aligned or not."""
    packages = [name for name in ("torch", "cupy") if importlib.util.find_spec(name) is not None]
    if not packages or _native.missing("cuda"):
        print(f"test_arrays_on_a_gpu: not run, {_native.missing('cuda') or 'neither PyTorch nor CuPy is installed'}")
        return
    weights = rng.integers(0, 3, len(points)).astype(float)
    start = points[:5].astype(np.float64)
    runs = [{"init": init} for init in ("k-means++", "k-means||", "random", "first", "farthest")]
    runs += [{"batch": 64}, {"algorithm": "bisecting"}, {"weights": weights}, {"medoids": True, "save_distances": True},
             {"init": start}, {"metric": "cosine"}, {"metric": "correlation"}, {"n_init": 3}]
    for name in packages:
        package = importlib.import_module(name)
        to_gpu = (lambda array: package.from_numpy(array).cuda()) if name == "torch" else package.asarray  # noqa: B023
        for kind in (np.float32, np.float64, np.uint8, np.int8):
            host = (points if kind in (np.float32, np.float64) else np.abs(points) * 30).astype(kind)
            every = name == packages[0] and kind == np.float32
            places = ((to_gpu(host), host), (to_gpu(host)[1:], host[1:]), (to_gpu(host)[:, 1:], host[:, 1:]))
            for on_gpu, rows in places if every else places[:2]:
                for run in runs if every else runs[:2]:
                    run = {**run, "weights": weights[: len(rows)]} if "weights" in run else run
                    run = {**run, "init": start[:, : rows.shape[1]]} if run.get("init") is start else run
                    found = _native.cluster(on_gpu, 5, **run)
                    expected = _native.cluster(rows, 5, backend="cpu", **run)
                    for field in ("labels", "centroids", "counts", "nearest_row", "distances", "medoids"):
                        assert np.array_equal(getattr(found, field), getattr(expected, field)), (name, kind, run, field)
                    assert found.inertia == expected.inertia, (name, kind, run)
                asked = rows[5:45].copy()
                for given in (asked, to_gpu(asked)):
                    for metric in ("euclidean", "cosine", "manhattan", "inner-product"):
                        found = Index(on_gpu, metric).search(given, 4)
                        expected = Index(rows, metric, backend="cpu").search(asked, 4)
                        assert all(map(np.array_equal, found, expected)), (name, kind, metric)
                found = Index(on_gpu).search(None, 3, include_self=True)
                assert all(map(np.array_equal, found, Index(rows, backend="cpu").search(None, 3, include_self=True)))
                found, expected = Index(on_gpu).within(asked, 2.0), Index(rows, backend="cpu").within(asked, 2.0)
                assert all(map(np.array_equal, found, expected)), (name, kind)
                found, expected = kith.dbscan(on_gpu, 1.5), kith.dbscan(rows, 1.5, backend="cpu")
                assert all(map(np.array_equal, found, expected)), (name, kind)
                labels = _native.assign(on_gpu, start[:, : rows.shape[1]]).labels
                assert np.array_equal(labels, _native.assign(rows, start[:, : rows.shape[1]], backend="cpu").labels)
                assert kith.evaluate(on_gpu, labels) == kith.evaluate(rows, labels, backend="cpu")
                assert kith.sweep(on_gpu, [2, 3]) == kith.sweep(rows, [2, 3], backend="cpu")
                assert kith.cluster(on_gpu, 3).inertia == kith.cluster(rows, 3, backend="cpu").inertia
            wrong = host[:40].copy()
            if kind in (np.float32, np.float64):
                wrong[17, 2], wrong[30, 0] = -np.inf, np.nan
                fails(lambda: Index(to_gpu(wrong)), ValueError, "base: row 18, column 3", "-infinity")  # noqa: B023
                model = kith.KMeans(4).fit(to_gpu(host))
                same = kith.KMeans(4).fit(host)
                assert np.array_equal(model.labels_, same.labels_) and model.inertia_ == same.inertia_
                assert np.array_equal(model.predict(to_gpu(host)), same.labels_)
                assert np.array_equal(model.transform(to_gpu(host)), same.transform(host))
                fails(lambda: model.predict(to_gpu(host)[:, 1:].copy() if name == "cupy"  # noqa: B023
                                            else to_gpu(host)[:, 1:].contiguous()), ValueError, "5 features")  # noqa: B023
        fails(lambda: Index(to_gpu(points[0])), ValueError, "base: expected an array of rows x columns, found 1")  # noqa: B023


def test_errors_and_warnings():
    wrong = points.copy()
    wrong[3, 1] = np.nan
    for values in (wrong, wrong.astype(np.float64), np.ma.masked_array(points, mask=np.isnan(wrong))):
        error = fails(lambda: Index(values), ValueError, "base: row 4, column 2")
        assert isinstance(error, kith.Error) and error.code == 3
    assert "frame.dropna()" in str(error) and "nan='drop'" in str(error), error
    wrong[3, 1] = np.inf
    fails(lambda: Index(points).search(wrong), ValueError, "queries: row 4, column 2", "infinity")
    fails(lambda: Index(points).search(queries[:, :3]), ValueError, "queries have 3 columns")
    fails(lambda: Index(points[0]), ValueError, "base: expected an array of rows x columns, found 1",
          "one column is numpy.reshape(base, (-1, 1))")
    fails(lambda: Index(points[:0]), ValueError, "base: ")
    fails(lambda: Index(points.astype(complex)), ValueError, "complex")
    fails(lambda: Index(np.array([["a", 1]], dtype=object)), ValueError, "base: expected an array of numbers")
    fails(lambda: Index(points, "angle"), ValueError, "metric: expected euclidean")
    fails(lambda: Index(points, backend="tpu"), ValueError, "backend: expected auto, cuda or cpu")
    fails(lambda: _native.cluster(points, 701), ValueError, "701", "700")
    fails(lambda: _native.cluster(points, 3, weights=points[:, 0]), ValueError, "weights")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        _native.cluster(points, 5, max_iterations=1)
    assert found[0].category is kith.Warning and found[0].filename == __file__, found
    assert "still change after 1 iteration" in str(found[0].message)


def test_places_of_data_frames():
    if importlib.util.find_spec("pandas") is None:
        print("skipped: places of data frames, because pandas is not installed")
        return
    import pandas

    degrees = rng.uniform(-80, 80, (60, 2)).round(3)
    expected = kith.neighbors(degrees, 3, metric="haversine")
    for names in (("lng", "lat"), ("stop_lon", "Stop_Lat (deg)"), ("Longitude", "latitude")):
        frame = pandas.DataFrame(degrees[:, ::-1], columns=list(names))
        frame.insert(1, "height", 7.0)
        os.environ["KITH_THREADS"] = "1"  # which only the program reads
        found = [kith.neighbors(frame, 3, metric="haversine")]
        del os.environ["KITH_THREADS"]
        found.append(kith.neighbors(frame, 3, queries=frame, include_self=False, metric="haversine"))
        assert np.array_equal(found[0].distances, expected.distances), names
        assert np.array_equal(found[1].distances[:, 1:], expected.distances[:, :2]), names
        for one, other in zip(Index(frame, "haversine").search(frame, 3), Index(degrees, "haversine").search(degrees, 3)):
            assert np.array_equal(one, other), names
        assert np.array_equal(kith.distances(frame, metric="haversine"), kith.distances(degrees, metric="haversine"))
        for one, other in zip(kith.dbscan(frame, 900, metric="haversine"), kith.dbscan(degrees, 900, metric="haversine")):
            assert np.array_equal(one, other), names
    frame.columns = ["x", "height", "y"]
    fails(lambda: kith.neighbors(frame, 3, metric="haversine"), ValueError, "named as a latitude", "found none among x")
    fails(lambda: Index(frame, "haversine"), ValueError, "named as a latitude", "latitude first")
    texts = pandas.DataFrame({"town": list("abc"), "lon": [1.0, 2.0, 4.0], "lat": [50.0, 51.0, 53.0]})
    found = kith.neighbors(texts, 1, metric="haversine", id_column="town")
    assert np.array_equal(found.distances, kith.neighbors(texts[["lat", "lon"]], 1, metric="haversine").distances)
    held = kith.Points(degrees)
    assert np.array_equal(kith.neighbors(held, 3, metric="haversine").distances, expected.distances)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Index(np.radians(degrees), "haversine").search(None, 1)
        Index(degrees, "haversine").search(None, 1)
    assert len(found) == 1 and "as if they were radians" in str(found[0].message), found


def test_columns_are_found_by_their_names():
    frames = []
    if importlib.util.find_spec("pandas") is not None:
        import pandas

        frames.append((pandas.DataFrame(points[:, :3], columns=list("abc")), lambda frame, names: frame[names]))
        mixed = pandas.DataFrame(points[:, :3], columns=["a", 1, 2])
        found = kith.cluster(mixed, 4)
        assert np.array_equal(kith.assign(mixed[[2, "a", 1]], found).labels, found.labels)
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow

        table = pyarrow.table({name: points[:, j] for j, name in enumerate("abc")})
        frames.append((table, lambda frame, names: frame.select(names)))
        texts = table.append_column("kind", [[f"{i % 2}x" for i in range(len(points))]])
        assert kith.cluster(texts, 4, encode="onehot").centroids.shape == (4, 5)
        lists = pyarrow.table({"v": points[:, :3].tolist()})
        fails(lambda: kith.cluster(lists, 4), ValueError, "numpy.array(table['NAME'].to_pylist())")
        found = kith.cluster(np.array(lists["v"].to_pylist()), 4)
        assert kith.evaluate(points[:, :3], found) == kith.evaluate(points[:, :3], found.labels)
        places = pyarrow.table({"lon": points[:, 1], "lat": points[:, 0]})
        near = kith.neighbors(points[:, :2], 3, metric="haversine")
        assert np.array_equal(kith.neighbors(places, 3, metric="haversine").distances, near.distances)
    if not frames:
        print("skipped: columns by their names, because neither pandas nor pyarrow is installed")
    for frame, select in frames:
        few = frame.iloc[:4] if hasattr(frame, "iloc") else frame.slice(0, 4)
        turned = select(few, ["c", "a", "b"])  # centroids, too
        assert np.array_equal(kith.assign(frame, turned).labels, kith.assign(frame, few).labels)
        for option in ("init", "freeze"):
            one, two = (kith.cluster(frame, 4, max_iterations=1, **{option: given}) for given in (few, turned))
            assert one.inertia == two.inertia, option
        other, found = select(frame, ["c", "a", "b"]), kith.cluster(frame, 4)
        assert found.columns == ["a", "b", "c"]
        assert np.array_equal(kith.assign(other, found).labels, found.labels)
        again = kith.cluster(frame, 4, init=found)
        assert np.array_equal(kith.cluster(other, 4, init=found).centroids, again.centroids)
        assert not Index(frame).search(other, 1)[1].any() and not Index(kith.Points(frame)).within(other, 0)[2].any()
        assert not kith.distances(frame, other).diagonal().any()
        fails(lambda: kith.assign(kith.Points(other), found), ValueError, "columns a, b, c, in this order", "c, a, b")
        fails(lambda: Index(frame).search(select(frame, ["a", "b"]), 1), ValueError, "queries: expected one column 'c'")


def test_centroids_of_estimators_and_other_metrics():
    found = kith.cluster(points, 4, metric="cosine")
    assert kith.evaluate(points, found) == kith.evaluate(points, found.labels, metric="cosine")
    assert kith.evaluate(points, found) != kith.evaluate(points, found.labels)
    scaled = kith.cluster(points, 4, scale="zscore", metric="cosine")
    fails(lambda: kith.evaluate(points, scaled), ValueError, "after scale='zscore', metric='cosine'; ", "result.labels")
    fails(lambda: kith.cluster(points, 4, seed=2**64), ValueError, "--seed: expected a whole number from 0 to")
    assert "isfinite" not in str(fails(lambda: kith.within(points, -1), ValueError, "radius -1"))
    fails(lambda: kith.assign(points, found, metric="euclidean"), ValueError, "metric: expected cosine")
    fails(lambda: kith.assign(points, "words"), ValueError, "centroids: expected an array, found the name")
    if importlib.util.find_spec("sklearn") is not None:
        model = kith.KMeans(4).fit(points)
        assert np.array_equal(kith.assign(points, model).labels, model.predict(points))
        assert kith.evaluate(points, model) == kith.evaluate(points, model.labels_)
        assert kith.cluster(points, 4, init=model).inertia <= model.inertia_


def test_functions_take_held_points():
    held = kith.Points(points)
    assert np.array_equal(kith.cluster(held, 4).labels, kith.cluster(points, 4).labels)
    assert np.array_equal(kith.assign(held, points[:9]).labels, kith.assign(points, points[:9]).labels)
    assert np.array_equal(kith.neighbors(held, 3, queries=held).rows, kith.neighbors(points, 3, queries=points).rows)
    assert np.array_equal(kith.within(held, 1.0)[1], kith.within(points, 1.0)[1])


def test_one_place_decides():
    """The same call, in the process and by the program."""
    sparse = type("Sparse", (), {"tocsr": None})()
    decided = [
        (("cluster", {"n_init": np.float64(2), "seed": np.uint8(1), "weights": [1] * 700}, points), True),
        (("cluster", {"init": "farthest", "save_distances": np.True_, "medoids": False}, points.tolist()), True),
        (("cluster", {"init": "centroids.npy"}, points), False),
        (("cluster", {"weights": "weights.csv"}, points), False),
        (("cluster", {"scale": "zscore"}, points), False),
        (("cluster", {"tolerance": "0.1"}, points), False),
        (("knn", {"metric": "manhattan"}, points, queries), True),
        (("knn", {"truth": points}, points, queries), False),
        (("knn", {}, points, sparse), False),
    ]
    for call, here in decided:
        assert (kith._choice.in_process(*call) is not None) == here, call[:2]
    packed = rng.integers(0, 256, (400, 7), dtype=np.uint8)
    bits = np.unpackbits(packed, axis=1)
    lists = Index(packed, "jaccard").search(None, 3)
    for form in (bits.astype(bool), bits.astype(np.float32), bits.astype(np.int8)):
        for one, other in zip(Index(form, "jaccard").search(None, 3), lists):
            assert np.array_equal(one, other), form.dtype
    fails(lambda: Index(points, "hamming").search(None, 3), ValueError, "points: row 1, column 1", "0 or 1")
    calls = (
        lambda: kith.cluster(points, 4, metric="cosine", save_distances=True, medoids=True),
        lambda: kith.cluster(points.astype(np.float64), 4, weights=np.arange(700), init=points[:4]),
        lambda: kith.assign(queries, points[:9], save_distances=True),
        lambda: kith.assign(queries, kith.cluster(points, 4, metric="cosine")),
        lambda: kith.neighbors(points, 3, queries=queries, metric="cosine"),
        lambda: kith.within(points, 1.5),
        lambda: kith.cluster(points, 4, metric="correlation", save_distances=True),
        lambda: kith.neighbors(points, 3, queries=queries, metric="correlation"),
        lambda: kith.neighbors(packed, 3, metric="hamming"),
        lambda: kith.neighbors(packed.astype(np.float64) % 2, 3, metric="jaccard"),
        lambda: kith.within(packed, 0.5, metric="jaccard"),
        lambda: kith.neighbors(points[:, :2] * 10, 3, queries=queries[:, :2], metric="haversine"),
    )
    here = [call() for call in calls]
    os.environ["KITH_THREADS"] = "1"  # which only the program reads
    assert kith._choice.in_process("knn", {}, points) is None
    there = [call() for call in calls]
    del os.environ["KITH_THREADS"]
    for one, other in zip(here, there):
        pairs = zip(one, other) if isinstance(one, tuple) else (
            (value, getattr(other, name)) for name, value in vars(one).items() if not name.startswith("_"))
        for value, expected in pairs:
            assert np.array_equal(value, expected), (value, expected)
            assert getattr(value, "dtype", None) == getattr(expected, "dtype", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kith.Warning)
        begun = kith.cluster(points, 5, max_iterations=2, metric="cosine")
    whole = kith.cluster(points, 5, metric="cosine")
    continued = kith.cluster(points, 5, init=begun)
    assert np.array_equal(continued.labels, whole.labels) and continued.iterations == whole.iterations


def test_interrupts_at_random_moments():
    index = Index(LARGE)
    expected = index.search(LARGE[:5], 3)[0]
    ended = 0
    for _ in range(ROUNDS):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.001, 0.5))
        try:
            random.choice((lambda: index.search(None, 10), lambda: _native.cluster(index.points, 500, tolerance=0),
                           lambda: index.within(None, 9.0), lambda: Index(LARGE).search(None, 2)))()
        except KeyboardInterrupt:
            ended += 1
            assert time.monotonic() - began < 5, "a call did not end"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert np.array_equal(index.search(LARGE[:5], 3)[0], expected)
    assert ended > 0


def test_forks_at_random_moments():
    index = Index(points, backend="cpu")  # a GPU cannot be used in a child
    expected = index.search(queries, 5)[0]
    busy = threading.Event()

    def search():
        while not busy.is_set():
            index.search(None, 5)

    other = threading.Thread(target=search)
    other.start()
    for _ in range(ROUNDS):
        time.sleep(random.uniform(0, 0.01))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python 3.12 about threads and forks
            child = os.fork()
        if child == 0:
            right = np.array_equal(index.search(queries, 5)[0], expected)
            right = right and kith.cluster(points, 3, backend="cpu").counts.sum() == 700
            del index
            os._exit(0 if right else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
    busy.set()
    other.join()
    assert np.array_equal(index.search(queries, 5)[0], expected)


def test_threads_and_memory():
    index = Index(points)
    expected = index.search(queries, 5)[0]
    wrong = []

    def work(number):
        for _ in range(ROUNDS):
            own = Index(points[number:]) if number % 2 else index
            if not np.array_equal(own.search(queries + number * 0, 5)[0] + number % 2 * number, expected) and number % 2 == 0:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def searches(count):
        for _ in range(count):
            index.search(queries, 5)
            Index(queries).within(queries, 1.0)

    searches(500)
    before = resident()
    searches(2000)
    assert resident() - before < 4 << 20, resident() - before


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
print("all equal")
