"""Output, objective and gradient perturbation under the same guarantee, and what Kamath's Lemma 1 asks for."""

import dataclasses as dc
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from ....core.losses import get_loss
from ....core.power_law import power_law
from ....core.rng import generator
from ....core.specification import Spec
from ....core.validation import integer
from ....experiments.experiment import Axis, Experiment
from ....experiments.run import run as run_experiment
from ....experiments.summary import LEAST_BANDED, Summary
from ....mechanisms import make_mechanism
from ....mechanisms.problem import Problem
from ....solvers.descent.noisy_sgd import noisy_descent
from ....theory.gradient_descent import last_iterate_bound
from ...perturbation.published_rates import kamath_bound
from .base import Claim, ExcessOfMechanisms, Outcome, claim, protocol, verdict_of

RUNS = 50
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SOURCES = (("synthetic", 2_000, 10), ("breast_cancer", None, None))
_DELTA = 1e-6
_KEYS = {
    "output perturbation": "output_gaussian",
    "objective perturbation": "objective_gaussian",
    "gradient perturbation": "noisy_gd",
    "output perturbation, as Lemma 1 asks": "output_gaussian",
}
OUTPUT, OBJECTIVE, GRADIENT, LEMMA_1 = _KEYS
_CLEAR = 2.0  # standard errors
_LAMS = tuple(float(lam) for lam in np.geomspace(1e-5, 1.0, 21))
LOOKED, LOOKED_SE = "excess_lam_chosen_by_looking", "se_lam_chosen_by_looking"
_COLUMNS = [
    *("source", "n", "way", "epsilon", "spent_epsilon", "excess", "se", "q10", "q90", "noiseless", "scale"),
    *("nothing_learned", "published", LOOKED, LOOKED_SE),
]


def three_ways(source: str, n: int | None, p: int | None, runs: int, seed: int) -> pd.DataFrame:
    """Excess risk on one source's training records: a row for each way and epsilon, ways of `_KEYS` in its order.

    Logistic loss; each mechanism with its own choice of lam and steps, which sees no record. Columns: source, n, way,
    epsilon, spent_epsilon, excess, se, q10, q90, noiseless, scale (of the noise), nothing_learned (excess of
    theta = 0). published: Kamath's bound on gradient perturbation over the best model of norm theta_norm, raised to F*;
    nan elsewhere and where its accounting does not apply. LOOKED, LOOKED_SE: excess of objective perturbation with the
    lam of the least mean among many, and its error, nan elsewhere. It was chosen by looking at the records: it is no
    private result.
    """
    made = {name: make_mechanism(key) for name, key in _KEYS.items() if name != LEMMA_1}
    made[LEMMA_1] = make_mechanism("output_gaussian", accounting="kamath")
    problem = Problem(source, n, p, _DELTA, seed=seed)  # type: ignore[arg-type]
    asked = Experiment(problem, tuple(made.values()), sweep=Axis("epsilon", EPSILONS), repetitions=runs)
    table = _excess(asked).assign(source=source, way=np.repeat(list(made), len(EPSILONS)))
    table[["q10", "q90"]] = table[["q10", "q90"]].where(table.repetitions >= LEAST_BANDED, axis=0)
    cell = next(dc.replace(asked, mechanisms=(made[GRADIENT],)).cells())
    table["nothing_learned"] = get_loss(problem.loss).at_zero(problem.spec(cell.mechanism)) - problem.reference().risk
    beyond = problem.comparator().risk - problem.reference().risk
    table.loc[table.way == GRADIENT, "published"] = kamath_bound(cell) + beyond
    grid = dc.replace(asked, mechanisms=(made[OBJECTIVE],), sweep=Axis("lam", _LAMS))
    best = [_excess(dc.replace(grid, epsilon=epsilon)).sort_values("excess").iloc[0] for epsilon in EPSILONS]
    table.loc[table.way == OBJECTIVE, [LOOKED, LOOKED_SE]] = [[found.excess, found.se] for found in best]
    return table[_COLUMNS]


def _excess(asked: Experiment) -> pd.DataFrame:
    table = run_experiment(asked)
    return table[table.metric == "excess_empirical_risk"].rename(columns={"mean": "excess"})


def wide(table: pd.DataFrame, column: str = "excess") -> pd.DataFrame:
    """A column of the table. Rows: source and epsilon; columns: ways."""
    return table.pivot(index=["source", "epsilon"], columns="way", values=column)


def winners(table: pd.DataFrame) -> pd.Series:
    """The way with the least mean at each source and epsilon, "a tie" within two standard errors of the next."""
    means, errors, found = wide(table), wide(table, "se"), {}
    for place in means.index:
        first, second = means.loc[place, [OUTPUT, OBJECTIVE, GRADIENT]].sort_values().index[:2]
        apart = means.loc[place, second] - means.loc[place, first]
        clear = apart > _CLEAR * math.hypot(errors.loc[place, first], errors.loc[place, second])
        found[place] = first if clear else "a tie"
    return pd.Series(found)


def claims_of(table: pd.DataFrame) -> tuple[Claim, ...]:
    return (_winners(table), _lemma(table), _gradient(table))


def _winners(table: pd.DataFrame) -> Claim:
    best, told = winners(table), []
    for source, n in table.groupby("source", sort=False).n.first().items():
        runs = [f"{epsilon:g}: {name}" for epsilon, name in best[source].items()]
        told.append(f"{source} (n = {n:,}), epsilon {', '.join(runs)}")
    means, errors = wide(table), wide(table, "se")
    looked, looked_se = (wide(table, column)[OBJECTIVE] for column in (LOOKED, LOOKED_SE))
    wins, places = int((best == OBJECTIVE).sum()), len(best)
    beaten = (means[OUTPUT] - means[OBJECTIVE] > _CLEAR * np.hypot(errors[OUTPUT], errors[OBJECTIVE])).sum()
    error = _CLEAR * np.hypot(looked_se, errors[GRADIENT])
    ahead, behind = (means[GRADIENT] - looked > error).sum(), (looked - means[GRADIENT] > error).sum()
    words = (
        f"objective perturbation is ahead of output perturbation at {beaten} of {places} points and of all three at "
        f"{wins}. Best: {'; '.join(told)}"
    )
    facts = {"lams": len(_LAMS), "ahead": ahead, "places": places, "behind": behind}
    return claim("kamath_winners", verdict_of(2 * wins >= places), words, **facts)


def _lemma(table: pd.DataFrame) -> Claim:
    scales, told = wide(table, "scale"), []
    factors = scales[LEMMA_1] / scales[OUTPUT]
    for source, rows in table[table.way == LEMMA_1].groupby("source", sort=False):
        last = rows.iloc[-1]
        told.append(
            f"{source}: {factors[source].iloc[0]:,.0f} times the noise, at asked epsilon = {last.epsilon:g} an epsilon "
            f"of {last.spent_epsilon:.2g} is spent and the excess is {last.excess:.3g}, "
            f"{last.excess / last.nothing_learned:.3g} times that of theta = 0"
        )
    return claim("kamath_lemma", verdict_of(bool(np.allclose(factors, 1.0))), "; ".join(told))


def _gradient(table: pd.DataFrame) -> Claim:
    told, gradient = [], table[table.way == GRADIENT]
    below = bool((gradient.excess[known := gradient.published.notna()] <= gradient.published[known]).all())
    for source, rows in gradient.groupby("source", sort=False):
        law, least = power_law(rows.epsilon, rows.excess), (rows.published / rows.excess).min()
        power = f"power {law.slope:.2f}" if law.slope is not None else f"no power ({law.reason})"
        told.append(f"{source}: {power} of epsilon, the published bound is at least {least:,.0f} times the mean")
    return claim("kamath_gradient", verdict_of(below), "; ".join(told))


def without_noise(problem: Problem) -> tuple[float, float, float]:
    """Excess over the best model of norm theta_norm after n^2 gradients of one record, without noise: with one in each
    of n^2 steps, with all in each of n; and what Theorem 2 allows after n^2 steps of either."""
    split, loss, B, n = problem.load(), get_loss(problem.loss), problem.theta_norm, problem.n
    G = loss.largest_gradient(Spec(problem.loss, n, problem.p, 0.0, split.domain, B, B))
    best, found = problem.comparator().risk, []
    for rate, steps in ((0.0, n**2), (1.0, n)):
        run = noisy_descent(
            loss, split.train, steps=steps, step=2.0 * B / G, decaying=True, sigma=0.0, radius=B, rate=rate,
            rng=generator(problem.seed, "descent without noise", 0),
        )  # fmt: skip
        found.append(float(loss.risks(split.train, run.last[None])[0]) - best)
    return found[0], found[1], last_iterate_bound(2.0 * B, G, n**2)


def counts_claim(n: int, single: float, full: float, bound: float) -> Claim:
    """single, full, bound: of `without_noise`."""
    told = (
        f"n = {n:,}: n^2 steps take n^3 = {n**3:,} gradients with all records in each step and n^2 = {n**2:,} with "
        f"one; the excess is then {single:.2g} with one, where Theorem 2 allows {bound:.2g} in either case, and "
        f"{'less' if full < single else 'more'} with all records in n steps, which take n^2 gradients as well"
    )
    return claim("kamath_counts", verdict_of(single <= bound), told)


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    parts = []
    for source, n, p in SOURCES:
        parts.append(three_ways(source, n, p, integer("runs", RUNS if runs is None else runs, at_least=2), seed))
        told(f"{source} is done")
    table, first = pd.concat(parts, ignore_index=True), parts[0].groupby("way")
    measured = {
        name: (key, Summary(*first.get_group(name)[["excess", "se", "q10", "q90", "noiseless"]].to_numpy(float).T))
        for name, key in _KEYS.items()
    }
    words = "; ".join(f"{part.source.iloc[0]}, n = {part.n.iloc[0]:,}" for part in parts)
    source, n, p = SOURCES[0]
    drawn = Problem(source, n, p, _DELTA, seed=seed)
    return Outcome(
        f"{words} (the figure shows the first)",
        table,
        ExcessOfMechanisms(np.array(EPSILONS), measured, float(parts[0].nothing_learned.iloc[0])),
        (*claims_of(table), counts_claim(drawn.n, *without_noise(drawn))),
    )


PROTOCOL = protocol("kamath_three_ways", delta=_DELTA, low=EPSILONS[0], high=EPSILONS[-1], runs=RUNS)
