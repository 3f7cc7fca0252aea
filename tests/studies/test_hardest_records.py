"""The hardest records known: records of the domain, an excess below the bound of every mechanism, and close to it."""

import dataclasses as dc
import itertools
import math
from concurrent.futures import CancelledError

import numpy as np
import pytest

from dpcore import Budget, Domain, Spec, list_mechanisms
from dpcore.core.losses import get_loss
from dpcore.core.privacy import NotApplicable
from dpcore.mechanisms import make_mechanism
from dpcore.studies.hardest import excess
from dpcore.studies.hardest.excess import HardestQuestion, hardest, least_risk
from dpcore.studies.hardest.families import (
    Hard,
    Part,
    by_a_margin,
    hard_records,
    on_axes,
    one_good_column,
    spread_out,
)
from dpcore.studies.hardest.growth import bounds_of, enough_records, powers_of_n
from tools import hard_search

PEOPLE = Spec("logistic", 2_000, 8, 0.005, theta_norm=6.0)
MIXTURE = Spec("huber", 5_000, 64, "auto", Domain(math.inf, y_max=1.25), set="simplex")
LASSO = Spec("squared", 400, 16, 0.0, Domain(math.inf, y_max=1.1), radius=1.0, set="l1_ball")
SMALL = {"ball": dc.replace(PEOPLE, n=400), "simplex": dc.replace(MIXTURE, n=400, p=16), "l1_ball": LASSO}


def asked(key: str, spec: Spec, *epsilons: float, repetitions: int = 20) -> HardestQuestion:
    return HardestQuestion(make_mechanism(key), spec, epsilons, 1e-6, seed=3, repetitions=repetitions)


@pytest.mark.parametrize("set_name", ["ball", "simplex", "l1_ball"])
@pytest.mark.parametrize(("n", "p"), [(2, 1), (7, 2), (85, 3), (300, 20)])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_all_members_of_all_families_are_records_of_the_domain(set_name, n, p, loss):
    spec = dc.replace(SMALL[set_name], loss=loss, n=n, p=p)
    spec = dc.replace(spec, domain=dc.replace(spec.domain, R=1.7, y_max=1.0 if loss == "logistic" else 0.6))
    made = hard_records(spec)
    assert len({hard.name for hard in made}) == len(made) > 0
    for hard in made:
        data = hard.records(spec)
        data.check_domain(spec.domain)
        assert (data.n, data.p) == (n, p) and set(np.abs(data.y)) == {spec.domain.y_max}
        lengths = data.norms(spec.domain.q)
        assert set(np.round(lengths / spec.domain.R, 9)) <= {0.0, 1.0} and lengths.max() > 0.0
        if data.merged is not None:
            assert data.merged.weights.sum() == pytest.approx(data.merged.n)


def test_shares_and_labels_are_as_they_say():
    rows = np.eye(2)
    data = Hard("", (Part(rows, 0.5, 0.75), Part(-rows[:1], 0.1, 1.0))).records(Spec("logistic", 80, 3))
    kinds = [*zip(map(tuple, data.X), data.y, strict=True)]
    count = {(x, y): kinds.count((x, y)) for x, _ in kinds for y in (1, -1)}
    assert count[(1.0, 0.0), 1] == count[(0.0, 1.0), 1] == 15
    assert count[(1.0, 0.0), -1] == count[(0.0, 1.0), -1] == 5
    assert count[(-1.0, 0.0), 1] == 8 and count[(-1.0, 0.0), -1] == 0
    assert count[(0.0, 0.0), 1] + count[(0.0, 0.0), -1] == 32


@pytest.mark.parametrize(
    ("family", "key", "spec", "epsilon"),
    [
        (on_axes, "objective_gaussian", PEOPLE, 0.05),
        (by_a_margin, "noisy_gd", PEOPLE, 1.0),
        (one_good_column, "simplex_sampling", MIXTURE, 1.0),
        (spread_out, "frank_wolfe_polytope", dc.replace(LASSO, n=10_000, p=128), 1.0),
    ],
)
def test_every_family_is_the_hardest_somewhere(family, key, spec, epsilon):
    """But for the blocks, which a lower bound needs."""
    found = hardest(asked(key, spec, epsilon, repetitions=8))
    assert found.family[0] in {hard.name for hard in family(spec)}


@pytest.mark.pairwise
@pytest.mark.parametrize("key", list_mechanisms())
@pytest.mark.parametrize("loss", ["logistic", "huber", "squared", "hinge"])
@pytest.mark.parametrize("lam", ["auto", 0.01, 0.3])
def test_no_mechanism_exceeds_its_bound_on_them(key, loss, lam):
    """By more than 4 standard errors of the mean, at any budget."""
    mechanism = make_mechanism(key)
    if mechanism.set not in SMALL:
        pytest.skip("models of another set")
    spec = dc.replace(SMALL[mechanism.set], loss=loss, lam=0.0 if mechanism.set == "l1_ball" else lam)
    try:
        found = hardest(asked(key, spec, 0.1, 1.0, 10.0, repetitions=8))
    except NotApplicable as error:
        pytest.skip(str(error))
    there = np.isfinite(found.mean)
    assert there.any() and (found.mean - 4.0 * found.se <= found.bound)[there].all()
    assert [bool(name) for name in found.family] == there.tolist()
    assert (found.mean + 4.0 * found.se >= found.lower)[there].all()


@pytest.mark.parametrize(
    ("key", "spec", "delta"),
    [
        *((f"{place}_{noise}", PEOPLE, 1e-7) for place in ("output", "objective") for noise in ("gaussian", "gamma")),
        ("simplex_sampling", MIXTURE, 1e-6),
    ],
)
def test_the_bound_is_at_most_five_times_the_hardest_records_known(key, spec, delta):
    """At the first views of the dashboard."""
    found = hardest(HardestQuestion(make_mechanism(key), spec, (1.0,), delta, seed=7))
    assert 1.0 <= found.bound[0] / found.mean[0] < 3.0 and found.se[0] < 0.05 * found.mean[0]


def test_records_are_chosen_on_other_noise_than_they_are_measured_on(monkeypatch):
    keys, made = [], excess.generator

    def noted(seed, key, repetition):
        keys.append((key, repetition))
        return made(seed, key, repetition)

    monkeypatch.setattr(excess, "generator", noted)
    hardest(asked("objective_gaussian", SMALL["ball"], 1.0, repetitions=8))
    chosen, measured = ({key for key in keys if purpose in key[0]} for purpose in ("choose", "measure"))
    assert chosen and measured and not chosen & measured


def test_the_mean_is_that_of_releases():
    """Of output perturbation, whose mean is an integral; 4,000 releases on the records that were chosen."""
    question = asked("output_gamma", SMALL["ball"], 0.3)
    found = hardest(question)
    (hard,) = [hard for hard in hard_records(question.spec) if hard.name == found.family[0]]
    data, plan = hard.records(question.spec), question.mechanism.calibrate(question.spec, Budget(0.3, 1e-6))
    rngs = [np.random.default_rng([5, run]) for run in range(4_000)]
    thetas = plan.mechanism.release_many(plan, plan.mechanism.prepare(plan, data), rngs)
    risks = np.logaddexp(0.0, -data.y * (thetas @ data.X.T)).mean(axis=1) - least_risk(question.spec, data)
    assert abs(risks.mean() - found.mean[0]) < 4.0 * risks.std() / math.sqrt(len(risks)) and found.se[0] == 0.0


def test_excess_is_measured_from_the_comparator_of_the_bound():
    separable = Hard("", (Part(np.eye(1), 1.0, 1.0),))
    ball = Spec("logistic", 50, 2, theta_norm=3.0)
    for spec, reach in ((ball, 3.0), (dc.replace(ball, radius=2.0), 2.0), (dc.replace(ball, radius=5.0), 3.0)):
        assert least_risk(spec, separable.records(spec)) == pytest.approx(math.log1p(math.exp(-reach)), abs=1e-8)
    for name in ("simplex", "l1_ball"):
        spec = dc.replace(ball, set=name, radius=2.0, domain=Domain(math.inf))
        assert least_risk(spec, separable.records(spec)) == pytest.approx(math.log1p(math.exp(-2.0)), abs=1e-8)


def test_an_answer_comes_in_steps_and_can_be_cancelled():
    question = asked("output_gaussian", SMALL["ball"], 0.3, 1.0)
    *steps, answer = question.snapshots()
    assert set(steps) == {None} and len(steps) >= len(hard_records(question.spec))
    assert answer.epsilon.tolist() == [0.3, 1.0] and question.share_done(answer) == 1.0
    facts = question.mechanism, question.spec, Budget(0.3, 1e-6)
    assert tuple(answer.powers[:, 0]) == powers_of_n(*facts)
    assert answer.enough[0] == enough_records(*facts, math.log(2.0))
    asks = itertools.count()
    with pytest.raises(CancelledError):
        hardest(question, lambda: next(asks) > 5)


def test_where_there_is_no_guarantee_there_are_no_numbers_and_elsewhere_a_reason():
    found = hardest(asked("objective_gaussian", dc.replace(PEOPLE, n=400), 0.01, 1.0, repetitions=4))
    assert found.family[0] == "" and math.isnan(found.mean[0]) and math.isnan(found.bound[0]) and found.mean[1] > 0.0
    for key, spec, says in (
        ("objective_gaussian", dc.replace(PEOPLE, lam=1e-9), "needs lam >"),
        ("output_gaussian", Spec("mean", 50, 2, 0.1), "linear prediction"),
        ("ftrl", dc.replace(SMALL["simplex"], loss="linear", lam="auto"), "no bound on the mean excess empirical risk"),
    ):
        with pytest.raises(NotApplicable, match=says):
            hardest(asked(key, spec, 1.0))
    with pytest.raises(ValueError, match="repetitions must be even"):
        asked("output_gaussian", PEOPLE, 1.0, repetitions=5)


@pytest.mark.parametrize(("lam", "most"), [(0.005, 2.0), (0.05, 0.2)])
def test_powers_are_those_of_the_bounds(lam, most):
    """Noise of output perturbation falls like 1/n^2 where it is short, the regulariser does not fall at all."""
    spec, mechanism, budget = dc.replace(PEOPLE, lam=lam), make_mechanism("output_gaussian"), Budget(0.3, 1e-7)
    upper, lower = powers_of_n(mechanism, spec, budget)
    at = [mechanism.calibrate(dc.replace(spec, n=n), budget) for n in (2_000, 8_000)]
    assert 4.0**upper == pytest.approx(min(bounds_of(at[0], "upper")) / min(bounds_of(at[1], "upper")))
    assert 4.0**lower == pytest.approx(max(bounds_of(at[0], "lower")) / max(bounds_of(at[1], "lower")))
    assert 0.0 < upper < most
    assert powers_of_n(make_mechanism("simplex_sampling"), MIXTURE, budget) is None  # no lower bound


@pytest.mark.parametrize("key", ["output_gaussian", "noisy_gd"])
def test_from_so_many_records_on_the_bound_says_something(key):
    mechanism, budget, nothing = make_mechanism(key), Budget(0.1, 1e-7), get_loss("logistic").at_zero(PEOPLE)
    enough = enough_records(mechanism, PEOPLE, budget, nothing)

    def bound(n: int) -> float:
        return min(bounds_of(mechanism.calibrate(dc.replace(PEOPLE, n=n), budget), "upper"))

    assert bound(enough) < nothing < bound(int(0.9 * enough)) and enough > PEOPLE.n
    assert enough_records(mechanism, dc.replace(PEOPLE, n=enough), budget, nothing) == enough
    assert enough_records(mechanism, PEOPLE, budget, 1e-12) is None


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_search_finds_no_harder_records_than_the_list_holds(epsilon):
    """By more than 2%; it finds others that are nearly as hard."""
    plan = make_mechanism("output_gaussian").calibrate(hard_search.SPEC, Budget(epsilon, 1e-6))
    listed = max(hard_search.excess(plan, hard.records(hard_search.SPEC)) for hard in hard_records(hard_search.SPEC))
    found, data = hard_search.search(plan, 1_500, np.random.default_rng(1))
    data.check_domain(hard_search.SPEC.domain)
    assert 0.8 * listed < found < 1.02 * listed
