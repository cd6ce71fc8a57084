"""kith.KMeans, NearestNeighbors and DBSCAN beside scikit-learn: its checks of estimators, its answers, its tools; and
without it. Skips where scikit-learn or the compiled module is absent, but for the last test."""
from __future__ import annotations

import pickle
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

SKIPPED = 77
try:
    import numpy as np
    from kith import _native
except ImportError as failure:
    print(f"skipped: {failure}")
    sys.exit(SKIPPED)
try:
    import sklearn
except ImportError:
    sklearn = None  # type: ignore[assignment]
import kith

# Expected to differ: a row of weight 2 changes which rows are drawn as first centroids.
DRAWN = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weights change which rows are drawn" for kind in ("dense", "sparse")
}
X = np.random.default_rng(5).normal(size=(300, 4)) + np.repeat(np.eye(4) * 9, 75, axis=0)


@unittest.skipIf(sklearn is None, "scikit-learn is not installed")
class WithScikitLearn(unittest.TestCase):
    def test_checks_of_estimators(self) -> None:
        from sklearn.utils.estimator_checks import check_estimator

        for estimator in (kith.KMeans(), kith.NearestNeighbors(), kith.DBSCAN()):
            expected = DRAWN if isinstance(estimator, kith.KMeans) else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = check_estimator(estimator, expected_failed_checks=expected)
            self.assertGreater(sum(check["status"] == "passed" for check in found), 35)

    def test_answers_are_those_of_scikit_learn(self) -> None:
        from sklearn import cluster, metrics, neighbors

        start = X[[0, 100, 200, 299]]
        own, theirs = (kind(4, init=start).fit(X) for kind in (kith.KMeans, cluster.KMeans))
        np.testing.assert_array_equal(own.labels_, theirs.labels_)
        np.testing.assert_allclose(own.cluster_centers_, theirs.cluster_centers_, rtol=1e-12)
        np.testing.assert_allclose(own.transform(X[:9]), theirs.transform(X[:9]))
        self.assertAlmostEqual(own.score(X[:50]), theirs.score(X[:50]))
        free = kith.KMeans(4).fit(X)
        self.assertEqual(metrics.adjusted_rand_score(free.labels_, np.repeat(range(4), 75)), 1.0)
        for metric, p, radius in (("minkowski", 2, 1.5), ("minkowski", 1, 2.0), ("chebyshev", 2, 1.0), ("cosine", 2, 0.05)):
            with self.subTest(metric=metric, p=p):
                a, b = (kind(metric=metric, p=p, radius=radius).fit(X)
                        for kind in (kith.NearestNeighbors, neighbors.NearestNeighbors))
                for queries in (None, X[:20] + 0.1):
                    for mine, other in zip(a.kneighbors(queries), b.kneighbors(queries)):
                        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-12)
                    (_, mine), (_, other) = (x.radius_neighbors(queries, sort_results=True) for x in (a, b))
                    self.assertEqual([set(m) for m in mine], [set(o) for o in other])
                    for mode in ("connectivity", "distance"):
                        for method in ("kneighbors_graph", "radius_neighbors_graph"):
                            mine, other = (getattr(x, method)(queries, mode=mode).toarray() for x in (a, b))
                            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-12)
        for options in ({"eps": 1.2}, {"eps": 0.02, "metric": "cosine"}, {"eps": 1.0, "min_samples": 9}):
            for weights in (None, np.arange(300) % 4):
                a, b = (kind(**options).fit(X, sample_weight=weights) for kind in (kith.DBSCAN, cluster.DBSCAN))
                np.testing.assert_array_equal(a.labels_, b.labels_)
                np.testing.assert_array_equal(a.core_sample_indices_, b.core_sample_indices_)

    def test_tools_of_scikit_learn(self) -> None:
        from sklearn.base import clone
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        pipeline = make_pipeline(StandardScaler(), kith.KMeans(4))
        self.assertEqual(pipeline.fit_predict(X).shape, (300,))
        search = GridSearchCV(kith.KMeans(), {"n_clusters": [2, 4]}, cv=3).fit(X)
        self.assertEqual(search.best_params_, {"n_clusters": 4})
        self.assertEqual(clone(kith.DBSCAN(eps=2)).get_params()["eps"], 2)
        try:
            import pandas
        except ImportError:
            return
        frame = pandas.DataFrame(X, columns=list("abcd"))
        kmeans = kith.KMeans(4).set_output(transform="pandas").fit(frame)
        self.assertEqual(list(kmeans.transform(frame).columns), [f"kmeans{i}" for i in range(4)])
        self.assertEqual(list(kmeans.feature_names_in_), list("abcd"))


class AsEveryWhere(unittest.TestCase):
    def test_fitted_estimators_are_pickled(self) -> None:
        kmeans = pickle.loads(pickle.dumps(kith.KMeans(4).fit(X)))
        np.testing.assert_array_equal(kmeans.predict(X), kmeans.labels_)
        near = kith.NearestNeighbors().fit(X)
        before = near.kneighbors(X[:3])
        after = pickle.loads(pickle.dumps(near)).kneighbors(X[:3])
        np.testing.assert_array_equal(before, after)

    def test_bytes_are_those_of_the_functions(self) -> None:
        found = kith.cluster(X, 3)
        kmeans = kith.KMeans(3).fit(X)
        self.assertEqual(found.centroids.tobytes(), kmeans.cluster_centers_.tobytes())
        self.assertEqual(found.labels.tobytes(), kmeans.labels_.tobytes())

    def test_wrong_arguments_are_refused(self) -> None:
        hole = X.copy()
        hole[7, 2] = np.nan
        for estimator in (kith.KMeans(3), kith.NearestNeighbors(), kith.DBSCAN()):
            for wrong in (hole, np.ma.masked_array(X, mask=np.isnan(hole)), X[0], [["a", "b"]]):
                with self.assertRaises(ValueError):
                    estimator.fit(wrong)
            with self.assertRaisesRegex(ValueError, "could not convert" if sklearn is None else "encode='onehot'"):
                estimator.fit(np.array([["a", 1.0]] * 20, dtype=object))
        for estimator in (kith.KMeans(3), kith.DBSCAN()):
            for weights in (hole[:, 2], np.ma.masked_array(X[:, 2] ** 2, mask=np.isnan(hole[:, 2]))):
                with self.assertRaises(ValueError):
                    estimator.fit(X, sample_weight=weights)
        for wrong in (kith.KMeans(0), kith.KMeans(301), kith.KMeans(3, init="other"), kith.KMeans(3, init=X[:2]),
                      kith.KMeans(3, tol=-1), kith.DBSCAN(eps=0), kith.DBSCAN(min_samples=0.5),
                      kith.DBSCAN(metric="hamming"), kith.NearestNeighbors(p=3)):
            with self.assertRaises(ValueError):
                wrong.fit(X)
        near = kith.NearestNeighbors().fit(X)
        for queries, k in ((X[:, :2], 5), (X, 301), (None, 300), (X, 0)):
            with self.assertRaises(ValueError):
                near.kneighbors(queries, k)
        with self.assertRaises(ValueError):
            kith.KMeans(3).predict(X)

    def test_examples_in_docstrings(self) -> None:
        import doctest

        from kith import _estimators

        self.assertEqual(doctest.testmod(_estimators).failed, 0)
        self.assertGreater(doctest.testmod(_estimators).attempted, 8)

    def test_notebook(self) -> None:
        import json

        cells = json.loads((Path(__file__).parents[2] / "docs/notebook.ipynb").read_text())["cells"]
        scope: dict[str, object] = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), scope)
        self.assertGreater(len(cells), 4)

    @unittest.skipIf(sklearn is None, "this process is without scikit-learn already")
    def test_without_scikit_learn(self) -> None:
        hidden = "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None; "
        run = hidden + f"sys.argv = ['test', 'AsEveryWhere']; import runpy; runpy.run_path({__file__!r}, run_name='__main__')"
        done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_import_is_without_scikit_learn(self) -> None:
        run = "import sys, kith; assert 'sklearn' not in sys.modules"
        self.assertEqual(subprocess.run([sys.executable, "-c", run], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
