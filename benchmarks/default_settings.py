"""How much automatic settings lose against the best of a grid, which only the private records could reveal.

    python -m benchmarks.default_settings [RULE ...] [--seeds 6] [--draws 4]

A row is a task of `benchmarks.tasks` and a loss, a column a mechanism with automatic settings; a cell is the mean loss
over `EPSILONS` at delta = 1e-6. Classes: points of accuracy on test records. Numbers, and all models of other sets than
the L2 ball: excess risk on test records, in percent of what there is to learn, the excess of the model that has learned
nothing (0, or the uniform mixture) over the best of the set. The best settings of a grid are chosen, for each epsilon,
on one half of the seeds and measured on the other, and the other way round, so that chance favours neither side; all
settings use the same random numbers. Tasks in italics are those that the rules were chosen on.
"""

import argparse
import dataclasses as dc
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from benchmarks.tasks import BALL_TASKS, L1_TASKS, SIMPLEX_TASKS, Task, norm_tasks
from dpcore import Data, NotApplicable, Plan, calibrate
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.core.privacy import Unconverged
from dpcore.mechanisms.gradient.base import descent_of
from dpcore.mechanisms.gradient.phased_sgd import eta_of
from dpcore.studies.multiclass.curves import FACTORS, Records, accuracy_against_lam

EPSILONS, DELTA = (0.1, 0.5, 1.0, 3.0, 10.0), 1e-6
Settings = dict[str, Any]
_FACTORS, _ROUGH = tuple(2.0**k for k in range(-4, 5)), (0.25, 1.0, 4.0)
_COUNTS, _MANY = (0.125, 0.25, 0.35, 0.5, 0.7, 1.4, 2.0, 4.0), (16, 64, 256)


def lams(plan: Plan) -> list[Settings]:
    """lam from 1/16 to 16 times the automatic one."""
    return [{"lam": factor * float(plan.spec.lam)} for factor in _FACTORS]


def schedules(plan: Plan) -> list[Settings]:
    """A quarter to four times as many steps, from an eighth to eight times as long."""
    step = descent_of(plan).step
    return [{"steps": max(1, round(k * plan.steps)), "step": factor * step} for k in _ROUGH for factor in _FACTORS[1:-1]]


def batches(plan: Plan) -> list[Settings]:
    """Schedules with a quarter to four times as many records in a batch."""
    n, records = plan.spec.n, plan.ledger[0].rate * plan.spec.n
    return [made | {"batch": min(max(1.0, k * records), n)} for k in _ROUGH for made in schedules(plan)[7::2]]


def counts(name: str, least: int, more: int, plan: Plan) -> list[Settings]:
    """An eighth to four times the automatic count, at `least`, and 16, 64 and 256. more: the count less `Plan.steps`."""
    found = {max(least, round(factor * (plan.steps + more))) for factor in _COUNTS}
    return [{name: count} for count in sorted(found | set(_MANY))]


def depths(plan: Plan) -> list[Settings]:
    return [{"T": T} for T in range(1, 13)]


def first_steps(plan: Plan) -> list[Settings]:
    return [{"step": factor * eta_of(plan)} for factor in _FACTORS]


@dc.dataclass(frozen=True)
class Rule:
    """Automatic settings of a mechanism. grid: settings by hand, given the plan of the automatic ones. knobs: others."""

    key: str
    grid: Callable[[Plan], list[Settings]]
    tasks: Sequence[Task]
    knobs: Settings = dc.field(default_factory=dict)


_LAMS = ("output_gaussian", "output_gamma", "objective_gaussian", "objective_gamma")
RULES = {
    **{key: Rule(key, lams, BALL_TASKS) for key in _LAMS},
    "noisy_gd": Rule("noisy_gd", schedules, BALL_TASKS),
    "noisy_sgd": Rule("noisy_sgd", batches, BALL_TASKS),
    "frank_wolfe_polytope": Rule("frank_wolfe_polytope", partial(counts, "T", 2, 1), L1_TASKS),
    "frank_wolfe_general": Rule("frank_wolfe_general", partial(counts, "T", 2, 1), L1_TASKS),
    "polyhedral_frank_wolfe": Rule("polyhedral_frank_wolfe", partial(counts, "T", 1, -1), L1_TASKS),
    "polyhedral_frank_wolfe, tree": Rule("polyhedral_frank_wolfe", depths, L1_TASKS, {"variant": "tree"}),
    "simplex_sampling": Rule("simplex_sampling", partial(counts, "m", 1, 0), SIMPLEX_TASKS),
    "tree_frank_wolfe": Rule("tree_frank_wolfe", depths, norm_tasks(1.2, 1.5)),
    "phased_sgd": Rule("phased_sgd", first_steps, norm_tasks(2.0, math.inf)),
}


def plans_of(rule: Rule, task: Task, loss: str, epsilon: float) -> list[Plan | None]:
    """The automatic plan, then those by hand; None where there is no guarantee for the budget. [] without the first."""
    train = task.draw(0)[0]
    facts = {"n": train.n, "p": train.p, "delta": DELTA, "loss": loss, "epsilon": epsilon, **task.facts, **rule.knobs}

    def plan(**settings: Any) -> Plan | None:
        try:
            made = calibrate(rule.key, **facts | settings)
        except NotApplicable:
            return None
        return made if made.spent <= made.requested else None

    automatic = plan()
    return [automatic, *(plan(**settings) for settings in rule.grid(automatic))] if automatic else []


def qualities(rule: Rule, task: Task, loss: str, seeds: int, draws: int) -> list[Array]:
    """Mean quality in points of all settings, automatic ones first, for each epsilon: [seeds, settings], nan for none."""
    plans = [plans_of(rule, task, loss, epsilon) for epsilon in EPSILONS]
    found = [np.full((seeds, len(row)), np.nan) for row in plans]
    for seed in range(seeds):
        train, test = task.draw(seed)
        quality = _measure(task, loss, train, test)
        for row, values in zip(plans, found, strict=True):
            for i, plan in enumerate(row):
                if plan is not None:
                    values[seed, i] = quality(_models(plan, train, seed, draws))
    return found


def _models(plan: Plan, train: Data, seed: int, draws: int) -> Array:
    """Releases [draws, p]; nan where the solver could not certify one."""
    rngs = [np.random.default_rng([seed, draw]) for draw in range(draws)]
    try:
        return plan.mechanism.release_many(plan, plan.mechanism.prepare(plan, train), rngs)
    except Unconverged:
        return np.full((draws, train.p), np.nan)


def _measure(task: Task, loss: str, train: Data, test: Data) -> Callable[[Array], float]:
    """Quality of models [k, p]: accuracy, or the share of what there is to learn; in points."""

    def risk(thetas: Array) -> float:
        return float(get_loss(loss).row_means(np.zeros(test.n), thetas @ test.X.T, 1.0, test.y).mean())

    if task.counts_classes(loss):
        return lambda thetas: 100.0 * float(((test.X @ thetas.T > 0) == (test.y[:, None] > 0)).mean())
    nothing, best = (risk(theta[None]) for theta in (task.nothing(train.p), task.best(loss, train)))
    return lambda thetas: 100.0 * (nothing - risk(thetas)) / (nothing - best)


def classifier_qualities(source: str, n: int, seeds: int, draws: int) -> list[Array]:
    """Accuracy of the Gaussian classifier as `qualities` has it, with multiples of the automatic lam."""
    tuned = [
        accuracy_against_lam(EPSILONS, Records(source, n, seed), delta=DELTA, repetitions=2 * draws)
        for seed in range(seeds)
    ]
    own = FACTORS.index(1.0)
    found = 100.0 * np.array([each.accuracy for each in tuned])
    return [np.insert(found[:, k], 0, found[:, k, own], axis=1) for k in range(len(EPSILONS))]


def lost(found: Sequence[Array]) -> Array:
    """Points that automatic settings lose against the best others, mean over epsilon, for each seed: [seeds].

    found: as `qualities` returns it; an epsilon without automatic settings does not count. The best settings for a seed
    are those with the best mean over the seeds of the other half, odd or even.

    >>> settings = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 5.0], [1.0, 4.0, 0.0], [1.0, 0.0, 1.0]])
    >>> lost([settings, np.empty((4, 0))]).tolist()
    [-1.0, -1.0, -1.0, -1.0]
    """
    each = []
    for values in found:
        if not values.size:
            continue
        halves = np.stack([values[1::2].mean(axis=0), values[::2].mean(axis=0)])
        best = np.where(np.isnan(halves), -np.inf, halves).argmax(axis=1)
        seeds = np.arange(len(values))
        each.append(values[seeds, best[seeds % 2]] - values[:, 0])
    return cast(Array, np.mean(each, axis=0)) if each else np.full(len(found[0]), np.nan)


def rows(names: Sequence[str], seeds: int, draws: int) -> Iterator[tuple[str, bool, str, str, Array]]:
    """Task, whether rules were chosen on it, loss, rule, and `lost`, for everything that applies."""
    for name in names:
        rule = RULES[name]
        for task in rule.tasks:
            for loss in task.losses:
                found = lost(qualities(rule, task, loss, seeds, draws))
                if not np.isnan(found).all():
                    yield task.name, task.seen, loss, name, found


CLASSIFIER = "gaussian_classifier"
CLASSIFIER_TASKS = (("iris", 105, True), ("wine", 124, True), ("digits", 1_257, True), ("gaussian_classes", 2_000, False))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default_settings", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"some of {', '.join((*RULES, CLASSIFIER))}; default: all")
    parser.add_argument("--seeds", type=int, default=6, help="splits or draws of the records, even")
    parser.add_argument("--draws", type=int, default=4, help="releases on each")
    words = parser.parse_args(arguments)
    names = words.rules or [*RULES, CLASSIFIER]
    if unknown := set(names).difference(RULES, [CLASSIFIER]):
        parser.error(f"RULE must be one of {', '.join((*RULES, CLASSIFIER))}, got {', '.join(sorted(unknown))}")
    print("| rule | task | loss | points lost | standard error |\n|---|---|---|---|---|")
    made = list[tuple[str, bool, float]]()
    found = rows([name for name in names if name != CLASSIFIER], words.seeds, words.draws)
    if CLASSIFIER in names:
        own = (
            (source, seen, "multiclass_hinge", CLASSIFIER, lost(classifier_qualities(source, n, words.seeds, words.draws)))
            for source, n, seen in CLASSIFIER_TASKS
        )
        found = (row for some in (found, own) for row in some)
    for task, seen, loss, name, points in found:
        se = points.std(ddof=1) / math.sqrt(len(points))
        print(f"| {name} | {f'*{task}*' if seen else task} | {loss} | {points.mean():.1f} | {se:.1f} |", flush=True)
        made.append((name, seen, float(points.mean())))
    print("\n| rule | tasks | new tasks | mean | median | within 1 point | largest |\n|---|---|---|---|---|---|---|")
    for name in names:
        for seen in (True, False):
            values = [points for rule, known, points in made if (rule, known) == (name, seen)]
            if values:
                within = f"{sum(v <= 1.0 for v in values)} of {len(values)}"
                print(f"| {name} | {'seen' if seen else 'new'} | {np.mean(values):.1f} | {np.median(values):.1f} | {within} | {max(values):.1f} |")


if __name__ == "__main__":
    main()
