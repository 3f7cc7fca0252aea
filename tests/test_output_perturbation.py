"""Output perturbation, Gaussian and Gamma: its sensitivity, its noise and its bounds."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import dpcore
from dpcore import Budget, Data, NotApplicable, Spec
from dpcore import bounds as formulas
from dpcore.accounting import gaussian_epsilon, gaussian_mu, hockey_stick
from dpcore.losses import LOSSES, get_loss
from tests.problems import PROBLEMS, for_loss

FALSE_ALARM = 1e-6
every_loss = pytest.mark.parametrize("key", LOSSES)
every_noise = pytest.mark.parametrize("noise", ["output_gaussian", "output_gamma"])
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def distance(plan, one: Data, other: Data) -> float:
    """Between the minimisers that the mechanism itself would release from."""
    solved = [plan.mechanism.prepare(plan, data).theta for data in (one, other)]
    return float(np.linalg.norm(solved[0] - solved[1]))


@every_noise
@pytest.mark.parametrize("loss, slack", [("huber_hinge", 1e-7), ("hinge", 2e-3), ("huber", 1e-7)])
def test_a_loss_on_its_linear_part_attains_the_sensitivity(noise, loss, slack):
    """There theta = sum y x / (n lam): a flipped label moves it by 2 R / (n lam)."""
    n, lam = 20, 0.5
    X = np.zeros((n, 3))
    X[-1] = [0.6, 0.0, 0.8]
    y = np.zeros(n) if loss == "huber" else np.ones(n)
    up, down = (np.concatenate([y[:-1], [label]]) for label in (1.0, -1.0))
    plan = dpcore.calibrate(noise, n=n, p=3, epsilon=1.0, delta=1e-5, loss=loss, lam=lam)
    moved = distance(plan, Data(X, up), Data(X, down))
    assert moved == pytest.approx(2.0 / (n * lam), rel=slack)
    assert moved == pytest.approx(plan.ledger[0].sensitivity, rel=slack)
    assert moved <= plan.ledger[0].sensitivity


@every_loss
@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("radius", [None, 0.7])
def test_no_neighbour_exceeds_the_sensitivity(key, lam, radius):
    """Adversarial search: many equal records push theta along one axis, the last record swings against them."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for copies in (1, 2, 5, 30):
        n = copies + 1
        plan = dpcore.calibrate("output_gaussian", n=n, p=2, epsilon=1.0, delta=1e-5, loss=key, lam=lam, radius=radius)
        angles = np.concatenate([np.linspace(0, np.pi / 2, 6), rng.uniform(0, 2 * np.pi, 5)])
        for angle in angles:
            X = np.tile([1.0, 0.0], (n, 1))
            X[-1] = [-math.sin(angle), math.cos(angle)]
            other = X.copy()
            other[-1] = [-math.sin(angle), -math.cos(angle)]
            moved = distance(plan, Data(X, np.ones(n)), Data(other, np.ones(n)))
            worst = max(worst, moved / plan.ledger[0].sensitivity)
    assert worst <= 1.0
    if radius is None:
        # The L of squared loss covers predictions that two records rarely reach together.
        assert worst > (0.02 if key == "squared" else 0.3), "the search found no neighbour worth the name"


@every_loss
@every_problem
def test_random_replacements_stay_within_the_sensitivity(key, name):
    data = for_loss(key, PROBLEMS[name])
    plan = dpcore.calibrate("output_gaussian", n=data.n, p=data.p, epsilon=1.0, delta=1e-5, loss=key, lam=0.02)
    rng = np.random.default_rng(4)
    for _ in range(10):
        X, y = data.X.copy(), data.y.copy()
        x = rng.standard_normal(data.p)
        X[0], y[0] = x / np.linalg.norm(x), rng.choice([-1.0, 1.0])
        assert distance(plan, data, Data(X, y)) <= plan.ledger[0].sensitivity


@every_loss
def test_the_solver_tolerance_is_part_of_the_sensitivity(key):
    """Two minimisers certified to tol can be 2 tol further apart than the exact ones; the plan pays for it."""
    data = for_loss(key, PROBLEMS["full rank"])
    plan = dpcore.calibrate("output_gaussian", n=data.n, p=data.p, epsilon=1.0, delta=1e-5, loss=key, lam=0.1)
    L = get_loss(key).lipschitz(plan.spec)
    assert plan.ledger[0].sensitivity == pytest.approx(2 * L / (data.n * 0.1) + 2 * plan.tol, rel=1e-15)
    assert 0 < plan.mechanism.prepare(plan, data).distance <= plan.tol


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
def test_gaussian_noise_has_the_planned_scale(accounting):
    """Chi-square on 24,000 draws, false alarm 1e-6; the twin with 95% of the noise must be caught (power 0.999)."""
    data = PROBLEMS["full rank"]
    mechanism = dpcore.make_mechanism("output_gaussian", accounting=accounting)
    plan = mechanism.calibrate(Spec("logistic", data.n, data.p, 0.1), Budget(0.5, 1e-5))
    assert chi_square_p_value(noise_of(plan, 4000), plan.scale) > FALSE_ALARM
    assert chi_square_p_value(noise_of(plan.weakened(0.95), 4000), plan.scale) < FALSE_ALARM


def test_gaussian_noise_is_normal_and_independent():
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


@pytest.mark.parametrize("accounting, factor", [("tight", 1.0), ("published", 2.0)])
@pytest.mark.parametrize("p", [1, 2, 8, 400])
def test_gamma_noise_has_the_planned_law(accounting, factor, p):
    """||b|| / scale ~ Gamma(p) and a uniform direction; Kolmogorov-Smirnov, false alarm 1e-6 each.

    The twins: 95% of the noise, and a norm with one degree too many.
    """
    plan = dpcore.calibrate("output_gamma", n=100, p=p, epsilon=0.7, lam=0.1, accounting=accounting)
    assert plan.scale == pytest.approx(factor * plan.ledger[0].sensitivity / 0.7, rel=1e-12)
    rng = np.random.default_rng(5)
    noise = plan.scale * np.stack([plan.mechanism.direction(p, p, rng) for _ in range(40_000 if p < 400 else 4000)])
    norms = np.linalg.norm(noise, axis=1)
    assert stats.kstest(norms, "gamma", args=(p, 0, plan.scale)).pvalue > FALSE_ALARM
    assert stats.kstest(0.95 * norms, "gamma", args=(p, 0, plan.scale)).pvalue < FALSE_ALARM
    if p <= 8:
        assert stats.kstest(norms, "gamma", args=(p + 1, 0, plan.scale)).pvalue < FALSE_ALARM
    if p > 2:
        # One coordinate of a uniform direction, squared, follows Beta(1/2, (p - 1)/2).
        share = (noise[:, 0] / norms) ** 2
        assert stats.kstest(share, "beta", args=(0.5, (p - 1) / 2)).pvalue > FALSE_ALARM
        assert abs(np.sign(noise[:, 0]).mean()) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(len(noise))


@every_noise
def test_padding_with_zeros_is_the_literal_simulation(noise):
    """The active 8 of 64 coordinates: their exact law against the first 8 of literally drawn 64 (p = 64).

    Two-sample Kolmogorov-Smirnov on the norm and on a projection, false alarm 1e-6 each; the twin draws in R^8.
    """
    mechanism, draws = dpcore.make_mechanism(noise), 20_000
    rng = np.random.default_rng(6)
    literal = np.stack([mechanism.direction(64, 64, rng)[:8] for _ in range(draws)])
    padded = np.stack([mechanism.direction(64, 8, rng) for _ in range(draws)])
    for statistic in (lambda b: np.linalg.norm(b, axis=1), lambda b: b @ np.linspace(-1, 1, 8)):
        assert stats.ks_2samp(statistic(literal), statistic(padded)).pvalue > FALSE_ALARM
    if noise == "output_gamma":
        small = np.stack([mechanism.direction(8, 8, rng) for _ in range(draws)])
        assert stats.ks_2samp(np.linalg.norm(literal, axis=1), np.linalg.norm(small, axis=1)).pvalue < FALSE_ALARM


@every_noise
def test_padded_and_literal_records_release_the_same_model(noise):
    """p = 64 with 56 columns of zeros: the optimum, the plan and the curve do not care how the zeros are stored."""
    data = PROBLEMS["full rank"]
    stored = Data(np.hstack([data.X, np.zeros((data.n, 64 - data.p))]), data.y)
    padded = Data(data.X, data.y, p=64)
    plan = dpcore.calibrate(noise, n=data.n, p=64, epsilon=1.0, delta=1e-5, lam=0.05)
    full, short = (plan.mechanism.prepare(plan, d).theta for d in (stored, padded))
    assert full.shape == (64,) and short.shape == (data.p,)
    assert np.allclose(full, np.concatenate([short, np.zeros(64 - data.p)]), atol=1e-9)
    released = plan.mechanism.release(plan, plan.mechanism.prepare(plan, padded), np.random.default_rng(0))
    assert released.shape == (data.p,)


def test_gamma_is_pure_and_says_what_it_spends():
    for delta in (0.0, 1e-6, 0.3):
        plan = dpcore.calibrate("output_gamma", n=100, p=4, epsilon=0.8, delta=delta, lam=0.1)
        assert plan.spent == Budget(0.8, 0.0)
        assert plan.requested == Budget(0.8, delta)
    published = dpcore.calibrate("output_gamma", n=100, p=4, epsilon=0.8, lam=0.1, accounting="published")
    assert published.spent.epsilon == pytest.approx(0.4) and published.spent.pure
    assert published.scale == pytest.approx(4.0 / (100 * 0.1 * 0.8), rel=1e-7), "the paper's 4 L R / (n lam epsilon)"


@pytest.mark.parametrize("p", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_gamma_attacker_meets_the_densities_half_way(p, epsilon):
    """P(b_1 <= Delta/2) against an integral of the density of b_1, t^(p/2) K_(p/2)(t), and against the generic cap."""
    from scipy.special import kv

    plan = dpcore.calibrate("output_gamma", n=50, p=p, epsilon=epsilon, lam=0.3)

    def density(t):
        return abs(t) ** (p / 2) * kv(p / 2, abs(t))

    half = integrate.quad(density, 0, np.inf, limit=400)[0]
    inside = integrate.quad(density, 0, epsilon / 2)[0]
    limit = plan.mechanism.attack_limit(plan)
    assert limit == pytest.approx(0.5 + inside / half / 2, abs=2e-6)
    assert limit <= math.exp(epsilon) / (1 + math.exp(epsilon))
    if p == 1:
        assert limit == pytest.approx(1 - math.exp(-epsilon / 2) / 2, abs=2e-6)


@every_noise
@pytest.mark.parametrize("p", [1, 2, 8, 50, 400])
def test_the_reach_of_the_noise(noise, p):
    """E |b_1| and E b_1^2 against closed forms and 40,000 draws (z-test, false alarm 1e-6)."""
    mechanism = dpcore.make_mechanism(noise)
    mean, square = mechanism.reach(p)
    nodes, weights = mechanism.spread(p)
    assert mean == pytest.approx(math.sqrt(2 / math.pi) * (weights @ nodes), rel=1e-9)
    assert square == pytest.approx(weights @ nodes**2, rel=1e-12)
    rng = np.random.default_rng(7)
    first = np.array([mechanism.direction(p, 1, rng)[0] for _ in range(40_000)])
    for sample, expected in ((np.abs(first), mean), (first**2, square)):
        assert abs(sample.mean() - expected) < 6 * sample.std() / 200
    if noise == "output_gamma":
        assert {1: 1.0, 8: 2.328, 50: 5.670, 400: 15.97}.get(p, mean) == pytest.approx(mean, rel=3e-4)


# Bounds: the left sides are exact integrals over the noise or hold for every draw, so nothing here can flake.


@every_noise
@every_loss
@every_problem
def test_pathwise_inequality(noise, key, name):
    """F(theta + b) - F(theta) <= (L/n) sum |<b, x_i>| in every single run; squared loss: its second-order identity."""
    data, loss = for_loss(key, PROBLEMS[name]), get_loss(key)
    plan = dpcore.calibrate(noise, n=data.n, p=data.p, epsilon=1.0, delta=1e-5, loss=key, lam=0.02)
    prepared = plan.mechanism.prepare(plan, data)
    z = data.X @ prepared.theta
    for r in range(20):
        b = plan.mechanism.release(plan, prepared, np.random.default_rng(r)) - prepared.theta
        excess = (loss.value(data.X @ (prepared.theta + b), data.y) - loss.value(z, data.y)).mean()
        if math.isfinite(loss.slope):
            assert excess <= loss.slope * np.abs(data.X @ b).mean() + 1e-12
        else:
            linear = (loss.derivative(z, data.y) * (data.X @ b)).mean()
            assert excess - linear == pytest.approx(((data.X @ b) ** 2).mean(), rel=1e-6)


def expected_risk(plan, data: Data, theta) -> float:
    """E F(theta + b), exact: Gaussian noise of the sizes that the mechanism's noise is a mixture of."""
    loss, norms = get_loss(plan.spec.loss), np.linalg.norm(data.X, axis=1)
    nodes, weights = plan.mechanism.spread(plan.spec.p)
    return sum(
        w * loss.gaussian_mean(data.X @ theta, data.y, plan.scale * s * norms).mean()
        for s, w in zip(nodes, weights, strict=True)
    )


def upper(plan, quantity: str, holds: str = "expectation") -> float:
    (value,) = [b.value for b in dpcore.bounds_of(plan) if (b.quantity, b.form, b.holds) == (quantity, "upper", holds)]
    return value


@every_noise
@every_loss
@every_problem
@pytest.mark.parametrize("lam", [0.003, 0.1, "auto", "published", "population"])
@pytest.mark.parametrize("epsilon", [0.05, 20.0])
def test_upper_bounds_hold_in_expectation(noise, key, name, lam, epsilon):
    loss, data = get_loss(key), for_loss(key, PROBLEMS[name])
    plan = dpcore.calibrate(noise, n=data.n, p=data.p, epsilon=epsilon, delta=1e-5, loss=key, lam=lam, theta_norm=4.0)
    theta = plan.mechanism.prepare(plan, data).theta
    expected = expected_risk(plan, data, theta)
    before = loss.value(data.X @ theta, data.y).mean()
    assert expected - before <= upper(plan, "excess_over_regularised") * (1 + 1e-9) + 1e-9
    rng = np.random.default_rng(6)
    for _ in range(20):
        comparator = rng.standard_normal(data.p)
        comparator *= 4.0 / np.linalg.norm(comparator)
        compared = loss.value(data.X @ comparator, data.y).mean()
        assert expected - compared <= upper(plan, "excess_empirical_risk") * (1 + 1e-9) + 1e-9


@every_noise
def test_the_bound_over_a_constrained_minimiser_compares_within_its_ball(noise):
    """With radius < theta_norm no model beyond the radius can be promised."""
    facts = dict(n=120, p=6, epsilon=1.0, delta=1e-5, lam=0.05, theta_norm=4.0)
    free, tied = (dpcore.calibrate(noise, radius=radius, **facts) for radius in (None, 0.5))
    noise_part = upper(tied, "excess_over_regularised")
    assert upper(free, "excess_empirical_risk") - noise_part == pytest.approx(0.05 * 16 / 2, rel=1e-6)
    assert upper(tied, "excess_empirical_risk") - noise_part == pytest.approx(0.05 * 0.25 / 2, rel=1e-6)
    assert "ball of 0.5" in dpcore.bounds_of(tied)[0].assumes


@every_noise
@pytest.mark.parametrize("p", [1, 2, 6, 60])
def test_the_one_run_band_holds_in_nine_runs_of_ten(noise, p):
    """2,000 runs against the band without its bias: binomial test, false alarm 1e-6; a quarter of it is caught.

    The worst records for a band: all equal, so that mean |<b, x_i>| = R |b_1| does not concentrate.
    """
    X = np.zeros((30, p))
    X[:, 0] = 1.0
    plan = dpcore.calibrate(noise, n=30, p=p, epsilon=1.0, delta=1e-5, lam=0.1, theta_norm=1e-50)
    band = upper(plan, "excess_empirical_risk", "probability")
    rng = np.random.default_rng(8)
    b = plan.scale * np.array([plan.mechanism.direction(p, p, rng) for _ in range(2000)])
    reach = np.abs(b @ X.T).mean(axis=1)
    assert stats.binomtest(int((reach > band).sum()), 2000, 0.1, alternative="greater").pvalue > FALSE_ALARM
    assert stats.binomtest(int((reach > 0.25 * band).sum()), 2000, 0.1, alternative="greater").pvalue < FALSE_ALARM


def test_the_noise_bound_is_not_slack_by_a_constant():
    """A record at margin 0: small noise costs (c/2) s^2 R^2, large noise L s R / sqrt(2 pi), half of its bound."""
    loss = get_loss("logistic")
    zero, one = np.zeros(1), np.ones(1)
    for R, scale, share in ((1.0, 1e-3, 1.0), (1.0, 1e3, 0.5), (3.0, 1e-3, 1.0), (3.0, 1e3, 0.5)):
        excess = loss.gaussian_mean(zero, one, np.array([R * scale]))[0] - math.log(2)
        bound = formulas.noise_excess(1.0, 0.25, R, scale * math.sqrt(2 / math.pi), scale**2)
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


@every_noise
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_lam_population_minimises_the_population_bound(noise, epsilon):
    """Against a numerical minimum of noise + stability + bias, and the closed form (2 L R B / sqrt n) sqrt(k t + 1)."""
    n, p, R, B = 200_000, 5, 1.5, 7.0
    facts = dict(n=n, p=p, epsilon=epsilon, delta=1e-5, loss="hinge", R=R, theta_norm=B)

    def bound(log_lam):
        # Without the solver's tolerance, which the closed form leaves out.
        plan = dpcore.calibrate(noise, lam=math.exp(log_lam), **facts)
        scale = plan.scale / plan.ledger[0].sensitivity * 2 * R / (n * plan.spec.lam)
        spread = R * scale * plan.mechanism.reach(p)[0]
        return (
            spread
            + formulas.stability(1.0, R, n, plan.spec.lam)
            + formulas.regularisation_bias(plan.spec.lam, B, np.inf)
        )

    best = optimize.minimize_scalar(bound, bounds=(-12, 5), method="bounded", options={"xatol": 1e-9})
    plan = dpcore.calibrate(noise, lam="population", **facts)
    assert plan.spec.lam == pytest.approx(math.exp(best.x), rel=1e-5)
    t = plan.scale / plan.ledger[0].sensitivity * plan.mechanism.reach(p)[0]
    assert best.fun == pytest.approx(2 * R * B / math.sqrt(n) * math.sqrt(t + 1), rel=1e-9)
    assert best.fun <= upper(plan, "excess_population_risk") <= best.fun * 1.05, "the tolerance costs little"


@pytest.mark.parametrize(
    "epsilon, published_noise, exact_noise, exact_both",
    [(0.1, 111.3, 51.6, 10.1), (1.0, 13.8, 8.45, 3.99), (5.0, 5.09, 3.92, 2.62)],
)
def test_the_table_of_population_constants(epsilon, published_noise, exact_noise, exact_both):
    """The bound over L R B / sqrt(n) at delta = 1e-5: published lam with both noises, then the tuned lam."""
    unit = 10.0 / math.sqrt(10_000)
    facts = dict(n=10_000, p=3, epsilon=epsilon, delta=1e-5, loss="hinge", theta_norm=10.0)
    for lam, accounting, expected in (
        ("published", "published", published_noise),
        ("published", "tight", exact_noise),
        ("population", "tight", exact_both),
    ):
        plan = dpcore.calibrate("output_gaussian", lam=lam, accounting=accounting, **facts)
        # 1%: the table is for the exact minimiser of the hinge loss, the plan also pays for its tolerance.
        assert upper(plan, "excess_population_risk") / unit == pytest.approx(expected, rel=0.01)


@every_noise
def test_published_lam_is_that_of_theorem_1(noise):
    plan = dpcore.calibrate(noise, n=400, p=3, epsilon=1.0, delta=1e-5, lam="published", R=2.0, theta_norm=5.0)
    assert plan.spec.lam == pytest.approx(1.0 * 2.0 / (5.0 * 20.0), rel=1e-12)


@every_noise
@every_loss
@pytest.mark.parametrize("p", [1, 8, 300])
def test_auto_lam_makes_noise_of_a_fixed_size(noise, key, p):
    """(3/16) (B R)^(1/3) in the margin, or y_max / 10, root mean square at ||x|| = R; the tolerance adds 2% at most."""
    for n, epsilon, R, B in ((100, 0.1, 1.0, 8.0), (5000, 10.0, 4.0, 16.0)):
        y_max = 1.0 if get_loss(key).classification else 0.6
        plan = dpcore.calibrate(noise, n=n, p=p, epsilon=epsilon, delta=1e-5, loss=key, R=R, y_max=y_max, theta_norm=B)
        size = R * plan.scale * math.sqrt(plan.mechanism.reach(p)[1])
        wanted = {8.0: 0.375, 16.0: 0.75}[B] if get_loss(key).classification else 0.06
        assert wanted <= size * (1 + 1e-9) <= wanted * 1.02


@every_noise
@pytest.mark.parametrize("rule", ["auto", "published", "population"])
def test_every_rule_is_proportional_to_the_slope_even_where_that_depends_on_lam(noise, rule):
    """Squared loss: lam = g L(lam), with the same g as for a loss of slope 1 on the same problem."""
    facts = dict(n=300, p=4, epsilon=0.5, delta=1e-5, lam=rule, y_max=0.8, theta_norm=2.0)
    g = dpcore.calibrate(noise, loss="huber", **facts).spec.lam
    spec = dpcore.calibrate(noise, loss="squared", **facts).spec
    assert spec.lam == pytest.approx(g * get_loss("squared").lipschitz(spec), rel=1e-9)
    tied = dpcore.calibrate(noise, loss="squared", radius=3.0, **facts).spec
    assert tied.lam == pytest.approx(g * 2 * (3.0 + 0.8), rel=1e-9)


def test_rates_are_shapes_with_the_printed_exponents():
    """Growth in p, n and epsilon of every rate; the lines carry no constant, so nothing else is claimed."""

    def rates(noise, **changed):
        facts = dict(n=1000, p=64, epsilon=1.0, delta=1e-5, theta_norm=4.0, lam=0.1) | changed
        return {b.source: b.value for b in dpcore.bounds_of(dpcore.calibrate(noise, **facts)) if b.form == "rate"}

    base = rates("output_gaussian")
    (theorem,) = [s for s in base if "Theorem 1 as printed" in s]
    (kifer,) = [s for s in base if "Kifer" in s]
    wide = rates("output_gaussian", p=256)
    assert wide[theorem] == base[theorem] and wide[kifer] == pytest.approx(2 * base[kifer])
    for source, value in rates("output_gaussian", n=4000).items():
        assert value == pytest.approx(base[source] / 2)
    ((source, value),) = rates("output_gamma").items()
    assert "Chaudhuri" in source
    assert rates("output_gamma", p=256)[source] / value == pytest.approx(4 * math.log(256) / math.log(64))
    assert rates("output_gamma", epsilon=2.0)[source] == pytest.approx(value / 2)
    assert not rates("output_gamma", loss="hinge"), "the earlier rates are for smooth losses"


def test_one_run_bands_in_numbers():
    """sqrt(2/pi) + sqrt(2 ln 10) = 2.9439 for Gaussian noise; for Gamma each half misses with 5%."""
    gaussian, gamma = (dpcore.make_mechanism(key) for key in ("output_gaussian", "output_gamma"))
    for p in (1, 7, 500):
        assert gaussian.mean_draw_band(p, 0.1) == pytest.approx(0.797885 + 2.145966, rel=1e-6)
    assert gamma.mean_draw_band(1, 0.1) == pytest.approx(-math.log(0.05), rel=1e-9)
    # Gamma(9) at 95% is 14.4347; K_9 / 9 + sqrt(2 ln 20 / 8) is above 1.
    assert gamma.mean_draw_band(9, 0.1) == pytest.approx(14.434657, rel=1e-6)
    share = gamma.reach(400)[0] / 400 + math.sqrt(2 * math.log(20) / 399)
    assert gamma.mean_draw_band(400, 0.1) == pytest.approx(stats.gamma.ppf(0.95, 400) * share, rel=1e-9)
    assert share < 0.2


@every_noise
@pytest.mark.parametrize("key, y_max", [("hinge", 1.0), ("squared", 0.6), ("huber", 0.6)])
def test_upper_bounds_in_numbers(noise, key, y_max):
    """Noise + min{lam B^2 / 2, l_0} + L R tol (+ c/2 R^2 tol^2) + stability, written out."""
    loss, n, R, B = get_loss(key), 300, 1.5, 2.0
    for lam, radius in ((0.1, None), (3.0, None), (3.0, 0.4)):
        plan = dpcore.calibrate(
            noise, n=n, p=5, epsilon=0.5, delta=1e-5, loss=key, lam=lam, R=R, y_max=y_max, radius=radius, theta_norm=B
        )
        plan = dc.replace(plan, tol=0.01)  # so large that leaving it out would show
        mean, square = plan.mechanism.reach(5)
        L = loss.lipschitz(plan.spec)
        lipschitz_form = loss.slope * R * plan.scale * mean
        smooth_form = 0.5 * loss.curvature_bound * (R * plan.scale) ** 2 * square
        noise_part = min(lipschitz_form, smooth_form)
        zero = {"hinge": 1.0, "squared": 0.36, "huber": 0.6 - 0.25}[key]
        bias = min(lam * min(B, radius or B) ** 2 / 2, zero)
        tolerated = L * R * 0.01 + (R**2 * 0.01**2 if key == "squared" else 0.0)
        assert upper(plan, "excess_empirical_risk") == pytest.approx(noise_part + bias + tolerated, rel=1e-12)
        stable = 2 * (L * R) ** 2 / (n * lam)
        total = noise_part + bias + tolerated + stable
        assert upper(plan, "excess_population_risk") == pytest.approx(total, rel=1e-12)


@every_noise
@pytest.mark.parametrize("rule", ["auto", "published", "population"])
def test_rules_compare_with_models_of_the_constrained_ball(noise, rule):
    facts = dict(n=5000, p=4, epsilon=0.5, delta=1e-5, loss="logistic", lam=rule)
    tied = dpcore.calibrate(noise, theta_norm=10.0, radius=0.5, **facts).spec.lam
    assert tied == pytest.approx(dpcore.calibrate(noise, theta_norm=0.5, **facts).spec.lam, rel=1e-12)
    assert tied != pytest.approx(dpcore.calibrate(noise, theta_norm=10.0, **facts).spec.lam, rel=0.1)


@pytest.mark.parametrize("accounting", ["published", "classical"])
def test_the_smallest_deltas_are_ordinary(accounting):
    plan = dpcore.calibrate("output_gaussian", n=50, p=2, epsilon=0.5, delta=1e-299, lam=0.1, accounting=accounting)
    assert 0 < plan.spent.epsilon <= 0.5 and math.isfinite(plan.scale)
    with pytest.raises(NotApplicable, match="delta >= 1e-300"):
        dpcore.calibrate("output_gaussian", n=50, p=2, epsilon=0.5, delta=1e-310, lam=0.1, accounting=accounting)
