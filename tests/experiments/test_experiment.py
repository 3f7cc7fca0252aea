"""Experiments: identity, caching, reproducibility and agreement of executors."""

import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpcore
from dpcore import Axis, Experiment, Problem, data
from dpcore.core.cache import SharedCache
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.experiments import cell as cells
from dpcore.experiments.run import COLUMNS
from dpcore.mechanisms import problem
from dpcore.mechanisms.output.gaussian import OutputGaussian
from dpcore.solvers import infimum, minimise_in_ball
from tests.problems import LEARNING

from ..flat_fields import changed, experiment_of

SMALL = Experiment(Problem("synthetic", n=150), sweep=Axis("epsilon", (0.1, 1.0, 10.0)), repetitions=6)
VARYING = ["seconds"]


@pytest.fixture(autouse=True)
def fresh_cells():
    cells._CELLS.clear()


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Bit for bit; a column that also holds empty cells has another dtype."""
    one, other = one.drop(columns=VARYING), other.drop(columns=VARYING)
    pd.testing.assert_frame_equal(one, other, check_exact=True, check_dtype=False)


def test_json_and_pickle_round_trip():
    mechanisms = (dpcore.make_mechanism("output_gaussian", accounting="published"), "output_gaussian")
    rich = Experiment(
        Problem(lam=0.3, radius=3.0, seed=4), mechanisms=mechanisms, sweep=Axis("n", (100, 200)), epsilon=2.0
    )
    both = Experiment(Problem(lam="population"), mechanisms=tuple(LEARNING))
    for one in (SMALL, rich, both):
        assert Experiment.from_json(one.to_json()) == one
        assert pickle.loads(pickle.dumps(one)) == one
        assert Experiment.from_json(one.to_json()).digest() == one.digest()


def test_the_table_has_a_row_per_point_and_metric():
    table = dpcore.run(SMALL)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 6 and set(table.metric) == {"accuracy", "excess_empirical_risk"}
    assert (table.status == "ok").all() and table.exact.all()
    excess = table[table.metric == "excess_empirical_risk"]
    assert (excess["mean"] <= excess.bound).all() and (excess.bound_form == "upper").all()
    assert (table.q10 <= table.q50).all() and (table.q50 <= table.q90).all()


@pytest.mark.parametrize(
    "change",
    [
        *({"theta_norm": 2.0}, {"radius": 1.5}, {"lam": 0.2}, {"delta": 1e-4}, {"n": 151}, {"p": 9}, {"seed": 1}),
        *({"loss": "huber_hinge"}, {"mechanisms": ("output_gamma",)}),
    ],
)
def test_caches_tell_apart_what_differs_in_one_field(change):
    """Fixed lam, so that theta_norm enters through the bound and the model it compares with only."""
    base = Experiment(Problem("synthetic", n=150, lam=0.1), sweep=Axis("epsilon", (1.0,)), repetitions=4)
    dpcore.run(base)
    beside = dpcore.run(changed(base, **change))
    cells._CELLS.clear()
    problem._REFERENCES.clear()
    same(beside, dpcore.run(changed(base, **change)))
    column = "bound" if "theta_norm" in change else "mean"
    assert not np.array_equal(beside[column], dpcore.run(base)[column])


def test_fewer_repetitions_are_a_prefix_and_noise_is_shared_along_epsilon():
    """The noise of repetition r depends on seed, mechanism and r alone."""
    one = [generator(3, "output_gaussian", r).standard_normal(4) for r in range(5)]
    other = [generator(3, "output_gaussian", r).standard_normal(4) for r in range(3)]
    assert np.array_equal(one[:3], other)
    assert not np.array_equal(one[0], generator(4, "output_gaussian", 0).standard_normal(4))
    assert not np.array_equal(one[0], generator(3, "output_gamma", 0).standard_normal(4))
    full = dpcore.run(SMALL)
    part = dpcore.run(Experiment(Problem("synthetic", n=150), sweep=Axis("epsilon", (1.0,)), repetitions=6))
    shared = [c for c in COLUMNS if c not in VARYING]
    pd.testing.assert_frame_equal(
        full[full.x == 1.0][shared].reset_index(drop=True), part[shared], check_exact=False, rtol=1e-9
    )


@pytest.mark.parametrize("change", [{}, {"theta_norm": 2.0, "loss": "huber_hinge"}, {"n": 90, "delta": 1e-4}])
def test_a_cell_equals_its_parts_put_together_by_hand(change):
    """Every number of a row, rebuilt from the public pieces; runs in one process, so that caches may confuse them."""
    facts = {"source": "synthetic", "n": 150, "loss": "logistic", "delta": 1e-6, "theta_norm": 10.0, "seed": 3} | change
    table = dpcore.run(experiment_of(sweep=Axis("epsilon", (0.3, 3.0)), repetitions=7, lam=0.05, **facts))
    split = data.load("synthetic", facts["n"], 8, 3)
    loss = get_loss(facts["loss"])
    reference = infimum(loss, split.train, 1_000.0)
    best = minimise_in_ball(loss, split.train, facts["theta_norm"])
    mechanism = dpcore.make_mechanism("output_gaussian")
    for epsilon in (0.3, 3.0):
        spec = dpcore.Spec(facts["loss"], facts["n"], 8, 0.05, theta_norm=facts["theta_norm"])
        plan = mechanism.calibrate(spec, dpcore.Budget(epsilon, facts["delta"]))
        prepared = mechanism.prepare(plan, split.train)
        rngs = [generator(3, "output_gaussian", r) for r in range(7)]
        thetas = mechanism.release_many(plan, prepared, rngs)
        accuracies = [np.mean(split.test.y * (split.test.X @ theta) > 0) for theta in thetas]
        excesses = [loss.value(split.train.X @ t, split.train.y).mean() - reference.risk for t in thetas]
        for metric, draws in (("accuracy", accuracies), ("excess_empirical_risk", excesses)):
            row = table[(table.x == epsilon) & (table.metric == metric)].iloc[0]
            assert np.allclose([row.q10, row.q50, row.q90], np.quantile(draws, [0.1, 0.5, 0.9]), rtol=1e-7, atol=1e-9)
        row = table[(table.x == epsilon) & (table.metric == "accuracy")].iloc[0]
        sd = plan.scale * np.linalg.norm(split.test.X, axis=1)
        margins = split.test.y * (split.test.X @ prepared.theta)
        assert row["mean"] == pytest.approx(stats.norm.cdf(margins / sd).mean(), rel=1e-9)
        assert row.reference == np.mean(split.test.y * (split.test.X @ best.theta) > 0)
        assert (row.scale, row.spent_epsilon, row.spent_delta) == (plan.scale, epsilon, facts["delta"])
        row = table[(table.x == epsilon) & (table.metric == "excess_empirical_risk")].iloc[0]
        bounds = [b.value for b in mechanism.bounds(plan) if (b.quantity, b.form) == (row.metric, "upper")]
        assert row.bound == pytest.approx(bounds[0] + best.risk - reference.risk, abs=1e-8)
        assert row.reference_gap == reference.gap
        sd = plan.scale * np.linalg.norm(split.train.X, axis=1)
        mean = loss.gaussian_mean(split.train.X @ prepared.theta, split.train.y, sd).mean()
        assert row["mean"] == pytest.approx(mean - reference.risk, rel=1e-7)


@pytest.mark.parametrize(
    "axis", [Axis("n", (100, 400)), Axis("delta", (1e-8, 1e-4)), Axis("lam", (0.01, 0.1)), Axis("p", (2, 5))]
)
def test_other_axes(axis):
    table = dpcore.run(Experiment(Problem("synthetic", n=150, lam=0.05), sweep=axis, repetitions=3))
    assert list(table.x) == [v for v in axis.values for _ in range(2)]
    assert list(table[axis.name]) == list(table.x)
    assert table["mean"].nunique() == 4


def test_lam_takes_the_names_of_rules():
    """Each rule reaches the plan: the table shows the number that the mechanism resolves it to."""
    for rule in ("auto", "published", "population"):
        table = dpcore.run(changed(SMALL, lam=rule))
        spec = dpcore.Spec("logistic", 150, 8, rule)
        plans = [dpcore.make_mechanism("output_gaussian").calibrate(spec, dpcore.Budget(e, 1e-6)) for e in (0.1, 1, 10)]
        assert list(table.lam[::2]) == [plan.spec.lam for plan in plans]


def test_the_radius_reaches_the_plan_and_the_reference(monkeypatch):
    """F* is taken over the ball of the radius, or over all models, and the mechanism is told of the constraint."""
    specs = []
    engine = dpcore.make_mechanism("output_gaussian").__class__
    calibrate = engine.calibrate
    monkeypatch.setattr(engine, "calibrate", lambda self, spec, b: specs.append(spec) or calibrate(self, spec, b))
    base = Experiment(
        Problem("synthetic", n=150, lam=10.0, theta_norm=4.0), sweep=Axis("epsilon", (1.0,)), repetitions=2
    )
    train, loss = data.load("synthetic", 150, 8, 0).train, get_loss("logistic")
    for radius in (None, 2.0, 9.0):
        row = dpcore.run(changed(base, radius=radius)).iloc[1]
        assert row.metric == "excess_empirical_risk" and specs[-1].radius == radius
        best = minimise_in_ball(loss, train, radius or 1_000.0)
        mechanism = dpcore.make_mechanism("output_gaussian")
        plan = mechanism.calibrate(specs[-1], dpcore.Budget(1.0, 1e-6))
        theta = mechanism.prepare(plan, train).theta
        assert row.noiseless == pytest.approx(loss.value(train.X @ theta, train.y).mean() - best.risk, abs=1e-9)


def test_bounds_compare_with_a_model_of_the_ball_and_excess_is_measured_from_all_that_may_be_released():
    """One solve serves both where the best model of all lies in the ball, or where models are kept in a set."""
    inside, outside = (Problem("synthetic", n=2_000, theta_norm=B) for B in (10.0, 2.0))
    assert inside.comparator() is inside.reference() and inside.reference().attained
    assert outside.reference() is inside.reference()
    assert np.linalg.norm(outside.comparator().theta) == pytest.approx(2.0) and outside.comparator().radius == 2.0
    assert outside.comparator().risk > outside.reference().risk + 0.01
    for radius, kept in ((1.0, 1.0), (4.0, 2.0)):
        bounded = replace(outside, radius=radius)
        assert np.linalg.norm(bounded.reference().theta) == pytest.approx(radius)
        assert np.linalg.norm(bounded.comparator().theta) == pytest.approx(kept)
    for source, loss in (("synthetic_mixture", "huber"), ("synthetic_sparse", "squared")):
        in_set = Problem(source, n=300, p=12, loss=loss)
        assert in_set.comparator() is in_set.reference()
    separable = Problem("wine")
    assert separable.reference().risk == 0.0 and not separable.reference().attained
    assert np.linalg.norm(separable.comparator().theta) <= 20.0 * (1.0 + 1e-12) and separable.comparator().attained


def test_what_does_not_apply_is_a_row_with_its_reason():
    classical = dpcore.make_mechanism("output_gaussian", accounting="classical")
    table = dpcore.run(
        Experiment(
            Problem("synthetic", n=150), mechanisms=(classical,), sweep=Axis("epsilon", (0.5, 2.0)), repetitions=2
        )
    )
    refused = table[table.x == 2.0].iloc[0]
    assert refused.status == "not applicable" and "epsilon < 1" in refused.reason and pd.isna(refused["mean"])
    assert (table[table.x == 0.5].status == "ok").all()
    nothing = dpcore.run(Experiment(Problem("synthetic", n=150, delta=0.0), sweep=Axis("epsilon", (0.5, 2.0))))
    assert (nothing.status == "not applicable").all() and len(nothing) == 2


def test_a_mechanism_that_does_not_apply_does_not_disturb_the_others():
    keys = ("output_gaussian", "output_gamma")
    table = dpcore.run(changed(replace(SMALL, mechanisms=keys), delta=0.0))
    gaussian, gamma = (table[table.mechanism == key].reset_index(drop=True) for key in keys)
    assert (gaussian.status == "not applicable").all() and gaussian.reason.str.contains("delta > 0").all()
    assert list(gaussian.x) == [0.1, 1.0, 10.0]
    same(gamma, dpcore.run(changed(replace(SMALL, mechanisms=("output_gamma",)), delta=0.0)))
    swept = dpcore.run(replace(SMALL, mechanisms=keys, sweep=Axis("delta", (0.0, 1e-6))))
    assert list(swept.status) == ["not applicable", *["ok"] * 6]


MANY = replace(changed(SMALL, lam=0.1), sweep=Axis("n", (60, 70, 80, 90)))


def after(calls: int):
    """A question that is answered with yes after so many calls, and only once: the run must remember."""
    left = iter([False] * calls + [True])
    return lambda: next(left, False)


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(1)])
def test_a_cell_that_cannot_be_certified_costs_the_table_no_other(monkeypatch, executor):
    full = dpcore.run(MANY)
    cells._CELLS.clear()
    prepare = OutputGaussian.prepare_many

    def refuse(mechanism, plans, train, cancelled):
        if train.n == 70:
            raise dpcore.Unconverged("the solver reached 1e-3, the privacy proof needs 1e-9; nothing was released")
        return prepare(mechanism, plans, train, cancelled)

    monkeypatch.setattr(OutputGaussian, "prepare_many", refuse)
    table = dpcore.run(MANY, executor)
    assert list(table.status) == ["ok", "ok", "unconverged", *["ok"] * 4]
    assert table.n[2] == 70 and table.reason[2].startswith("the solver reached 1e-3")
    same(
        table[table.status == "ok"].drop(columns="reason").reset_index(drop=True),
        full[full.n != 70].drop(columns="reason").reset_index(drop=True),
    )


def test_what_is_done_when_a_run_is_cancelled_stays_and_the_rest_says_so():
    full = dpcore.run(MANY)
    cells._CELLS.clear()
    done = []
    # A cell that is computed here asks before it begins, before its solve and before its evaluation.
    part = dpcore.run(MANY, on_cell=lambda place, rows: done.append(place), cancelled=after(2 * 3))
    same(part[:4], full[:4])
    assert list(part.x[4:]) == [80, 90] and (part.status[4:] == "cancelled").all() and part["mean"][4:].isna().all()
    assert (part.reason[4:] == "the run was cancelled before this point was computed").all()
    assert list(part.n[4:]) == [80, 90] and done == [0, 1]
    misses = cells._CELLS.misses
    same(dpcore.run(MANY), full)
    assert cells._CELLS.misses == misses + 2, "what was done is not computed again"


@pytest.mark.parametrize("calls", [0, 1, 2, 4])
def test_a_cell_is_given_up_between_its_solves_and_nothing_of_it_is_kept(calls):
    """Asked before the cell, before each of its three solves (lam = "auto") and before the evaluation."""
    table = dpcore.run(SMALL, cancelled=after(calls))
    assert (table.status == "cancelled").all() and list(table.x) == [0.1, 1.0, 10.0]
    assert len(cells._CELLS) == 0
    assert (dpcore.run(SMALL, cancelled=lambda: False).status == "ok").all()


def test_whoever_waits_for_a_cell_that_another_gives_up_computes_it(monkeypatch):
    begun, given_up = threading.Event(), threading.Event()
    prepare = OutputGaussian.prepare_many

    def slow(*arguments):
        begun.set()
        given_up.wait(10)
        return prepare(*arguments)

    monkeypatch.setattr(OutputGaussian, "prepare_many", slow)
    with ThreadPoolExecutor(2) as threads:
        impatient = threads.submit(dpcore.run, SMALL, cancelled=given_up.is_set)
        assert begun.wait(10)
        patient = threads.submit(dpcore.run, SMALL)
        given_up.set()
        assert (impatient.result().status == "cancelled").all()
        assert (patient.result().status == "ok").all()


def test_a_cancelled_run_in_processes_keeps_what_they_have_begun_and_cancels_the_rest():
    """One worker and a short queue: of twelve cells the last is never begun when the first row stops the run."""
    stop = threading.Event()
    many = replace(MANY, sweep=Axis("n", tuple(range(60, 72))))
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as processes:  # begins at once
        table = dpcore.run(many, processes, on_cell=lambda place, rows: stop.set(), cancelled=stop.is_set)
    assert list(table.x.unique()) == list(many.sweep.values)
    assert (table.status[:2] == "ok").all() and table.status.iloc[-1] == "cancelled"
    done = table[table.status == "ok"].drop(columns=[*VARYING, "reason"])
    full = dpcore.run(many)[: len(done)].drop(columns=[*VARYING, "reason"])
    pd.testing.assert_frame_equal(done, full, rtol=1e-9, check_dtype=False)


def test_an_error_in_the_caller_s_hands_cancels_what_is_pending():
    class Full(Exception):
        pass

    def refuse(place, rows):
        raise Full

    with ThreadPoolExecutor(1) as threads:
        submitted = []
        submit = threads.submit
        threads.submit = lambda *a: submitted.append(submit(*a)) or submitted[-1]
        gate = threading.Event()
        submit(gate.wait, 0.2)
        with pytest.raises(Full):
            dpcore.run(replace(MANY, sweep=Axis("n", tuple(range(60, 80)))), threads, on_cell=refuse)
        assert submitted[-1].cancelled()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"repetitions": 1}, "repetitions must be an integer >= 2, got 1"),
        ({"repetitions": 10**12}, "repetitions must be at most 100,000, got 1,000,000,000,000"),
        ({"mechanisms": ()}, "mechanisms must name at least one"),
        ({"mechanisms": "output_gamma"}, "mechanisms must be a list of keys or mechanisms, got 'output_gamma'"),
        ({"mechanisms": (3,)}, "mechanism must be one of .*ftrl, .*, got 3"),
        ({"sweep": (0.1, 1.0)}, r"sweep must be an Axis, got \(0.1, 1.0\)"),
        ({"sweep": Axis("epsilon", (-1.0, 1.0))}, "epsilon must be a finite number > 0, got -1.0"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"theta_norm": 1e200}, r"theta_norm must be between 1e-100 and 1e100, got 1e\+200"),
    ],
)
def test_bad_fields_are_refused_by_name(arguments, message):
    """Those that no file can hold, or that tests/mechanisms/test_bad_input.py does not write into one."""
    with pytest.raises(ValueError, match=message):
        experiment_of(**arguments)


def test_bad_axes_and_what_is_no_text_are_refused():
    with pytest.raises(ValueError, match=r"^axis values must .*increasing"):
        Axis("epsilon", (1.0, 0.5))
    with pytest.raises(ValueError, match=r"^axis values must .*list.*, got 3"):
        Axis("epsilon", 3)
    with pytest.raises(ValueError, match=r"^axis values must .*finite.*, got True"):
        Axis("epsilon", (True, 2))
    assert Axis("n", (100.0, 200)).values == (100, 200)
    with pytest.raises(ValueError, match=r"^problem must .*Problem, got 'synthetic'"):
        Experiment("synthetic")
    for text, message in (
        ('{"problem": {"m": 1}}', r"problem .*'m'.*source, n, p, delta"),
        ('{"problem": 3}', r"^problem must .*, got 3"),
        *((odd, r"^an experiment must .*text.*JSON") for odd in (None, 3, {}, b"{}")),
    ):
        with pytest.raises(ValueError, match=message):
            Experiment.from_json(text)


def test_readers_cannot_change_the_cache():
    (cell,) = SMALL.cells()
    cells.run_cell(cell)[0]["mean"] = 12345.0
    dpcore.run(SMALL, on_cell=lambda place, rows: rows[0].update(mean=-1.0))
    assert dpcore.run(SMALL)["mean"].between(0, 100).all()


def test_no_record_is_trained_and_tested_on():
    for source, n, p in (("synthetic", 300, 8), ("breast_cancer", 398, 31), ("breast_cancer", 2000, 31)):
        split = data.load(source, n, p, 1)
        trained = {row.tobytes() for row in split.train.X}
        assert not trained & {row.tobytes() for row in split.test.X}


def test_the_cache_is_bounded_computes_once_and_forgets_errors():
    cache: SharedCache[int] = SharedCache(2)
    calls = []

    def compute(value):
        calls.append(value)
        return value

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: cache.get("a", lambda: compute(1)), range(50))) == [1] * 50
    assert calls == [1]
    cache.get("b", lambda: compute(2))
    cache.get("a", lambda: compute(3))
    cache.get("c", lambda: compute(4))
    assert len(cache) == 2 and cache.get("a", lambda: compute(5)) == 1, "the least recently used went first"
    with pytest.raises(ZeroDivisionError):
        cache.get("d", lambda: 1 // 0)
    assert cache.get("d", lambda: compute(6)) == 6


def test_what_memory_does_not_hold_is_refused():
    """Constructed only: nothing is computed."""
    facts = {"source": "synthetic", "lam": 0.1}
    assert experiment_of(**facts, n=2_000, repetitions=100_000).problem.n == 2_000
    with pytest.raises(ValueError, match=r"^repetitions times n must .*200,000,000 .* 100,000 times 2,001$"):
        experiment_of(**facts, n=2_001, repetitions=100_000)
    sweep = Axis("n", (100, 2_000_001))
    with pytest.raises(ValueError, match=r"^repetitions times n must .*200,000,000 .* 100 times 2,000,001$"):
        experiment_of(**facts, sweep=sweep, repetitions=100)
    assert experiment_of(**facts, sweep=sweep, n=10**9, repetitions=99).sweep == sweep, "n is replaced by the sweep"


def test_a_bound_over_the_simplex_is_not_shown_where_better_models_lie_outside_it():
    """On a mixture F* is over the simplex and the bound holds; on other records F* is over the ball."""
    sweep = Axis("epsilon", (1.0, 10.0))
    shared = dict(
        mechanisms=("simplex_sampling", "objective_gaussian"), loss="huber", n=2_000, repetitions=20, sweep=sweep
    )
    for source in ("synthetic_mixture", "synthetic_regression"):
        table = dpcore.run(experiment_of(source=source, **shared))
        excess = table[table.metric == "excess_empirical_risk"].set_index("mechanism")
        assert (table.status == "ok").all() and (excess.loc["objective_gaussian"].bound > 0.0).all()
        drawn = excess.loc["simplex_sampling"]
        if source == "synthetic_mixture":
            assert (drawn["mean"] <= drawn.bound).all() and (drawn.steps > 1).all()
        else:
            assert drawn.bound.isna().all()


def test_excess_over_the_l1_ball_is_measured_from_its_own_best_model():
    """Frank-Wolfe's models lie in the ball, so none is better; a bound over the L2 ball holds over the smaller set."""
    chosen = Experiment(
        Problem("synthetic_sparse", n=500, p=12, loss="squared", theta_norm=1.0),
        mechanisms=("frank_wolfe_polytope", "output_gaussian"),
        sweep=Axis("epsilon", (0.3, 3.0)),
        repetitions=8,
    )
    table = dpcore.run(chosen)
    assert (table.status == "ok").all(), table.reason
    excess = table[table.metric == "excess_empirical_risk"]
    ours = excess[excess.mechanism == "frank_wolfe_polytope"]
    assert len(ours) == 2 and len(excess) == 4
    assert (ours["q10"] >= -1e-8).all() and (ours["mean"] > 0.0).all()
    assert (excess["mean"] <= excess.bound).all() and (excess.bound_form == "upper").all()
    train = data.load("synthetic_sparse", 500, 12, 0).train
    best = Problem("synthetic_sparse", n=500, p=12, loss="squared", theta_norm=1.0).reference()
    assert np.abs(best.theta).sum() <= 1.0 + 1e-12 and best.gap <= 1e-9
    assert best.risk > minimise_in_ball(get_loss("squared"), train, 1.0).risk + 1e-6
    assert (excess.reference_gap == best.gap).all()
