"""Every public figure, drawn from small results of the engine, each of which is made once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dpcore
from dpcore import Axis, Problem
from dpcore.accounting.ledger import Run, ledger_of
from dpcore.audit.function import audit_function
from dpcore.experiments.proof_chain import ProofChain, ProofQuestion
from dpcore.figures import (
    composition,
    decide,
    dimension,
    geometry,
    lasso,
    multiclass,
    named_bars,
    overview,
    perturbation,
    proof_chain,
    survey,
)
from dpcore.figures.audit import attack, function
from dpcore.figures.figure import Figure
from dpcore.figures.papers import reproductions
from dpcore.figures.selection import simplex, streaming
from dpcore.mechanisms.simplex.sampling import SimplexSampling
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.deployments import Deployment
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon
from dpcore.studies.dimension import noise_growth, orthant
from dpcore.studies.dimension.lasso import curves as l1_curves
from dpcore.studies.dimension.lasso.data import Setting
from dpcore.studies.geometry import excess_by_n, excess_by_norm, hardest_data, noise, table_1
from dpcore.studies.hardest.excess import HardestQuestion, hardest
from dpcore.studies.multiclass import curves as classes
from dpcore.studies.multiclass import decision_regions
from dpcore.studies.multiclass.curves import Records
from dpcore.studies.papers.reproductions.base import Exponent
from dpcore.studies.perturbation.exact_answers_leak import median_leak, polynomial_fit
from dpcore.studies.perturbation.release_scatter import release_scatter
from dpcore.studies.selection.simplex import beside_others, excess_by_draws, single_release
from dpcore.studies.selection.streaming import regret
from dpcore.studies.survey.estimates import against_people, central_bound, simulated

from ..flat_fields import experiment_of

EPSILONS = (0.01, 0.1, 0.5, 1.0, 10.0)
PS = (8, 128, 4096, 2**20)
KEYS = ("output_gaussian", "objective_gaussian", "output_gamma", "objective_gamma")
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "seed": 3}
STREAM = {"epsilon": 4.0, "delta": 1e-4, "seed": 2}
DRAWN = "gaussian_classes"
ACCURACY = "people classified correctly, %"
STEPS = (1, 10, 1_000, 80_000, 4_000_000)
RUN = Run(2000, 50, 100.0, 1e-6)


@functools.cache
def table(*keys: str, along: str = "epsilon", values: tuple[float, ...] = EPSILONS, **facts: Any) -> Any:
    fields = {"source": "synthetic", "n": 300, "lam": 0.05, "repetitions": 10, "seed": 1} | facts
    mechanisms = tuple(dpcore.make_mechanism(key) for key in keys or KEYS[:2])
    asked = experiment_of(mechanisms=mechanisms, sweep=Axis(along, values), proved=mechanisms[0].key, **fields)
    return dpcore.run(asked)


@functools.cache
def hard() -> Any:
    """The hardest records known of the first mechanism of `table`."""
    spec = Problem("synthetic", n=300, lam=0.05).spec(mechanism := dpcore.make_mechanism(KEYS[0]))
    return hardest(HardestQuestion(mechanism, spec, EPSILONS, 1e-6, seed=1, repetitions=4))


@functools.cache
def padded(*keys: str) -> tuple[Any, Any]:
    asked = experiment_of(
        mechanisms=keys, sweep=Axis("p", PS), source="synthetic_padded", n=300, lam=0.05, repetitions=4
    )
    return dpcore.run(asked), noise_growth.growth_of(asked.cells())


@functools.cache
def scatter() -> Any:
    mechanisms = tuple(dpcore.make_mechanism(key) for key in (*KEYS[:2], "noisy_gd"))
    return release_scatter(mechanisms, Problem("synthetic", n=300, p=2, lam=0.05, seed=1), 1.0)


@functools.cache
def setting(kind: str) -> Any:
    asked = Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=2, repetitions=10)
    return {
        "steps": lambda: l1_curves.against_T(asked, n=2_000, p=64, Ts=(2, 8, 20, 50)),
        "people": lambda: l1_curves.against_n(asked, p=64, T=8, ns=(50, 200, 1_000, 5_000)),
        "columns": lambda: l1_curves.against_p(asked, n=2_000, T=8, ps=(16, 256, 4_096)),
        "path": lambda: l1_curves.path(asked, n=2_000, p=4_096, T=30),
    }[kind]()


SIMPLEX = {"epsilon": 1.0, "delta": 1e-6, "loss": "huber", "seed": 2}


@functools.cache
def valley(lam: float | str = "auto") -> Any:
    return excess_by_draws.valley(n=600, p=24, **SIMPLEX, lam=lam, repetitions=10)


@functools.cache
def hard_draws() -> Any:
    """The hardest records known for 20 draws of `valley`."""
    spec = Problem("synthetic_mixture", n=600, p=24, loss="huber", lam=0.1).spec(sampling := SimplexSampling(m=20))
    return hardest(HardestQuestion(sampling, spec, (1.0,), 1e-6, seed=2, repetitions=4))


@functools.cache
def columns() -> Any:
    return beside_others.excess_against_columns(n=600, **SIMPLEX, repetitions=10, ps=(8, 32, 128))


@functools.cache
def release(p: int = 24) -> Any:
    return single_release.support(n=600, p=p, **SIMPLEX, lam="auto", m=13, columns=6)


@functools.cache
def streams() -> Any:
    """Regret with and without privacy."""
    asked = STREAM, STREAM | {"epsilon": 1e6, "repetitions": 1}
    return [regret.regret_curve("random", 64, (20, 60, 200), **facts) for facts in asked]


@functools.cache
def play() -> Any:
    return regret.play("random", 9, 4_100, **STREAM)


@functools.cache
def orders() -> Any:
    return excess_by_norm.against_order(1_000, 2_000, repetitions=4, **BUDGET)


@functools.cache
def plane(kind: str) -> Any:
    """Results of the page Geometry."""
    return {
        "rows": lambda: [table_1.table_row(p, 1_000, 300, 0.5, 1e-6) for p in excess_by_norm.orders(1_000)],
        "members": lambda: hardest_data.hardest_tracing(seed=1, p_norm=1.5, d=300, delta=1e-6),
        "ball": lambda: noise.ball_picture(1.5, **BUDGET),
        "people": lambda: excess_by_n.excess_against_n(1.5, d=8, ns=(1_000, 4_000), runs=2, **BUDGET),
        "passes": lambda: excess_by_n.excess_against_n(math.inf, d=8, ns=(1_000, 4_000), runs=2, **BUDGET),
    }[kind]()


@functools.cache
def classified(kind: str) -> Any:
    """Results of the page Classes."""
    along = {"epsilon": (0.1, 1.0, 10.0), "classes": (2, 3, 5), "d": (2, 4, 8)}
    found = {
        "drawn": lambda: decision_regions.picture(Records(DRAWN, 400, 0), epsilon=2.0, delta=1e-6),
        "real": lambda: decision_regions.picture(Records("iris", 105, 0), epsilon=2.0, delta=1e-6),
    } | {
        axis: lambda axis=axis: classes.accuracy_against(
            axis, along[axis], Records(DRAWN, 120, 0), epsilon=1.0, delta=1e-5, repetitions=6, excess=axis == "classes"
        )
        for axis in along
    }
    return found[kind]()


@functools.cache
def orthants() -> Any:
    return orthant.example(PS, n=300, epsilon=1.0, delta=1e-6, lam=0.05, seed=0)


@functools.cache
def ledgers() -> Any:
    return ledger_of(RUN, STEPS)


@functools.cache
def attacked() -> Any:
    zero, one = (dpcore.Data(np.array([[first], [0.0]]), np.ones(2)) for first in (0.0, 1.0))
    return audit_function(lambda data, rng: data.X[0, 0] + rng.laplace(), {"mine": (zero, one)}, epsilon=1.0, runs=500)


LOST = np.array([40.0, 20.0, 4.0, 0.5])
SIZES = np.array([math.nan, 50.0, 500.0, 900.0])
AT = np.array([0.01, 0.1, 1.0, 10.0])
USES = [
    Deployment("A statistical office", "a census", "2021-08", 19.61, 0.0, "person", "central", False, "", "", ""),
    Deployment("A network", "its statistics", "2020", 0.15, 0.0, "query", "central", True, "", "", ""),
]
ROWS = [
    attack.Row("correct code", "no contradiction found", 0.9, 0.8, "no contradiction found"),
    attack.Row("80% of the noise", "suspicious", 1.05, 0.95, "suspicious"),
    attack.Row("half the noise", "contradicted", 2.0, 1.9, "contradicted"),
    attack.Row("lambda of the sum", "contradicted", 13.4, 12.2, "contradicted"),
    attack.Row("one seed for all", "37% played", math.nan, math.nan, None),
]
FALSE = np.linspace(0.0, 1.0, 11)
CURVE = (np.array([0.0, 0.3, 1.0]), np.array([1.0, 0.4, 0.0]))
BET = (np.array([0.0, 2.0, 20.0, 200.0]), np.array([-2.0, -1.0, 5.0, 900.0]))


def smallest(lost: Any = LOST, *, at_most: float = 5.0, gain: float = 9.0, metric: str = "accuracy") -> SmallestEpsilon:
    """An answer by eight splits that lose so much on average, single releases up to a point more or less."""
    setting = loss_curve.Setting(Problem("synthetic", n=300), splits=8, epsilons=(*AT,), metric=metric)  # type: ignore[arg-type]
    away = np.linspace(-0.5, 0.5, 8)[:, None, None] + np.array([-0.5, 0.5])[:, None]
    single = 0.9 - 0.01 * (np.asarray(lost) + away)
    ends, loss = np.full(8, 0.9), np.zeros((8, len(AT)))
    none = np.zeros(0), np.zeros((0, len(AT)))
    floor = ends - 0.01 * gain
    curve = loss_curve.LostCurve(
        setting, AT, single.mean(axis=1), single, ends, floor, loss, np.ones(len(AT)), {}, *none
    )
    return SmallestEpsilon(curve, keep=1.0 - at_most / gain)


def budget(lost: Any = LOST, *, at_most: float = 5.0, gain: float = 9.0, **look: Any):
    return decide.budget_figure(smallest(lost, at_most=at_most, gain=gain), **look)


def equivalent(**look: Any):
    high = np.minimum(1000.0, 1.2 * SIZES)
    return decide.equivalent_figure(AT, SIZES, 0.8 * SIZES, high, n=1000, metric="log loss", epsilon=1.0, **look)


@functools.cache
def proof() -> ProofChain:
    problem = Problem("synthetic", n=300, lam=0.05)
    *_, found = ProofQuestion(dpcore.make_mechanism(KEYS[0]), problem, 1.0, 4).snapshots()
    return found


def all_figures(theme: str = "light", height: int = 430) -> Iterator[tuple[str, Callable[..., Figure], dict[str, Any]]]:
    """Name, function without its cursor, and the cursor's argument with two places (empty where there is none)."""
    look = {"theme": theme, "height": height}

    def draws_of(function: Callable[..., Figure], *values: Any, **named: Any) -> Callable[..., Figure]:
        return functools.partial(function, *values, **(look | named))

    yield (
        "price",
        draws_of(overview.price_figure, table(KEYS[0]), height=500, released=[(1.0, 0.1), (1.0, 9.0)]),
        {"epsilon": (1.0, 0.1)},
    )
    yield "bells", functools.partial(overview.bells_figure, 0.57, family="output", **look), {}
    excess = draws_of(perturbation.excess_figure, table(), mechanism=KEYS[0], hardest=hard())
    yield "excess", excess, {"epsilon": (1.0, 0.1)}
    swept = table(along="lam", values=(1e-4, 1e-3, 1e-2, 0.1, 1.0), epsilon=0.5)
    yield "valley", draws_of(perturbation.valley_figure, swept), {"lam": (0.01, 0.1)}
    yield "proof", draws_of(proof_chain.chain_figure, proof(), family="output"), {}
    yield "releases", draws_of(perturbation.release_scatter_figure, scatter()), {}
    leak = median_leak(2)
    marks = (np.array([leak.before[leak.owner_before]]), np.array([leak.after[leak.owner_after]]))
    yield "leak", draws_of(perturbation.leak_figure, leak, marks=marks, title="unit", height=300), {}
    yield "fit", draws_of(perturbation.fit_figure, polynomial_fit(2), height=300), {}
    useless = draws_of(dimension.dimension_figure, *padded(KEYS[0], KEYS[2]), accuracy_title=ACCURACY)
    yield "dimension", useless, {"p": (128, 2**20)}
    yield "orthant", draws_of(dimension.orthant_figure, orthants()), {"p": (128, 8)}
    for kind, places in (("steps", (20, 8)), ("people", (200, 1_000)), ("columns", (256, 16))):
        yield kind, draws_of(lasso.excess_figure, setting(kind)), {"at": places}
    yield "path", draws_of(lasso.path_figure, setting("path")), {}
    for on, lam, more in (("fresh", "auto", {}), ("training", 0.1, {"hardest": hard_draws()})):
        yield f"draws, {on}", draws_of(simplex.draws_figure, valley(lam), on=on, height=520, **more), {"m": (20, 5)}
    yield "simplex columns", draws_of(simplex.columns_figure, columns()), {"p": (32, 8)}
    yield "support", draws_of(simplex.support_figure, release()), {}
    yield "regret", draws_of(streaming.regret_figure, *streams()), {"steps": (60, 200)}
    yield "play", draws_of(streaming.play_figure, play(), height=560), {}
    yield "orders", draws_of(geometry.order_figure, orders()), {"p_norm": (2.0, 1.5)}
    yield "rates", draws_of(geometry.rates_figure, plane("rows")), {"p_norm": (1.5, 2.0)}
    yield "members", draws_of(geometry.members_figure, plane("members")), {"epsilon": (1.0, 10.0)}
    yield "ball", draws_of(geometry.ball_figure, plane("ball")), {}
    yield "learners", draws_of(geometry.learners_figure, plane("people")), {"n": (4_000, 1_000)}
    yield "many passes", draws_of(geometry.learners_figure, plane("passes")), {"n": (4_000, 1_000)}
    for axis, places in (("epsilon", (1.0, 10.0)), ("classes", (5.0, 2.0)), ("d", (8.0, 2.0))):
        yield f"accuracy, {axis}", draws_of(multiclass.accuracy_figure, classified(axis)), {"cursor": places}
    for kind in ("drawn", "real"):
        yield f"regions, {kind}", draws_of(multiclass.regions_figure, classified(kind)), {}
    yield (
        "ledger",
        draws_of(composition.ledger_figure, ledgers(), STEPS, span=(1, 10**8), target=1.0),
        {"at": (80_000, 10)},
    )
    yield "ruler", draws_of(attack.ruler_figure, ROWS, claim=1.0, picked=2), {}
    yield (
        "plane",
        draws_of(attack.plane_figure, FALSE, 0.9 * (1 - FALSE), CURVE, CURVE, (0.4, 0.45), verdict="contradicted"),
        {},
    )
    yield "betting", draws_of(attack.betting_figure, BET, BET, runs=20_000, verdict="contradicted"), {}
    scored = np.linspace(-1.0, 1.0, 5), np.full(4, 0.25), np.array([0.1, 0.2, 0.3, 0.4])
    yield "scores", draws_of(attack.scores_figure, *scored), {}
    for name, figure in function.function_figures(attacked(), **look).items():
        yield f"function, {name}", lambda figure=figure: figure, {}
    yield "budget", draws_of(budget, family="output"), {}
    yield "equivalent", draws_of(equivalent, family="output"), {}
    yield "uses", functools.partial(decide.uses_figure, USES, epsilon=1.0, theme=theme), {}
    bars = ["a<br>b", "c"], [1.3, 0.9], [1.5, 1.2], [1.6, math.nan]
    yield "exhibits", draws_of(named_bars.exhibits_figure, *bars), {}
    fading = {"wrong": "is wrong", "loose": "is loose"}
    yield "corrections", draws_of(named_bars.corrections_figure, ["a", "b"], [3.0, 1.2], list(fading), fading), {}
    reproduced = (Exponent("private LASSO", "n", -0.62, 0.03, -0.67), Exponent("hard records", "n", -0.5, 0.1, -0.67))
    yield "reproduction", functools.partial(reproductions.reproduction_figure, reproduced, theme=theme), {}
    yield "survey", draws_of(survey.survey_figure, against_people(1.0, (10, 30, 100)), room=(27, 0.38)), {"n": (30, 10)}
    one = simulated(30, 0.3, 1.0, 7)
    yield "estimate", draws_of(survey.estimate_figure, one, central=central_bound(30, 1.0), height=300), {}
