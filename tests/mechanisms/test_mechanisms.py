"""What every registered mechanism owes, without naming it; new mechanisms are tested here by being registered."""

import dataclasses as dc
import inspect
import itertools
import pickle
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy.sparse import csr_array

import dpcore
from dpcore import Budget, Data, Domain, NotApplicable, Spec, Unconverged
from dpcore.core.cancel import never
from dpcore.core.losses import LOSSES, get_loss
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.base import AdditiveMechanism, Mechanism
from dpcore.mechanisms.gradient.base import GradientPerturbation
from dpcore.mechanisms.mean.generalized_gaussian import GeneralizedGaussian
from tests.nights import each
from tests.problems import (
    ADDING,
    BALL,
    CLASSES,
    CLASSIFYING,
    KINKED,
    LOCATION,
    ONE_PASS,
    POINTS,
    PROBLEMS,
    UNREGULARISED,
    for_loss,
)

KEYS = dpcore.list_mechanisms()
# Draws of columns from weights, on the simplex, at a temperature.
DRAWING = [key for key in KEYS if key not in ADDING + UNREGULARISED + POINTS + CLASSIFYING]
# Noise in the objective, whose volume is charged.
CHARGED = [key for key in KEYS if key.startswith("objective") or key in CLASSIFYING]
BUDGET = Budget(1.0, 1e-5)
every_mechanism = pytest.mark.parametrize("key", KEYS)
every_adding = pytest.mark.parametrize("key", ADDING)
# What no mechanism of the family can guarantee, and why: a word of the refusal.
REFUSED = {
    (key, loss): reason
    for key in KEYS
    if key.startswith("objective")
    for loss, reason in (
        *((loss, "kinks") for loss in KINKED),
        ("squared", "bounded slope"),
        *((loss, "full rank") for loss in LOCATION),
    )
}
REFUSED |= {(key, "linear"): "no use for linear costs" for key in ADDING}
REFUSED |= {("simplex_sampling", loss): "linear prediction" for loss in LOCATION}
REFUSED |= {("simplex_sampling", loss): "bounded second derivative" for loss in KINKED}
REFUSED |= {("ftrl", loss): "linear costs" for loss in BALL}
REFUSED |= {(key, loss): "linear prediction" for key in UNREGULARISED for loss in LOCATION}
REFUSED |= {(key, loss): "kinks" for key in UNREGULARISED if key != "phased_sgd" for loss in KINKED}
REFUSED |= {(key, "linear"): "no use for linear costs" for key in UNREGULARISED}
REFUSED |= {(key, loss): "learns one vector" for key in ADDING for loss in CLASSES}
REFUSED |= {(key, loss): "linear prediction" for key in ("simplex_sampling", *UNREGULARISED) for loss in CLASSES}
REFUSED |= {("ftrl", loss): "linear costs" for loss in CLASSES}
REFUSED |= {(key, loss): "releases the mean" for key in POINTS for loss in LOSSES if loss != "mean"}
REFUSED |= {(key, loss): "a matrix for each class" for key in CLASSIFYING for loss in LOSSES if loss not in CLASSES}
PAIRS = [(key, loss) for key in KEYS for loss in LOSSES if (key, loss) not in REFUSED]
every_pair = pytest.mark.parametrize("key, loss", PAIRS)


def own_spec(key: str, loss: str, n: int, p: int, lam: float | str, *, R: float = 1.0) -> Spec:
    """A problem in the geometry that the mechanism is made for; a number lam is 0 where a set takes its place."""
    mechanism = dpcore.make_mechanism(key)
    lam = lam if isinstance(lam, str) or key not in UNREGULARISED + POINTS else 0.0
    return Spec(loss, n, p, lam, Domain(mechanism.q, R), set=mechanism.set)


def spec_for(key: str, data: Data, loss: str | None = None) -> Spec:
    # So warm that two records and one of three columns allow a draw; so much that the volume of two is paid for.
    lam = 20.0 if key in DRAWING else 1.0 if key in CLASSIFYING else 0.2
    return own_spec(key, loss or mechanism_class(key).usual_loss, data.n, data.p, lam)


def own_records(key: str, data: Data) -> Data:
    """The records with labels that the mechanism takes."""
    return for_loss(CLASSES[0], data) if key in CLASSIFYING else data


def facts(key: str) -> dict[str, int]:
    """What `calibrate` must be told besides what all mechanisms are."""
    return {"classes": 2} if key in CLASSIFYING else {}


def needs_delta(key: str) -> bool:
    """Whether the mechanism guarantees nothing without delta."""
    try:
        dpcore.calibrate(key, n=100, p=2, epsilon=1.0, **facts(key))
    except NotApplicable:
        return True
    return False


def test_the_registry_is_what_it_says():
    assert len(KEYS) == len(set(KEYS)) > 0
    assert all(mechanism_class(key)().key == key for key in KEYS)
    with pytest.raises(ValueError, match=r"mechanism must be .*output_gaussian.* got 'oracle'"):
        dpcore.make_mechanism("oracle")
    with pytest.raises(ValueError, match=r"knob 'steps'.* accounting"):
        dpcore.make_mechanism("output_gaussian", steps=3)
    with pytest.raises(ValueError, match=r"accounting must be .*tight, published, classical, kamath, got 'loose'"):
        dpcore.make_mechanism("output_gaussian", accounting="loose")


@every_mechanism
def test_calibration_sees_no_data(key):
    assert list(inspect.signature(mechanism_class(key).calibrate).parameters) == ["self", "spec", "budget"]
    public = {f.name: f.type for f in dc.fields(Spec)} | {f.name: f.type for f in dc.fields(Budget)}
    assert not any("ndarray" in str(kind) or "Array" in str(kind) or "Data" in str(kind) for kind in public.values())


@every_mechanism
def test_docstrings_say_what_is_guaranteed_and_what_is_not(key):
    text = inspect.getdoc(mechanism_class(key))
    for part in ("Source:", "Randomness:", "Guarantee:", "Not protected:"):
        assert part in text, f"{key} lacks {part}"


@pytest.mark.pairwise
@every_pair
@pytest.mark.parametrize("lam", [0.05, "auto"])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 10.0])
def test_plans_are_frozen_facts(key, loss, lam, epsilon):
    requested, spec = Budget(epsilon, 1e-6), own_spec(key, loss, 500, 7, lam)
    mechanism = dpcore.make_mechanism(key)
    try:
        plan = mechanism.calibrate(spec, requested)
    except NotApplicable as error:
        if key == "simplex_sampling":
            assert lam == 0.05 and epsilon <= 1.0 and "one column" in str(error)
        else:
            assert key in CHARGED and (epsilon, lam) == (0.01, 0.05) and "needs lam > " in str(error)
        return
    # A stream's temperature is its noise: set by hand, it costs what it costs.
    assert plan.spent <= requested or (key, lam) == ("ftrl", 0.05)
    assert plan.scale > 0 and plan.steps >= 1 and plan.ledger
    assert isinstance(plan.spec.lam, float) and (lam == "auto" or plan.spec.lam == spec.lam)
    assert plan == mechanism.calibrate(spec, requested)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert hash(plan) == hash(pickle.loads(pickle.dumps(plan)))
    names = {type(plan.mechanism).__name__: type(plan.mechanism), "inf": np.inf}
    names |= vars(dpcore.core.privacy) | vars(dpcore.core.specification) | vars(dpcore.core.sets)
    names |= vars(dpcore.mechanisms.plan)
    assert eval(repr(plan), names) == plan, "repr is a constructor"
    assert mechanism.attack_limit(plan) >= 0.5
    weak = plan.weakened(0.5)
    assert weak.scale == plan.scale / 2 and dc.replace(weak, scale=plan.scale) == plan
    assert mechanism.attack_limit(weak) > mechanism.attack_limit(plan)


@every_adding
def test_noise_falls_with_every_resource(key):
    # The rules for steps know n and epsilon too; by hand, the noise of gradients does not depend on lam.
    gradient = issubclass(mechanism_class(key), GradientPerturbation)
    mechanism = dpcore.make_mechanism(key, **({"steps": 50} if gradient else {}))

    def scale(n=4_000, lam=0.1, R=1.0, epsilon=1.0, delta=1e-6):  # random batches of the same share of n and 2 n
        return mechanism.calibrate(Spec("logistic", n, 4, lam, Domain(R=R)), Budget(epsilon, delta)).scale

    assert scale(epsilon=2.0) < scale()
    assert scale(delta=1e-4) < scale() if needs_delta(key) else scale(delta=0.0) == scale()
    assert scale(n=8_000) <= scale() / 2 * (1 + 1e-6)
    assert scale(lam=0.2) == scale() if gradient else scale(lam=0.2) < scale()
    assert scale(R=3.0) >= scale() * 3 * (1 - 1e-6)


@pytest.mark.parametrize("key, name", each(2, itertools.product(KEYS, PROBLEMS)))
def test_releases_repeat_by_seed_and_many_agrees_with_one(key, name):
    mechanism, data = dpcore.make_mechanism(key), own_records(key, PROBLEMS[name])
    try:
        plan = mechanism.calibrate(spec_for(key, data), BUDGET)
    except NotApplicable as error:
        assert key in ONE_PASS and data.n == 2 and "needs at least" in str(error)
        return
    prepared = mechanism.prepare(plan, data)
    many = mechanism.release_many(plan, prepared, [np.random.default_rng(s) for s in (1, 2, 1)])
    one = np.array([mechanism.release(plan, prepared, np.random.default_rng(s)) for s in (1, 2, 1)])
    # Where a solver stops is its own affair: within tol of the exact minimiser.
    rounding = 1e-12 * np.abs(one).max()
    # A stream's release is what was played, step by step.
    shape = (2, data.p + 1, data.p + 1) if key in CLASSIFYING else (data.n if key == "ftrl" else data.p,)
    assert many.shape == (3, *shape)
    many, one = many.reshape(3, -1), one.reshape(3, -1)
    assert np.linalg.norm(many - one, axis=1).max() <= 2.0 * plan.tol + rounding
    assert np.array_equal(one[0], one[2])
    if key in ADDING + CLASSIFYING or min(data.n, data.p) > 4:  # where few things can be drawn, two draws may agree
        assert np.linalg.norm(one[0] - one[1]) > 1e3 * plan.tol


def few_entries(key: str) -> Data:
    """Two entries of five are 0."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.05, 0.25, (60, 4)) * (rng.random((60, 4)) < 0.6)
    return own_records(key, Data(X, np.where(X @ [1.0, -1.0, 0.5, -0.5] > 0.0, 1.0, -1.0)))


# Frank-Wolfe's vertices by draws look at the columns of sparse records in another order (test_scale).
@pytest.mark.parametrize("key", [key for key in KEYS if key != "frank_wolfe_polytope"])
def test_sparse_records_release_the_model_of_the_table(key):
    data = few_entries(key)
    plan = dpcore.make_mechanism(key).calibrate(spec_for(key, data), BUDGET)
    sides = [plan.mechanism.prepare(plan, Data(X, data.y)) for X in (data.X, csr_array(data.X))]
    table, sparse = (plan.mechanism.release(plan, side, np.random.default_rng(3)) for side in sides)
    assert np.abs(sparse - table).max() <= 2.0 * plan.tol + 1e-12 * np.abs(table).max()


@pytest.mark.parametrize("key", [key for key in KEYS if mechanism_class(key).draws is not Mechanism.draws])
def test_draws_stand_around_a_run_without_noise_and_neither_plans_nor_further_runs_change_them(key):
    data, mechanism = few_entries(key), dpcore.make_mechanism(key)
    plans = [mechanism.calibrate(spec_for(key, data), Budget(epsilon, 1e-5)) for epsilon in (1.0, 1e12)]
    prepared = mechanism.prepare_many(plans, data, never)

    def drawn(count, first=0, cancelled=never):
        rngs = [np.random.default_rng(seed) for seed in range(count)]
        return plans[first].mechanism.draws(plans[first:], prepared[first:], rngs, cancelled)

    made = drawn(3)
    assert made.thetas.shape == (2, 6, *made.centres.shape[1:]) and len(made.centres) == 2
    noise = np.abs(made.thetas - made.centres[:, None]).reshape(2, -1).max(axis=1)
    assert 20.0 * noise[1] < noise[0], "hardly any noise at epsilon = 1e12"
    assert len(np.unique(made.thetas[0].reshape(6, -1), axis=0)) > 1
    for other, mine in ((drawn(3, first=1).thetas[0], made.thetas[1]), (drawn(2).thetas, made.thetas[:, :4])):
        assert np.abs(other - mine).max() <= 1e-5 * np.abs(mine).max()
    if not isinstance(plans[0].mechanism, (AdditiveMechanism, GeneralizedGaussian)):  # they add noise to what is there
        with pytest.raises(CancelledError):
            drawn(3, cancelled=lambda: True)


@pytest.mark.parametrize("key, loss", [pair for pair in PAIRS if pair[0] in ADDING])
def test_without_noise_the_optimum_comes_back(key, loss):
    """epsilon to infinity: the release tends to the minimiser of J."""
    data = for_loss(loss, PROBLEMS["full rank"])
    # Random batches err without noise too, unless they hold all records.
    mechanism = dpcore.make_mechanism(key, **({"batch": data.n} if key == "noisy_sgd" else {}))
    plan = mechanism.calibrate(spec_for(key, data, loss), Budget(1e10, 1e-5))
    prepared = mechanism.prepare(plan, data)
    theta = mechanism.release(plan, prepared, np.random.default_rng(0))

    def objective(at):
        z = get_loss(loss).predictions(data, at[None])[0]
        return get_loss(loss).value(z, data.y).mean() + plan.spec.lam * (at @ at) / 2

    # mu grows like sqrt(2 epsilon): the noise is about Delta / 140,000 per coordinate, and J has its minimum there.
    rng = np.random.default_rng(1)
    for step in (0.3, 0.03):
        for _ in range(20):
            away = rng.standard_normal(data.p)
            assert objective(theta) < objective(theta + step * away / np.linalg.norm(away))


@every_mechanism
def test_records_and_certificates_are_checked_again_where_the_data_comes_in(key):
    data = own_records(key, PROBLEMS["full rank"])
    mechanism = dpcore.make_mechanism(key)
    plan = mechanism.calibrate(spec_for(key, data), BUDGET)
    with pytest.raises(ValueError, match=r"rows beyond it"):
        mechanism.prepare(plan, Data(70 * data.X, data.y))
    with pytest.raises(ValueError, match="as calibrated"):
        mechanism.prepare(plan, Data(data.X[:50], data.y[:50]))
    prepared = mechanism.prepare(plan, data)
    for distance in (1e9, float("nan")):
        with pytest.raises(Unconverged, match="nothing was released"):
            mechanism.release(plan, dc.replace(prepared, distance=distance), np.random.default_rng(0))
        with pytest.raises(Unconverged, match="nothing was released"):
            mechanism.release_many(plan, dc.replace(prepared, distance=distance), [np.random.default_rng(0)])


@every_mechanism
def test_log_ratios_are_those_of_what_an_observer_sees(key):
    """The mean of e^ratio over transcripts on the other data set is 1, either way: five standard errors of 4,000 runs,
    false alarm below 1e-5. A ratio of another size, or with a step left out, has another mean."""
    mechanism = dpcore.make_mechanism(key).audited()
    plan = mechanism.calibrate(mechanism.worst_spec, BUDGET)
    zero, one = (mechanism.prepare(plan, data) for data in mechanism.worst_pair(plan))
    for side, sign in ((zero, 1.0), (one, -1.0)):
        seen = mechanism.transcripts(plan, side, [np.random.default_rng([5, run]) for run in range(4_000)])
        ratio = np.exp(sign * mechanism.log_ratio(plan, zero, one, seen))
        assert ratio.std() > 0.01 and abs(ratio.mean() - 1.0) < 5.0 * ratio.std() / np.sqrt(4_000)


ENDS = ((1e-98, 1e-100, 1e100), (1e-98, 1e100, 1e-100), (1e100, 1e-100, 1e100), (1e100, 1e100, 1e-100))


@every_mechanism
@pytest.mark.parametrize("epsilon, lam, R", ENDS)
def test_the_ends_of_every_range_give_a_finite_scale_or_the_reason(key, epsilon, lam, R):
    for delta in (1e-297, 0.999):
        try:
            lam = "auto" if key in UNREGULARISED + POINTS else lam
            plan = dpcore.calibrate(key, n=2, p=1, epsilon=epsilon, delta=delta, lam=lam, R=R, **facts(key))
        except NotApplicable as error:
            if key == "noisy_sgd":
                assert epsilon < 1e-9 and "subsampled accounting" in str(error)
            elif key == "simplex_sampling":
                assert "between 1e-100 and 1e100" in str(error) or "one column" in str(error)
            elif key == "phased_sgd":
                assert "records, " in str(error) and "needs at least" in str(error)
            elif key in ONE_PASS:
                assert f"{key} needs R times radius between 1e-50 and 1e+50, got " in str(error)
            elif key == "ftrl":
                assert "no useful guarantee" in str(error)
            else:
                assert key in CHARGED and epsilon * lam < 1.0 < R and "needs lam > " in str(error)
        else:
            assert 0 < plan.scale < np.inf


@every_mechanism
def test_a_guarantee_that_does_not_exist_is_refused(key):
    mechanism = dpcore.make_mechanism(key)
    if needs_delta(key):
        with pytest.raises(NotApplicable, match="delta > 0"):
            mechanism.calibrate(own_spec(key, mechanism.usual_loss, 100, 3, 0.1), Budget(1.0))
    spec = spec_for(key, PROBLEMS["full rank"])
    if key not in UNREGULARISED:  # vertices have a length in every norm
        in_l2 = key in ADDING + CLASSIFYING
        other, norm = (1.5, "q") if key in POINTS else (np.inf, "2") if in_l2 else (2.0, "inf")
        with pytest.raises(NotApplicable, match=rf"\|\|x\|\|_{norm} <= R"):
            mechanism.calibrate(dc.replace(spec, domain=Domain(other)), BUDGET)
    with pytest.raises(NotApplicable, match=r"got set|without a radius"):
        elsewhere = "simplex" if key in ADDING + POINTS + CLASSIFYING else "ball"
        mechanism.calibrate(dc.replace(spec, set=elsewhere), BUDGET)


@every_mechanism
def test_losses_are_refused_with_their_reason_and_only_those_that_are_listed(key):
    mechanism = dpcore.make_mechanism(key)
    for loss in LOSSES:
        if (key, loss) in REFUSED:
            with pytest.raises(NotApplicable, match=REFUSED[key, loss]):
                mechanism.calibrate(own_spec(key, loss, 500, 7, 0.5), BUDGET)
        else:
            assert mechanism.calibrate(own_spec(key, loss, 500, 7, 0.5), BUDGET).spec.loss == loss


@pytest.mark.parametrize("key, loss", [pair for pair in PAIRS if pair[0].startswith("output")])
def test_a_radius_constrains_the_model_before_the_noise(key, loss):
    """The minimiser over the ball: inside it, and no point of the ball is better."""
    data = for_loss(loss, PROBLEMS["full rank"])
    mechanism = dpcore.make_mechanism(key)
    radius = 0.05 if loss in LOCATION else 0.2
    plan = mechanism.calibrate(Spec(loss, data.n, data.p, 0.01, radius=radius), BUDGET)
    theta = mechanism.prepare(plan, data).theta
    assert np.linalg.norm(theta) == pytest.approx(radius, rel=1e-6)

    def objective(at):
        z = get_loss(loss).predictions(data, at[None])[0]
        return get_loss(loss).value(z, data.y).mean() + plan.spec.lam * (at @ at) / 2

    rng = np.random.default_rng(2)
    for size in (radius, 0.1 * radius):
        for _ in range(50):
            other = theta + size * rng.standard_normal(data.p)
            assert objective(theta) <= objective(other * min(1.0, radius / np.linalg.norm(other))) + 1e-9


@every_mechanism
def test_rows_and_labels_just_beyond_their_bounds_are_refused(key):
    """A millionth too long; a label that is too small rather than too large."""
    mechanism = dpcore.make_mechanism(key)
    X, y = np.array([[1.0 + 1e-6, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([0.5, -0.2, 0.1])
    loss = mechanism.usual_loss if key in ("ftrl", *POINTS, *CLASSIFYING) else "huber"
    plan = mechanism.calibrate(own_spec(key, loss, 3, 2, 20.0), BUDGET)
    with pytest.raises(ValueError, match="1 of 3 rows"):
        mechanism.prepare(plan, Data(X, y))
    rule = "be whole numbers from 0 to 1, got " if key in CLASSIFYING else r"lie in \[-1, 1\], got 1"
    for label in (-100.0, -1.0 - 1e-9, 1.0 + 1e-9):
        data = Data(np.minimum(X, 1.0), [1.0, label, 0.0])
        if get_loss(plan.spec.loss).task == "location":  # which reads no label
            mechanism.prepare(plan, data)
            continue
        with pytest.raises(ValueError, match=f"y must {rule}"):
            mechanism.prepare(plan, data)
