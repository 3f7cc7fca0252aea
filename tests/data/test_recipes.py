"""Synthetic recipes: their records follow the stated law."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore import data
from dpcore.data.synthetic import reflect

HARDEST = "synthetic_hardest"  # laid out, not drawn: it has tests of its own below
RECIPES = [key for key, source in data.SOURCES.items() if source.size is None and key != HARDEST]
CLASSES = [key for key in RECIPES if data.SOURCES[key].task == "classification"]
DRAWN = 1_000_000


@pytest.fixture(autouse=True, scope="module")
def large_splits_do_not_stay():
    yield
    data._SPLITS.clear()


@pytest.mark.parametrize("key", CLASSES)
def test_classes_follow_the_logistic_law_of_the_truth(key):
    """Residuals of the classes are uncorrelated with columns, scores and signs; 5.5 standard errors: false alarm 4e-8
    for each of at most 40 comparisons."""
    drawn = data.load(key, DRAWN, 8, 5)
    scores = drawn.train.X @ drawn.truth
    residuals = (drawn.train.y > 0.0) - 1.0 / (1.0 + np.exp(-scores))
    for column in (*drawn.train.X.T, scores, scores**3, np.sign(scores), np.abs(scores) > 1.0):
        products = residuals * column
        assert abs(products.mean()) < 5.5 * products.std() / math.sqrt(DRAWN)
    assert np.abs(scores).max() > 2.0


def test_correlated_columns_have_the_declared_covariance():
    """E xx' = H D^2 H / r. Entries of xx' have a range of 1: false alarm 64 times 4e-22 (Hoeffding)."""
    drawn = data.load("synthetic_correlated", DRAWN, 8, 5)
    X = drawn.train.X
    mirror = np.eye(8) - 2.0 / 8.0
    expected = mirror @ np.diag(1.0 / np.arange(1.0, 9.0) ** 2) @ mirror / 8
    assert np.abs(X.T @ X / DRAWN - expected).max() < 5e-3
    off = expected / np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(off - np.eye(8)).max() > 0.5, "the columns are correlated"
    assert np.array_equal(reflect(np.eye(8)), mirror)
    X = data.load("synthetic", DRAWN, 8, 5).train.X
    assert np.abs(X.T @ X / DRAWN - np.eye(8) / 8).max() < 5e-3


@pytest.mark.parametrize("key", RECIPES)
def test_records_keep_their_bound_and_their_place(key):
    for p in (8, 40):
        few, many = data.load(key, 50, p, 3), data.load(key, 500, p, 3)
        assert np.array_equal(few.train.X, many.train.X[:50])
        assert np.allclose(few.train.y, many.train.y[:50], rtol=0.0, atol=1e-15), "sums may be in another order"
        assert np.array_equal(few.test.X, many.test.X) and few.test.n == 4_000
        assert many.train.p == p and many.train.norms(many.domain.q).max() <= 1 + 1e-12
        largest = {"synthetic_mixture": 1.25, "synthetic_sparse": 1.1}.get(key, 1.0)
        assert np.abs(many.train.y).max() <= many.domain.y_max == largest
        assert not np.array_equal(many.train.X, data.load(key, 500, p, 4).train.X)
        assert not np.array_equal(many.train.X, many.test.X[:500])


@pytest.mark.parametrize("n, blocks", [(1_000, (4, 16, 64, 256)), (83, (4, 16)), (3, ())])
def test_the_hardest_data_are_blocks_on_axes_and_zeros(n, blocks):
    """Each block has the label of the seed, one in eight the other; the rest makes both labels equally frequent."""
    signs = set()
    for seed in range(6):
        train = data.load(HARDEST, n, 8, seed).train
        assert np.array_equal((train.X != 0.0).sum(axis=0), [*blocks, *[0] * (8 - len(blocks))])
        assert set(np.unique(train.X)) <= {0.0, 1.0} and (train.X.sum(axis=1) <= 1.0).all()
        sums = train.y @ train.X
        signs.add(tuple(np.sign(sums)))
        assert np.abs(sums).tolist() == [*(size - 2 * max(1, size // 8) for size in blocks), *[0] * (8 - len(blocks))]
        assert train.n == n and set(np.unique(train.y)) == {-1.0, 1.0} and (abs(train.y.sum()) <= 1 or n == 3)
    assert len(signs) > 1 or not blocks


def test_a_mixture_keeps_its_columns_and_labels_when_there_are_more_and_is_what_it_says():
    """y - <x, w> is uniform on [-1/4, 1/4]: its range and mean over 50,000 records (false alarm below 1e-9)."""
    few, many = data.load("synthetic_mixture", 50_000, 12, 3), data.load("synthetic_mixture", 50_000, 40, 3)
    assert np.array_equal(few.train.X, many.train.X[:, :12]) and np.array_equal(few.train.y, many.train.y)
    assert np.allclose(sorted(few.truth)[-5:], [0.0, 0.1, 0.2, 0.3, 0.4], atol=1e-15) and not few.truth[8:].any()
    assert set(np.unique(many.train.X)) == {-1.0, 1.0}
    assert np.abs(many.train.X.mean(axis=0)).max() < 7.0 / math.sqrt(50_000)
    rest = many.train.y - many.train.X @ many.truth
    assert 0.2499 < rest.max() < 0.25 + 1e-12 and -0.25 - 1e-12 < rest.min() < -0.2499 and abs(rest.mean()) < 0.004
    assert abs(np.corrcoef(rest, many.train.X[:, 0])[0, 1]) < 0.03


def test_a_sparse_model_keeps_its_columns_and_has_weights_of_both_signs():
    """y - <x, w> is uniform on [-1/10, 1/10]; 20 seeds draw 80 signs, all alike with probability 2^-79."""
    few, many = data.load("synthetic_sparse", 50_000, 12, 3), data.load("synthetic_sparse", 50_000, 40, 3)
    assert np.array_equal(few.train.X, many.train.X[:, :12]) and np.array_equal(few.train.y, many.train.y)
    rest = many.train.y - many.train.X @ many.truth
    assert 0.09999 < rest.max() < 0.1 + 1e-12 and -0.1 - 1e-12 < rest.min() < -0.09999 and abs(rest.mean()) < 0.0016
    assert stats.kstest(rest[:4_000], stats.uniform(-0.1, 0.2).cdf).pvalue > 1e-6
    truths = np.stack([data.load("synthetic_sparse", 2, 12, seed).truth for seed in range(20)])
    assert set(np.unique(truths)) == {-0.25, 0.0, 0.25}
    assert np.all((truths != 0.0).sum(axis=1) == 4) and not truths[:, 8:].any()
    assert np.unique(truths != 0.0, axis=0).shape[0] > 10 and np.unique(np.sign(truths).sum(axis=1)).size > 2


def test_the_draws_of_synthetic_people_stay_as_they_were():
    drawn = data.load("synthetic", 500, 8, 1)
    assert np.allclose(
        drawn.train.X[0, :3], [0.11015303440976093, -0.4366297730568872, 0.18906496362712671], rtol=1e-12
    )
    assert (drawn.train.y.sum(), drawn.test.y.sum()) == (4.0, -136.0)
    assert np.linalg.norm(drawn.truth) == pytest.approx(6.0)


def test_noise_of_numbers_is_uniform_within_its_bound():
    """Kolmogorov-Smirnov on 4,000 residuals, false alarm 1e-6."""
    drawn = data.load("synthetic_regression", 50, 8, 0)
    residual = drawn.test.y - drawn.test.X @ drawn.truth
    assert np.abs(residual).max() <= 0.2 + 1e-12
    assert stats.kstest(residual, stats.uniform(-0.2, 0.4).cdf).pvalue > 1e-6
    assert np.linalg.norm(drawn.truth) == pytest.approx(0.8)


def test_idle_columns_change_neither_records_nor_truth():
    narrow, wide = data.load("synthetic_padded", 100, 8, 2), data.load("synthetic_padded", 100, 1_000_000, 2)
    assert np.array_equal(narrow.train.X, wide.train.X) and np.array_equal(narrow.test.y, wide.test.y)
    assert np.array_equal(narrow.truth, wide.truth)
    assert (wide.train.p, wide.train.stored, wide.test.p) == (1_000_000, 8, 1_000_000)
