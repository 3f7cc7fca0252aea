"""What mechanisms and the functions under them refuse: the error names the argument, the rule and the value."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import dpcore
from dpcore import Budget, NotApplicable
from dpcore.accounting import composition, gaussian, kamath, zcdp
from dpcore.accounting.ledger import Run
from dpcore.accounting.subsampled_rdp import renyi, subsampled_epsilon, subsampled_multiplier
from dpcore.core.losses import get_loss
from dpcore.core.sets import (
    Ball,
    Box,
    L1Ball,
    LqBall,
    Polytope,
    Simplex,
    kappa_of_order,
    norm_ball,
    quoted_kappa,
)
from dpcore.mechanisms.noise.generalized_gaussian import lp_noise
from dpcore.solvers import minimise, minimise_in_ball, minimise_on_l1_ball
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.solvers.multiclass.objective import ClassRecords, MulticlassObjective
from dpcore.solvers.multiclass.solver import minimise_ellipsoids
from tests.problems import random_records

NAN, INF = math.nan, math.inf
FACTS = {"n": 100, "p": 3, "epsilon": 1.0, "delta": 1e-5}
OWN = {
    "gaussian_classifier": {"classes": 2, "lam": 1.0},
    "phased_sgd": {"radius": 1.0},
    "polyhedral_frank_wolfe": {"n": 500},
    "tree_frank_wolfe": {"n": 500},
}
LITERAL = {"batches": "single", "accounting": "published"}
TRIANGLE = Polytope(((3.0, 1.0, 0.0), (3.0, -1.0, 0.5), (2.0, 0.0, 1.0)))


def calibrated(key: str, changes: dict[str, object]) -> dpcore.Plan:
    return dpcore.calibrate(key, **(FACTS | OWN.get(key, {}) | changes))


def said_by(kind: type[ValueError], call: Callable[[], object], parts: str) -> None:
    """The error is of this very kind, in one line, and has the parts between "..." in their order."""
    with pytest.raises(ValueError) as caught:
        call()
    said = str(caught.value)
    assert type(caught.value) is kind and "\n" not in said
    assert re.search(".*".join(map(re.escape, parts.split("..."))), said), said


@pytest.mark.parametrize("key", dpcore.list_mechanisms())
def test_the_good_case_is_good(key):
    """Without this the refusals below might have another reason."""
    assert calibrated(key, {}).scale > 0.0


# Mechanism, argument, values that it must not have, and what it must be.
ARGUMENTS = [
    ("frank_wolfe_general", "T", (1, 0, 2.5, True, "best"), "an integer >= 2"),
    ("frank_wolfe_general", "T", (10_001,), "at most 10,000"),
    ("frank_wolfe_general", "accounting", ("loose",), "one of tight"),
    ("frank_wolfe_polytope", "T", (1, 0, -3, 2.5, "long", True, None), "an integer >= 2"),
    ("frank_wolfe_polytope", "T", (10_001,), "at most 10,000"),
    ("gaussian_classifier", "classes", (1, 2.5), "an integer >= 2"),
    ("generalized_gaussian", "noise", ("gamma",), "one of generalized_gaussian, gaussian"),
    ("generalized_gaussian", "q", (0.5,), "from 1 to inf"),
    ("noisy_gd", "accounting", ("published",), "one of tight"),
    ("noisy_gd", "step", (0.0, -1.0, INF, "fast", None), "a finite number > 0"),
    ("noisy_gd", "steps", (0, -3, 1.5, "many", True, NAN, np.array([1, 2])), "an integer >= 1"),
    ("noisy_gd", "steps", (10**9,), "at most 100,000,000"),
    ("noisy_sgd", "accounting", ("moments",), "one of tight, published"),
    ("noisy_sgd", "batch", (0.5,), "at least 1"),
    ("noisy_sgd", "batch", (101,), "at most n = 100"),
    ("noisy_sgd", "batch", ("half", NAN), "a finite number"),
    ("noisy_sgd", "batches", ("all",), "one of poisson, single"),
    ("output_gaussian", "classes", (3,), "left out for logistic"),
    ("output_gaussian", "n", (10**400,), "at most 10^15"),
    ("output_gaussian", "p", (-(10**400), 0, 1.5), "an integer >= 1"),
    ("output_gaussian", "q", (0.5,), "from 1 to inf"),
    ("phased_sgd", "step", (0.0, -1.0, INF, "best", True, None, np.array([1, 2])), "a finite number > 0"),
    ("polyhedral_frank_wolfe", "T", (0, 2.5, True, "best"), "an integer >= 1"),
    ("simplex_sampling", "m", (0, 2.5, True, "all", np.array([1, 2])), "an integer >= 1"),
    ("simplex_sampling", "m", (10**12 + 1,), "at most 1,000,000,000,000"),
    ("tree_frank_wolfe", "T", (0, 2.5, True, "best"), "an integer >= 1"),
    ("tree_frank_wolfe", "noise", ("laplace",), "one of gaussian, generalized_gaussian"),
]


@pytest.mark.parametrize(
    "key, name, value, rule",
    [(key, name, value, rule) for key, name, values, rule in ARGUMENTS for value in values],
    ids=lambda value: str(value)[:24],
)
def test_an_argument_out_of_range_is_named_with_its_rule_and_value(key, name, value, rule):
    got = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15 else ""
    got = got or (repr(value) if isinstance(value, bool | float | str | None) else "")
    said_by(ValueError, lambda: calibrated(key, {name: value}), f"{name} must be...{rule}...got {got}")


@pytest.mark.parametrize(
    "key, changes, parts",
    [
        ("frank_wolfe_general", {"set": TRIANGLE, "p": 4}, "set...p = 4...got 3"),
        ("frank_wolfe_polytope", {"set": TRIANGLE, "p": 4}, "set...p = 4...got 3"),
        ("gaussian_classifier", {"classes": None}, "classes must be given...got None"),
        ("noisy_sgd", {"batch": 5, "batches": "single"}, "batch must be...single...got 5"),
        ("polyhedral_frank_wolfe", {"set": TRIANGLE, "p": 4}, "set...p = 4...got 3"),
        ("tree_frank_wolfe", {"T": 15}, "T must be...at most...got 15"),
    ],
    ids=str,
)
def test_arguments_that_contradict_one_another_are_named(key, changes, parts):
    said_by(ValueError, lambda: calibrated(key, changes), parts)


TINY = {"n": 2, "set": "l1_ball", "loss": "squared", "R": 1e60, "radius": 1e60, "epsilon": 1e-98}
# What is asked, and what the reason must name: what is missing and what was got.
UNPROVED = [
    *(
        (
            key,
            {"set": "l1_ball", "loss": "squared", "R": R, "radius": R},
            "R times radius between 1e-120 and 1e+120...scale",
        )
        for key in ("frank_wolfe_general", "frank_wolfe_polytope")
        for R in (1e100, 1e-70)
    ),
    (
        "frank_wolfe_polytope",
        TINY | {"accounting": "published"},
        "frank_wolfe_polytope needs noise...epsilon = 1e-98; scale the rec",
    ),
    ("frank_wolfe_general", {"set": "ball"}, "bounded set...without a radius"),
    ("frank_wolfe_general", {"set": Box(), "lam": 0.1}, "lam must be 0...0.1"),
    ("frank_wolfe_general", {"n": 2, "epsilon": 0.01, "T": "published"}, "Theorem 2.6"),
    *(
        ("frank_wolfe_polytope", changes, f"frank_wolfe_polytope...{parts}")
        for changes, parts in (
            ({"set": "ball"}, "bounded set...without a radius"),
            ({"set": "ball", "radius": 1.0}, "list of vertices...L2 ball"),
            ({"set": Box()}, "list of vertices...box"),
            ({"lam": 0.1}, "lam must be 0...0.1"),
            ({"lam": "population"}, "'population'...lam"),
            ({"accounting": "published", "delta": 0.0}, "published accounting...delta > 0...delta = 0"),
            ({"accounting": "published_safe", "delta": 0.0}, "published_safe accounting...delta > 0...delta = 0"),
            ({"n": 20, "epsilon": 0.01, "delta": 1e-8, "T": "published"}, "T from 2 to 10,000...Theorem 2.5...1"),
        )
    ),
    ("ftrl", {"set": "ball"}, "simplex"),
    ("ftrl", {"q": 2.0}, "q = 2"),
    ("ftrl", {"radius": 2.0}, "radius = 2"),
    ("ftrl", {"lam": 0.0}, "lam > 0"),
    ("ftrl", {"lam": "population"}, "'population'...fresh records"),
    ("ftrl", {"lam": 1e-90}, "no useful guarantee"),
    ("ftrl", {"accounting": "published", "p": 1}, "delta > 0 and p >= 2"),
    ("ftrl", {"accounting": "published", "delta": 0.0}, "delta > 0 and p >= 2"),
    ("gaussian_classifier", {"delta": 0.0, "perturbed": "output"}, "delta > 0...delta = 0"),
    ("gaussian_classifier", {"lam": 0.0}, "lam > 0...lam = 0"),
    ("gaussian_classifier", {"lam": "published"}, "'published'...lam"),
    ("gaussian_classifier", {"radius": 2.0}, "all symmetric matrices...radius = 2"),
    ("gaussian_classifier", {"set": "simplex", "q": 2.0}, "all symmetric matrices...set"),
    ("gaussian_classifier", {"q": 1.0}, "||x||_2 <= R...q = 1"),
    ("gaussian_classifier", {"n": 1000, "classes": 101}, "at most 100 classes...101"),
    *(
        ("generalized_gaussian", changes, f"generalized_gaussian...{parts}")
        for changes, parts in (
            ({"q": 1.5}, "q from 2 to inf...q = 1.5"),
            ({"radius": 2.0}, "R^p...radius 2"),
            ({"set": "box", "q": INF}, "R^p...set 'box'"),
            ({"lam": 0.1}, "lam must be 0...0.1"),
            ({"lam": "population"}, "lam must be 0...'population'"),
            ({"noise": "gaussian", "accounting": "published"}, "kappa...p >= 2...Gaussian noise"),
            ({"p": 1, "accounting": "published"}, "kappa...p >= 2...p = 1"),
        )
    ),
    ("noisy_gd", {"lam": "population"}, "'population'...lam"),
    ("noisy_gd", {"q": INF}, "q = inf"),
    ("noisy_sgd", {"accounting": "published"}, "n^2 steps...batches = 'poisson'"),
    ("noisy_sgd", LITERAL | {"steps": 10}, "n^2 steps...steps = 10"),
    ("noisy_sgd", LITERAL | {"n": 3001}, "n <= 3,000...n = 3,001"),
    ("noisy_sgd", {"n": 3001, "batches": "single"}, "n <= 3,000...n = 3,001"),
    ("noisy_sgd", LITERAL | {"epsilon": 6.8}, "epsilon < ...6.786"),
    ("noisy_sgd", LITERAL | {"delta": 0.0}, "delta > 0"),
    ("noisy_sgd", {"lam": "population"}, "'population'...lam"),
    ("objective_gamma", {"lam": 0.1, "radius": 2.0}, "R^p...radius = 2"),
    ("objective_gaussian", {"lam": 0.1, "radius": 2.0}, "R^p...radius = 2"),
    ("objective_gamma", {"n": 2, "lam": 0.2, "accounting": "published"}, "as published...lam >= 0.25...0.2"),
    ("output_gaussian", {"q": 3.0}, "output_gaussian...||x||_2 <= R...q = 3"),
    ("output_gaussian", {"accounting": "classical"}, "epsilon < 1...epsilon = 1"),
    ("phased_sgd", {"set": L1Ball()}, "p from 2 to inf...p = 1"),
    ("phased_sgd", {"set": LqBall(1.5)}, "p from 2 to inf...p = 1.5"),
    ("phased_sgd", {"set": Simplex()}, "simplex"),
    ("phased_sgd", {"set": "ball", "radius": None}, "bounded set"),
    ("phased_sgd", {"lam": 0.1}, "lam must be 0...0.1"),
    ("polyhedral_frank_wolfe", {"set": Ball(), "radius": 1.0}, "list of vertices...L2 ball"),
    ("polyhedral_frank_wolfe", {"set": LqBall(1.5)}, "list of vertices...Lq ball"),
    ("polyhedral_frank_wolfe", {"set": Simplex(), "p": 1}, "more than one point...p = 1"),
    ("polyhedral_frank_wolfe", {"n": 20, "T": 11}, "T <= n / 2...n = 20 and T = 11"),
    ("simplex_sampling", {"set": "ball", "q": INF}, "simplex...set 'ball'"),
    ("simplex_sampling", {"q": 2.0}, "||x||_inf <= R...q = 2"),
    ("simplex_sampling", {"lam": 0.0}, "lam > 0...lam = 0"),
    ("simplex_sampling", {"lam": "published", "p": 1}, "'published'...one column"),
    ("simplex_sampling", {"lam": "population", "p": 1}, "'population'...one column"),
    *(("tree_frank_wolfe", {"set": norm_ball(p)}, "p from 1.001 to 2...l_p ball") for p in (3.0, 1.0, INF)),
    ("tree_frank_wolfe", {"n": 2}, "at least 3 records...n = 2"),
    ("tree_frank_wolfe", {"n": 47, "T": 3}, "at least 48 records for T = 3...n = 47"),
]


@pytest.mark.parametrize("key, changes, parts", UNPROVED, ids=lambda value: str(value)[:60])
def test_what_carries_no_guarantee_is_refused_with_the_reason(key, changes, parts):
    said_by(NotApplicable, lambda: calibrated(key, changes), parts)


# The functions under them

SMALL, X = random_records(50, 4, seed=3), [[0.1, 0.2], [0.3, 0.4]]
HINGE, BUDGET = get_loss("hinge"), Budget(1.0)


def on_l1_ball(loss: str = "squared", size: float = 1.0, tol: float = 1e-9) -> object:
    return minimise_on_l1_ball(fw.risk_of(get_loss(loss), SMALL), size, tol=tol)


def classes_problem(**facts: object) -> MulticlassObjective:
    return MulticlassObjective(ClassRecords(X, [0, 1], 3), **({"mu": 1.0} | facts))


CALLS = [
    (lambda: zcdp.zcdp_epsilon(0.0, 1e-6), "rho...> 0...got 0.0"),
    (lambda: zcdp.zcdp_epsilon(1.0, 1.0), "delta...in [0, 1)...got 1.0"),
    (lambda: zcdp.bounded_range_rho(-1.0), "eta...> 0...got -1.0"),
    (lambda: zcdp.bounded_range_rho(1.0, 0), "times...integer >= 1...got 0"),
    (lambda: zcdp.bounded_range_eta(BUDGET, 2.5), "times...integer >= 1...got 2.5"),
    (lambda: composition.advanced_epsilon(NAN, 1, 0.1), "epsilon...> 0...got nan"),
    (lambda: composition.advanced_epsilon(0.1, 10, 0.0), "slack...in (0, 1)...got 0.0"),
    (lambda: composition.advanced_epsilon(701.0, 10, 0.1), "epsilon...at most 700...got 701.0"),
    (lambda: kamath.kamath_multiplier(1, Budget(1.0, 0.1)), "n...integer >= 2...got 1"),
    (lambda: kamath.kamath_subsampled_epsilon(0.5, 1.5), "rate...in (0, 1]...got 1.5"),
    (lambda: renyi([2.0, 1.0], 1.0, 0.1, "poisson"), "alpha...> 1...got"),
    (lambda: renyi(2.0, 0.0, 0.1, "poisson"), "z...> 0...got 0.0"),
    (lambda: renyi(2.0, 1.0, 1.1, "poisson"), "rate...in (0, 1]...got 1.1"),
    (lambda: renyi(2.0, 1.0, 0.1, "with"), "sampling...poisson, uniform...got 'with'"),
    (lambda: subsampled_epsilon(1.0, 0.1, 0, 1e-6, "poisson"), "times...integer >= 1...got 0"),
    (lambda: subsampled_epsilon(1.0, 0.1, 1, 1.0, "poisson"), "delta...in [0, 1)...got 1.0"),
    (lambda: subsampled_multiplier(Budget(1.0, 1e-6), 0.0, 1, "poisson"), "rate...in (0, 1]...got 0.0"),
    (lambda: Run(1, 1, 1.0, 1e-6), "n...integer >= 2...got 1"),
    (lambda: Run(100, 0, 1.0, 1e-6), "batch...integer >= 1...got 0"),
    (lambda: Run(100, 101, 1.0, 1e-6), "batch...at most n = 100...got 101"),
    (lambda: Run(100, 1, 0.0, 1e-6), "z...> 0...got 0.0"),
    (lambda: Run(100, 1, 1.0, 1.0), "delta...in [0, 1)...got 1.0"),
    (lambda: lp_noise("gaussian", 1.5, 4), "q_star...from 2 to inf...got 1.5"),
    (lambda: lp_noise("generalized_gaussian", 1.5, 4), "q_star...from 2 to inf...got 1.5"),
    (lambda: lp_noise("gamma", 3.0, 4), "law...generalized_gaussian, gaussian...got 'gamma'"),
    (lambda: kappa_of_order(4.0, 3.0, 10), "order...from 2 to q_star = 3...got 4.0"),
    (lambda: quoted_kappa(INF, 1), "d...integer >= 2...got 1"),
    *(
        (lambda solve=solve, change=change: solve(HINGE, SMALL, **(facts_of(solve) | change)), parts)
        for solve in (minimise, minimise_in_ball)
        for change, parts in (
            ({"tol": -1.0}, "tol...> 0...got -1.0"),
            ({"radius": 0.0}, "radius...> 0...got 0.0"),
        )
    ),
    (lambda: minimise(HINGE, SMALL, 0.0, tol=1e-3), "lam...> 0...got 0.0"),
    (lambda: minimise(HINGE, SMALL, 1.0, tol=1e-3, start=np.zeros(3)), "start...4 entries...(3,)"),
    (lambda: minimise(HINGE, SMALL, 1.0, tol=1e-3, start=np.full(4, NAN)), "start...finite...4 entries"),
    (lambda: on_l1_ball("hinge"), "loss...curvature bound...got hinge"),
    (lambda: on_l1_ball("mean"), "loss...of a prediction...got mean"),
    (lambda: on_l1_ball(size=0.0), "size...> 0...got 0.0"),
    (lambda: on_l1_ball(size=INF), "size...> 0...got inf"),
    (lambda: on_l1_ball(tol=0.0), "tol...> 0...got 0.0"),
    (lambda: ClassRecords(X, [0, 2], 2), "labels...from 0 to 1...got 2"),
    (lambda: ClassRecords(X, [0, -1], 2), "labels...from 0 to 1...got -1"),
    (lambda: ClassRecords(X, [0, 0.5], 2), "labels...from 0 to 1...got 0.5"),
    (lambda: ClassRecords(X, [0, NAN], 2), "labels...finite...got nan"),
    (lambda: ClassRecords(X, [0], 2), "labels...shape (2,)...got (1,)"),
    (lambda: ClassRecords(X, [0, 0], 1), "classes...integer >= 2...got 1"),
    (lambda: ClassRecords([[NAN, 0.0]], [0], 2), "X...finite...got nan"),
    (lambda: ClassRecords([0.1], [0], 2), "X...shape (n >= 1, d >= 1)...got (1,)"),
    (lambda: ClassRecords(X, [0, 1], 2, R=0.0), "R...> 0...got 0.0"),
    (lambda: ClassRecords(X, [0, 1], 2, half_width=-1.0), "half_width...> 0...got -1.0"),
    (lambda: classes_problem(mu=0.0), "mu...> 0...got 0.0"),
    (lambda: classes_problem(tau=-0.1), "tau...>= 0...got -0.1"),
    (lambda: classes_problem(noise=np.zeros((3, 6))), "noise...shape (R, 3, 6)...got (3, 6)"),
    (lambda: classes_problem(noise=np.full((1, 3, 6), NAN)), "noise...finite...got nan"),
    (lambda: minimise_ellipsoids(classes_problem(), tol=0.0), "tol...> 0...got 0.0"),
    (lambda: minimise_ellipsoids(classes_problem(), distance=-1.0), "distance...> 0...got -1.0"),
]


def facts_of(solve: Callable[..., object]) -> dict[str, float]:
    return {"lam": 1.0, "tol": 1e-3} if solve is minimise else {"radius": 1.0}


@pytest.mark.parametrize("call, parts", CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_argument_of_a_function_is_named_with_its_rule_and_value(call, parts):
    said_by(ValueError, call, parts)


@pytest.mark.parametrize(
    "call",
    [
        lambda: zcdp.zcdp_epsilon(0.1, 0.0),
        lambda: zcdp.zcdp_rho(BUDGET),
        lambda: zcdp.zcdp_rho_by_hand(BUDGET),
        lambda: kamath.kamath_multiplier(100, BUDGET),
        lambda: subsampled_epsilon(1.0, 0.1, 1, 0.0, "poisson"),
        lambda: Run(100, 1, 1.0, 0.0),
        lambda: gaussian.gaussian_mu(BUDGET),
        lambda: gaussian.published_multiplier(BUDGET),
        lambda: gaussian.gaussian_epsilon(1.0, 0.0),
        lambda: lp_noise("generalized_gaussian", 3.0, 4).multiplier(BUDGET),
    ],
)
def test_what_needs_delta_says_so(call):
    said_by(NotApplicable, call, "delta > 0...delta = 0")


@pytest.mark.parametrize(
    "key, changes, parts",
    [
        ("ftrl", {"p": 1}, "single arm"),
        ("simplex_sampling", {"p": 1, "lam": 1.0}, "one column...audited"),
        ("frank_wolfe_polytope", {"accounting": "published"}, "laplace noise"),
    ],
)
def test_what_has_no_likelihoods_or_no_worst_pair_is_not_audited(key, changes, parts):
    plan = calibrated(key, changes)

    def audit() -> None:
        pair = [plan.mechanism.prepare(plan, data) for data in plan.mechanism.worst_pair(plan)]
        plan.mechanism.log_ratio(plan, *pair, np.ones((1, plan.steps)))

    said_by(NotApplicable, audit, parts)
