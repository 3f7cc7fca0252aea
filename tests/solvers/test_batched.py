"""Batched perturbed minimisers: the gradients they leave, the curves they make, and what hard problems do to them."""

from concurrent.futures import CancelledError

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Data, Unconverged, kernels
from dpcore.core.losses import get_loss
from dpcore.kernels.vector_math import single_exp, single_log1p_unit
from dpcore.solvers import minimise_in_ball, minimise_many, perturbed_against_rest
from dpcore.solvers.erm import batched_lbfgs, one_vs_rest, perturbed
from dpcore.solvers.erm import minimise as certified
from dpcore.solvers.erm.perturbed import DISPLAY_ACCURACY
from dpcore.solvers.erm.smooth import minimise_smooth
from tests.problems import KINKED, LINEAR, PROBLEMS, for_loss, random_records
from tests.solvers.objectives import PLAIN

SMOOTH = [key for key in LINEAR if key not in KINKED]


def perturbed_minimisers(loss, data, lams, scales, Z, *, start=None, **options):
    """From near the minimiser without noise where no start is given."""
    if start is None:
        tol = 1e-5 * perturbed._Task(loss, data, 0.5).steepest
        start = minimise_smooth(loss, data, lams[np.argmin(scales)], tol).theta
    return perturbed.perturbed_minimisers(loss, data, lams, scales, Z, start=start, **options)


every_smooth_loss = pytest.mark.parametrize("key", SMOOTH)
every_problem = pytest.mark.parametrize("name", PROBLEMS)
SCALES = np.array([1.0, 1e-8, 30.0, 1e-3, 0.03, 0.3])  # not in order


def directions(repetitions, r, seed=0):
    half = np.random.default_rng([seed, r]).standard_normal((repetitions // 2, r))
    return np.stack([half, -half], axis=1).reshape(repetitions, r)


def plain_gradients(key, data, lam, b, theta):
    """grad F and the gradient of the perturbed objective, in plain numpy."""
    force = data.X.T @ PLAIN[key](data.X @ theta, data.y)[1] / data.n
    return force, force + lam * theta + b


def worst_ratio(key, data, lams, scales, Z, path, accuracy):
    """The largest gradient in units of what `accuracy` allows, over all points and repetitions.

    Allowed are accuracy * ||grad F||, the floor, and the rounding of noise and predictions in double precision.
    """
    worst = 0.0
    for k, (lam, scale) in enumerate(zip(lams, scales, strict=True)):
        for theta, z, claimed in zip(path.thetas[k], Z, path.residuals[k], strict=True):
            force, gradient = map(np.linalg.norm, plain_gradients(key, data, lam, scale * z, theta))
            rounding = 1e-15 * (scale * np.linalg.norm(z) + 2.0 * np.linalg.norm(theta))
            allowed = accuracy * force + 1e-12 + rounding
            worst = max(worst, gradient / allowed)
            assert claimed == pytest.approx(gradient, abs=0.3 * allowed + rounding)
    return worst


@every_problem
@every_smooth_loss
@pytest.mark.parametrize("accuracy", [DISPLAY_ACCURACY, 1e-8])
def test_no_gradient_is_larger_than_asked_for(name, key, accuracy):
    data = for_loss(key, PROBLEMS[name])
    Z = directions(6, data.p)
    for lam in (1e-4, 1e-2, 10.0):
        lams = np.full(len(SCALES), lam)
        path = perturbed_minimisers(get_loss(key), data, lams, SCALES, Z, accuracy=accuracy)
        assert worst_ratio(key, data, lams, SCALES, Z, path, accuracy) < 1.1


@pytest.mark.parametrize("shape", [(400, 12), (30, 80)])
@every_smooth_loss
def test_sparse_records_give_the_same_models(key, shape):
    rng = np.random.default_rng(shape)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.3)
    X /= np.linalg.norm(X, axis=1).max()
    dense = for_loss(key, Data(X, np.where(rng.random(shape[0]) < 0.5, 1.0, -1.0)))
    sparse, Z = Data(csr_array(dense.X), dense.y), directions(4, shape[1])
    lams, scales = np.full(3, 0.01), np.array([1e-3, 0.1, 1.0])
    for accuracy, atol in ((DISPLAY_ACCURACY, 0.1), (1e-10, 1e-7)):
        one, two = (perturbed_minimisers(get_loss(key), d, lams, scales, Z, accuracy=accuracy) for d in (dense, sparse))
        assert np.allclose(one.thetas, two.thetas, atol=atol) and np.allclose(one.risks, two.risks, atol=atol)


@every_smooth_loss
def test_each_model_is_the_one_that_a_single_solve_finds(key):
    data, loss = for_loss(key, PROBLEMS["full rank"]), get_loss(key)
    Z, lams, scales = directions(4, data.p), np.array([0.1, 0.02, 0.01]), np.array([1e-3, 0.05, 0.4])
    path = perturbed_minimisers(loss, data, lams, scales, Z, accuracy=1e-9)
    for k in range(3):
        for i in range(4):
            alone = minimise_smooth(loss, data, lams[k], 1e-11, linear=scales[k] * Z[i]).theta
            assert np.allclose(path.thetas[k, i], alone, atol=1e-6 * (1.0 + np.linalg.norm(alone)))
            assert path.risks[k, i] == pytest.approx(PLAIN[key](data.X @ alone, data.y)[0].mean(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3, 1e-4])
@every_smooth_loss
def test_display_accuracy_draws_curves_within_half_a_percent(key, lam):
    """At every point, from hardly any noise to far too much, the mean excess risk of eight repetitions."""
    data, loss = for_loss(key, random_records(1500, 12, seed=8)), get_loss(key)
    best = minimise_in_ball(loss, data, 100.0).risk
    scales, Z = np.geomspace(1e-5, 1.0, 12), directions(8, 12)
    lams = np.full(12, lam)
    shown, exact = (perturbed_minimisers(loss, data, lams, scales, Z, accuracy=a) for a in (DISPLAY_ACCURACY, 1e-9))
    excess = exact.risks.mean(axis=1) - best
    assert excess.min() > 0.0
    assert np.abs(shown.risks.mean(axis=1) - best - excess).max() < 0.005 * np.abs(excess).max()
    assert (np.abs((shown.risks.mean(axis=1) - best) / excess - 1.0) < 0.005).all()


def test_points_may_have_lams_of_their_own_and_come_in_any_order():
    data, loss, Z = PROBLEMS["full rank"], get_loss("logistic"), directions(4, 6)
    lams, scales = np.array([0.5, 1e-3, 0.1, 1e-2]), np.array([0.3, 1e-3, 0.1, 1e-3])
    path = perturbed_minimisers(loss, data, lams, scales, Z, accuracy=1e-10)
    for order in ([3, 1, 0, 2], [0]):
        again = perturbed_minimisers(loss, data, lams[order], scales[order], Z, accuracy=1e-10)
        assert np.allclose(again.thetas, path.thetas[order], atol=1e-7)


def test_repetitions_in_blocks_give_the_same_models(monkeypatch):
    data, loss, Z = PROBLEMS["full rank"], get_loss("huber_hinge"), directions(10, 6)
    facts = loss, data, np.full(3, 0.01), np.array([1e-3, 0.1, 1.0]), Z
    whole = perturbed_minimisers(*facts, accuracy=1e-10)
    sizes = []
    predictions = batched_lbfgs.Records.predictions
    monkeypatch.setattr(perturbed, "_MAX_ENTRIES", 4 * data.n)
    monkeypatch.setattr(batched_lbfgs.Records, "predictions", lambda r, t: (sizes.append(len(t)), predictions(r, t))[1])
    parts = perturbed_minimisers(*facts, accuracy=1e-10)
    assert max(sizes) == 4
    assert np.allclose(parts.thetas, whole.thetas, atol=1e-7) and np.allclose(parts.risks, whole.risks, atol=1e-9)


def test_ten_thousand_columns_and_a_hundred_records_are_solved_in_the_span_of_the_records():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 3000))
    X /= np.linalg.norm(X, axis=1).max()
    data, Z = Data(X, np.where(rng.random(100) < 0.5, 1.0, -1.0)), directions(4, 3000)
    lams, scales = np.full(2, 1e-3), np.array([1e-3, 0.1])
    path = perturbed_minimisers(get_loss("logistic"), data, lams, scales, Z, accuracy=1e-7)
    assert worst_ratio("logistic", data, lams, scales, Z, path, 1e-7) < 1.1


@pytest.mark.parametrize("name", ["full rank", "more columns than rows"])
def test_the_start_changes_no_model(name):
    """Also one that is not the minimiser, and where only the span of the rows is searched."""
    loss, lams, scales = get_loss("logistic"), np.array([1e-3, 1e-2]), np.array([0.1, 1e-3])
    data = PROBLEMS[name]
    Z = directions(4, data.p)
    wanted = perturbed_minimisers(loss, data, lams, scales, Z, accuracy=1e-9)
    near = minimise_smooth(loss, data, 1e-2, 1e-9).theta
    for start in (near, near + 0.1):
        path = perturbed_minimisers(loss, data, lams, scales, Z, start=start, accuracy=1e-9)
        assert np.allclose(path.thetas, wanted.thetas, atol=1e-6)


@every_smooth_loss
@pytest.mark.parametrize("accuracy", [DISPLAY_ACCURACY, 1e-8])
def test_what_the_batch_leaves_is_finished_one_by_one(monkeypatch, key, accuracy):
    monkeypatch.setattr(batched_lbfgs, "_MAX_STEPS", 1)
    data, finished = for_loss(key, PROBLEMS["full rank"]), []
    newton = perturbed.newton
    monkeypatch.setattr(perturbed, "newton", lambda *facts: (finished.append(1), newton(*facts))[1])
    lams, Z = np.full(len(SCALES), 1e-4), directions(4, data.p)
    path = perturbed_minimisers(get_loss(key), data, lams, SCALES, Z, accuracy=accuracy)
    assert worst_ratio(key, data, lams, SCALES, Z, path, accuracy) < 1.1
    assert len(finished) > 5 or key == "squared"  # one step is all that a quadratic needs
    risks = [[PLAIN[key](data.X @ theta, data.y)[0].mean() for theta in thetas] for thetas in path.thetas]
    assert np.allclose(path.risks, risks, rtol=1e-5)


@pytest.fixture
def products(monkeypatch):
    """The products of the records with models, as the number of models in each; Newton's method is switched off."""
    made, predictions = [], batched_lbfgs.Records.predictions

    def counted(records, thetas):
        made.append(len(thetas))
        return predictions(records, thetas)

    monkeypatch.setattr(batched_lbfgs.Records, "predictions", counted)
    monkeypatch.setattr(perturbed, "newton", None)
    return made


@every_smooth_loss
@pytest.mark.parametrize("steps", [1, 60])
def test_many_releases_keep_the_tolerance_whoever_finishes_them(monkeypatch, key, steps):
    monkeypatch.setattr(batched_lbfgs, "_MAX_STEPS", steps)
    if steps == 60:
        monkeypatch.setattr(certified, "minimise_smooth", None)  # the batch leaves nothing
    data, lam, tol = for_loss(key, PROBLEMS["full rank"]), 1e-3, 1e-8
    tilts = 0.3 * directions(6, data.p)
    thetas = minimise_many(get_loss(key), data, lam, tilts, tol=tol, start=np.zeros(data.p))
    for theta, tilt in zip(thetas, tilts, strict=True):
        assert np.linalg.norm(plain_gradients(key, data, lam, tilt, theta)[1]) <= lam * tol * (1 + 1e-3)


def test_preconditioners_follow_lam(products):
    data, lams, scales = random_records(300, 20, seed=2), np.geomspace(1e-5, 10.0, 8), np.geomspace(1e-5, 1.0, 8)
    perturbed_minimisers(get_loss("logistic"), data, lams, scales, directions(10, 20), accuracy=1e-6)
    assert sum(products) / 10 < 48


def test_what_cannot_be_factored_gets_a_diagonal(monkeypatch, products):
    monkeypatch.setattr(batched_lbfgs, "MAX_FACTOR", 5)
    monkeypatch.setattr(perturbed, "MAX_FACTOR", 5)
    lams, scales = np.full(4, 1e-2), np.geomspace(1e-3, 0.1, 4)
    for data, most in ((random_records(300, 20, seed=2), 26), (PROBLEMS["more columns than rows"], 60)):
        products.clear()
        Z = directions(10, data.p)
        path = perturbed_minimisers(get_loss("logistic"), data, lams, scales, Z, accuracy=1e-6)
        assert worst_ratio("logistic", data, lams, scales, Z, path, 1e-6) < 1.1
        assert sum(products) / 10 < most


def test_columns_that_depend_on_each_other_can_be_factored_in_single_precision():
    data, mixed = random_records(2000, 20, seed=5), np.random.default_rng(5).standard_normal((20, 240))
    records = batched_lbfgs.Records(get_loss("logistic"), Data(data.X @ mixed, data.y), single=True)
    solve = batched_lbfgs._mean_hessian(records, np.zeros((2, 2000), np.float32))(1e-14)
    assert np.isfinite(solve(np.ones((2, 240)))).all()


def test_large_margins_are_beyond_single_precision():
    """Records that stand at the kink of a model of norm 10^6, which single precision knows to a tenth."""
    data, Z, lams = random_records(50, 8, seed=3), directions(6, 8), np.full(3, 1e-7)
    for key in ("huber_hinge", "huber", "logistic"):
        for scales in (np.array([0.01, 0.03, 0.1]), np.array([1.0, 30.0, 1e3])):
            path = perturbed_minimisers(get_loss(key), for_loss(key, data), lams, scales, Z)
            assert worst_ratio(key, for_loss(key, data), lams, scales, Z, path, DISPLAY_ACCURACY) < 1.1


def test_what_is_finished_one_by_one_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(batched_lbfgs, "_MAX_STEPS", 1)
    newton, finished = perturbed.newton, []
    monkeypatch.setattr(perturbed, "newton", lambda *facts: (finished.append(1), newton(*facts))[1])
    facts = get_loss("logistic"), PROBLEMS["full rank"], np.full(1, 1e-4), np.ones(1), directions(4, 6)
    with pytest.raises(CancelledError):
        perturbed_minimisers(*facts, accuracy=1e-8, cancelled=lambda: bool(finished))
    assert len(finished) == 1


def test_risks_are_summed_in_double_precision():
    rng = np.random.default_rng(0)
    z, y = rng.normal(0, 3, (2, 300_000)).astype(np.float32), np.ones(300_000, np.float32)
    out = np.empty(2)
    kernels.means_of_rows(kernels.SINGLE_VALUE["logistic"], z, y, np.float32(0.0), out)
    assert np.allclose(
        out, get_loss("logistic").value(z.astype(float).ravel(), np.ones(600_000)).reshape(2, -1).mean(1), rtol=2e-8
    )


def test_what_does_not_converge_is_never_returned(monkeypatch):
    monkeypatch.setattr(batched_lbfgs, "_MAX_STEPS", 1)
    monkeypatch.setattr("dpcore.solvers.erm.smooth._MAX_NEWTON", 1)
    data = PROBLEMS["full rank"]
    with pytest.raises(Unconverged, match="gradient norm"):
        perturbed_minimisers(get_loss("logistic"), data, np.full(1, 1e-4), np.ones(1), directions(4, 6), accuracy=1e-9)


def test_display_is_in_single_precision_and_tight_accuracy_is_not(monkeypatch):
    made = []
    init = batched_lbfgs.Records.__init__
    monkeypatch.setattr(
        batched_lbfgs.Records, "__init__", lambda r, *facts: (made.append(facts[2]), init(r, *facts))[1]
    )
    data, lams, scales = random_records(200, 5, seed=1), np.full(3, 1e-2), np.array([1e-3, 1e-2, 0.1])
    for loss, accuracy, single in (("logistic", 2e-3, [True]), ("logistic", 1e-8, [False]), ("squared", 2e-3, [False])):
        made.clear()
        perturbed_minimisers(get_loss(loss), for_loss(loss, data), lams, scales, directions(4, 5), accuracy=accuracy)
        assert made == single
    # A small lam and little noise leave a small goal, but many records average much rounding out.
    made.clear()
    perturbed_minimisers(get_loss("logistic"), random_records(5000, 5, seed=1), lams / 100, scales, directions(4, 5))
    assert made == [True]
    # With hardly any of both the first goals are below what single precision tells from 0.
    Z = directions(4, 5)
    made.clear()
    lams, scales = np.full(4, 1e-6), np.array([1e-9, 1e-6, 1e-2, 1.2e-2])
    path = perturbed_minimisers(get_loss("logistic"), data, lams, scales, Z)
    assert made == [False, True] and worst_ratio("logistic", data, lams, scales, Z, path, 2e-3) < 1.1


@pytest.mark.parametrize("R", [1e-40, 1e40])
def test_records_of_any_size(R):
    data = random_records(200, 5, seed=1)
    Z, lams, scales = directions(4, 5), np.full(3, 1e-2), np.array([1e-3, 1e-2, 0.1])
    for accuracy, atol in ((DISPLAY_ACCURACY, 0.02), (1e-6, 1e-4)):
        one = perturbed_minimisers(get_loss("logistic"), data, lams, scales, Z, accuracy=accuracy)
        scaled = Data(data.X * R, data.y)
        two = perturbed_minimisers(get_loss("logistic"), scaled, lams * R**2, scales * R, Z, accuracy=accuracy)
        assert np.allclose(two.thetas * R, one.thetas, atol=atol)


def test_zero_noise_is_the_minimiser_itself_and_rows_of_zeros_are_ordinary():
    data = Data(np.vstack([PROBLEMS["full rank"].X, np.zeros((3, 6))]), np.append(PROBLEMS["full rank"].y, [1, 1, -1]))
    loss, Z = get_loss("logistic"), directions(4, 6)
    path = perturbed_minimisers(loss, data, np.full(2, 0.01), np.zeros(2), Z, accuracy=1e-9)
    assert np.allclose(path.thetas, minimise_smooth(loss, data, 0.01, 1e-12).theta, atol=1e-7)
    nothing = Data(np.zeros((5, 2)), np.ones(5))
    path = perturbed_minimisers(loss, nothing, np.ones(1), np.full(1, 2.0), directions(4, 2))
    assert np.allclose(path.thetas[0], -2.0 * directions(4, 2)) and np.allclose(path.risks, np.log(2.0))


def test_a_cancelled_walk_stops_at_once():
    data, asked = PROBLEMS["full rank"], []
    facts = get_loss("logistic"), data, np.full(50, 1e-3), np.geomspace(1e-4, 1.0, 50), directions(4, 6)

    def cancelled():
        asked.append(1)
        return len(asked) == 7

    with pytest.raises(CancelledError):
        perturbed_minimisers(*facts, cancelled=cancelled)
    assert len(asked) == 7
    asked.clear()
    perturbed_minimisers(*facts, cancelled=lambda: asked.append(1))
    assert len(asked) >= 50


@numba.njit
def _elementary(x, e, exps, logs):
    for i in range(x.size):
        exps[i], logs[i] = single_exp(x[i]), single_log1p_unit(e[i])


def test_exp_and_log_in_single_precision_are_accurate_to_rounding():
    x, e = np.linspace(-87, 88, 200_001).astype(np.float32), np.linspace(1e-6, 1, 200_001).astype(np.float32)
    exps, logs = np.empty_like(x), np.empty_like(e)
    _elementary(x, e, exps, logs)
    assert np.abs(exps / np.exp(x.astype(float)) - 1.0).max() < 3e-7
    assert np.abs(logs / np.log1p(e.astype(float)) - 1.0).max() < 3e-7
    _elementary(np.array([-1e6, 1e6], np.float32), e[:2], exps, logs)
    assert exps[:2] == pytest.approx([np.exp(-87.0), np.exp(88.0)], rel=1e-6)


@pytest.mark.parametrize("key", kernels.SINGLE_VALUE)
@pytest.mark.parametrize("label", [-1.0, 0.3, 1.0])
def test_losses_in_single_precision_are_those_in_double(key, label):
    loss = get_loss(key)
    z = np.concatenate([np.linspace(-12, 12, 4001), [0.0, 1e4, -1e4, 90.0, -90.0, 1e30, -1e30]]).astype(np.float32)
    y = np.full_like(z, np.sign(label) if loss.classification else label)
    for single, double in (("SINGLE_VALUE", "VALUE"), ("SINGLE_DERIVATIVE", "DERIVATIVE")):
        ours, theirs = np.empty_like(z), np.empty(len(z))
        kernels.apply(getattr(kernels, single)[key], z, y, np.float32(loss.shape), ours)
        kernels.apply(getattr(kernels, double)[key], z.astype(float), y.astype(float), loss.shape, theirs)
        assert np.allclose(ours, theirs, rtol=1e-6, atol=2e-7)
    # Where the curvature jumps, the two may stand on different sides.
    kink = np.minimum(np.abs(np.abs(y * z - 1.0) - loss.shape), np.abs(np.abs(z - y) - loss.shape))
    ours = np.empty_like(z)
    kernels.apply(kernels.SINGLE_CURVATURE[key], z, y, np.float32(loss.shape), ours)
    theirs = loss.curvature(z.astype(float), y.astype(float))
    smooth = (kink > 1e-6) | (key == "logistic")
    assert smooth.sum() > 3990 and np.allclose(ours[smooth], theirs[smooth], rtol=1e-6, atol=1e-7)


# One problem for each class


@every_smooth_loss
@pytest.mark.parametrize("lam, steps", [(1.0, 60), (1e-3, 60), (1e-3, 1)])
def test_each_class_has_its_own_minimiser(monkeypatch, key, lam, steps):
    """Models whose steps do not suffice are finished one by one; two classes at a time are moved together."""
    monkeypatch.setattr(batched_lbfgs, "_MAX_STEPS", steps)
    monkeypatch.setattr(one_vs_rest, "_ENTRIES", 2 * 4 * 80)
    loss, X = get_loss(key), random_records(80, 4, seed=0).X
    labels = np.where(np.random.default_rng(1).integers(4, size=80) == np.arange(3)[:, None], 1.0, -1.0)
    thetas = np.stack([certified.minimise(loss, Data(X, y), lam, tol=1e-7).theta for y in labels])
    noise = 0.1 * np.random.default_rng(2).standard_normal((3, 4, 4))
    noisy = perturbed_against_rest(loss, X, labels, lam, noise, start=thetas)
    for c, k in np.ndindex(3, 4):
        force, gradient = plain_gradients(key, Data(X, labels[c]), lam, noise[c, k], noisy[c, k])
        assert np.linalg.norm(gradient) <= DISPLAY_ACCURACY * np.linalg.norm(force) * (1 + 1e-6) + 1e-12
