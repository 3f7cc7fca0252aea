"""How much automatic settings lose against the best of a grid, which only the private records could reveal.

    python -m benchmarks.default_settings [RULE ...] [--seeds 6] [--draws 4]

A row is a task of `benchmarks.tasks` and a loss, a column a mechanism with automatic settings; a cell is the mean loss
over `EPSILONS` at delta = 1e-6. Classes: points of accuracy on test records. Numbers, and all models of other sets than
the L2 ball: excess risk on test records, in percent of what there is to learn, the excess of the model that has learned
nothing (0, or the uniform mixture) over the best of the set. The best settings of a grid are chosen, for each epsilon,
on one half of the seeds and measured on the other, and the other way round, so that chance favours neither side; all
settings use the same random numbers. Tasks in italics are those that the rules were chosen on. The last table has
tasks that share all public facts, and what any rule that uses nothing else loses on one of them (`shared_loss`).
"""

import argparse
import dataclasses as dc
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog

from benchmarks.tasks import BALL_TASKS, L1_TASKS, SIMPLEX_TASKS, STREAM_TASKS, Task, norm_tasks
from dpcore import Data, NotApplicable, Plan, calibrate, list_mechanisms, make_mechanism
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.core.privacy import Unconverged
from dpcore.mechanisms.gradient.base import descent_of
from dpcore.mechanisms.gradient.phased_sgd import eta_of
from dpcore.mechanisms.objective.base import ObjectivePerturbation
from dpcore.mechanisms.output.base import OutputPerturbation
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
    return [
        {"steps": max(1, round(k * plan.steps)), "step": factor * step} for k in _ROUGH for factor in _FACTORS[1:-1]
    ]


def batches(plan: Plan) -> list[Settings]:
    """Schedules with a quarter to four times as many records in a batch."""
    n, records = plan.spec.n, plan.ledger[0].rate * plan.spec.n
    return [made | {"batch": min(max(1.0, k * records), n)} for k in _ROUGH for made in schedules(plan)[7::2]]


def counts(name: str, least: int, more: int, plan: Plan) -> list[Settings]:
    """An eighth to four times the automatic count, and 16, 64 and 256. more: the count less `Plan.steps`."""
    found = {max(least, round(factor * (plan.steps + more))) for factor in _COUNTS}
    return [{name: count} for count in sorted(found | set(_MANY))]


def depths(plan: Plan) -> list[Settings]:
    return [{"T": T} for T in range(1, 13)]


def first_steps(plan: Plan) -> list[Settings]:
    return [{"step": factor * eta_of(plan)} for factor in _FACTORS]


@dc.dataclass(frozen=True)
class Rule:
    """Automatic settings of a mechanism. grid: settings by hand, given the automatic plan. knobs: other settings."""

    key: str
    grid: Callable[[Plan], list[Settings]]
    tasks: Sequence[Task]
    knobs: Settings = dc.field(default_factory=dict)


_PERTURBATIONS = (OutputPerturbation, ObjectivePerturbation)
_LAMS = [key for key in list_mechanisms() if isinstance(make_mechanism(key), _PERTURBATIONS)]
RULES = {
    **{key: Rule(key, lams, BALL_TASKS) for key in _LAMS},
    "noisy_gd": Rule("noisy_gd", schedules, BALL_TASKS),
    "noisy_sgd": Rule("noisy_sgd", batches, BALL_TASKS),
    "frank_wolfe_polytope": Rule("frank_wolfe_polytope", partial(counts, "T", 2, 1), L1_TASKS),
    "frank_wolfe_general": Rule("frank_wolfe_general", partial(counts, "T", 2, 1), L1_TASKS),
    "polyhedral_frank_wolfe": Rule("polyhedral_frank_wolfe", partial(counts, "T", 1, -1), L1_TASKS),
    "polyhedral_frank_wolfe, tree": Rule("polyhedral_frank_wolfe", depths, L1_TASKS, {"variant": "tree"}),
    "simplex_sampling": Rule("simplex_sampling", partial(counts, "m", 1, 0), SIMPLEX_TASKS),
    "ftrl": Rule("ftrl", lams, STREAM_TASKS),
    "tree_frank_wolfe": Rule("tree_frank_wolfe", depths, norm_tasks(1.2, 1.5)),
    "phased_sgd": Rule("phased_sgd", first_steps, norm_tasks(2.0, math.inf)),
}

CLASSIFIER = "gaussian_classifier"
CLASSIFIER_TASKS = {
    "iris": (Records("iris", 105, 0), True),
    "wine": (Records("wine", 124, 0), True),
    "digits": (Records("digits", 1_257, 0), True),
    "gaussian_classes": (Records("gaussian_classes", 2_000, 0), False),
    "gaussian_classes, 105 x 4": (Records("gaussian_classes", 105, 0, d=4), False),
    "gaussian_classes, 124 x 13": (Records("gaussian_classes", 124, 0, d=13), False),
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
    """Mean quality of all settings in points, automatic ones first, for each epsilon: [seeds, settings], or nan."""
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
    """Quality of models [k, p] or arms [k, n]: accuracy, or the share of what there is to learn; in points."""
    if get_loss(loss).task == "cost":
        costs, steps = np.asarray(train.X), np.arange(train.n)
        even, least = float(costs.mean()), float(costs.mean(axis=0).min())
        return lambda arms: 100.0 * (even - float(costs[steps, arms.astype(int)].mean())) / (even - least)

    def risk(thetas: Array) -> float:
        return float(get_loss(loss).row_means(np.zeros(test.n), thetas @ test.X.T, 1.0, test.y).mean())

    if task.counts_classes(loss):
        return lambda thetas: 100.0 * float(((test.X @ thetas.T > 0) == (test.y[:, None] > 0)).mean())
    nothing, best = (risk(theta[None]) for theta in (task.nothing(train.p), task.best(loss, train)))
    return lambda thetas: 100.0 * (nothing - risk(thetas)) / (nothing - best)


def classifier_qualities(records: Records, seeds: int, draws: int) -> list[Array]:
    """Accuracy of the Gaussian classifier as `qualities` has it, with multiples of the automatic lam."""
    tuned = [
        accuracy_against_lam(EPSILONS, dc.replace(records, seed=seed), delta=DELTA, repetitions=2 * draws)
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


def shared_loss(group: Sequence[Sequence[Array]]) -> tuple[Array, Array]:
    """Points that any rule loses on some task, and that the best found loses on the worst, for each seed: [seeds].

    group: `qualities` of tasks with the same public facts, for which a data-independent rule has one choice for each
    epsilon, a setting or a distribution over settings that have a guarantee and a release on all tasks. The choice of
    the smallest largest loss, a linear programme, and its dual, a mixture of the tasks, come from one half of the seeds
    and are measured on the other, and the other way round. Every rule loses at least as much on some task as on the
    mixture, where the least loss is that of one setting. The best setting of each task is chosen on the first half,
    that of the mixture on the second, so that chance makes the first number too small, never too large, on average.

    One of two settings is good for each task, by 4 points: half and half loses 2 on both, and no choice less on both.

    >>> one, other = np.array([[1.0, 5.0]] * 4), np.array([[5.0, 1.0]] * 4)
    >>> [points.tolist() for points in shared_loss([[one], [other]])]
    [[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]]
    """
    together = [np.stack(values) for values in zip(*group, strict=True) if values[0].size]
    epsilons = [values[:, :, np.isfinite(values).all(axis=(0, 1))] for values in together]
    tasks, seeds = epsilons[0].shape[:2]
    any_rule, best_found = np.zeros(seeds), np.zeros(seeds)
    for half in (0, 1):
        here, there = np.arange(seeds) % 2 == half, np.arange(seeds) % 2 != half
        means = [values[:, here].mean(axis=1) for values in epsilons]
        choices, mixture = _least_largest([mean.max(axis=1, keepdims=True) - mean for mean in means])
        each = np.zeros((tasks, there.sum()))
        for values, mean, choice in zip(epsilons, means, choices, strict=True):
            best = values[np.arange(tasks), :, mean.argmax(axis=1)][:, there]
            mixed = np.tensordot(mixture, values[:, there], 1)
            any_rule[there] += mixture @ best - mixed[:, mixed.mean(axis=0).argmax()]
            each += best - values[:, there] @ choice
        best_found[there] = each[each.mean(axis=1).argmax()]
    return any_rule / len(epsilons), best_found / len(epsilons)


def _least_largest(losses: Sequence[Array]) -> tuple[list[Array], Array]:
    """Weights of the settings for each epsilon with the least loss on the worst task, and the dual weights [tasks].

    losses: for each epsilon, [tasks, settings].
    """
    tasks, sizes = len(losses[0]), [each.shape[1] for each in losses]
    once = np.repeat(np.eye(len(sizes)), sizes, axis=1)  # weights add up to 1 for each epsilon
    solved = linprog(
        np.append(np.zeros(sum(sizes)), 1.0),
        A_ub=np.column_stack([np.hstack(losses) / len(sizes), -np.ones(tasks)]),
        b_ub=np.zeros(tasks),
        A_eq=np.column_stack([once, np.zeros(len(sizes))]),
        b_eq=np.ones(len(sizes)),
    )
    return np.split(solved.x[:-1], np.cumsum(sizes)[:-1]), -solved.ineqlin.marginals


@dc.dataclass(frozen=True)
class Points:
    """Mean over the seeds, and its standard error."""

    mean: float
    se: float

    @classmethod
    def of(cls, each: Array) -> "Points":
        return cls(float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each))))

    def __str__(self) -> str:
        return f"{self.mean:.1f} ({self.se:.1f})"


@dc.dataclass(frozen=True)
class Measured:
    """Settings of a rule on a task.

    seen: whether rules were chosen on it. facts: all that a rule may use, apart from epsilon and delta. found: as
    `qualities` returns it. points: that the automatic settings lose.
    """

    rule: str
    task: str
    loss: str
    seen: bool
    facts: str
    found: list[Array]

    @property
    def points(self) -> Points:
        return Points.of(lost(self.found))


def measured(names: Sequence[str], seeds: int, draws: int, only: str | None) -> Iterator[Measured]:
    """Each rule on every task and loss for which its mechanism has automatic settings. only: name of a single task."""
    for name in names:
        if name == CLASSIFIER:
            yield from _classifier_measured(seeds, draws, only)
            continue
        for task in RULES[name].tasks:
            if only not in (None, task.name):
                continue
            for loss in task.losses:
                found = qualities(RULES[name], task, loss, seeds, draws)
                if any(values.size for values in found):
                    facts = f"{task.draw(0)[0].X.shape}, {loss}, {task.facts}"
                    yield Measured(name, task.name, loss, task.seen, facts, found)


def _classifier_measured(seeds: int, draws: int, only: str | None) -> Iterator[Measured]:
    for name, (records, seen) in CLASSIFIER_TASKS.items():
        if only in (None, name):
            train = records.split().train
            facts = f"{train.X.shape}, {len(np.unique(train.y))} classes"
            found = classifier_qualities(records, seeds, draws)
            yield Measured(CLASSIFIER, name, "multiclass_hinge", seen, facts, found)


def shared_table(found: Sequence[Measured]) -> str:
    """Groups of tasks with the same public facts, and what any rule, the best found and the automatic one lose."""
    groups = dict[tuple[str, str], list[Measured]]()
    for each in found:
        groups.setdefault((each.rule, each.facts), []).append(each)
    lines = ["| rule | tasks | any rule | best found | automatic |", "|---|---|---|---|---|"]
    for (rule, _), group in groups.items():
        if len(group) > 1:
            least, best = (Points.of(points) for points in shared_loss([each.found for each in group]))
            most = max((each.points for each in group), key=lambda points: points.mean)
            lines.append(f"| {rule} | {'; '.join(each.task for each in group)} | {least} | {best} | {most} |")
    return "\n".join(lines)


def tables(found: Sequence[Measured]) -> str:
    """Rules side by side that share tasks, and then what each loses over all its cells, as printed."""
    lines = list[str]()
    for names in _groups(found):
        lines += [f"| task | loss | {' | '.join(names)} |", f"|{'---|' * (2 + len(names))}"]
        cells = {(row.rule, row.task, row.loss): row for row in found if row.rule in names}
        for task, loss, seen in dict.fromkeys((row.task, row.loss, row.seen) for row in cells.values()):
            made = [str(cells[name, task, loss].points) if (name, task, loss) in cells else "" for name in names]
            lines.append(f"| {f'*{task}*' if seen else task} | {loss} | {' | '.join(made)} |")
        lines.append("")
    lines += ["| rule | tasks | mean | median | within 1 point | largest |", "|---|---|---|---|---|---|"]
    for name, seen in dict.fromkeys((row.rule, row.seen) for row in found):
        points = [round(row.points.mean, 1) for row in found if (row.rule, row.seen) == (name, seen)]
        within = f"{sum(value <= 1.0 for value in points)} of {len(points)}"
        figures = f"{np.mean(points):.1f} | {np.median(points):.1f} | {within} | {max(points):.1f}"
        lines.append(f"| {name} | {'seen' if seen else 'new'} | {figures} |")
    return "\n".join(lines)


def _groups(found: Sequence[Measured]) -> list[list[str]]:
    """Rules with a task in common, in their order."""
    groups = dict[str, list[str]]()
    for name in dict.fromkeys(row.rule for row in found):
        first = next(row for row in found if row.rule == name)
        groups.setdefault(f"{first.task}, {first.loss}", []).append(name)
    return list(groups.values())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.default_settings", description=(__doc__ or "").split("\n")[0]
    )
    known = ", ".join((*RULES, CLASSIFIER))
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"some of {known}; default: all")
    parser.add_argument("--seeds", type=int, default=6, help="splits or draws of the records, at least 2")
    parser.add_argument("--draws", type=int, default=4, help="releases on each")
    parser.add_argument("--task", help="one task only, by its name")
    words = parser.parse_args(arguments)
    names = words.rules or [*RULES, CLASSIFIER]
    if unknown := set(names).difference(RULES, [CLASSIFIER]):
        parser.error(f"RULE must be one of {known}, got {', '.join(sorted(unknown))}")
    if words.seeds < 2:
        parser.error(f"--seeds must be at least 2, got {words.seeds}")
    found = list[Measured]()
    for each in measured(names, words.seeds, words.draws, words.task):
        print(f"{each.rule}: {each.task}, {each.loss}: {each.points}", file=sys.stderr, flush=True)
        found.append(each)
    print(f"{tables(found)}\n\n{shared_table(found)}")


if __name__ == "__main__":
    main()
