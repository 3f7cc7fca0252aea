"""Data sets with several classes: their declared bounds, their laws against scipy, their scaling as described."""

import math
import re

import numpy as np
import pytest
from scipy.stats import binomtest, ks_2samp, multivariate_normal
from sklearn import datasets
from sklearn.decomposition import PCA

from dpcore import data
from dpcore.data import multiclass as module
from dpcore.data.sources import declared
from dpcore.solvers.multiclass.objective import (
    Ellipsoid,
    classify,
    features,
    svec,
)
from tests.class_records import matrix_of
from tests.harness import ROOT

REAL = ("iris", "wine", "digits")
GRID = [(C, d) for C in (2, 3, 5, 10) for d in (2, 4, 8, 16)]
# Mean share that Bayes' rule gets right, over seeds 0 to 9 with 40,000 records each; rows d, columns C.
BAYES = {
    2: (0.865, 0.914, 0.939, 0.899),
    4: (0.889, 0.924, 0.946, 0.912),
    8: (0.917, 0.940, 0.957, 0.927),
    16: (0.946, 0.963, 0.974, 0.954),
}


def drawn(n=2, seed=0, d=2, classes=3):
    return data.load_classes("gaussian_classes", n, d=d, classes=classes, seed=seed)


def rows(X):
    return {row.tobytes() for row in X}


@pytest.mark.parametrize("key", data.CLASS_SOURCES)
@pytest.mark.parametrize("n", [2, 90, 2_000])
def test_records_are_as_many_as_asked_for_and_keep_the_bound(key, n):
    info, split = data.CLASS_SOURCES[key], data.load_classes(key, n, seed=4)
    assert split.train.n == n and split.train.p == split.test.p == (info.d or 2)
    assert split.classes == len(split.names) and split.domain.R == 1.0 and split.domain.q == 2.0
    assert (split.truth is None) == (key in REAL) and info.key == key
    for part in (split.train, split.test):
        assert np.linalg.norm(part.X, axis=1).max() <= 1 + 1e-12
        assert set(part.y) <= set(range(split.classes))
        part.check_domain(split.domain)
    assert set(split.test.y) == set(range(split.classes))
    assert key in REAL or split.test.n == 4_000
    if key in REAL:
        assert info.names == split.names and len(info.features) == info.d


# Drawn classes


def test_drawn_classes_have_the_declared_ellipses():
    """Means on a circle, axes evenly over a half turn: read off the covariances by their eigenvectors."""
    for C, d in GRID:
        law = drawn(d=d, classes=C).truth
        plane = law.means[:, :2]
        assert np.allclose(np.linalg.norm(plane, axis=1), 0.55 - 0.8 / C)
        steps = np.diff(np.angle(plane @ [1, 1j]), append=np.angle(plane[0] @ [1, 1j]))
        assert np.allclose(np.cos(steps), math.cos(2 * math.pi / C))
        values, vectors = np.linalg.eigh(law.covariances[:, :2, :2])
        assert np.allclose(values[:, 1] ** 0.5, 0.15 + 0.3 / C)
        assert np.allclose(values[:, 0] ** 0.5, (0.03 + 0.08 / C) * np.where(np.arange(C) % 2, 1.5, 1.0))
        lean = np.angle(vectors[:, :, 1] @ [1, 1j])  # up to half turns
        assert np.allclose(np.exp(2j * (lean - lean[0])), np.exp(2j * math.pi * np.arange(C) / C))
        # The first ellipse points outwards.
        assert np.isclose(abs(vectors[0, :, 1] @ plane[0]), np.linalg.norm(plane[0]))
        further = law.covariances.copy()
        further[:, :2, :2] = 0.0
        spreads = np.sqrt(np.diagonal(further, axis1=1, axis2=2)[:, 2:])
        assert np.allclose(further[:, 2:, 2:], spreads[:, :, None] ** 2 * np.eye(d - 2)) and not further[:, :2].any()
        assert set(np.round(spreads.ravel(), 12)) == ({0.08, 0.12} if d > 2 else set())
        assert set(law.means[:, 2:].ravel()) == ({-0.03, 0.03} if d > 2 else set())


@pytest.mark.parametrize("C, d", [(2, 2), (3, 16), (10, 4), (5, 3)])
def test_bayes_rule_is_a_model_of_the_classifier_and_decides_by_scipy_s_densities(C, d):
    """As ellipsoids with eigenvalues >= 0; the classes share the constant that their values leave out."""
    split = drawn(classes=C, d=d)
    law, X = split.truth, split.test.X
    logs = np.stack([multivariate_normal(*c).logpdf(X) for c in zip(law.means, law.covariances, strict=True)], axis=1)
    centres, precisions, offsets = law.ellipsoids()
    assert offsets.min() == 0.0 and np.linalg.eigvalsh(precisions).min() > 0.0
    away = X[:, None] - centres
    values = np.einsum("nci,cij,ncj->nc", away, precisions, away) + offsets
    assert np.ptp(values + logs) < 1e-9 * np.abs(logs).max()
    assert np.array_equal(law.classify(X), logs.argmax(axis=1))
    model = svec(matrix_of(Ellipsoid(centres, precisions, offsets)))
    assert np.array_equal(classify(model, features(X)), law.classify(X))


def test_records_follow_the_law_cut_at_norm_1():
    """Against numpy's own Gaussian draws: 16 coordinates and a distance in 10 classes, and the classes' shares.

    Each of the 180 tests alarms with probability 1e-7, all together with less than 2e-5.
    """
    split = drawn(100_000, classes=10, d=16)
    law, rng = split.truth, np.random.default_rng(1)
    for c in range(10):
        X = split.train.X[split.train.y == c]
        assert binomtest(len(X), 100_000, 0.1).pvalue > 1e-7
        other = rng.multivariate_normal(law.means[c], law.covariances[c], 20_000)
        other = other[np.linalg.norm(other, axis=1) <= 1.0]
        for j in range(16):
            assert ks_2samp(X[:, j], other[:, j]).pvalue > 1e-7
        first, second = (
            np.einsum("ni,ij,nj->n", Y - law.means[c], np.linalg.inv(law.covariances[c]), Y - law.means[c])
            for Y in (X, other)
        )
        assert ks_2samp(first, second).pvalue > 1e-7


@pytest.mark.parametrize("d", BAYES)
def test_bayes_accuracy_is_what_the_documents_say(d):
    """The first 10,000 of the 40,000 records behind the table: the means differ by less than 0.005.

    That is at least 5 standard errors of 0.001, which 100,000 records have.
    """
    for C, share in zip((2, 3, 5, 10), BAYES[d], strict=True):
        found = []
        for seed in range(10):
            split = drawn(10_000, seed=seed, classes=C, d=d)
            found.append((split.truth.classify(split.train.X) == split.train.y).mean())
        assert abs(np.mean(found) - share) < 0.005
    row = f"| {d} | " + " | ".join(f"{share:.3f}" for share in BAYES[d]) + " |"
    assert row in (ROOT / "docs" / "data.md").read_text()


def test_more_records_begin_with_the_same_ones():
    """About ten of the first 2,000 are drawn again."""
    few, many = drawn(2_000, classes=10, d=16), drawn(5_000, classes=10, d=16)
    assert np.array_equal(few.train.X, many.train.X[:2_000]) and np.array_equal(few.train.y, many.train.y[:2_000])
    assert np.array_equal(few.test.X, many.test.X) and np.array_equal(few.test.y, many.test.y)
    assert np.array_equal(few.truth.covariances, many.truth.covariances)
    assert not rows(many.train.X) & rows(many.test.X)


# Real records


@pytest.mark.parametrize("key", ["iris", "wine"])
def test_constants_are_those_of_the_public_description(key):
    """The summary table that scikit-learn prints: its columns before the last ones are mean and deviation."""
    description = getattr(datasets, f"load_{key}")().DESCR.split("Summary Statistics:")[1]
    stated = re.findall(r"^([A-Za-z][\w/ ]*):((?: +[\d.]+){4})", description.split(":Missing")[0], re.M)
    names, numbers = zip(*stated, strict=True)
    _, _, mean, deviation = zip(*(map(float, row.split()) for row in numbers), strict=True)
    assert declared(key, "mean").tolist() == [*mean] and declared(key, "deviation").tolist() == [*deviation]
    features = [name.lower() for name in data.CLASS_SOURCES[key].features]
    assert features == [name.lower().removesuffix(" of diluted wines") for name in names]


@pytest.mark.parametrize("key", ["iris", "wine"])
def test_measurements_are_scaled_as_declared(key):
    raw, target = getattr(datasets, f"load_{key}")(return_X_y=True)
    info = data.CLASS_SOURCES[key]
    expected = (raw - declared(key, "mean")) / declared(key, "deviation") / (1.5 * math.sqrt(info.d))
    norms = np.linalg.norm(expected, axis=1)
    expected = np.where(norms[:, None] > 1.0, expected / norms[:, None], expected)
    split = data.load_classes(key, info.size, seed=1)
    assert np.allclose(sorted(map(tuple, np.vstack([split.train.X, split.test.X]))), sorted(map(tuple, expected)))
    assert 0 < (norms > 1.0).mean() < 0.1
    for part in (split.train, split.test):
        for x, y in zip(part.X, part.y, strict=True):
            assert y in target[np.isclose(expected, x).all(axis=1)]


def test_pictures_are_projected_as_declared():
    pixels, target = datasets.load_digits(return_X_y=True)
    pca = PCA(10, svd_solver="full").fit(pixels / 16.0)
    largest = pca.components_[range(10), np.abs(pca.components_).argmax(axis=1)]
    expected = pca.transform(pixels / 16.0) * np.sign(largest) / 2.5
    expected /= np.maximum(np.linalg.norm(expected, axis=1), 1.0)[:, None]
    X, y = module._records("digits")
    assert np.allclose(X, expected, atol=1e-9) and np.array_equal(y, target)


@pytest.mark.parametrize("key, positive", [("iris", 2), ("wine", 0)])
def test_classes_and_two_labels_come_from_one_split(key, positive):
    """What is a test record of the source with two labels is one here."""
    several, two = data.load_classes(key, 60, seed=5), data.load(key, 60, data.SOURCES[key].p, 5)
    for ours, theirs in ((several.train, two.train), (several.test, two.test)):
        assert np.array_equal(ours.y == positive, theirs.y == 1.0)


@pytest.mark.parametrize("key, records", [("iris", 150), ("wine", 178), ("digits", 1_797)])
def test_test_records_are_never_trained_on(key, records):
    """Positions of all records are split in two; resampled records come from the training part alone."""
    size = data.CLASS_SOURCES[key].size
    whole, few, more = (data.load_classes(key, n, seed=2) for n in (size, 40, 3 * size))
    assert size + whole.test.n == records and size == records - round(0.3 * records)
    assert np.array_equal(few.train.X, whole.train.X[:40])
    assert rows(more.train.X) <= rows(whole.train.X)
    everything = np.vstack([whole.train.X, whole.test.X])
    assert np.allclose(sorted(map(tuple, everything)), sorted(map(tuple, module._records(key)[0])))


BAD = [
    ({"source": "irises"}, r"source must be one of gaussian_classes, iris, wine, digits, got 'irises'"),
    ({"n": 1}, "n must be an integer >= 2, got 1"),
    ({"n": 1_000_001}, "n must be at most 1,000,000, got 1,000,001"),
    ({"seed": -1}, "seed must be an integer >= 0, got -1"),
    ({"d": 1}, "d must be an integer >= 2, got 1"),
    ({"d": 17}, "d must be at most 16, got 17"),
    ({"classes": 2.0}, "classes must be an integer >= 2, got 2.0"),
    ({"classes": 11}, "classes must be at most 10, got 11"),
    ({"source": "iris", "d": 5}, "d must be 4 for source 'iris', got 5"),
    ({"source": "digits", "classes": 3}, "classes must be 10 for source 'digits', got 3"),
]


@pytest.mark.parametrize("change, message", BAD)
def test_bad_arguments_end_in_one_sentence(change, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.load_classes(**{"source": "gaussian_classes", "n": 10, "seed": 0, **change})
