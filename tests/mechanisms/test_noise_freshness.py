"""No noise comes twice: at no lag of a run, in no two phases, blocks or levels, and in no two repetitions."""

import dataclasses as dc
import functools
import itertools
import math

import numpy as np
import pytest
from scipy import fft
from scipy.special import betaincinv

import dpcore
from dpcore.audit.game import Audit
from dpcore.core.cancel import never
from dpcore.core.rng import generator
from dpcore.experiments import cell as cells
from dpcore.mechanisms import make_mechanism, mechanism_class
from dpcore.mechanisms.api import release_once
from dpcore.mechanisms.base import AdditiveMechanism, Drawn, Mechanism
from dpcore.mechanisms.problem import Problem
from dpcore.studies.selection.streaming import regret
from tests.noise_seen import CASES, EXEMPT, cases
from tests.problems import CLASSIFYING, LEARNING, POINTS

MISS = 1e-9  # of a whole comparison
# One case after another, so that its runs are made once and not kept.
every_case = pytest.mark.parametrize("key, way", cases(), ids=lambda part: part.replace(" ", "_"), scope="module")


@functools.lru_cache(1)
def made(key, way):
    if key not in CASES:
        pytest.fail(f"tests/noise_seen.py must say how the noise of {key} is seen, or why it is not looked at")
    return CASES[key][way].made()


@functools.lru_cache(1)
def seen(key, way):
    """Of four runs: two repetitions of two seeds, made together."""
    plan, prepared = made(key, way)
    return CASES[key][way].look(plan, prepared, streams_of(key))


def streams_of(key):
    return lambda: [generator(seed, key, repetition) for seed in (0, 1) for repetition in (0, 1)]


def largest_cosine(pairs, d):
    """What no |cosine| of so many pairs of directions in R^d reaches, but for a chance of MISS."""
    return math.sqrt(1.0 - betaincinv(0.5 * (d - 1), 0.5, MISS / pairs))


def check_fresh(steps, *, distinct):
    """No two steps [k, d] are alike or opposite, nor does a run of them go with another run of them at any lag."""
    k, d = steps.shape
    lengths = np.linalg.norm(steps, axis=1)
    if d > 1:
        assert lengths.min() > 0.0, "a step has no noise"
        gram = steps @ steps.T
        cosines = np.abs(gram / np.outer(lengths, lengths))
        cosines[np.diag_indices(k)] = 0.0
        worst = np.unravel_index(cosines.argmax(), cosines.shape)
        assert cosines.max() < largest_cosine(k * k / 2, d), f"steps {worst} share their noise"
    elif distinct:
        gaps = np.diff(np.sort(np.abs(steps[:, 0])))
        assert gaps.min() > 1e-12, "a step comes twice"
    power = (np.abs(fft.rfft(steps, 2 * k, axis=0)) ** 2).sum(axis=1)
    products = fft.irfft(power, 2 * k)[:k]
    squares = np.cumsum(np.concatenate([[0.0], lengths**2]))
    for lag in range(1, k):
        count = (k - lag) * d
        if count < 60:
            break
        size = math.sqrt(squares[k - lag] * (squares[k] - squares[lag]))
        along = abs(products[lag]) / size
        assert along < 7.0 / math.sqrt(count), f"at lag {lag} the noise is {along:.2f} of what it was"


def check_apart(first, second, names):
    """Two runs of steps, as far as both go, have nothing in common."""
    m = min(len(first), len(second))
    a, b = first[:m].ravel(), second[:m].ravel()
    if a.size < 60:
        return
    along = abs(float(a @ b)) / (np.linalg.norm(a) * np.linalg.norm(b))
    assert along < 7.0 / math.sqrt(a.size), f"{names} share {along:.2f} of their noise"


def test_every_mechanism_is_looked_at_or_says_why_not():
    assert sorted(dpcore.list_mechanisms()) == sorted([*CASES, *EXEMPT]) and all(EXEMPT.values())


@every_case
def test_noise_is_fresh_at_every_lag(key, way):
    for run in seen(key, way):
        check_fresh(run.steps, distinct=run.distinct)


@every_case
def test_phases_and_blocks_share_no_noise(key, way):
    for run in seen(key, way)[:2]:
        for name, labels in run.parts.items():
            parts = {label: run.steps[labels == label] for label in np.unique(labels)}
            for one, other in itertools.combinations(parts, 2):
                check_apart(parts[one], parts[other], f"{name} {one} and {other}")


@every_case
def test_noise_has_the_planned_size_in_every_part_of_a_run(key, way):
    for run in seen(key, way):
        for name, chance in run.chances.items():
            assert MISS < chance < 1.0 - MISS, f"the noise of {name} has another size than the plan says"


@every_case
def test_repetitions_and_seeds_share_no_noise(key, way):
    runs = seen(key, way)
    check_fresh(np.concatenate([run.steps for run in runs]), distinct=runs[0].distinct)
    for one, other in itertools.combinations(range(len(runs)), 2):
        check_apart(runs[one].steps, runs[other].steps, f"runs {one} and {other}")


@pytest.mark.parametrize("key", [key for key in dpcore.list_mechanisms() if key not in EXEMPT])
def test_releases_without_a_seed_share_no_noise(key):
    """Each has the operating system's entropy."""
    case = next(case for case in CASES[key].values() if case.plan().spec.p <= 20_000)
    plan, data = case.plan(), case.data()
    check_unlike(np.stack([release_once(plan, data).theta.ravel() for _ in range(3)]))


def check_unlike(vectors, *, pairs=False):
    """No two of vectors [k, d] are the same or opposite; pairs: but 2i and 2i + 1 may be opposite, and say so."""
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths.min() > 0.0, "a run has no noise"
    for i, j in itertools.combinations(range(len(vectors)), 2):
        small = 1e-6 * lengths[i]
        assert np.linalg.norm(vectors[i] - vectors[j]) > small, f"runs {i} and {j} have the same noise"
        if not (pairs and j == i + 1 and i % 2 == 0):
            assert np.linalg.norm(vectors[i] + vectors[j]) > small, f"runs {i} and {j} have opposite noise"


DRAWING = [key for key in dpcore.list_mechanisms() if mechanism_class(key).draws is not Mechanism.draws]
# Ways with a few stored columns, which hardly a choice falls on.
NARROW = ("l1 ball", "simplex", "sparse", "laplace", "minibatch", "idle")


@pytest.mark.parametrize("key, way", [(key, way) for key, way in cases() if key in DRAWING and way not in NARROW])
def test_pictures_of_two_streams_share_no_noise(key, way):
    """The two runs of a generator are opposite or have noise of their own; those of others have their own."""
    plan, prepared = made(key, way)
    drawn = plan.mechanism.draws([plan], [prepared], streams_of(key)(), never)
    thetas = drawn.thetas[0]
    # What was prepared may have zeros for idle columns, which pictures leave out.
    check_unlike((thetas - drawn.centres[0][..., : thetas.shape[-1]]).reshape(8, -1), pairs=True)


def problem_of(key, seed):
    source, facts = "synthetic", {}
    if key in POINTS:
        source = "synthetic_location"
    elif mechanism_class(key).usual_loss == "squared":
        source, facts = "synthetic_regression", {"theta_norm": 1.0}
    return Problem(source, n=1000, p=12, loss=mechanism_class(key).usual_loss, seed=seed, **facts)


# Budgets with so many choices, or with so much noise in them, that no two releases are the same by chance.
TELLING = {"simplex_sampling": 20.0, "frank_wolfe_general": 20.0, "polyhedral_frank_wolfe": 0.1}


@pytest.mark.parametrize("key", LEARNING + POINTS)
def test_repetitions_of_an_experiment_share_no_noise(key, monkeypatch):
    """In what the metrics of an experiment are computed from, with two seeds and three pairs of repetitions."""
    arrived = []

    def curves_of(loss, train, test, reference, releases, **asked):
        drawn = isinstance(releases, Drawn)
        arrived.append(releases.thetas[0] - releases.centres[0] if drawn else releases.directions)
        raise InterruptedError

    monkeypatch.setattr(cells.metrics, "curves_of", curves_of)
    epsilon = TELLING.get(key, 2.0)
    for seed in (0, 1):
        with pytest.raises(InterruptedError):
            cells.run_cell(cells.Cell(make_mechanism(key), (epsilon,), problem_of(key, seed), repetitions=6))
    check_unlike(np.concatenate(arrived), pairs=not issubclass(mechanism_class(key), AdditiveMechanism))


def test_every_mechanism_that_experiments_run_has_repetitions_here():
    """Players of streams and classifiers have studies of their own."""
    others = set(dpcore.list_mechanisms()) - set(LEARNING + POINTS)
    assert others == {"ftrl", *CLASSIFYING}


def test_players_of_a_stream_share_no_uniforms(monkeypatch):
    arrived = []

    def play(data, lam, uniforms):
        arrived.append(uniforms)
        raise InterruptedError

    monkeypatch.setattr(regret, "play_costs", play)
    for seed in (0, 1):
        with pytest.raises(InterruptedError):
            regret.regret_curve("counterexample", 8, [300], epsilon=4.0, delta=1e-5, repetitions=5, seed=seed)
    check_fresh(2.0 * np.concatenate(arrived).reshape(-1, 1) - 1.0, distinct=True)
    check_unlike(np.concatenate(arrived) - 0.5)


def test_no_two_generators_are_alike():
    """Of seeds, mechanisms and repetitions."""
    asked = itertools.product((0, 1, 2), dpcore.list_mechanisms(), range(5))
    first = np.array([generator(seed, key, repetition).standard_normal(40) for seed, key, repetition in asked])
    check_fresh(first, distinct=True)


@pytest.mark.parametrize("key", [key for key in dpcore.list_mechanisms() if mechanism_class(key)().noise != "gumbel"])
def test_runs_of_an_audit_share_no_noise(key):
    """On either side, and in the portions in which they are made."""
    audit, arrived = Audit(key), []

    def release(prepared, rngs):
        arrived.append(audit_release(prepared, rngs))
        return arrived[-1]

    audit_release = audit.target.release
    audit.target = dc.replace(audit.target, release=release)
    audit.play(20)
    audit.play(20)
    runs = np.concatenate(arrived).reshape(40, -1)
    check_unlike(runs - np.median(runs, axis=0))
