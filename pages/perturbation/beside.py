"""Side views beside the chart of the perturbations, each with a caption whose numbers come out of what is drawn."""

import dataclasses as dc
from typing import cast

import numpy as np
import pandas as pd

import dpcore
from dpcore import Experiment
from dpcore.experiments.proof_chain import ProofQuestion
from dpcore.figures.figure import Figure
from dpcore.figures.perturbation import release_scatter_figure, valley_figure
from dpcore.figures.style import Theme
from dpcore.mechanisms import Mechanism, mechanism_class
from dpcore.mechanisms.gradient.gd import NoisyGD
from dpcore.studies.perturbation.release_scatter import ReleaseScatter, release_scatter
from pages.background.pictures import made_once
from pages.background.tables import refined
from pages.perturbation.exact_answers import show_exact_answers
from pages.ui.live_figure import captioned_figure
from pages.ui.numbers import rounded
from pages.ui.proof import PROOF, show_proof
from pages.ui.sidebar import LAMBDAS, Controls

SIDES = (PROOF, "Releases", "λ")
VALLEY_REPETITIONS = 20
# Where one move of a slider would take longer than a reader waits, a few releases come first: beyond so many records
# times curves, of which one by steps counts several times.
QUICK, STEPPING, FIRST_REPETITIONS = 7_000, 5, 4


def first_repetitions(experiment: Experiment) -> int:
    """The number of releases that come at once."""
    stepping = sum(isinstance(mechanism, NoisyGD) for mechanism in experiment.mechanisms)
    curves = len(experiment.mechanisms) + STEPPING * stepping
    return experiment.repetitions if experiment.problem.n * curves <= QUICK else FIRST_REPETITIONS


def show_beside(
    side: str,
    experiment: Experiment,
    mechanism: Mechanism,
    controls: Controls,
    here: pd.DataFrame,
    theme: Theme,
    height: int,
) -> None:
    """One of SIDES. experiment: of the main chart; mechanism: the one whose bounds it shows; here: its rows
    at the cursor; height: px."""
    experiment = dc.replace(experiment, proved="")
    plane = dc.replace(experiment.problem, p=2)
    if side == PROOF:
        question = ProofQuestion(mechanism, experiment.problem, controls.epsilon, experiment.repetitions)
        show_proof(question, theme, height)
    elif side == "λ":
        _show_valley(experiment, controls, here, theme, height)
    elif (released := show_exact_answers(controls.seed, theme)) == "model":
        _show_releases(dc.replace(experiment, problem=dc.replace(plane, source="synthetic")), controls, theme, height)
    elif released == "location":
        points = dc.replace(plane, source="synthetic_location", loss="geometric_median")
        exact = experiment.mechanisms[:2]  # the path of a descent would hide them
        _show_releases(dc.replace(experiment, problem=points, mechanisms=exact), controls, theme, height)


def _show_releases(experiment: Experiment, controls: Controls, theme: Theme, height: int) -> None:
    """Releases of two numbers each. experiment: on a problem with two columns."""
    plane, mechanisms = experiment.problem, cast(tuple[Mechanism, ...], experiment.mechanisms)

    def make() -> tuple[Figure, str]:
        made = release_scatter(mechanisms, plane, controls.epsilon)
        return release_scatter_figure(made, theme=theme, height=height), releases_caption(made, plane.n)

    figure, text = made_once(plane.source, ("releases", mechanisms, plane, controls.epsilon, theme, height), make)
    captioned_figure(figure, text, key="releases", height=height)


def _show_valley(experiment: Experiment, controls: Controls, here: pd.DataFrame, theme: Theme, height: int) -> None:
    sweep = dpcore.Axis("lam", tuple(lam for lam in LAMBDAS if not isinstance(lam, str)))
    problem = dc.replace(experiment.problem, lam="auto")
    swept = dc.replace(
        experiment, problem=problem, epsilon=controls.epsilon, sweep=sweep, repetitions=VALLEY_REPETITIONS
    )
    valley, progress = refined(swept, first=first_repetitions(swept))
    lam = lam_at(here) if isinstance(controls.lam, str) else controls.lam
    figure = valley_figure(valley, lam=lam, theme=theme, height=height)
    captioned_figure(figure, valley_caption(valley), key="valley", height=height, progress=progress)


def releases_caption(made: ReleaseScatter, n: int) -> str:
    """Typical distance of each mechanism's releases from its model without noise."""
    parts, outside = [], 0
    low, high = np.array([made.x[0], made.y[0]]), np.array([made.x[-1], made.y[-1]])
    for each in made.mechanisms:
        place = mechanism_class(each.mechanism).place
        away = float(np.sqrt(((each.thetas - each.theta_hat) ** 2).sum(axis=1).mean())) if each.plan else None
        parts.append(f"{place}: refused" if away is None else f"{place}: {rounded(away, 2)}")
        outside += int(((each.thetas < low) | (each.thetas > high)).any(axis=1).sum())
    releases = max(len(each.thetas) for each in made.mechanisms)
    text = (
        f"{n:,} synthetic records with two features, {releases} releases of each mechanism over contours of equal "
        f"excess risk. Typical distance from × (no noise): {'; '.join(parts)}."
    )
    return f"{text} Outside the window: {outside}." if outside else text


def lam_at(table: pd.DataFrame) -> float | None:
    """The one λ of all perturbations that apply, where they agree within a few percent: a rule may choose several.

    table: the rows at the cursor.
    """
    lams = table.lam.dropna().astype(float)
    lams = lams[lams > 0.0]  # where a rule chooses, descent does not regularise
    return float(lams.min()) if len(lams) and lams.max() <= 1.05 * lams.min() else None


def valley_caption(valley: pd.DataFrame) -> str:
    """The best λ of each perturbation on the grid; valley: swept over λ."""
    rows = valley[(valley.status == "ok") & (valley.metric == "excess_empirical_risk")]
    parts = []
    for key, mine in rows.groupby("mechanism", sort=False):
        best = mine.loc[mine["mean"].astype(float).idxmin()]
        parts.append(f"{mechanism_class(key).place}: {rounded(best['mean'])} at λ = {best.x:g}")
    return (
        "At small λ the noise dominates, at large λ the regularisation; smallest excess risk here: "
        f"{'; '.join(parts)}. Searching for the best λ on the data would cost privacy."
    )
