"""scikit-learn's own tests of KMeans, NearestNeighbors and DBSCAN, with kith's classes in the place of its own:

    python3 extras/estimators/scikit_learn_tests.py [words for pytest]

The test files are those of the installed package; pytest and kith must be installed. Tests of other classes, which are
parameters of the same tests, are left out. docs/python.md says what the tests that fail expect, and why kith differs."""
from __future__ import annotations

import sys

import pytest
import sklearn.cluster
import sklearn.neighbors

import kith

FILES = {
    "sklearn.cluster.tests.test_k_means": "not MiniBatch and not Bisecting",
    "sklearn.cluster.tests.test_dbscan": "",
    "sklearn.neighbors.tests.test_neighbors": "not Classifier and not Regressor and not classifier and not regressor",
}


class Summary:
    """Counts outcomes, and names each test that fails, without its parameters, with the first line of its error."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.failed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        self.counts[report.outcome] = self.counts.get(report.outcome, 0) + 1
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            line = crash.message.splitlines()[0] if crash else str(report.longrepr)
            self.failed.setdefault(report.nodeid.split("::")[-1].split("[")[0], line[:110])


def main() -> None:
    sklearn.cluster.KMeans = kith.KMeans
    sklearn.cluster.DBSCAN = kith.DBSCAN
    sklearn.neighbors.NearestNeighbors = kith.NearestNeighbors
    for name, chosen in FILES.items():
        summary = Summary()
        words = ["-q", "-p", "no:cacheprovider", "--no-header", "--no-summary", "-k", chosen, "--pyargs", name]
        pytest.main([*words, *sys.argv[1:]], plugins=[summary])
        print(name, ", ".join(f"{count} {outcome}" for outcome, count in sorted(summary.counts.items())))
        for test, line in sorted(summary.failed.items()):
            print(f"  {test}: {line}")


if __name__ == "__main__":
    main()
