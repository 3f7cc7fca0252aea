"""The fast curve engine against the plain loop over released models, and the exact means against sampling."""

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Budget, Data, Spec
from dpcore.core.losses import get_loss
from dpcore.data import load
from dpcore.experiments.metrics import (
    Additive,
    accuracy,
    curves_of,
    r_squared,
    risk,
)
from dpcore.mechanisms.base import Drawn
from dpcore.solvers import minimise_in_ball
from tests.problems import LINEAR, PROBLEMS, for_loss, random_records

ONE = (np.ones(1), np.ones(1))  # the spread of Gaussian noise
TEST = {name: random_records(60, data.p, seed=9) for name, data in PROBLEMS.items()}
every_noise = pytest.mark.parametrize("noise", ["output_gaussian", "output_gamma"])
every_loss = pytest.mark.parametrize("key", LINEAR)
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def engine(name: str, key: str, repetitions: int, weaken: float = 1.0, noise: str = "output_gaussian"):
    """Everything both engines need, for three epsilons."""
    data, loss = for_loss(key, PROBLEMS[name]), get_loss(key)
    mechanism = dpcore.make_mechanism(noise)
    plans = [mechanism.calibrate(Spec(key, data.n, data.p, 0.05), Budget(e, 1e-5)) for e in (0.1, 1.0, 30.0)]
    prepared = [mechanism.prepare(plan, data) for plan in plans]
    rngs = [[np.random.default_rng([r, 77]) for r in range(repetitions)] for _ in range(len(plans) + 1)]
    weakened = [plan.weakened(weaken) for plan in plans]
    released = [mechanism.release_many(w, p, g) for w, p, g in zip(weakened, prepared, rngs, strict=False)]
    centres = np.stack([p.theta for p in prepared])
    reference = minimise_in_ball(loss, data, 10.0)
    releases = Additive(
        centres,
        np.array([plan.scale for plan in plans]),
        np.stack([mechanism.law.direction(data.p, data.stored, rng) for rng in rngs[-1]]),
        mechanism.law.spread(data.p),
    )
    fast = curves_of(loss, data, TEST[name], reference, releases)
    slow = curves_of(loss, data, TEST[name], reference, Drawn(centres, np.stack(released)))
    return fast, slow


@pytest.mark.pairwise
@every_noise
@every_problem
@every_loss
def test_one_product_for_all_gives_the_same_draws_as_releasing_one_by_one(noise, name, key):
    for fast, slow in zip(*engine(name, key, 6, noise=noise), strict=True):
        assert fast.metric == slow.metric and fast.reference == slow.reference
        assert fast.draws.shape == (3, 6)
        assert np.allclose(fast.draws, slow.draws, rtol=1e-9, atol=1e-12)
        assert np.allclose(fast.noiseless, slow.noiseless, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("draws", [300, pytest.param(4_000, marks=pytest.mark.nightly)])
@every_noise
@every_loss
def test_exact_means_are_the_means_of_the_draws(noise, key, draws):
    """z-test of 6 exact means, false alarm 1e-6 together; the twin with half the noise is caught.

    On 300 draws the twin's means lie 30 standard errors away and more, where the limit is at 5.
    """
    limit = stats.norm.isf(1e-6 / 12)
    for weaken, correct in ((1.0, True), (0.5, False)):
        fast, slow = engine("full rank", key, draws, weaken, noise)
        assert all(curve.exact and not curve.se.any() for curve in fast)
        z = [np.abs(f.mean - s.mean) / s.se for f, s in zip(fast, slow, strict=True)]
        assert bool(np.max(z) < limit) is correct


def test_a_model_outside_the_ball_may_beat_the_reference_and_stays_negative():
    data, loss = PROBLEMS["separable"], get_loss("logistic")
    reference = minimise_in_ball(loss, data, 1.0)
    outside = reference.theta[None, :] * 20.0
    slow = curves_of(loss, data, data, reference, Drawn(outside, np.stack([[outside[0]] * 4])))[1]
    scale, directions = np.full(1, 1e-3), np.ones((2, data.p))
    fast = curves_of(loss, data, data, reference, Additive(outside, scale, directions, ONE))[1]
    for curve in (slow, fast):
        assert curve.mean[0] < -0.1 and curve.draws.min() < -0.1 and curve.noiseless[0] < -0.1


def mirrored_releases(repetitions: int, points: int = 1, seed: int = 8):
    """A centre with noise in pairs of opposite sign, on drawn records."""
    split, rng = load("synthetic", 300, 4, 0), np.random.default_rng(seed)
    centres = np.tile(0.5 * split.truth, (points, 1))
    half = 0.5 * rng.standard_normal((points, repetitions // 2, 4))
    steps = np.stack([half, -half], axis=2).reshape(points, repetitions, 4)
    return split, minimise_in_ball(get_loss("logistic"), split.train, 10.0), centres, centres[:, None] + steps


def paired_curves(repetitions: int, points: int = 1, seed: int = 8, tests: int | None = None):
    split, reference, centres, thetas = mirrored_releases(repetitions, points, seed)
    loss = get_loss("logistic")
    releases, test = Drawn(centres, thetas), Data(split.test.X[:tests], split.test.y[:tests])
    return curves_of(loss, split.train, test, reference, releases)


def test_the_standard_error_of_mirrored_draws_is_that_of_their_mean():
    """800 means of 5 pairs: the variance of the means against the mean squared standard error, as a z-test whose
    deviation comes from 40 batches of 20 (false alarm 1e-6 for two curves). What would do for independent draws is
    caught for the risk, whose linear term is large."""
    limit = stats.t.isf(1e-6 / 4, 39)
    pieces = [paired_curves(10, 100, seed, tests=300) for seed in range(8)]  # together they would fill the memory
    for metric, curves in enumerate(zip(*pieces, strict=True)):
        means, errors, draws = (np.concatenate([vars(c)[key] for c in curves]) for key in ("mean", "se", "draws"))
        spread = means.reshape(40, 20).var(axis=1, ddof=1)
        for claimed, correct in ((errors**2, True), (draws.var(axis=1, ddof=1) / 10, False)):
            gap = spread - claimed.reshape(40, 20).mean(axis=1)
            close = abs(gap.mean()) / (gap.std(ddof=1) / np.sqrt(40)) < limit
            if correct:
                assert close
            elif metric > 0:
                assert not close


def test_released_metrics_are_those_of_each_model():
    split, reference, centres, thetas = mirrored_releases(6)
    loss = get_loss("logistic")
    right, excess = paired_curves(6)
    assert [c.metric for c in (right, excess)] == ["accuracy", "excess_empirical_risk"]
    for i, theta in enumerate(thetas[0]):
        assert right.draws[0, i] == accuracy(theta, split.test)
        assert excess.draws[0, i] == pytest.approx(risk(loss, theta, split.train) - reference.risk, abs=1e-12)
    assert right.noiseless[0] == accuracy(centres[0], split.test) and right.reference > 0.6
    assert excess.noiseless[0] == pytest.approx(risk(loss, centres[0], split.train) - reference.risk, abs=1e-12)
    assert excess.reference == 0.0


def test_r_squared_is_the_explained_share_of_the_variance():
    data = for_loss("squared", PROBLEMS["full rank"])
    theta = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    residual = data.y - data.X @ theta
    assert r_squared(theta, data) == pytest.approx(1 - (residual @ residual) / data.n / data.y.var(), rel=1e-12)
    assert r_squared(np.zeros(data.p), data) <= 0.0
    assert engine("full rank", "squared", 4)[0][0].metric == "r_squared"
    assert engine("full rank", "logistic", 4)[0][0].metric == "accuracy"


@pytest.mark.parametrize("p", [1, 2, 8, 31, 10_000])
@every_loss
def test_gamma_noise_is_gaussian_noise_of_a_random_size(key, p):
    """The quadrature over sizes against a fine grid of the chi law with p + 1 degrees of freedom."""
    from dpcore.mechanisms.noise.spherical import chi_quadrature

    loss, (nodes, weights) = get_loss(key), chi_quadrature(p + 1)
    low, high = np.sqrt(stats.chi2.ppf(1e-17, p + 1)), np.sqrt(stats.chi2.isf(1e-17, p + 1))
    sizes = np.linspace(low, high, 20_001)
    density = stats.chi.pdf(sizes, p + 1)
    density /= density.sum()
    for z in (-3.0, 0.0, 0.9, 1.0, 1.4):
        for scale in np.array([1e-2, 0.3, 10.0]) / np.sqrt(p + 1):
            at = [np.full(len(s), v) for s in (nodes, sizes) for v in (z, 1.0)]
            ours = weights @ loss.gaussian_mean(at[0], at[1], scale * nodes)
            assert ours == pytest.approx(density @ loss.gaussian_mean(at[2], at[3], scale * sizes), rel=2e-8, abs=2e-8)


def population_releases(source: str, loss: str, noise: str, epsilon: float, repetitions: int, seed: int = 0):
    """Releases on records of a recipe, with lam for the smallest bound in the population."""
    split = load(source, 400, 5 if source != "synthetic_padded" else 40, seed)
    mechanism = dpcore.make_mechanism(noise)
    spec = Spec(loss, 400, split.train.p, "population", theta_norm=4.0)
    plan = mechanism.calibrate(spec, Budget(epsilon, 1e-6))
    rngs = [np.random.default_rng([r, 5]) for r in range(repetitions)]
    directions = np.stack([mechanism.law.direction(split.train.p, split.train.stored, rng) for rng in rngs])
    centre = mechanism.prepare(plan, split.train).theta
    scales = np.array([plan.scale])
    return plan, split, Additive(centre[None], scales, directions, mechanism.law.spread(split.train.p))


@pytest.mark.pairwise
@every_noise
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
@pytest.mark.parametrize(
    "source, loss",
    [
        *(("synthetic", loss) for loss in ("logistic", "huber_hinge", "hinge")),
        ("synthetic_correlated", "logistic"),
        ("synthetic_padded", "logistic"),
        *(("synthetic_regression", loss) for loss in ("squared", "huber")),
    ],
)
def test_the_population_bound_holds(noise, source, loss, epsilon):
    """Mean over 6 draws of the records and 20 pairs of noise each, on 20,000 records of the same law, whose own best
    model makes the excess larger; 6 standard errors, false alarm 1e-8."""
    means, found = [], get_loss(loss)
    for seed in range(6):
        plan, split, releases = population_releases(source, loss, noise, epsilon, 20, seed)
        fresh = load(source, 20_000, split.train.p, seed).train
        steps = plan.scale * releases.directions
        models = np.concatenate([releases.centres + steps, releases.centres - steps])
        least = minimise_in_ball(found, fresh, 4.0).risk
        means.append(np.mean([risk(found, theta, fresh) for theta in models]) - least)
    assert np.mean(means) > 0.0
    (bound,) = [b.value for b in dpcore.bounds_of(plan) if (b.quantity, b.form) == ("excess_population_risk", "upper")]
    assert np.mean(means) <= bound + 6 * np.std(means, ddof=1) / np.sqrt(6)


def test_the_table_says_what_was_spent_and_which_bound_is_which():
    published = dpcore.make_mechanism("output_gaussian", accounting="published")
    sweep = dpcore.Axis("epsilon", (1.0,))
    row = dpcore.run(dpcore.Experiment(mechanisms=(published,), sweep=sweep, repetitions=2)).iloc[1]
    plan = published.calibrate(Spec("logistic", 398, 31, "auto", theta_norm=30.0), Budget(1.0, 1e-6))
    assert row.spent_epsilon == plan.spent.epsilon < 0.6 < row.epsilon
    by = {b.holds: b.value for b in dpcore.bounds_of(plan) if (b.quantity, b.form) == (row.metric, "upper")}
    problem = dpcore.Problem()
    beyond = problem.comparator().risk - problem.reference().risk
    assert beyond > 0.1, "a better model than the best of norm theta_norm: bounds on the excess over it lie higher"
    assert row.bound == beyond + by["expectation"] < beyond + by["probability"]
