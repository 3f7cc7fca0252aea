"""Output perturbation with Gaussian noise: its sensitivity, its noise and its bounds."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import dpcore
from dpcore import Budget, Data, NotApplicable, Spec
from dpcore.accounting import gaussian_epsilon, gaussian_mu, hockey_stick
from dpcore.losses import LOSSES, get_loss
from dpcore.solvers import minimise
from tests.problems import PROBLEMS

FALSE_ALARM = 1e-6
every_loss = pytest.mark.parametrize("key", LOSSES)


def distance(loss: str, lam: float, one: Data, other: Data) -> float:
    solved = [minimise(get_loss(loss), data, lam, tol=1e-13).theta for data in (one, other)]
    return float(np.linalg.norm(solved[0] - solved[1]))


def test_a_hinge_type_loss_attains_the_sensitivity():
    """While margins stay on the linear part, theta = sum y x / (n lam): a flipped label moves it by 2 R / (n lam)."""
    n, lam = 20, 0.5
    X = np.zeros((n, 3))
    X[-1] = [0.6, 0.0, 0.8]
    y = np.ones(n)
    flipped = np.concatenate([y[:-1], [-1.0]])
    moved = distance("huber_hinge", lam, Data(X, y), Data(X, flipped))
    plan = dpcore.calibrate("output_gaussian", n=n, p=3, epsilon=1.0, delta=1e-5, loss="huber_hinge", lam=lam)
    assert moved == pytest.approx(2.0 / (n * lam), rel=1e-9)
    assert moved == pytest.approx(plan.ledger[0].sensitivity, rel=1e-7)
    assert moved <= plan.ledger[0].sensitivity


@every_loss
@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_no_neighbour_exceeds_the_sensitivity(key, lam):
    """Adversarial search: many equal records push theta along one axis, the last record swings against them."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for copies in (1, 2, 5, 30):
        n = copies + 1
        plan = dpcore.calibrate("output_gaussian", n=n, p=2, epsilon=1.0, delta=1e-5, loss=key, lam=lam)
        angles = np.concatenate([np.linspace(0, np.pi / 2, 16), rng.uniform(0, 2 * np.pi, 15)])
        for angle in angles:
            X = np.tile([1.0, 0.0], (n, 1))
            X[-1] = [-math.sin(angle), math.cos(angle)]
            other = X.copy()
            other[-1] = [-math.sin(angle), -math.cos(angle)]
            moved = distance(key, lam, Data(X, np.ones(n)), Data(other, np.ones(n)))
            worst = max(worst, moved / plan.ledger[0].sensitivity)
    assert worst <= 1.0
    assert worst > 0.3, "the search found no neighbour worth the name"


@every_loss
@pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
def test_random_replacements_stay_within_the_sensitivity(key, data):
    lam = 0.02
    plan = dpcore.calibrate("output_gaussian", n=data.n, p=data.p, epsilon=1.0, delta=1e-5, loss=key, lam=lam)
    rng = np.random.default_rng(4)
    for _ in range(10):
        X, y = data.X.copy(), data.y.copy()
        x = rng.standard_normal(data.p)
        X[0], y[0] = x / np.linalg.norm(x), rng.choice([-1.0, 1.0])
        assert distance(key, lam, data, Data(X, y)) <= plan.ledger[0].sensitivity


def test_the_solver_tolerance_is_part_of_the_sensitivity():
    """Two minimisers certified to tol can be 2 tol / lam further apart than the exact ones; the plan pays for it."""
    plan = dpcore.calibrate("output_gaussian", n=100, p=3, epsilon=1.0, delta=1e-5, lam=0.1)
    assert plan.ledger[0].sensitivity == pytest.approx(2 / (100 * 0.1) + 2 * plan.tol / 0.1, rel=1e-15)
    data = PROBLEMS["full rank"]
    mechanism = plan.mechanism
    ours = mechanism.calibrate(Spec("logistic", data.n, data.p, 0.1), Budget(1.0, 1e-5))
    assert mechanism.prepare(ours, data).gradient_norm <= ours.tol


def noise_of(plan, draws: int) -> np.ndarray:
    mechanism = plan.mechanism
    data = PROBLEMS["full rank"]
    prepared = mechanism.prepare(plan, data)
    rngs = [np.random.default_rng([11, r]) for r in range(draws)]
    return mechanism.release_many(plan, prepared, rngs) - prepared.theta


def chi_square_p_value(noise: np.ndarray, scale: float) -> float:
    """Two-sided p-value of sum of squares / scale^2 against its chi-square law."""
    statistic = float((noise**2).sum()) / scale**2
    lower = stats.chi2.cdf(statistic, noise.size)
    return 2 * min(lower, 1 - lower)


@pytest.mark.parametrize("accounting", ["tight", "published", "classical"])
def test_the_noise_has_the_planned_scale(accounting):
    """Chi-square on 24,000 draws, false alarm 1e-6; the twin with 95% of the noise must be caught (power 0.999)."""
    data = PROBLEMS["full rank"]
    mechanism = dpcore.make_mechanism("output_gaussian", accounting=accounting)
    plan = mechanism.calibrate(Spec("logistic", data.n, data.p, 0.1), Budget(0.5, 1e-5))
    assert chi_square_p_value(noise_of(plan, 4000), plan.scale) > FALSE_ALARM
    assert chi_square_p_value(noise_of(plan.weakened(0.95), 4000), plan.scale) < FALSE_ALARM


def test_the_noise_is_normal_and_independent():
    """Kolmogorov-Smirnov on 24,000 draws and the largest correlation of 15 pairs; false alarm 1e-6 each."""
    data = PROBLEMS["full rank"]
    plan = dpcore.calibrate("output_gaussian", n=data.n, p=data.p, epsilon=1.0, delta=1e-5, lam=0.1)
    noise = noise_of(plan, 4000) / plan.scale
    assert stats.kstest(noise.ravel(), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(stats.t(5).rvs(24_000, random_state=0) / math.sqrt(5 / 3), "norm").pvalue < FALSE_ALARM
    correlation = np.corrcoef(noise.T)[np.triu_indices(data.p, 1)]
    limit = stats.norm.isf(FALSE_ALARM / 2 / correlation.size) / math.sqrt(4000)
    assert np.abs(correlation).max() < limit
    shared = noise + 0.5 * noise[:, :1]
    assert np.abs(np.corrcoef(shared.T)[np.triu_indices(data.p, 1)]).max() > limit


@pytest.mark.parametrize("accounting", ["tight", "published", "classical"])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.99])
def test_spent_is_what_the_noise_costs(accounting, epsilon):
    plan = dpcore.calibrate("output_gaussian", n=500, p=2, epsilon=epsilon, delta=1e-5, lam=0.1, accounting=accounting)
    mu = plan.ledger[0].sensitivity / plan.scale
    assert hockey_stick(plan.spent.epsilon, mu) <= plan.spent.delta * (1 + 1e-12)
    assert plan.spent.epsilon == pytest.approx(gaussian_epsilon(mu, 1e-5), abs=1e-6)
    if accounting != "tight":
        assert plan.spent.epsilon < 0.95 * epsilon, "the looser proofs add more noise than they need"


@pytest.mark.parametrize("accounting", ["published", "classical"])
def test_a_generous_delta_is_no_error(accounting):
    plan = dpcore.calibrate("output_gaussian", n=50, p=2, epsilon=0.1, delta=0.5, lam=0.1, accounting=accounting)
    assert plan.spent.epsilon <= 1e-9


def test_the_classical_form_is_refused_from_epsilon_1():
    arguments = dict(n=500, p=2, delta=1e-5, lam=0.1, accounting="classical")
    assert dpcore.calibrate("output_gaussian", epsilon=0.999, **arguments).scale > 0
    with pytest.raises(
        NotApplicable, match="epsilon < 1 only, got epsilon = 1; the tight accounting has no such limit"
    ):
        dpcore.calibrate("output_gaussian", epsilon=1.0, **arguments)


# Bounds: the left sides are exact integrals over the noise or hold for every draw, so nothing here can flake.


@every_loss
@pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_pathwise_inequality(key, data, lam):
    """F(theta + b) - F(theta) <= (L/n) sum |<b, x_i>| in every single run."""
    loss = get_loss(key)
    plan = dpcore.calibrate("output_gaussian", n=data.n, p=data.p, epsilon=1.0, delta=1e-5, loss=key, lam=lam)
    prepared = plan.mechanism.prepare(plan, data)
    for r in range(50):
        theta = plan.mechanism.release(plan, prepared, np.random.default_rng(r))
        excess = (loss.value(data.X @ theta, data.y) - loss.value(data.X @ prepared.theta, data.y)).mean()
        assert excess <= loss.slope * np.abs(data.X @ (theta - prepared.theta)).mean() + 1e-12


@every_loss
@pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("lam", [1e-3, 0.1, "auto"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_upper_bounds_hold_in_expectation(key, data, lam, epsilon):
    loss = get_loss(key)
    plan = dpcore.calibrate(
        "output_gaussian", n=data.n, p=data.p, epsilon=epsilon, delta=1e-5, loss=key, lam=lam, theta_norm=4.0
    )
    bounds = {b.quantity: b.value for b in dpcore.bounds_of(plan) if b.form == "upper"}
    theta = plan.mechanism.prepare(plan, data).theta
    z, sd = data.X @ theta, plan.scale * np.linalg.norm(data.X, axis=1)
    expected = loss.gaussian_mean(z, data.y, sd).mean()
    assert expected - loss.value(z, data.y).mean() <= bounds["excess_over_regularised"] + 1e-9
    rng = np.random.default_rng(6)
    for _ in range(20):
        comparator = rng.standard_normal(data.p)
        comparator *= 4.0 / np.linalg.norm(comparator)
        compared = loss.value(data.X @ comparator, data.y).mean()
        assert expected - compared <= bounds["excess_empirical_risk"] + 1e-9


def test_the_noise_bound_is_not_slack_by_a_constant():
    """A record at margin 0: small noise costs (c/2) s^2 R^2, large noise L s R / sqrt(2 pi), half of its bound."""
    from dpcore.bounds import gaussian_noise_excess

    loss = get_loss("logistic")
    zero, one = np.zeros(1), np.ones(1)
    for R, scale, share in ((1.0, 1e-3, 1.0), (1.0, 1e3, 0.5), (3.0, 1e-3, 1.0), (3.0, 1e3, 0.5)):
        excess = loss.gaussian_mean(zero, one, np.array([R * scale]))[0] - math.log(2)
        bound = gaussian_noise_excess(1.0, 0.25, R, scale)
        assert excess <= bound * (1 + 1e-2) and excess == pytest.approx(share * bound, rel=1e-2)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_the_tuned_lipschitz_bound_has_its_closed_form(epsilon):
    """min over lam of L s(lam) R sqrt(2/pi) + lam B^2 / 2 = (2 L R B / sqrt n) sqrt(sqrt(2/pi) / mu)."""
    n, B, budget = 2000, 7.0, Budget(epsilon, 1e-6)

    def lipschitz_form(log_lam):
        plan = dpcore.calibrate("output_gaussian", n=n, p=3, epsilon=epsilon, delta=1e-6, lam=math.exp(log_lam))
        return plan.scale * math.sqrt(2 / math.pi) + math.exp(log_lam) * B**2 / 2

    best = optimize.minimize_scalar(lipschitz_form, bounds=(-15, 5), method="bounded", options={"xatol": 1e-9})
    closed = 2 * B / math.sqrt(n) * math.sqrt(math.sqrt(2 / math.pi) / gaussian_mu(budget))
    assert best.fun == pytest.approx(closed, rel=1e-6)


@every_loss
@pytest.mark.parametrize("epsilon", [0.05, 5.0])
def test_auto_lam_minimises_the_smooth_form_of_the_bound(key, epsilon):
    """Against a numerical minimum of (c/2) s(lam)^2 R^2 + lam B^2 / 2, with s taken from plans at fixed lam."""
    facts = dict(n=5000, p=8, epsilon=epsilon, delta=1e-6, loss=key, R=1.5, theta_norm=7.0)

    def smooth_form(log_lam):
        scale = dpcore.calibrate("output_gaussian", lam=math.exp(log_lam), **facts).scale
        return 0.5 * get_loss(key).curvature_bound * (1.5 * scale) ** 2 + math.exp(log_lam) * 7.0**2 / 2

    best = optimize.minimize_scalar(smooth_form, bounds=(-15, 5), method="bounded", options={"xatol": 1e-9})
    assert dpcore.calibrate("output_gaussian", **facts).spec.lam == pytest.approx(math.exp(best.x), rel=1e-4)
