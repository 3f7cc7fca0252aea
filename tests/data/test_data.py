"""Bundled records keep their declared bound, loading is bounded, and records are scaled, clipped and checked."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import datasets

from dpcore import Data, Spec, data
from dpcore.core.cache import SharedCache
from dpcore.data import bundled
from dpcore.data.sources import declared

# How many records the public descriptions count, and how many of them are called +1.
COUNTS = {
    "breast_cancer": (569, 212),
    "digits": (1797, 891),
    "wine": (178, 59),
    "iris": (150, 50),
    "diabetes": (442, None),
}


def rows(part: Data) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.column_stack([part.X, part.y])]


# Bundled sets


@pytest.mark.parametrize("key", COUNTS)
def test_every_bundled_record_keeps_the_declared_bound(key):
    source = data.SOURCES[key]
    split = data.load(key, source.sample_size, source.p, 0)
    total, positive = COUNTS[key]
    assert source.size == split.train.n and split.train.n + split.test.n == total
    assert split.train.n == total - round(0.3 * total)
    for part in (split.train, split.test):
        assert part.p == part.stored == source.p
        assert np.abs(part.X).max() <= 1 / np.sqrt(source.p) + 1e-15
        assert np.allclose(part.X[:, -1], 1 / np.sqrt(source.p), rtol=1e-15), "the constant column"
        assert np.abs(part.y).max() <= 1.0
    y = np.concatenate([split.train.y, split.test.y])
    if positive is None:
        assert source.task == "regression" and len(np.unique(y)) > 100
    else:
        assert source.task == "classification" and set(y) == {-1.0, 1.0} and (y == 1.0).sum() == positive
    assert split.truth is None


@pytest.mark.parametrize("key", COUNTS)
def test_ranges_say_where_they_were_taken_from_the_records(key):
    """A description that prints the smallest and largest values is one of these records, and its ranges say so."""
    told, (raw, target) = data.SOURCES[key].scaling, bundled.packaged(key)
    description = getattr(datasets, f"load_{key}")().DESCR
    printed = re.findall(
        r"^[^=\n]*?:\s+([\d.]+)\s+([\d.]+)(?:\s|$)", description.partition("Summary Statistics")[2], re.M
    )
    assert ("summary of these same records" in told) == bool(printed)
    if printed:
        summary = np.array(printed, float)
        assert summary.shape == (raw.shape[1], 2)
        assert np.allclose(summary, np.column_stack([raw.min(axis=0), raw.max(axis=0)]), rtol=0.02, atol=6e-3)
    if key == "diabetes":
        assert f"{target.min():g} to {target.max():g} is the published range of these same records" in told


@pytest.mark.parametrize("key", COUNTS)
def test_the_features_are_the_declared_map_of_the_raw_ones(key):
    """The scaling undone gives back scikit-learn's numbers: nothing was measured, moved or dropped."""
    raw, _ = bundled._raw(key)
    X, _ = bundled.bundled_records(key)
    low, high = declared(key, "low"), declared(key, "high")
    back = (X[:, :-1] * np.sqrt(X.shape[1]) + 1) / 2 * (high - low) + low
    assert np.allclose(back, raw, rtol=1e-12, atol=1e-12 * np.abs(high))
    assert (low <= raw.min(axis=0)).all() and (raw.max(axis=0) <= high).all()


@pytest.mark.parametrize("key", COUNTS)
def test_declared_ranges_are_round_numbers(key):
    """At most two significant digits: nobody measured them on the records."""
    edges = [*declared(key, "low"), *declared(key, "high")]
    assert all(edge == float(f"{edge:.2g}") for edge in edges)


def test_y_of_the_regression_set_is_the_declared_map():
    from sklearn.datasets import load_diabetes

    assert np.allclose(bundled.bundled_records("diabetes")[1], load_diabetes().target / 175 - 1)


@pytest.mark.parametrize("key", COUNTS)
def test_training_and_test_records_are_the_whole_set_and_share_none(key):
    source = data.SOURCES[key]
    split = data.load(key, source.size, source.p, 1)
    X, y = bundled.bundled_records(key)
    assert sorted(rows(split.train) + rows(split.test)) == sorted(rows(Data(X, y)))
    other = data.load(key, source.size, source.p, 2)
    assert sorted(rows(other.train)) != sorted(rows(split.train))


@pytest.mark.parametrize("key", COUNTS)
def test_more_records_than_exist_are_drawn_from_the_training_half(key):
    source = data.SOURCES[key]
    real, more = data.load(key, source.size, source.p, 1), data.load(key, 3 * source.size, source.p, 1)
    assert more.train.n == 3 * source.size
    assert set(rows(more.train)) <= set(rows(real.train))
    # With replacement: a permutation repeated thrice would hold every record; drawing leaves out e^-3 of them.
    assert len(set(rows(more.train))) < len(set(rows(real.train)))
    assert np.array_equal(more.test.X, real.test.X)
    fewer = data.load(key, 20, source.p, 1)
    assert np.array_equal(fewer.train.X, real.train.X[:20])


@pytest.mark.parametrize("key", COUNTS)
def test_a_model_of_the_declared_norm_learns_something(key):
    from sklearn.linear_model import LogisticRegression, Ridge

    source = data.SOURCES[key]
    split = data.load(key, source.sample_size, source.p, 0)
    if source.task == "regression":
        model = Ridge(alpha=0.3, fit_intercept=False).fit(split.train.X, split.train.y)
    else:
        model = LogisticRegression(C=10.0, fit_intercept=False, max_iter=5000).fit(split.train.X, split.train.y)
    theta = model.coef_.ravel()
    theta *= min(1.0, source.theta_norm / np.linalg.norm(theta))
    right = np.mean(split.test.y * (split.test.X @ theta) > 0)
    assert right > max(np.mean(split.test.y > 0), np.mean(split.test.y < 0)) + 0.1


# load


@pytest.mark.parametrize("key", COUNTS)
def test_columns_beyond_a_set_s_own_are_zeros_that_are_not_stored(key):
    source = data.SOURCES[key]
    own, wide = data.load(key, 50, source.p, 0), data.load(key, 50, 1_000_000, 0)
    assert np.array_equal(own.train.X, wide.train.X) and np.array_equal(own.test.y, wide.test.y)
    assert wide.train.p == wide.test.p == 1_000_000 and wide.train.stored == source.p


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("nobody", 10, 5, 0), "source must be one of breast_cancer, .*, got 'nobody'"),
        ((["iris"], 10, 5, 0), r"source must be one of breast_cancer, .*, got \['iris'\]"),
        (("iris", 1, 5, 0), "n must be an integer >= 2, got 1"),
        (("iris", 10, 5.0, 0), "p must be an integer >= 1, got 5.0"),
        (("iris", 10, 5, -1), "seed must be an integer >= 0, got -1"),
        (("iris", 10, 4, 0), "p must be at least 5 for source 'iris', got 4"),
        (("synthetic_padded", 10, 7, 0), "p must be at least 8 for source 'synthetic_padded', got 7"),
        (("iris", 10, 1_048_577, 0), "p must be at most 1,048,576, got 1,048,577"),
        (("synthetic", 50_001, 1_000, 0), "n must be at most 50,000 with 1,000 columns to store, got 50,001"),
        (
            ("synthetic_correlated", 2, 12_501, 0),
            "p must be at most 12,500 for source 'synthetic_correlated', got 12,501",
        ),
        (("iris", 10_000_001, 10, 0), "n must be at most 10,000,000 with 5 columns to store, got 10,000,001"),
    ],
)
def test_bad_questions_end_in_one_sentence_before_anything_is_drawn(arguments, message, monkeypatch):
    monkeypatch.setattr(data, "_load", lambda *_: pytest.fail("records were drawn"))
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.load(*arguments)


def test_the_same_arguments_give_the_same_split():
    first = data.load("wine", 100, 14, 0)
    assert data.load("wine", 100, 14, 0) is first
    data._SPLITS.clear()
    again = data.load("wine", 100, 14, 0)
    assert again is not first and np.array_equal(again.train.X, first.train.X)


def test_splits_are_kept_up_to_half_a_gigabyte():
    """The weight of a split is what its arrays take, and the cache's size is 500 MB of it."""
    split = data.load("synthetic", 100, 8, 0)
    arrays = [a for part in (split.train, split.test) for a in (part.X, part.y, part.row_norms, part.single)]
    assert data._bytes(split) == sum(a.nbytes for a in arrays)
    assert data._SPLITS.size == 500_000_000 and data._SPLITS._weigh is data._bytes


def test_a_weighing_cache_forgets_the_least_recently_used_until_the_rest_fits():
    cache: SharedCache[str] = SharedCache(10, len)
    for key in "abc":
        cache.get(key, lambda key=key: 3 * key)
    cache.get("a", lambda: pytest.fail("a was forgotten"))
    cache.get("d", lambda: "dddd")  # 13 in all: b goes
    assert len(cache) == 3 and cache.get("a", str) == "aaa" and cache.get("c", str) == "ccc"
    cache.get("e", lambda: 11 * "e")
    assert len(cache) == 1 and cache.get("e", str) == 11 * "e", "the newest stays, even above the limit"
    cache.get("f", lambda: "f")
    assert len(cache) == 1 and cache.get("f", str) == "f"
    cache.clear()
    assert len(cache) == 0
    cache.get("g", lambda: 5 * "g")
    cache.get("h", lambda: 5 * "h")
    assert len(cache) == 2, "what was forgotten weighs nothing"


# Scaling, clipping, checking


def test_scale_refuses_values_outside_their_declared_range():
    low, high = np.array([0.0, -1.0]), np.array([2.0, 1.0])
    assert data.scale(np.array([[2.0, -1.0]]), low, high).tolist() == [[1.0, -1.0]]
    for bad in (2.5, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"values must .*declared ranges, got"):
            data.scale(np.array([[bad, 0.0]]), low, high)
    with pytest.raises(ValueError, match=r"low must .*below high"):
        data.scale(np.ones((1, 2)), low, low)


def test_clipping_shortens_long_rows_and_touches_no_other_dense_or_sparse():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) * rng.uniform(0.1, 1.0, (200, 1)) * (rng.random((200, 6)) < 0.6)
    X[7] = 0.0
    y, norms = np.ones(200), np.linalg.norm(X, axis=1)
    dense, changed = data.clip_rows(Data(X, y, 9), 0.8)
    sparse, changed_too = data.clip_rows(Data(csr_array(X), y, 9), 0.8)
    assert changed == changed_too == (norms > 0.8).sum() and 20 < changed < 180
    assert np.array_equal(dense.X[norms <= 0.8], X[norms <= 0.8])
    assert np.allclose(dense.X[norms > 0.8], X[norms > 0.8] * (0.8 / norms[norms > 0.8])[:, None], rtol=1e-14)
    assert sparse.sparse and np.allclose(sparse.X.toarray(), dense.X, rtol=1e-14)
    assert dense.p == sparse.p == 9 and dense.y is y
    dense.check_domain(Spec("logistic", 200, 9).domain)
    assert data.clip_rows(dense, 1.0)[1] == 0
    with pytest.raises(ValueError, match="R must be a finite number > 0, got 0"):
        data.clip_rows(dense, 0.0)


def test_clipping_leaves_the_caller_s_records_alone():
    X = csr_array(np.array([[3.0, 4.0], [0.1, 0.0]]))
    data.clip_rows(Data(X, np.ones(2)), 1.0)
    assert X.toarray().tolist() == [[3.0, 4.0], [0.1, 0.0]]


def test_records_that_break_the_calibration_are_refused():
    good = Data(np.eye(3) * 0.5, np.array([1.0, -1.0, 1.0]))
    data.check_records(good, Spec("logistic", 3, 3))
    with pytest.raises(ValueError, match=r"X must .*\(4, 3\).*, got \(3, 3\)"):
        data.check_records(good, Spec("logistic", 4, 3))
    with pytest.raises(ValueError, match="1 of 3 rows beyond it"):
        data.check_records(Data(np.diag([0.5, 0.5, 1.5]), good.y), Spec("logistic", 3, 3))
    with pytest.raises(ValueError, match=r"got 0; labels 0 and 1 become -1 and \+1 by 2 \* y - 1$"):
        data.check_records(Data(good.X, np.array([0.0, 1.0, 1.0])), Spec("hinge", 3, 3))
    with pytest.raises(ValueError, match=r"y must .*hinge loss, got 0.5$"):
        data.check_records(Data(good.X, np.array([0.5, 1.0, 1.0])), Spec("hinge", 3, 3))
    data.check_records(Data(good.X, np.array([0.5, 0.0, 1.0])), Spec("squared", 3, 3))
    large = Data(good.X, np.array([0.5, 0.0, 9.0]))
    data.check_records(large, Spec("mean", 3, 3))  # which reads no labels
    with pytest.raises(ValueError, match="y must lie in"):
        data.check_records(large, Spec("squared", 3, 3))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_records_that_teach_nothing_are_named(form):
    def table(X, y):
        return data.Table(Data(form(np.array(X, float)), np.array(y, float)), ("a", "b"))

    vary, flat = [[0, 1], [0, 2], [0, 1]], [[0, 1], [0, 1], [0, 1]]
    data.check_learnable(table(vary, [1, -1, 1]), classification=True)
    data.check_learnable(table(vary, [1, 1, 1]), classification=False)
    with pytest.raises(ValueError, match=r"y must .*two classes, got 1"):
        data.check_learnable(table(vary, [1, 1, 1]), classification=True)
    with pytest.raises(ValueError, match=r"X must .*varies, got 2"):
        data.check_learnable(table(flat, [1, -1, 1]), classification=True)
