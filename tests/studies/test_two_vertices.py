"""Private Frank-Wolfe between two vertices: exact laws, and where its noise as published breaks its guarantee."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logit

from dpcore import Budget
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.studies.papers.two_vertices import TwoVertices, choices_plan, two_column_delta


def pair_of(epsilon: float, delta: float, T: int, accounting: str = "published") -> TwoVertices:
    return TwoVertices(choices_plan(Budget(epsilon, delta), T, accounting))


def delta_of_choices(pair: TwoVertices, epsilon: float) -> float:
    """delta at epsilon of all choices together."""
    return two_column_delta(pair.plan.steps, -2.0 * float(logit(pair.wrong)), epsilon)


@pytest.mark.parametrize("accounting, law", [("published", stats.laplace), ("tight", stats.gumbel_r)])
def test_a_choice_is_wrong_as_often_as_two_noises_say(accounting, law):
    pair = pair_of(12.0, 1e-2, 21, accounting)
    said, _ = integrate.quad(lambda z: law.pdf(z) * law.sf(z + pair.advantage), -40.0, 40.0, limit=400)
    assert pair.wrong == pytest.approx(said, rel=1e-7)
    if accounting == "published":
        assert pair.advantage == pytest.approx(2.0 * 12.0 / math.sqrt(8.0 * 21 * math.log(100.0)), rel=1e-12)


@pytest.mark.parametrize("accounting", ["published", "tight"])
def test_the_mechanism_chooses_and_releases_as_the_laws_say(accounting):
    """20 choices of 400 runs on each data set: shares within five standard errors, models as weighted counts."""
    pair, runs = pair_of(12.0, 1e-2, 21, accounting), 400
    plan = pair.plan
    assert isinstance(plan.mechanism, FrankWolfePolytope)
    for side, data in enumerate(plan.mechanism.worst_pair(plan)):
        prepared = plan.mechanism.prepare(plan, data)
        seen, models = (
            play(plan, prepared, [np.random.default_rng(5)] * runs)
            for play in (plan.mechanism.transcripts, plan.mechanism.release_many)
        )
        up = seen > 0.0
        error = math.sqrt(pair.wrong * (1.0 - pair.wrong) / up.size)
        share = up.mean() if side == 0 else 1.0 - up.mean()
        assert abs(share - pair.wrong) < 5.0 * error < 0.03
        signs = np.where(up, 1.0, -1.0)
        released = 0.4 * 2.0 / (21 * 22) * signs @ pair.weights
        assert models[:, 0] == pytest.approx(released, abs=1e-12)


def test_the_law_of_the_model_is_that_of_all_sequences_of_choices():
    pair, epsilon = pair_of(12.0, 1e-2, 9), 0.4
    plain = np.zeros(9 * 10 // 2)
    for right in itertools.product((False, True), repeat=8):
        mass = np.prod([1.0 - pair.wrong if each else pair.wrong for each in right])
        plain[sum(t + 2 for t, each in enumerate(right) if each)] += mass
    assert pair.law == pytest.approx(plain, rel=1e-12)
    assert pair.delta(epsilon) == pytest.approx(np.maximum(plain - math.exp(epsilon) * plain[::-1], 0.0).sum())
    possible = np.flatnonzero(plain)
    assert plain[possible] @ pair.shares(possible, epsilon) == pytest.approx(pair.delta(epsilon), rel=1e-12)
    assert 0.0 < pair.delta(epsilon) < delta_of_choices(pair, epsilon)


@pytest.mark.parametrize(
    "epsilon, delta, T, choices, model",
    [
        (10.0, 1e-6, 201, 1.510, 0.012),
        (10.0, 1e-6, 10_000, 2.395, None),
        (7.0, 1e-2, 201, 1.337, 0.230),
        (12.0, 1e-2, 201, 9.094, 1.950),
        (30.0, 1e-6, 201, 2878.0, 42.75),
        (5.0, 1e-2, 201, 0.470, 0.076),
        (5.0, 1e-6, 201, 0.0874, 0.0007),
    ],
)
def test_laplace_noise_as_published_breaks_its_guarantee_where_epsilon_is_large(epsilon, delta, T, choices, model):
    """Multiples of the claimed delta: of all choices together, and of the model alone."""
    pair = pair_of(epsilon, delta, T)
    assert delta_of_choices(pair, epsilon) / delta == pytest.approx(choices, rel=3e-3)
    if model is not None:
        assert pair.delta(epsilon) / delta == pytest.approx(model, rel=0.05 if model < 0.1 else 3e-3)
    twin = pair_of(epsilon, delta, min(T, 201), "tight")
    assert twin.delta(epsilon) < delta_of_choices(twin, epsilon) < 0.3 * delta
