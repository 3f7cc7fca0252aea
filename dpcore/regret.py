"""What a rule for lam loses against the best lam, which only a look at the private records could find."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from . import data as records
from .checks import integer, one_of
from .experiment import Axis, Experiment, run
from .losses import LOSSES
from .mechanisms import list_mechanisms
from .types import LAM_RULES, Array, NotApplicable

if TYPE_CHECKING:
    import pandas as pd

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
LAMS = tuple(float(f"{lam:.3g}") for lam in 10.0 ** np.arange(-5.0, 1.01, 0.25))
_SYNTHETIC_PEOPLE = 1000


def regret_table(
    sources: Iterable[str] = tuple(records.SOURCES),
    seeds: int = 8,
    *,
    rule: str = "auto",
    on_step: Callable[[], object] = lambda: None,
) -> pd.DataFrame:
    """Points of accuracy (of explained variance for regression) that `lam = rule` loses to the best of `LAMS`.

    One row per source, fitting loss, mechanism and epsilon of `EPSILONS`. seeds: independent splits or draws of the
    records; quality is the exact mean over the noise, averaged over them. The best lam is picked on these very
    averages, which can only raise the regret. regret: in points of 100, negative where the rule beats the whole grid.
    se: standard error of the difference over the seeds. on_step: called after each source, loss and mechanism.

    Raises ValueError for an unknown source or rule and for seeds < 2.
    """
    import pandas as pd

    check_request(seeds, rule)
    rows = []
    for case in cases(dict.fromkeys(sources)):
        source, loss, mechanism = case
        ours = _quality(*case, rule, seeds)
        grid = [_quality(*case, lam, seeds) for lam in LAMS]
        for k, epsilon in enumerate(EPSILONS):
            best = int(np.argmax([quality[:, k].mean() for quality in grid]))
            lost = 100.0 * (grid[best] - ours)[:, k]
            rows.append(
                {
                    "source": source,
                    "loss": loss,
                    "mechanism": mechanism,
                    "epsilon": epsilon,
                    "quality": 100.0 * ours[:, k].mean(),
                    "best_lam": LAMS[best],
                    "regret": lost.mean(),
                    "se": lost.std(ddof=1) / np.sqrt(seeds),
                }
            )
        on_step()
    return pd.DataFrame(rows)


def check_request(seeds: int, rule: str) -> None:
    """Raise ValueError for what `regret_table` would refuse, before any time is spent."""
    integer("seeds", seeds, at_least=2)
    one_of("rule", rule, LAM_RULES)


def regret_at(experiment: Experiment, epsilon: float) -> float:
    """Points of quality that the experiment's own lam loses to the best of `LAMS` at one epsilon (one mechanism).

    Raises NotApplicable where the mechanism releases nothing.

    >>> regret_at(Experiment(source="synthetic", n=300, lam=1e-4), 1.0) > 1.0
    True
    """
    here = dc.replace(experiment, epsilon=epsilon, sweep=Axis("epsilon", (epsilon,)), repetitions=2)
    grid = dc.replace(here, sweep=Axis("lam", LAMS))
    own = _means(run(here))
    if not own.size:
        raise NotApplicable(f"no release at epsilon = {epsilon:g}")
    return 100.0 * float(_means(run(grid)).max() - own[0])


def cases(sources: Iterable[str]) -> list[tuple[str, str, str]]:
    """Every (source, loss, mechanism) in which the loss fits the source's labels.

    >>> len(cases(["breast_cancer"])) == 3 * len(list_mechanisms())
    True
    """
    return [
        (source, loss.key, mechanism)
        for source in sources
        for loss in LOSSES.values()
        if loss.classification == (records.get_source(source).task == "classification")
        for mechanism in list_mechanisms()
    ]


def _quality(source: str, loss: str, mechanism: str, lam: float | str, seeds: int) -> Array:
    """Mean quality on fresh records, [seeds, epsilons]."""
    tables = (
        run(
            Experiment(
                source=source,
                mechanisms=(mechanism,),
                n=records.get_source(source).size or _SYNTHETIC_PEOPLE,
                loss=loss,
                lam=lam,
                sweep=Axis("epsilon", EPSILONS),
                repetitions=2,
                seed=seed,
            )
        )
        for seed in range(seeds)
    )
    return np.stack([_means(table) for table in tables])


def _means(table: pd.DataFrame) -> Array:
    return table[table.metric.isin(("accuracy", "r_squared"))]["mean"].to_numpy(float)
