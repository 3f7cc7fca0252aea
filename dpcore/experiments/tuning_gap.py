"""Loss of automatic settings against the best settings, which only the private records could reveal."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from .. import data as records
from ..core.arrays import Array
from ..core.losses import LOSSES
from ..core.privacy import Budget, NotApplicable
from ..core.specification import LAM_RULES, Spec
from ..core.validation import integer, one_of
from ..mechanisms import Mechanism, list_mechanisms, make_mechanism, mechanism_class
from ..mechanisms.base import AdditiveMechanism
from ..mechanisms.gradient.base import GradientPerturbation
from ..mechanisms.gradient.schedules import RULES
from ..mechanisms.problem import Problem
from .experiment import Axis, Experiment
from .run import run

if TYPE_CHECKING:
    import pandas as pd

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
LAMS = tuple(float(f"{lam:.3g}") for lam in 10.0 ** np.arange(-5.0, 1.01, 0.25))
# Schedules for gradient perturbation that a user might set by hand.
STEPS = (25, 100, 400)
STEP_SIZES = tuple(float(f"{step:.3g}") for step in 10.0 ** np.arange(-3.0, 1.01, 0.5))
_SYNTHETIC_RECORDS = 1000
_REPETITIONS = 40


@dc.dataclass(frozen=True)
class Choice:
    """Settings of a mechanism. name: its lam, or its schedule in words. lam: a number or a rule."""

    name: float | str
    mechanism: Mechanism
    lam: float | str


def alternatives(key: str) -> list[Choice]:
    """Settings with which a mechanism's automatic ones are compared.

    Each lam of `LAMS`; for gradient perturbation, without regularisation, constant steps (`STEPS` times `STEP_SIZES`,
    mean of the second half) and every other rule with its own choices.

    >>> [choice.name for choice in alternatives("noisy_gd")[-4:]]
    ['400 steps of 10', 'smooth', 'averaging', 'last_iterate']
    """
    if not issubclass(mechanism_class(key), GradientPerturbation):
        return [Choice(lam, make_mechanism(key), lam) for lam in LAMS]
    by_hand = [
        Choice(f"{steps} steps of {step:g}", make_mechanism(key, steps=steps, step=step), "auto")
        for steps in STEPS
        for step in STEP_SIZES
    ]
    return by_hand + [Choice(rule, make_mechanism(key, rule=rule), "auto") for rule in RULES if rule != "auto"]


def regret_table(
    sources: Iterable[str] = tuple(records.SOURCES),
    seeds: int = 8,
    *,
    mechanisms: Iterable[str] | None = None,
    rule: str = "auto",
    on_step: Callable[[], object] = lambda: None,
) -> pd.DataFrame:
    """Accuracy loss of automatic settings against the best of a list, in points (explained variance for regression).

    The settings are `lam = rule`, and for gradient perturbation its own schedule; the list is that of `alternatives`.
    One row per source, fitting loss, mechanism (None: all) and epsilon of `EPSILONS`. seeds: independent splits or
    draws of the records; quality is the mean over the noise, exact for output perturbation and of 40 releases
    otherwise, averaged over the seeds. The best alternative is picked on the same averages, which can only raise the
    regret; `best` is its lam, or its schedule in words. regret: in points of 100, negative where the automatic settings
    beat the whole list. se: standard error of the difference over the seeds. on_step: called after each source, loss
    and mechanism.

    There is no row where the automatic settings, or all alternatives, release nothing.

    Raises ValueError for an unknown source, mechanism or rule, for seeds < 2 and where `cases` has none.
    """
    import pandas as pd

    check_request(seeds, rule)
    rows = []
    listed = cases(asked := tuple(dict.fromkeys(sources)), mechanisms)
    if not listed:
        raise ValueError(f"sources must name one whose records are predicted, got {', '.join(asked) or 'none'}")
    for case in listed:
        source, loss, key = case
        ours = _quality(source, loss, Choice(rule, make_mechanism(key), rule), seeds)
        others = alternatives(key)
        grid = [_quality(source, loss, other, seeds) for other in others]
        for k, epsilon in enumerate(EPSILONS):
            means = np.array([quality[:, k].mean() for quality in grid])
            if np.isnan(ours[:, k]).any() or np.isnan(means).all():
                continue
            best = int(np.nanargmax(means))
            lost = 100.0 * (grid[best] - ours)[:, k]
            rows.append(
                {
                    "source": source,
                    "loss": loss,
                    "mechanism": key,
                    "epsilon": epsilon,
                    "quality": 100.0 * ours[:, k].mean(),
                    "best": others[best].name,
                    "regret": lost.mean(),
                    "se": lost.std(ddof=1) / np.sqrt(seeds),
                }
            )
        on_step()
    return pd.DataFrame(rows)


def check_request(seeds: int, rule: str) -> None:
    """Raise ValueError for arguments that `regret_table` refuses, before any computation."""
    integer("seeds", seeds, at_least=2)
    one_of("rule", rule, LAM_RULES)


def regret_at(experiment: Experiment, epsilon: float) -> float:
    """Loss of the experiment's own lam against the best of `LAMS` at one epsilon, in points (one mechanism).

    Raises NotApplicable where the mechanism releases nothing, ValueError for a source whose records are not predicted.

    >>> regret_at(Experiment(Problem("synthetic", n=300, lam=1e-4)), 1.0) > 1.0
    True
    """
    source = experiment.problem.source
    if records.get_source(source).task == "location":
        raise ValueError(f"source must be one whose records are predicted, got {source!r}")
    exact = all(isinstance(mechanism, AdditiveMechanism) for mechanism in experiment.mechanisms)
    repetitions = 2 if exact else experiment.repetitions
    here = dc.replace(experiment, epsilon=epsilon, sweep=Axis("epsilon", (epsilon,)), repetitions=repetitions)
    grid = dc.replace(here, sweep=Axis("lam", LAMS))
    own = _means(run(here))
    if own.empty:
        raise NotApplicable(f"no release at epsilon = {epsilon:g}")
    return 100.0 * float(_means(run(grid)).max() - own.iloc[0])


def cases(sources: Iterable[str], mechanisms: Iterable[str] | None = None) -> list[tuple[str, str, str]]:
    """Every (source, loss, mechanism) in which the loss fits the source's labels and the mechanism the loss.

    mechanisms: keys, None for all. Sources for location losses and the hardest data have no case: no prediction there
    has a quality in points.

    >>> len(cases(["diabetes"], ["output_gaussian", "objective_gaussian"]))  # objective perturbation: Huber loss only
    4
    """
    keys = list_mechanisms()
    chosen = keys if mechanisms is None else [one_of("mechanism", key, keys) for key in dict.fromkeys(mechanisms)]
    return [
        (source, loss.key, key)
        for source in sources
        for loss in LOSSES.values()
        if loss.linear and loss.task == records.get_source(source).task and source != "synthetic_hardest"
        for key in chosen
        if _takes(key, loss.key)
    ]


def _takes(key: str, loss: str) -> bool:
    try:
        make_mechanism(key).calibrate(Spec(loss, _SYNTHETIC_RECORDS, 1, 1.0), Budget(1.0, 1e-6))
    except NotApplicable:
        return False
    return True


def _quality(source: str, loss: str, choice: Choice, seeds: int) -> Array:
    """Mean quality on fresh records, [seeds, epsilons]; NaN where nothing is released."""
    n = records.get_source(source).size or _SYNTHETIC_RECORDS
    tables = (
        run(
            Experiment(
                Problem(source, n, loss=loss, lam=choice.lam, seed=seed),
                (choice.mechanism,),
                sweep=Axis("epsilon", EPSILONS),
                repetitions=2 if isinstance(choice.mechanism, AdditiveMechanism) else _REPETITIONS,
            )
        )
        for seed in range(seeds)
    )
    return np.stack([_means(table).reindex(EPSILONS).to_numpy(float) for table in tables])


def _means(table: pd.DataFrame) -> pd.Series:
    return table[table.metric.isin(("accuracy", "r_squared"))].set_index("x")["mean"].astype(float)
