"""What stands behind the pictures of the dimension page: assumptions, formulas and code. Every number is computed."""

from __future__ import annotations

import dataclasses as dc
import math

import pandas as pd

import dpcore
from dpcore import Experiment
from dpcore.core.facts import text_beside
from dpcore.data import Source
from pages.dimension.words import MECHANISMS
from pages.ui.code import Code, call, experiment_call
from pages.ui.html import readable
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed, axis_title, neighbours_line

FORMULA = text_beside(__file__, "formula.md")


def assumptions(table: pd.DataFrame, experiment: Experiment, source: Source) -> str:
    """What must be true for the curves, the bounds and the promises."""
    accuracy, ok = "**Nothing is released** here.", table[table.status == "ok"]
    if len(ok):
        accuracy = f"**Accuracy:** on {int(ok.test_records.iloc[0]):,} {source.records} that no model was trained on."
    return assumed(
        __file__,
        "assumptions.md",
        records=f"{source.label}; {readable(source.scaling)}",
        neighbours=neighbours_line(source),
        accuracy=accuracy,
        repetitions=experiment.repetitions,
        own_lam=own_lam_line(experiment),
        smallest=int(table.x.min()),
        small_p=small_p_line(experiment, int(table.n.iloc[0])),
        n=experiment.problem.n,
    )


def own_lam_line(experiment: Experiment) -> str:
    """What Gamma noise would reach at the largest p if its λ grew along, as its own rule has it."""
    p = int(experiment.sweep.values[-1])
    problem = dc.replace(experiment.problem, lam="auto")
    alone = dc.replace(
        experiment, problem=problem, mechanisms=("output_gamma",), sweep=dpcore.Axis("p", (p,)), repetitions=2
    )
    run = dpcore.run(alone)
    row = run[run.metric == "accuracy"].iloc[0]
    return (
        f"With a λ of its own at p = {p:,}, {row.lam:.3g}, Gamma noise in the answer would leave "
        f"{100 * row['mean']:.1f} of 100."
    )


def small_p_line(experiment: Experiment, n: int) -> str:
    """For how many ε of the slider Gamma noise in the answer is the smaller one at the smallest p."""
    p = int(experiment.sweep.values[0])

    def size(key: str, epsilon: float) -> float:
        """How far the noise moves a prediction, root mean square."""
        mechanism, budget = dpcore.make_mechanism(key), dpcore.Budget(epsilon, experiment.problem.delta)
        plan = mechanism.calibrate(dpcore.Spec("logistic", n, p, experiment.problem.lam), budget)  # type: ignore[arg-type]
        return plan.scale * math.sqrt(mechanism.law.reach(p)[1])

    smaller = [size("output_gamma", epsilon) < size("output_gaussian", epsilon) for epsilon in dpcore.EPSILON_GRID]
    count = "every" if all(smaller) else f"{sum(smaller)} of {len(smaller)}"
    return (
        "there Gamma noise in the answer, the stronger promise, moves predictions less than Gaussian noise for "
        f"{count} ε of the slider, at δ = {delta_text(experiment.problem.delta)}."
    )


def snippet(experiment: Experiment, noise_in: str, p: int, lower: str, source: Source) -> str:
    """Python that redraws both charts from an empty file."""
    sweep = Code('dpcore.Axis("p", ps)')
    corner = {name: getattr(experiment.problem, name) for name in ("n", "delta", "lam", "seed")}
    return f"""import dpcore
from dpcore.figures.dimension import dimension_figure, orthant_figure
from dpcore.studies.dimension import noise_growth, orthant

ps = {experiment.sweep.values!r}
experiment = {experiment_call(experiment, MECHANISMS[noise_in], epsilon=experiment.epsilon, sweep=sweep)}
dimension_figure(
    dpcore.run(experiment),
    noise_growth.growth_of(experiment.cells()),
    p={p},
    lower={lower!r},
    accuracy_title={axis_title(source)!r},
    theme="light",
    height=500,
).show()
corner = {call("orthant.corner", Code("ps"), epsilon=experiment.epsilon, **corner)}
orthant_figure(corner, p={p}, theme="light", height=400).show()
"""
