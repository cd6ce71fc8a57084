"""scikit-learn's base classes and checks of arguments, or what stands for them where it is not installed."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ._arrays import column_names, is_on_gpu, on_host, values
from ._choice import _native
from ._errors import make_error

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_random_state, validate_data

    def _checked(estimator: Any, X: Any, *, reset: bool) -> np.ndarray[Any, Any]:
        try:
            X = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(f"{error}: estimators take numbers; sklearn.preprocessing.OneHotEncoder makes them of "
                             "texts, and so does kith.cluster(X, k, encode='onehot')") from None
        return X.toarray() if hasattr(X, "toarray") else X

    def weights(sample_weight: Any, X: np.ndarray[Any, Any]) -> Any:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

except ImportError:

    from ._errors import Warning as ConvergenceWarning  # type: ignore[assignment]

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters are those of the constructor, under their names."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> Any:
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"{name}: expected a parameter of {type(self).__name__}: {', '.join(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self).__init__).parameters
            own = [(n, v) for n, v in self.get_params().items() if not _same(v, defaults[n].default)]
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in own)})"

    class ClusterMixin:  # type: ignore[no-redef]
        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
            return self.fit(X, **kwargs).labels_  # type: ignore[attr-defined]

    class TransformerMixin:  # type: ignore[no-redef]
        def fit_transform(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
            return self.fit(X, **kwargs).transform(X)  # type: ignore[attr-defined]

    class ClassNamePrefixFeaturesOutMixin:  # type: ignore[no-redef]
        def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
            name = type(self).__name__.lower()
            return np.array([f"{name}{i}" for i in range(self._n_features_out)], dtype=object)  # type: ignore[attr-defined]

    def check_is_fitted(estimator: Any, attributes: Any = None) -> None:
        if not hasattr(estimator, "n_features_in_"):
            raise ValueError(f"This {type(estimator).__name__} is not fitted yet; call fit() before.")

    def check_random_state(seed: Any) -> Any:
        return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)

    def _checked(estimator: Any, X: Any, *, reset: bool) -> np.ndarray[Any, Any]:
        names, rows = column_names(X), values(X, "X")
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise make_error(3, f"X: row {row}, column {column}: expected a finite number, found {rows[row, column]}")
        if reset:
            estimator.n_features_in_ = rows.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
            if names is not None:
                estimator.feature_names_in_ = np.array(names, dtype=object)
        elif rows.shape[1] != estimator.n_features_in_:
            raise _other_columns(estimator, rows.shape[1])
        elif names is not None and names != list(getattr(estimator, "feature_names_in_", names)):
            raise ValueError("The feature names should match those that were passed during fit.")
        return rows

    def weights(sample_weight: Any, X: np.ndarray[Any, Any]) -> Any:
        if sample_weight is None:
            return None
        of_rows = np.asarray(sample_weight, dtype=np.float64)
        of_rows = np.full(len(X), of_rows) if of_rows.ndim == 0 else of_rows
        if of_rows.shape != (len(X),):
            raise ValueError(f"sample_weight.shape == {of_rows.shape}, expected {(len(X),)}!")
        if (of_rows < 0).any():
            raise ValueError("Negative values in data passed to `sample_weight`.")
        return of_rows


def _other_columns(estimator: Any, found: int) -> ValueError:
    return ValueError(f"X has {found} features, but {type(estimator).__name__} is expecting "
                      f"{estimator.n_features_in_} features as input")


def points(estimator: Any, X: Any, *, reset: bool, stays: bool = False) -> Any:
    """The rows of X, whose columns are those of the fit unless it is `reset`. stays: those in the memory of a GPU stay
    there, as held Points."""
    if not (stays and is_on_gpu(X)):
        return _checked(estimator, on_host(X), reset=reset)
    rows = _native.Points(X, name="X")
    if reset:
        estimator.n_features_in_ = rows.columns
        estimator.__dict__.pop("feature_names_in_", None)
    elif rows.columns != estimator.n_features_in_:
        raise _other_columns(estimator, rows.columns)
    return rows


class TakesSparse:
    """In front of the bases of an estimator: it takes sparse matrices, and says so to scikit-learn."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class HoldsValues:
    """In front of the bases of an estimator whose values _native holds: they are held again when they are needed."""

    _held: Any = None

    def __getstate__(self) -> dict[str, Any]:
        getter = getattr(super(), "__getstate__", None)
        state = dict(getter() if getter is not None else self.__dict__)
        state.pop("_held", None)
        return state


class SparseClusters(TakesSparse, ClusterMixin):
    """The same for clusterings, which take weights of rows."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray[Any, Any]:
        """fit(X).labels_"""
        return self.fit(X, sample_weight=sample_weight).labels_  # type: ignore[attr-defined]


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b))


def require(holds: bool, name: str, expected: str, found: Any) -> None:
    if not holds:
        raise ValueError(f"{name}: expected {expected}, found {found!r}")


def is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def seed_of(random_state: Any) -> int:
    """None means 0: every run is the same."""
    if random_state is None or is_whole(random_state):
        require(random_state is None or random_state >= 0, "random_state", "None, a number from 0, or a RandomState",
                random_state)
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def threads_of(n_jobs: Any) -> int:
    """None and -1: all processors that this process may use, which is 0 for kith."""
    require(n_jobs is None or is_whole(n_jobs), "n_jobs", "None or a whole number", n_jobs)
    return int(n_jobs) if n_jobs is not None and n_jobs > 0 else 0


def metric_of(metric: Any, p: Any, metric_params: Any) -> str:
    """kith's name of a metric of scikit-learn."""
    if metric == "minkowski":
        p = (metric_params or {}).get("p", 2 if p is None else p)
        metric = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p)
        require(metric is not None, "p", "1, 2 or inf: kith has no other Minkowski distances", p)
    names = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "infinity": "chebyshev"}
    metric = names.get(metric, metric) if isinstance(metric, str) else metric
    known = ("euclidean", "manhattan", "chebyshev", "cosine")
    require(isinstance(metric, str) and metric in known, "metric", "one of minkowski, " + ", ".join(known), metric)
    return str(metric)
