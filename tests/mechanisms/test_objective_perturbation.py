"""Objective perturbation: exact laws against the guarantee, the volume element, and what its accounting allows.

In one dimension theta -> b = -J'(theta) falls, so P(theta <= t) = P(b >= -J'(t)) is exact: neither a density nor a
volume element enters, and the claim is tested against the definition of differential privacy itself.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import special

import dpcore
from dpcore import Budget, Data, Domain, Plan, Spec
from dpcore.accounting.attack_limits import attack_cap
from dpcore.accounting.gaussian import hockey_stick
from dpcore.accounting.objective import linear_vertices, objective_delta, objective_epsilon, objective_mu
from dpcore.core.losses import get_loss
from dpcore.mechanisms.objective import base
from dpcore.mechanisms.objective.base import volume_charge
from tests.nights import each

KEYS = ("objective_gamma", "objective_gaussian")
SMOOTH = ("logistic", "huber_hinge", "huber")
DELTA = 1e-5
every_key = pytest.mark.parametrize("key", KEYS)
every_loss = pytest.mark.parametrize("loss", SMOOTH)


def plan_of(key: str, loss: str, epsilon: float, *, lam: float, n=2, p=1, delta=DELTA, accounting="tight") -> Plan:
    spec = Spec(loss, n, p, lam, Domain(y_max=200.0))
    return dpcore.make_mechanism(key, accounting=accounting).calibrate(spec, Budget(epsilon, delta))


def lam_of(loss: str, epsilon: float, *, n: int = 2) -> float:
    """The published condition, n lam = 2 c R^2 / epsilon."""
    return 2.0 * get_loss(loss).curvature_bound / (epsilon * n)


# One dimension, exactly


def neighbours(loss: str) -> list[tuple[Data, Data]]:
    """One record is 0. The other curves where its replacement only pulls, or pulls the other way."""
    if loss == "huber":
        ys = itertools.product(np.arange(0.0, 9.0, 0.5), (-200.0, 200.0))
        return [(Data([[0.0], [1.0]], [0.0, y]), Data([[0.0], [1.0]], [0.0, other])) for y, other in ys]
    xs = ((1.0, -1.0), (1.0, -0.2), (0.5, -1.0), (1.0, 0.3))
    return [(Data([[0.0], [x]], [1.0, 1.0]), Data([[0.0], [other]], [1.0, 1.0])) for x, other in xs]


def interval_masses(plan: Plan, zero: Data, one: Data) -> tuple[np.ndarray, np.ndarray]:
    """The exact minimiser's probabilities of small intervals, on both data sets; edges lie on every kink."""
    loss, lam = get_loss(plan.spec.loss), float(plan.spec.lam)
    far, count = (40.0, 8_001) if plan.noise == "gamma" else (12.0, 2_401)
    far = (far * plan.scale + 1.0) / lam
    at = [
        (y + h) / x for data in (zero, one) for x, y in zip(data.X[:, 0], data.y, strict=True) if x for h in (-0.5, 0.5)
    ]
    near = [kink + side * 1e-7 for kink in at for side in (-1.0, 0.0, 1.0)]
    edges = np.unique(np.concatenate([np.linspace(-far, far, count), near]))

    def masses(data: Data) -> np.ndarray:
        z = np.outer(edges, data.X[:, 0])
        slopes = (
            loss.derivative(z.ravel(), np.tile(data.y, len(z))).reshape(z.shape) @ data.X[:, 0] / data.n + lam * edges
        )
        # b = -slope, whose law is symmetric: of either edge the smaller tail, which keeps its digits.
        away = np.abs(slopes) / plan.scale
        tails = 0.5 * np.exp(-away) if plan.noise == "gamma" else special.ndtr(-away)
        side = np.where(slopes > 0.0, 1.0, -1.0)
        return (side[:-1] < side[1:]) - np.diff(side * tails)

    return masses(zero), masses(one)


def worst_epsilon(plan: Plan) -> float:
    """The largest log-ratio of interval probabilities."""
    worst = 0.0
    for zero, one in neighbours(plan.spec.loss):
        p, q = interval_masses(plan, zero, one)
        assert p.sum() == pytest.approx(1.0, abs=1e-12) and q.sum() == pytest.approx(1.0, abs=1e-12)
        seen = np.minimum(p, q) > 1e-250
        worst = max(worst, float(np.abs(np.log(p[seen] / q[seen])).max()))
    return worst


def worst_delta(plan: Plan, epsilon: float) -> float:
    """The largest hockey-stick divergence of the interval probabilities, either way round."""
    both = [interval_masses(plan, zero, one) for zero, one in neighbours(plan.spec.loss)]
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for a, b in both for p, q in ((a, b), (b, a)))


@pytest.mark.shows("privacy", "objective_gamma")
@every_loss
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("stiffer", [1.0, 1e4])
def test_gamma_keeps_its_guarantee_exactly_in_one_dimension(loss, epsilon, stiffer):
    """With a large lam the model stays near 0, where both records of a pair pull; logistic loss pulls half as hard."""
    plan = plan_of("objective_gamma", loss, epsilon, lam=stiffer * lam_of(loss, epsilon))
    assert worst_epsilon(plan) <= 0.99 * epsilon + 1e-6
    if stiffer > 1.0 or loss != "logistic":
        assert worst_epsilon(plan.weakened(0.4)) > epsilon


@pytest.mark.parametrize("epsilon, attained", [(0.5, 0.7231), (1.0, 1.4055), (2.0, 2.6931)])
def test_the_corrected_gamma_scale_is_attained_and_the_published_one_overspends(epsilon, attained):
    """Huber loss: the noise and the volume element are both at their worst at one kink."""
    plan = plan_of("objective_gamma", "huber", epsilon, lam=lam_of("huber", epsilon))
    assert worst_epsilon(plan) == pytest.approx(0.99 * epsilon, rel=1e-4)
    published = plan_of("objective_gamma", "huber", epsilon, lam=lam_of("huber", epsilon), accounting="published")
    assert worst_epsilon(published) == pytest.approx(attained, abs=6e-5)
    assert published.spent.epsilon == pytest.approx(attained / 0.99, abs=6e-5)


@pytest.mark.shows("privacy", "objective_gaussian")
@every_loss
@pytest.mark.parametrize("epsilon, delta", [(0.5, 1e-5), (1.0, 1e-3), (1.0, 1e-5), (2.0, 1e-5)])
def test_gaussian_keeps_its_guarantee_exactly_in_one_dimension(loss, epsilon, delta):
    for stiffer in (1.0, 10.0, 1e4):
        plan = plan_of("objective_gaussian", loss, epsilon, lam=stiffer * lam_of(loss, epsilon), delta=delta)
        assert worst_delta(plan, epsilon) <= 0.99 * delta
    assert worst_delta(plan.weakened(0.8 if loss != "logistic" else 0.4), epsilon) > delta
    if loss == "huber_hinge":
        assert worst_delta(plan, epsilon) > 0.8 * delta, "a stiff problem comes close to the bound"


@pytest.mark.parametrize("epsilon, delta, factor", [(1.0, 1e-5, 22.18), (2.0, 1e-5, 30.95), (1.0, 1e-3, 1.268)])
def test_the_published_gaussian_scale_breaks_its_guarantee(epsilon, delta, factor):
    lam = lam_of("huber", epsilon)
    plan = plan_of("objective_gaussian", "huber", epsilon, lam=lam, delta=delta, accounting="published")
    assert worst_delta(plan, epsilon) / delta == pytest.approx(factor, rel=1e-3)
    assert plan.spent.epsilon > epsilon and plan.spent.delta == delta
    assert worst_delta(plan, plan.spent.epsilon) <= delta, "what it says it spends, it keeps"


@pytest.mark.pairwise
@every_key
@every_loss
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_no_attacker_is_right_more_often_than_the_limit(key, loss, epsilon):
    """The best attacker is right with probability (1 + TV) / 2, which one dimension gives exactly."""
    for stiffer in (1.0, 30.0, 1e4):
        plan = plan_of(key, loss, epsilon, lam=stiffer * lam_of(loss, epsilon))
        limit = plan.mechanism.attack_limit(plan)
        best = 0.5 * (1.0 + worst_delta(plan, 0.0))
        assert best <= limit <= attack_cap(plan.spent) + 1e-9
        weak = plan.weakened(0.5)
        assert 0.5 * (1.0 + worst_delta(weak, 0.0)) <= plan.mechanism.attack_limit(weak)
    if loss == "huber_hinge":
        assert limit - 0.5 < 2.2 * (best - 0.5), "within the factor of the vertices"


@pytest.mark.pairwise
@every_key
@pytest.mark.parametrize("epsilon", [3e3, 3e4, 1e8, 1e90])
@pytest.mark.parametrize("lam", ["auto", "population", 0.1, 1e-90])
def test_a_budget_that_hides_nothing_has_an_attacker_who_is_always_right_and_no_warning(key, epsilon, lam):
    plan = dpcore.calibrate(key, n=1000, p=3, epsilon=epsilon, delta=0.5, lam=lam, theta_norm=1e-30)
    with np.errstate(all="raise", under="ignore"):
        assert plan.mechanism.attack_limit(plan) == pytest.approx(1.0, abs=1e-12)
        assert all(b.value >= 0.0 for b in plan.mechanism.bounds(plan))
        if key == "objective_gaussian":
            curve = plan.mechanism.claimed_curve(plan)
            assert curve.needed(np.array([1e-9]), np.array([1e-9]))[0] == 0.0
            assert curve.attack_limit() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("accounting", ["tight", "published"])
@every_loss
def test_the_claimed_curve_is_the_plan_s_and_says_what_the_plan_spends(loss, accounting):
    plan = plan_of("objective_gaussian", loss, 1.0, lam=2.0 * lam_of(loss, 1.0), p=3, accounting=accounting)
    curve, spent = plan.mechanism.claimed_curve(plan), plan.spent
    assert curve.charge == plan.ledger[0].charge > 0.1
    # Both noises as they are in the ledger; together they cost less than the two parts of the budget.
    main, solver = (event.sensitivity / event.scale for event in plan.ledger)
    assert curve.mu == pytest.approx(main, rel=1e-6)
    vertices = linear_vertices(one_sided=get_loss(loss).classification)
    for (count, length), (other, share) in zip(curve.vertices, vertices, strict=True):
        assert count == other and (curve.mu * length) ** 2 == pytest.approx((main * share) ** 2 + solver**2, rel=1e-5)
    assert 0.98 * spent.epsilon < curve.epsilon(curve.mu, spent.delta) <= spent.epsilon
    least = objective_delta(0.99 * spent.epsilon, main, curve.charge, vertices)
    assert least <= 0.99 * spent.delta * (1 + 1e-6)


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("epsilon", [-0.5, 0.1, 1.0, 2.5])
def test_solver_noise_makes_every_vertex_longer(one_sided, epsilon):
    """What the noise allows at epsilon minus the loss of solver noise, N(solver^2 / 2, solver^2), on average."""
    mu, charge, solver = 0.6, 0.2, 0.3
    vertices = linear_vertices(one_sided=one_sided)
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    losses = 0.5 * solver**2 + solver * nodes
    each = [sum(n * hockey_stick(epsilon - charge - t, share * mu) for n, share in vertices) for t in losses]
    longer = sum(n * hockey_stick(epsilon - charge, math.hypot(share * mu, solver)) for n, share in vertices)
    assert longer == pytest.approx(weights @ each / math.sqrt(2.0 * math.pi), rel=1e-3)


# Two dimensions, by quadrature over theta


@pytest.mark.shows("privacy", "objective_gaussian")
@pytest.mark.parametrize("degrees", [0, 30, 60, 90, 120, 150, 180])
@pytest.mark.parametrize("loss", ["logistic", "huber_hinge"])
def test_the_gaussian_bound_holds_at_every_angle_between_two_records(loss, degrees):
    """The mass of 1 tests the density, the volume element included; delta is a sum over the same grid."""
    epsilon, angle = 1.0, math.radians(degrees)
    plan = plan_of("objective_gaussian", loss, epsilon, lam=lam_of(loss, epsilon), p=2)
    rows = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    zero, one = (plan.mechanism.prepare(plan, Data(np.array([[0.0, 0.0], row]), [1.0, 1.0])) for row in rows)
    lam = float(plan.spec.lam)
    far = (9.0 * plan.scale + 0.5) / lam
    side = np.linspace(-far, far, 351)
    thetas = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    area = (side[1] - side[0]) ** 2

    def density(prepared):
        gradients, volumes = base._gradients(plan.spec, prepared.data, thetas)
        return np.exp(volumes - 0.5 * (gradients**2).sum(axis=1) / plan.scale**2) / (2.0 * math.pi * plan.scale**2)

    p, q = density(zero), density(one)
    assert p.sum() * area == pytest.approx(1.0, abs=5e-3) and q.sum() * area == pytest.approx(1.0, abs=5e-3)
    realised = max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum() * area) for a, b in ((p, q), (q, p)))
    assert realised <= 0.01 * DELTA, "the bound holds and is loose"
    ratio = plan.mechanism.log_ratio(plan, zero, one, thetas)
    assert np.allclose(ratio, np.log(q) - np.log(p), atol=1e-9)


def test_the_volume_element_is_charged_once_and_the_charge_is_attained():
    """Random Hessians that share all records but one, whose curvatures are anything up to c: never beyond J."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(4000):
        n, p, lam, c = int(rng.integers(2, 6)), int(rng.integers(1, 5)), 10.0 ** rng.uniform(-2, 1), 0.25
        spec = Spec("logistic", n, p, lam)
        X = rng.standard_normal((n + 1, p))
        X /= np.linalg.norm(X, axis=1)[:, None]
        weights = c * np.where(rng.random(n + 1) < 0.5, rng.random(n + 1), rng.integers(0, 2, n + 1))
        shared = X[: n - 1].T * weights[: n - 1] @ X[: n - 1] / n + lam * np.eye(p)
        logs = [np.linalg.slogdet(shared + weights[i] * np.outer(X[i], X[i]) / n)[1] for i in (n - 1, n)]
        worst = max(worst, abs(logs[1] - logs[0]) / volume_charge(spec))
    assert 0.999 < worst <= 1.0 + 1e-9


# Accounting


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("epsilon, delta", [(0.01, 1e-6), (1.0, 1e-10), (1.0, 1e-3), (10.0, 1e-5), (1e8, 1e-5)])
def test_calibration_inverts_the_bound(one_sided, epsilon, delta):
    vertices = linear_vertices(one_sided=one_sided)
    for share in (0.0, 0.3, 0.9):
        charge = share * epsilon
        mu = objective_mu(Budget(epsilon, delta), charge, vertices)
        assert objective_delta(epsilon, mu, charge, vertices) <= delta
        assert objective_delta(epsilon, mu * (1 + 1e-6), charge, vertices) > delta
        again = objective_epsilon(mu, delta, charge, vertices)
        assert again == pytest.approx(epsilon, rel=1e-6)
        assert objective_delta(again, mu, charge, vertices) <= delta
    assert objective_epsilon(1e-6, 0.1, 0.3, vertices) == pytest.approx(0.3), "the charge is always paid"


def test_the_bound_is_the_sum_over_the_vertices():
    for epsilon, mu, charge in ((1.0, 0.4, 0.3), (0.0, 0.4, 0.3)):
        H = [hockey_stick(epsilon - charge, share * mu) for share in (1.0, 0.5, math.sqrt(0.5), 0.0)]
        assert H[3] == pytest.approx(max(1.0 - math.exp(epsilon - charge), 0.0))
        one, two = (objective_delta(epsilon, mu, charge, linear_vertices(one_sided=sided)) for sided in (True, False))
        assert one == pytest.approx(min(1.0, H[0] + 2.0 * H[1] + H[3]), rel=1e-12)
        assert two == pytest.approx(min(1.0, 2.0 * H[0] + 2.0 * H[2]), rel=1e-12)


@pytest.mark.parametrize(
    "lam, epsilon, delta",
    each(2, [(lam, *asked) for lam in (1.0, 1e-3, 1e-40) for asked in ((0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-2))]),
)
def test_the_curve_that_an_audit_claims_for_a_published_plan_is_that_of_its_noise(lam, epsilon, delta):
    """A smaller mu would contradict code that keeps `spent`; with hardly any lam the charge is nearly all of it."""
    plan = plan_of("objective_gaussian", "logistic", epsilon, lam=lam, n=100, delta=delta, accounting="published")
    mu = plan.ledger[0].sensitivity / plan.scale
    assert plan.mechanism.claimed_curve(plan).mu == pytest.approx(mu, rel=1e-6)
    assert hockey_stick(0.01 * plan.spent.epsilon, plan.ledger[1].sensitivity / plan.ledger[1].scale) <= 0.01 * delta
    assert dpcore.run_audit(plan, runs=100).verdict == "no contradiction found"


@every_key
@every_loss
def test_the_parts_of_the_budget_add_up_and_each_pays_for_its_noise(key, loss):
    epsilon, delta = 1.0, 1e-6
    plan = plan_of(key, loss, epsilon, lam=0.5, n=100, p=5, delta=delta)
    main, solver_noise = plan.ledger
    assert main.scale == plan.scale and main.sensitivity == pytest.approx(2.0 / 100)
    assert main.charge == pytest.approx(math.log1p(get_loss(loss).curvature_bound / (100 * 0.5)))
    assert solver_noise.sensitivity == 2.0 * plan.tol
    if key == "objective_gamma":
        assert plan.spent == Budget(epsilon)
        assert main.sensitivity / main.scale + main.charge == pytest.approx(0.99 * epsilon, rel=1e-12)
        assert solver_noise.sensitivity / solver_noise.scale == pytest.approx(0.01 * epsilon, rel=1e-12)
    else:
        assert plan.spent == Budget(epsilon, delta)
        mu, one_sided = main.sensitivity / main.scale, get_loss(loss).classification
        assert objective_delta(0.99 * epsilon, mu, main.charge, linear_vertices(one_sided=one_sided)) <= 0.99 * delta
        assert hockey_stick(0.01 * epsilon, solver_noise.sensitivity / solver_noise.scale) <= 0.01 * delta
