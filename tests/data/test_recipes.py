"""Synthetic recipes: their records follow the stated law, and the population risk is what the law says."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpcore import data
from dpcore.core.losses import get_loss
from dpcore.data import Population, population_risk
from dpcore.data.population_risk import reflect
from tests.nights import each
from tests.problems import LINEAR

HARDEST = "synthetic_hardest"  # laid out, not drawn: it has tests of its own below
RECIPES = [key for key, source in data.SOURCES.items() if source.size is None and key != HARDEST]
LAWS = [key for key in RECIPES if data.SOURCES[key].task != "location" and data.SOURCES[key].set == "ball"]
CLASSES = [key for key in RECIPES if data.SOURCES[key].task == "classification"]
NUMBERS = ("squared", "huber", "absolute")
DRAWN = 1_000_000


@pytest.fixture(autouse=True, scope="module")
def large_splits_do_not_stay():
    yield
    data._SPLITS.clear()


def direction(r: int, norm: float, seed: int) -> np.ndarray:
    theta = np.random.default_rng([seed, r]).standard_normal(r)
    return theta * (norm / np.linalg.norm(theta))


@pytest.mark.parametrize("r", [1, 2, 3, 5, 8, 50, 1_000, 1_000_000])
def test_a_finer_rule_changes_nothing_even_for_huge_models(r, monkeypatch):
    """Models up to norm 1e10 are what small budgets release; they turn every loss into a kink."""
    truth = direction(r, 6.0, seed=1)
    norms = np.array([0.1, 1.0, 6.0, 40.0, 1e3, 1e10])
    thetas = np.stack([direction(r, norm, seed) for seed, norm in enumerate(norms)])
    thetas[3] += truth

    def risks():
        population_risk._coordinate_rule.cache_clear()
        classes = [Population(truth).risk(loss, thetas) for loss in map(get_loss, LINEAR)]
        numbers = [Population(truth * (0.8 / 6.0), noise=0.2).risk(get_loss(key), thetas) for key in NUMBERS]
        return dict(zip([*LINEAR, *(f"{key} of numbers" for key in NUMBERS)], classes + numbers, strict=True))

    coarse = risks()
    for name, value in (("_PANELS", 16), ("_ORDER", 24), ("_INNER", 60)):
        monkeypatch.setattr(population_risk, name, value)
    fine = risks()
    population_risk._coordinate_rule.cache_clear()
    for key, risk in coarse.items():
        allowed = 1e-8 * np.maximum(1.0, norms ** (2 if key.startswith("squared") else 1))
        assert np.all(np.abs(risk - fine[key]) < allowed), key


@pytest.mark.parametrize("key", LAWS)
def test_drawn_records_have_the_population_s_risk(key):
    """5.5 standard errors: false alarm 4e-8 for each of at most 15 comparisons of a recipe, 3e-6 in all."""
    drawn = data.load(key, DRAWN, 8, 5)
    law = drawn.population
    thetas = np.stack([law.truth, 0.3 * law.truth + direction(8, 1.0, 1), direction(8, 20.0, 2)])
    for loss in map(get_loss, LINEAR):
        if loss.classification and data.SOURCES[key].task == "regression":
            continue
        for theta, risk in zip(thetas, law.risk(loss, thetas), strict=True):
            values = loss.value(drawn.train.X @ theta, drawn.train.y)
            assert abs(values.mean() - risk) < 5.5 * values.std() / math.sqrt(DRAWN), (loss.key, theta)


def searched(law: Population, loss: str, radius: float) -> float:
    """The minimum over the ball by a general solver from two starts."""
    r = len(law.truth)
    ball = {"type": "ineq", "fun": lambda t: radius**2 - t @ t, "jac": lambda t: -2.0 * t}

    def run(start):
        return optimize.minimize(
            lambda t: law.risk(get_loss(loss), t[None])[0],
            start,
            method="SLSQP",
            constraints=[ball],
            options={"ftol": 1e-13, "maxiter": 300},
        )

    starts = (0.5 * radius * law.truth / np.linalg.norm(law.truth), direction(r, radius / 2, 3))
    return min(result.fun for result in map(run, starts) if result.x @ result.x <= radius**2 * (1 + 1e-9))


# By day in one ball each, but for squared loss, whose minimum has a formula.
@pytest.mark.parametrize("loss, radius", each(4, itertools.product(LINEAR, [0.5, 3.0, 30.0])))
def test_minimum_agrees_with_a_general_solver(loss, radius):
    laws = [
        Population(direction(4, 6.0, 1)),
        Population(direction(4, 6.0, 2), spectrum=np.array([1.0, 0.5, 0.2, 0.1])),
    ]
    if loss in NUMBERS:
        laws.append(Population(direction(4, 0.8, 3), noise=0.2))
        laws.append(Population(direction(4, 0.8, 3), np.array([1.0, 0.4, 0.1, 0.05]), noise=0.2))
    for law in laws:
        assert abs(law.minimum(get_loss(loss), radius) - searched(law, loss, radius)) < 1e-7


@pytest.mark.parametrize("key", CLASSES)
def test_the_truth_minimises_the_logistic_risk(key):
    law, loss = data.load(key, 2, 8, 0).population, get_loss("logistic")
    at_truth = law.risk(loss, law.truth[None])[0]
    assert abs(law.minimum(loss, 10.0) - at_truth) < 1e-10
    step = 1e-4 * np.eye(8)
    slope = (law.risk(loss, law.truth + step) - law.risk(loss, law.truth - step)) / 2e-4
    assert np.abs(slope).max() < 1e-7
    assert law.minimum(loss, 3.0) > at_truth + 1e-3


def test_least_squares_leaves_the_noise_and_what_the_ball_cuts_off():
    law, loss = data.load("synthetic_regression", 2, 8, 0).population, get_loss("squared")
    assert law.minimum(loss, 1.0) == pytest.approx(0.2**2 / 3, abs=1e-12)
    assert law.minimum(loss, 0.5) == pytest.approx(0.2**2 / 3 + 0.3**2 / 8, abs=1e-12)


def test_correlated_columns_have_the_declared_covariance():
    """E xx' = H D^2 H / r. Entries of xx' have a range of 1: false alarm 64 times 4e-22 (Hoeffding)."""
    drawn = data.load("synthetic_correlated", DRAWN, 8, 5)
    law, X = drawn.population, drawn.train.X
    mirror = np.eye(8) - 2.0 / 8.0
    expected = mirror @ np.diag(1.0 / np.arange(1.0, 9.0) ** 2) @ mirror / 8
    assert np.abs(X.T @ X / DRAWN - expected).max() < 5e-3
    off = expected / np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(off - np.eye(8)).max() > 0.5, "the columns are correlated"
    assert np.array_equal(reflect(np.eye(8)), mirror) and law.spectrum[2] == pytest.approx(1 / 3)


def test_the_rule_for_a_coordinate_has_its_moments():
    """E c^2 = 1/d and E c^4 = 3 / (d (d + 2))."""
    for d in (1, 2, 3, 7, 1_000, 10**7):
        nodes, weights = population_risk._coordinate_rule(d)
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert weights @ nodes**2 * d == pytest.approx(1.0, rel=1e-10)
        assert weights @ nodes**4 * d * (d + 2) == pytest.approx(3.0, rel=1e-10)


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
    assert np.linalg.norm(drawn.population.truth) == pytest.approx(6.0)


def test_noise_of_numbers_is_uniform_within_its_bound():
    """Kolmogorov-Smirnov on 4,000 residuals, false alarm 1e-6."""
    drawn = data.load("synthetic_regression", 50, 8, 0)
    residual = drawn.test.y - drawn.test.X @ drawn.population.truth
    assert np.abs(residual).max() <= 0.2 + 1e-12
    assert stats.kstest(residual, stats.uniform(-0.2, 0.4).cdf).pvalue > 1e-6
    assert np.linalg.norm(drawn.population.truth) == pytest.approx(0.8)


def test_idle_columns_change_neither_records_nor_population():
    narrow, wide = data.load("synthetic_padded", 100, 8, 2), data.load("synthetic_padded", 100, 1_000_000, 2)
    assert np.array_equal(narrow.train.X, wide.train.X) and np.array_equal(narrow.test.y, wide.test.y)
    assert np.array_equal(narrow.population.truth, wide.population.truth)
    assert (wide.train.p, wide.train.stored, wide.test.p) == (1_000_000, 8, 1_000_000)


@pytest.mark.parametrize("key", ["logistic", "huber_hinge", "hinge"])
def test_classification_losses_are_refused_for_numbers(key):
    law = data.load("synthetic_regression", 2, 3, 0).population
    for ask in (lambda: law.risk(get_loss(key), np.zeros((1, 3))), lambda: law.minimum(get_loss(key), 1.0)):
        with pytest.raises(ValueError, match=f"^loss must .*, got '{key}'"):
            ask()


def test_bad_questions_end_in_one_sentence():
    law = data.load("synthetic", 2, 3, 0).population
    for thetas in (np.zeros(3), np.zeros((2, 4))):
        with pytest.raises(ValueError, match=r"^thetas must .*\(k, 3\), got"):
            law.risk(get_loss("hinge"), thetas)
    with pytest.raises(ValueError, match=r"^truth must .*\b6\b.*, got 6\.1"):
        Population(np.array([6.1, 0.0]))
    with pytest.raises(ValueError, match="radius must be a finite number > 0, got 0"):
        law.minimum(get_loss("hinge"), 0.0)
