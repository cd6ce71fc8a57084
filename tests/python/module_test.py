"""The Python module finds what the command line finds: python3 tests/python/module_test.py, where kith is installed."""
import decimal
import errno
import fractions
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings

import h5py
import numpy as np

import kith
import kith._choice
import kith._program

native = kith._choice._native  # None in sources that are not installed
rng = np.random.default_rng(1)
points = rng.normal(size=(300, 5)).astype(np.float32)
uneven = points * np.array([1, 10, 100, 1000, 10000])


def fails(call, code, *said):
    """The call must raise kith.Error with this code and these texts, and name no temporary file."""
    try:
        call()
    except kith.Error as error:
        assert error.code == code and all(text in str(error) for text in said), (error.code, str(error))
        assert f"kith-{os.getpid()}-" not in str(error), str(error)
    else:
        raise AssertionError(f"no error: {said}")


def warned(call, *said):
    """Returns the result of a call that must warn once, with these texts, at the line of the caller."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    assert [warning.category for warning in found] == [kith.Warning], found
    assert found[0].filename == __file__ and all(text in str(found[0].message) for text in said), found[0]
    return result


def test_version():
    assert kith.__version__ == kith._program.installed_version()
    assert native is None or set(kith.__all__) == set(dir(kith))  # what help() and the completion of names show


def test_module_of_another_python_is_named():
    with tempfile.TemporaryDirectory() as folder:
        ours, name = os.path.dirname(kith.__file__), "_native.cpython-399-x86_64-linux-gnu.so"
        shutil.copytree(ours, folder + "/kith", ignore=shutil.ignore_patterns("_native*.so", "__pycache__"))
        run = {"args": [sys.executable, "-c", "import kith"], "cwd": folder, "stderr": subprocess.PIPE, "text": True}
        assert subprocess.run(**run, check=True).stderr == ""
        with open(f"{folder}/kith/{name}", "wb"):
            said = subprocess.run(**run, check=True).stderr
        assert "Warning: this Python does not load" in said and name in said, said


def test_results_of_the_program():
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/points.npy", points)
        for words in (["cluster", "-k", "4", "--seed", "2"], ["knn", "-k", "3"]):
            command = [kith.program(), words[0], folder + "/points.npy", *words[1:], "-q", "-o",
                       f"{folder}/{words[0]}.h5"]
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
    assert len(repr(result)) < 120 and len(repr(lists)) < 120
    extra = kith.cluster(points, 4, save_distances=True, medoids=True)
    assert extra.distances.shape == (300,) and extra.medoids.shape == (4, 5) and result.distances is None


def test_a_result_holds_its_preparation():
    for options in ({"scale": "zscore"}, {"scale": "minmax", "pca": 2}, {"metric": "cosine"}, {"pca": 3}):
        result = kith.cluster(uneven, 3, **options)
        assert np.array_equal(kith.assign(uneven, result).labels, result.labels)
        again = kith.assign(uneven[:9], kith.assign(uneven, result))
        assert np.array_equal(again.labels, result.labels[:9])
        name = next(iter(options))
        for bare in (result.centroids, result.centroids[::-1], result.centroids.copy(),
                     pickle.loads(pickle.dumps(result)).centroids):
            fails(lambda: kith.assign(uneven, bare), 2, "kith.assign(points, result)")
        fails(lambda: kith.assign(uneven, result.centroids), 2, name)
        fails(lambda: kith.cluster(uneven, 3, init=result.centroids), 2, "init=result", name)
        assert type(result.centroids * 2) is np.ndarray and type(result.centroids.mean(axis=0)) is np.ndarray
        assert kith.cluster(uneven, 3, init=result, **options).iterations <= 2
    cosine = kith.cluster(uneven, 3, metric="cosine")
    assert np.array_equal(kith.assign(uneven, cosine.centroids, metric="cosine").labels, cosine.labels)
    scaled = kith.cluster(uneven, 3, scale="zscore")
    means = np.array([uneven[scaled.labels == c].mean(axis=0) for c in range(3)])
    assert np.allclose(scaled.centroids_original, means, rtol=1e-5, atol=1e-3)
    plain = kith.cluster(uneven, 3)
    assert type(plain.centroids) is np.ndarray and np.array_equal(kith.assign(uneven, plain).labels, plain.labels)
    assert np.array_equal(kith.assign(uneven, kith.assign(uneven, plain.centroids)).labels, plain.labels)


def test_masked_values_are_missing():
    masked = np.ma.masked_array(points, mask=False)
    assert np.array_equal(kith.cluster(masked, 3).labels, kith.cluster(points, 3).labels)
    masked[3, 1] = np.ma.masked
    fails(lambda: kith.cluster(masked, 3), 3, "points: row 4, column 2")
    dropped = warned(lambda: kith.cluster(masked, 3, nan="drop"), "points: 1 of 300 rows dropped", "row 4")
    assert dropped.labels[3] == -1 and (np.delete(dropped.labels, 3) >= 0).all()
    whole = np.ma.masked_array(np.arange(20).reshape(10, 2), mask=[[False, True]] + [[False, False]] * 9)
    fails(lambda: kith.cluster(whole, 3), 3, "points: row 1, column 2")
    fails(lambda: kith.neighbors(points, 2, queries=masked), 3, "queries: row 4, column 2")
    fails(lambda: kith.assign(masked, points[:2]), 3, "points: row 4, column 2")


def test_numbers_of_any_type():
    expected = kith.within(points, 0.5)
    for radius in (np.float64(0.5), np.float32(0.5), np.array(0.5), fractions.Fraction(1, 2), decimal.Decimal("0.5")):
        found = kith.within(points, radius)
        assert all(np.array_equal(a, b) for a, b in zip(expected, found)), repr(radius)
    assert len(kith.within(points, np.int64(1))[1]) == len(kith.within(points, 1)[1])
    one = kith.cluster(points, 3, n_init=2, seed=4, tolerance=0.01, medoids=True)
    other = kith.cluster(points, np.int8(3), n_init=np.float64(2), seed=np.uint16(4), tolerance=np.float64(0.01),
                         medoids=np.True_, save_distances=np.False_)
    assert np.array_equal(one.labels, other.labels) and np.array_equal(one.medoids, other.medoids)
    assert other.distances is None
    assert len(set(kith.cluster([[2**60], [2**53], [1]], 3).labels.tolist())) == 3
    for wrong in ("1", None, [0.5], np.array([0.5, 1]), 1j, object(), True, np.True_):
        fails(lambda: kith.within(points, wrong), 2, "radius: expected a number")
        fails(lambda: kith.cluster(points, wrong), 2, "clusters: expected a number")
    fails(lambda: kith.cluster(points, 3, seed=True), 2, "seed: expected a number, found True")


def test_integers_that_float64_does_not_hold():
    objects = np.array([[None, 2], [3, 2**53 + 1]], dtype=object)
    fails(lambda: kith.cluster(objects, 1, nan="drop"), 3, "row 2, column 2", "found 9007199254740993")
    for wrong in ([[1, 2], [3, 2**60 + 1]], [[1, 2], [3, -(2**53) - 1]], np.array([[1, 2], [3, 2**64 - 1]], np.uint64),
                  np.where(objects == None, 1, objects)):  # noqa: E711
        fails(lambda: kith.cluster(wrong, 2), 3, "points: row 2, column 2 (counted from 1)",
              "expected an integer that is exactly a float64")
    # Beside columns of other types, or missing values, NumPy makes float64 of the integers.
    wide = [5, 2**53 + 1]
    mixed = [np.array([(0.5, wide[0]), (1.5, wide[1])], dtype=[("a", "f8"), ("b", "i8")]), [[0.5, 5], [1.5, wide[1]]],
             np.ma.masked_array([[1, 5], [3, wide[1]]], mask=[[True, False], [False, False]])]
    if importlib.util.find_spec("pandas") is not None:
        import pandas

        mixed += [pandas.DataFrame({"a": [0.5, 1.5], "b": wide}), pandas.DataFrame({0: [0.5, 1.5], 1: wide}),
                  pandas.DataFrame({"a": [0.5, 1.5], "b": pandas.array(wide, dtype="Int64")})]
    if importlib.util.find_spec("polars") is not None:
        import polars

        mixed.append(polars.DataFrame({"a": [0.5, None], "b": wide}))
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow

        mixed.append(pyarrow.table({"a": [0.5, 1.5], "b": wide}))
        missing = pyarrow.table({"b": pyarrow.array([None, wide[1]])})
        fails(lambda: kith.cluster(missing, 1, nan="drop"), 3, "points: row 2, column 1", "found 9007199254740993")
    for wrong in mixed:
        fails(lambda: kith.cluster(wrong, 1), 3, "points: row 2, column 2 (counted from 1)", "found 9007199254740993")
        fails(lambda: kith.neighbors(points[:, :2], 1, queries=wrong), 3, "queries: row 2, column 2")


def test_arrays_as_options():
    weights = np.arange(300) % 3
    repeated = kith.cluster(np.repeat(points, weights, axis=0), 3, init=points[1:4])
    for given in (weights, list(weights), weights.astype(float)):
        weighted = kith.cluster(points, 3, init=points[1:4], weights=given)
        assert weighted.inertia == repeated.inertia and np.array_equal(weighted.centroids, repeated.centroids)
    fails(lambda: kith.cluster(points, 3, weights=weights[1:]), 2, "weights: expected 300 weights", "found 299")
    fails(lambda: kith.cluster(points, 3, init=points[:2]), 2, "init")
    labels = kith.cluster(points, 3).labels
    assert kith.cluster(points, 3, init_labels=labels).iterations <= 2
    assert np.array_equal(kith.cluster(points, 3, freeze=points[:1]).centroids[0], points[0])
    lists = kith.neighbors(points, 3).rows
    kith.neighbors(points, 3, truth=lists)
    fails(lambda: kith.neighbors(points, 3, truth=lists[::-1]), 1)
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/w.npy", weights)
        assert kith.cluster(points, 3, init=points[1:4], weights=folder + "/w.npy").inertia == repeated.inertia


def test_every_failure_is_an_error():
    fails(lambda: kith.cluster(points, 301), 2, "301", "300")
    fails(lambda: kith.cluster(points, 2.5), 2, "clusters: expected a whole number, found 2.5")
    fails(lambda: kith.neighbors(points, 1.5), 2, "k: expected a whole number, found 1.5")
    fails(lambda: kith.cluster(points, 3, seed=-1), 2, "found '-1'", "(here --seed is seed=)")
    fails(lambda: kith.cluster(points, 3, max_iterations=-1), 2, "(here --max-iterations is max_iterations=)")
    fails(lambda: kith.cluster(points, 3, no_such_option=1), 2, "--no-such-option")
    fails(lambda: kith.cluster(points, 3, n_inti=1), 2, "--n-init")
    fails(lambda: kith.cluster(np.full((3, 2), np.nan), 2), 3, "points: row 1, column 1")
    fails(lambda: kith.cluster(points[0], 2), 2, "points: expected an array of rows x columns")
    fails(lambda: kith.cluster("points.npy", 2), 2, "points: expected an array, found the name 'points.npy'")
    fails(lambda: kith.cluster(None, 2), 2, "points: expected an array of rows x columns, found None")
    fails(lambda: kith.cluster(np.empty((0, 4)), 2), 2, "points: expected rows x columns values, found none")
    fails(lambda: kith.cluster(np.ones((3, 4)), 2, metric="correlation"), 3, "the value 1 in all columns")
    fails(lambda: kith.cluster([[1, 2], [3]], 2), 3, "points: expected an array of numbers")
    fails(lambda: kith.cluster(points.astype(complex), 2), 3, "points: ")
    fails(lambda: kith.cluster((row for row in points), 2), 3, "points: expected an array of numbers, found generator",
          "give list(points)")
    fails(lambda: kith.cluster(points.reshape(100, 3, 5), 2), 2, "found 3 dimensions", "reshape(points, (100, -1))")
    rows = np.empty(2, dtype=object)
    rows[:] = [points[0], points[1]]
    fails(lambda: kith.cluster(rows, 2), 3, "numpy.array(list(points))")
    assert len(kith.cluster(np.array(list(rows)), 2).labels) == 2
    fails(lambda: kith.cluster(np.array([["a", 1], ["b", 2]], dtype=object), 2), 3, "points: expected", "'a'")
    for name in ("output", "dry_run", "graph", "outliers", "components", "explain", "json"):
        fails(lambda: kith.neighbors(points, 3, **{name: True}), 2, name, "kith knn --" + name.replace("_", "-"))
    fails(lambda: kith.neighbors(points, 3, radius=1.0), 2, "--radius")
    fails(lambda: kith.cluster(points, 3, memory="1kB"), 6, "points: needs about", "--memory")
    kith._choice._native = None  # in the program:
    os.environ["KITH_DRY_RUN"] = "1"  # a result of another kind than expected
    fails(lambda: kith.cluster(points, 3), 2, "another result")
    del os.environ["KITH_DRY_RUN"]
    real, kith._program.program = kith._program.program, lambda: "/nonexistent/kith"
    fails(lambda: kith.cluster(points, 3), 1, "/nonexistent/kith: cannot be started")
    kith._program.program = real
    kith._choice._native = native
    error = pickle.loads(pickle.dumps(kith.Error(3, "x")))
    assert error.code == 3 and str(error) == "x"


def test_warnings_arrive():
    warned(lambda: kith.cluster(points, 5, max_iterations=1, seed=3), "still change after 1 iteration; init=result")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kith.Warning)
        begun = kith.cluster(points, 5, max_iterations=1, seed=3)
    whole = kith.cluster(points, 5, seed=3)
    assert np.array_equal(kith.cluster(points, 5, init=begun).labels, whole.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kith.Warning)
        kith.cluster(points, 3)
        try:
            kith.cluster(points, 5, max_iterations=1, seed=3)
        except kith.Warning:
            pass
        else:
            raise AssertionError("no warning")


def test_a_full_folder_in_memory():
    """Saving fails in the first folder, as it does on a full /dev/shm; the second one is used."""
    kith._choice._native = None
    expected = kith.cluster(points, 3).labels
    memory, save = kith._program.MEMORY, kith._program.save
    with tempfile.TemporaryDirectory() as small:
        for failure in (OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EDQUOT, "Quota exceeded"),
                        OSError("Not enough free space to write")):
            tried = []

            def fail_there(folder, *arguments):
                tried.append(folder)
                if folder.startswith(small):
                    raise failure
                return save(folder, *arguments)

            kith._program.MEMORY, kith._program.save = small, fail_there
            assert np.array_equal(kith.cluster(points, 3).labels, expected)
            assert len(tried) == 2 and not os.listdir(small), tried
        kith._program.save = save
        kith._program.MEMORY = "/nonexistent"
        assert np.array_equal(kith.cluster(points, 3).labels, expected)
    kith._program.MEMORY = memory
    kith._choice._native = native
    # A real one, where a name space can be made.
    script = ("import numpy as np, kith; kith._choice._native = None; x = np.random.default_rng(1).normal(size=(60000, 4)); "
              "print(kith.cluster(x, 2).counts.sum(), kith.cluster(x[:100], 2).counts.sum())")
    command = f"mount -t tmpfs -o size={{}} tmpfs /dev/shm && exec {os.sys.executable} -c '{script}'"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.sys.path)}
    for size in ("1m", "2m", "16k"):  # the points or the result do not fit
        done = subprocess.run(["unshare", "-rm", "sh", "-c", command.format(size)], env=environment,
                              capture_output=True, text=True, check=False)
        if "60000" not in done.stdout and ("unshare" in done.stderr or "mount" in done.stderr):
            print("skipped: a small /dev/shm, because no name space can be made")
            return
        assert done.stdout == "60000 100\n", (size, done.stdout, done.stderr)


def test_sparse_matrices():
    if importlib.util.find_spec("scipy") is None:
        print("skipped: sparse matrices, because SciPy is not installed")
        return
    import scipy.sparse

    sparse = scipy.sparse.random(200, 6, 0.4, format="coo", random_state=1)
    expected = kith.cluster(sparse.toarray(), 3).labels
    for form in (sparse, sparse.tocsr(), sparse.tocsc(), scipy.sparse.csr_array(sparse)):
        assert np.array_equal(kith.cluster(form, 3).labels, expected)
    fails(lambda: kith.cluster(sparse, 201), 2, "points has only 200 rows")


def test_data_frames():
    if importlib.util.find_spec("pandas") is None:
        print("skipped: data frames, because pandas is not installed")
        return
    import pandas

    frame = pandas.DataFrame(uneven, columns=list("abcde"))
    result = kith.cluster(frame, 3, scale="zscore")
    assert result.columns == list("abcde")
    mixed = frame[list("edcba")].assign(other="text")
    assert np.array_equal(kith.assign(mixed, result).labels, result.labels)
    assert np.array_equal(kith.neighbors(frame, 1, queries=mixed).rows[:, 0], np.arange(300))
    fails(lambda: kith.assign(frame[list("abcd")], result), 3, "points: expected one column 'e'")
    fails(lambda: kith.cluster(mixed, 3), 3, "points: expected numbers, found text in column 6 ('other')")
    missing = frame.astype("Float64")
    missing.iloc[2, 1] = pandas.NA
    fails(lambda: kith.cluster(missing, 3), 3, "points: row 3, column 2")
    assert kith.cluster(pandas.DataFrame(uneven), 3).columns is None
    # Options that name columns read a frame of numbers as a table, and its model finds them in other frames and records.
    wide = frame.assign(number=range(300), weight=np.arange(300) % 2)
    some = kith.cluster(wide, 3, columns=["d", "b"], id_column="number", weight_column="weight", seed=1)
    assert np.array_equal(some.centroids, kith.cluster(uneven[:, [3, 1]], 3, weights=wide["weight"], seed=1).centroids)
    for other in (mixed, mixed.drop(columns="other").to_records(index=False)):
        assert np.array_equal(kith.assign(other, some).labels, some.labels)
    near = kith.neighbors(frame, 2, queries=mixed, columns="e,a")
    assert np.array_equal(near.rows, kith.neighbors(uneven[:, [4, 0]], 2, include_self=True).rows)
    ranges = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "range": pandas.interval_range(0, 3)})
    assert kith.cluster(ranges, 1, encode="onehot").centroids.shape == (1, 4)


def test_records():
    records = np.array([(1.0, 2, "x"), (3.0, 5, "y")], dtype=[("a", "f8"), ("b", "i4"), ("kind", "U1")])
    numbers = records[["b", "a"]]
    found = kith.cluster(numbers, 1)
    assert found.centroids.tolist() == [[3.5, 2.0]] and found.columns == ["b", "a"]
    assert kith.cluster(records, 1, columns="b,a").centroids.tolist() == [[3.5, 2.0]]
    assert kith.assign(records, found).inertia == found.inertia
    fails(lambda: kith.cluster(records, 1), 3, "points: expected an array of numbers")


def test_frames_of_other_packages():
    durations = [3_600_000_000_001, None, -7_200_000_000_000]
    frames = []
    if importlib.util.find_spec("polars") is not None:
        import polars

        frames.append(polars.DataFrame({"x": [1.0, 2, 9], "d": polars.Series(durations, dtype=polars.Duration("ns"))}))
        for call in (kith.cluster, *((lambda X, k: kith.KMeans(k).fit(X), kith.dbscan) if native else ())):
            fails(lambda: call(frames[0].lazy(), 2), 2, "expected an array, found LazyFrame; give", ".collect()")
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow

        frames.append(pyarrow.table({"x": [1.0, 2, 9], "d": pyarrow.array(durations, pyarrow.duration("ns"))}))
        flags = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([0, 5, -1, None], pyarrow.int8()))
        assert kith.cluster(pyarrow.table({"is": flags}), 1, nan="drop").centroids.tolist() == [[2 / 3]]
        fails(lambda: kith.cluster(frames[-1].to_reader(), 2), 2, "points.read_all()")
    if not frames:
        print("skipped: frames of other packages, because neither Polars nor pyarrow is installed")
    for frame in frames:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a row is dropped
            hours = kith.cluster(frame, 1, encode="d=time", nan="drop").centroids
        assert hours.tolist() == [[5.0, (3_600_000_000_001 / 3.6e12 - 2) / 2]], hours


def test_data_frames_with_texts():
    if importlib.util.find_spec("pandas") is None:
        return
    import pandas

    count = 90
    frame = pandas.DataFrame({
        "customer": [f"C{i:03}" for i in range(count)],
        "income": np.where(np.arange(count) % 7 == 3, np.nan, 1000.0 * (1 + np.arange(count) % 3)),
        "city": [["Rome", "Oslo", "Lyon"][i % 3] for i in range(count)],
        "joined": pandas.date_range("2020-01-01", periods=count),
        "active": [["yes", "no"][i % 2] for i in range(count)],
    })
    frame.loc[5, "city"] = None
    options = {"encode": "date,yesno,onehot", "nan": "mean", "scale": "zscore", "id_column": "customer"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was replaced
        result = kith.cluster(frame, 3, **options)
    assert np.array_equal(kith.assign(frame, result).labels, result.labels)
    other = frame[["active", "joined", "city", "customer", "income"]].assign(note="x")
    assert np.array_equal(kith.assign(other, result).labels, result.labels)
    other.loc[1, "city"] = "Bern"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        labels = kith.assign(other.iloc[:9], result).labels
    assert "1 of 9 rows has a value" in str(found[0].message) and "'Bern'" in str(found[0].message), found[0]
    assert labels[1] == -1 and np.array_equal(labels[2:], result.labels[2:9])
    known = frame.assign(income=np.arange(count) % 9, city=frame["city"].fillna("none"))
    turned = known[["city", "income", "joined", "active", "customer"]]
    near = kith.neighbors(known, 1, queries=turned, encode=options["encode"], id_column="customer")
    assert near.rows.shape == (count, 1) and near.distances.max() == 0
    nameless = pandas.DataFrame([[1.0, "x"], [2.0, "y"]], columns=["", "b"])
    assert kith.cluster(nameless, 1, encode="onehot").centroids.tolist() == [[1.5, 0.5, 0.5]]
    nameless.columns = [0, 1]
    fails(lambda: kith.cluster(nameless, 1, encode="onehot"), 3, "x.columns = [str(name) for name in x.columns]")
    nameless.columns = [str(name) for name in nameless.columns]
    assert kith.cluster(nameless, 1, encode="onehot").centroids.tolist() == [[1.5, 0.5, 0.5]]
    sums = pandas.DataFrame({"t": ["a", "b", "Total"], "x": [1.0, 2.0, 3.0]})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kith.cluster(sums, 1, encode="onehot")
    assert str(found[0].message).endswith("leave it out"), found[0]  # without a command for files
    lines = pandas.DataFrame({"text": ["one, and\nmore", "two", "two"], "x": [1.0, 2.0, 9.0]})
    assert len(kith.cluster(lines, 2, encode="onehot").labels) == 3
    fails(lambda: kith.assign(other, result, unknown="error"), 3,
          "points: row 1 (counted from 0), column 3 ('city')", "'Bern'")
    times = pandas.DataFrame({"at, local": ["08:30", "09:00", "10:15"], "n": ["low", "high", "mid"], "x": [1.0, 2.0, 9.0]})
    rules = {"at, local": "time", "n": "low<mid<high"}
    assert kith.cluster(times, 1, encode=rules).centroids.tolist() == [[9.25, 1.0, 4.0]]
    lines.loc[2, "x"] = np.nan  # behind a text of two lines
    fails(lambda: kith.cluster(lines, 2, encode="onehot"), 3, "row 2 (counted from 0), column 2 ('x')", "drop_columns=")


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
if os.path.isdir("/dev/shm"):
    left = [name for name in os.listdir("/dev/shm") if name.startswith(f"kith-{os.getpid()}-")]
    assert not left, left
print("all equal")
