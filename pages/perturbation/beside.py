"""Side views beside the chart of the perturbations, each with a caption whose numbers come out of what is drawn."""

import dataclasses as dc
from typing import Any

import numpy as np
import pandas as pd

import dpcore
from dpcore import Experiment, Problem
from dpcore.data import Source
from dpcore.figures.figure import Figure
from dpcore.figures.perturbation import (
    descent_cost_figure,
    release_scatter_figure,
    valley_figure,
)
from dpcore.figures.style import Theme
from dpcore.mechanisms.gradient.gd import NoisyGD
from dpcore.studies.perturbation.non_private_descent import DescentCost, work
from dpcore.studies.perturbation.release_scatter import ReleaseScatter, release_scatter
from pages.background.pictures import made_once
from pages.background.tables import refined
from pages.perturbation import words
from pages.perturbation.batches import show_batches
from pages.perturbation.exact_answers import show_exact_answers
from pages.perturbation.examples import show_examples
from pages.ui.html import readable
from pages.ui.live_figure import captioned_figure
from pages.ui.numbers import rounded
from pages.ui.sidebar import LAMBDAS, Controls

SIDES = ("Releases", "Descent path", "Noisy SGD", "λ", "Gradient count", "No noise", "Other problems")
VALLEY_REPETITIONS = 20
_FLOOR = 1e-9  # F* is certified to 10⁻⁹
WORK_RECORDS = 100  # all records in each of n^2 steps are n^3 gradients
# Where one move of a slider would take longer than a reader waits, a few releases come first: beyond so many records
# times curves, of which one by steps counts several times.
QUICK, STEPPING, FIRST_REPETITIONS = 7_000, 5, 4


def first_repetitions(experiment: Experiment) -> int:
    """The number of releases that come at once."""
    stepping = sum(isinstance(mechanism, NoisyGD) for mechanism in experiment.mechanisms)
    curves = len(experiment.mechanisms) + STEPPING * stepping
    return experiment.repetitions if experiment.problem.n * curves <= QUICK else FIRST_REPETITIONS


def show_beside(
    side: str, experiment: Experiment, controls: Controls, here: pd.DataFrame, theme: Theme, height: int
) -> None:
    """One of SIDES. experiment: of the main chart; here: its rows at the cursor; height: px."""
    if side == "Releases":
        _show_releases(experiment.mechanisms, False, experiment.problem, controls.epsilon, theme, height)
    elif side == "Descent path":
        _show_releases((dpcore.make_mechanism("noisy_gd"),), True, experiment.problem, controls.epsilon, theme, height)
    elif side == "Other problems":
        show_examples(experiment.mechanisms, experiment.problem, controls.epsilon, theme, height)
    elif side == "Noisy SGD":
        show_batches(experiment, controls, theme, height)
    elif side == "λ":
        _show_valley(experiment, controls, here, theme, height)
    elif side == "Gradient count":
        problem = experiment.problem
        done = work(dc.replace(problem, n=min(problem.n, WORK_RECORDS)))
        text = work_caption(done, dpcore.data.get_source(problem.source))
        captioned_figure(descent_cost_figure(done, theme=theme, height=height), text, key="work", height=height)
    else:
        show_exact_answers(controls.seed, theme)


def _show_releases(mechanisms: Any, walks: bool, problem: Problem, epsilon: float, theme: Theme, height: int) -> None:
    plane = dc.replace(problem, source="synthetic", p=2)

    def make() -> tuple[Figure, str]:
        made = release_scatter(mechanisms, plane, epsilon, walks=walks)
        text = path_caption(made, problem.n) if walks else releases_caption(made, problem.n)
        return release_scatter_figure(made, theme=theme, height=height), text

    figure, text = made_once(plane.source, ("releases", mechanisms, walks, plane, epsilon, theme, height), make)
    captioned_figure(figure, text, key="releases", height=height)


def _show_valley(experiment: Experiment, controls: Controls, here: pd.DataFrame, theme: Theme, height: int) -> None:
    sweep = dpcore.Axis("lam", tuple(lam for lam in LAMBDAS if not isinstance(lam, str)))
    problem = dc.replace(experiment.problem, lam="auto")
    swept = dc.replace(
        experiment, problem=problem, epsilon=controls.epsilon, sweep=sweep, repetitions=VALLEY_REPETITIONS
    )
    valley, progress = refined(swept, first=first_repetitions(swept))
    lam = lam_at(here) if isinstance(controls.lam, str) else controls.lam
    text = valley_caption(valley, here)
    figure = valley_figure(valley, lam=lam, theme=theme, height=height)
    captioned_figure(figure, text, key="valley", height=height, progress=progress)


def releases_caption(made: ReleaseScatter, n: int) -> str:
    """Distance of each mechanism's releases of a classifier from its model without noise."""
    return f"Two features, {n:,} synthetic people, same ε and rule for λ: {words.spread(made)}"


def path_caption(made: ReleaseScatter, n: int) -> str:
    """The steps of one descent, and how far its noise moved it."""
    (each,) = made.mechanisms
    if each.plan is None or each.path is None or each.quiet_path is None:
        return f"Gradient perturbation gives no guarantee here: {readable(each.reason)}. Choose another λ."
    astray = float(np.linalg.norm(each.path[-1] - each.quiet_path[-1]))
    end = float(np.linalg.norm(each.path[-1] - each.thetas[0]))
    return (
        f"Two features, {n:,} synthetic people: {each.plan.steps} noisy steps from 0. The last iterate lies "
        f"{rounded(astray, 2)} from where the same steps end without noise (dotted). The release is the mean of the "
        f"second half of the path, {rounded(end, 2)} from the last iterate. Triangles: {len(each.thetas)} releases."
    )


def work_caption(made: DescentCost, source: Source) -> str:
    """The cost of two ways to the same risk."""
    excesses = (float(progress.risks[-1]) - made.best for progress in (made.full, made.single))
    full, single = (rounded(excess) if excess > _FLOOR else "less than 10⁻⁹" for excess in excesses)
    return (
        f"No privacy here: both take n² = {made.n**2:,} steps of size D/(G√t) on {made.n} {source.records}. With all "
        f"records in each step, n³ = {int(made.full.gradients[-1]):,} gradients leave an excess risk of {full}; with "
        f"one record in each step, n² = {int(made.single.gradients[-1]):,} gradients leave {single}. Theorem 2 of "
        f"Kamath's lecture bounds both by {rounded(made.bound[-1])}."
    )


def lam_at(table: pd.DataFrame) -> float | None:
    """The one λ of all perturbations that apply, where they agree within a few percent: a rule may choose several.

    table: the rows at the cursor.
    """
    lams = _lams(table)
    return float(lams.min()) if len(lams) and lams.max() <= 1.05 * lams.min() else None


def _lams(table: pd.DataFrame) -> pd.Series:
    """Of all perturbations that regularise: where a rule chooses, descent does not."""
    lams = table.lam.dropna().astype(float)
    return lams[lams > 0.0]


def valley_caption(valley: pd.DataFrame, here: pd.DataFrame) -> str:
    """The best λ of each perturbation on the grid, and the λ in use.

    valley: swept over λ. here: the rows at the cursor of the main chart.
    """
    rows = valley[(valley.status == "ok") & (valley.metric == "excess_empirical_risk")]
    several = len(words.noises_of(rows.mechanism)) > 1
    parts = []
    for key, mine in rows.groupby("mechanism", sort=False):
        best = mine.loc[mine["mean"].astype(float).idxmin()]
        parts.append(f"{words.name_of(str(key), several)}: {rounded(best['mean'])} at λ = {best.x:g}")
    text = (
        "At small λ the noise dominates, at large λ the regularisation. Smallest excess risk on this grid: "
        f"{'; '.join(parts)}. Searching for the best λ on the data would cost privacy."
    )
    lams = _lams(here)
    if lam_at(here) is None and len(lams):
        text += f" The rule for λ now gives values from {rounded(lams.min(), 2)} to {rounded(lams.max(), 2)}."
    return text
