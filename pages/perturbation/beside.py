"""What stands beside the chart of the doors: one of several closer looks."""

from __future__ import annotations

import dataclasses as dc

import pandas as pd
import streamlit as st

import dpcore
from dpcore import Experiment
from dpcore.figures.perturbation import (
    RULE_NAMES,
    bounds_figure,
    descent_cost_figure,
    release_scatter_figure,
    valley_figure,
)
from dpcore.figures.style import Theme
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.gradient.gd import NoisyGD
from dpcore.studies.perturbation.non_private_descent import work
from dpcore.studies.perturbation.published_rates import lecture_bound
from dpcore.studies.perturbation.release_scatter import clouds
from pages.background.tables import refined
from pages.perturbation import captions
from pages.perturbation.zero import show_door_zero
from pages.ui.live_figure import captioned_figure, live_figure
from pages.ui.sidebar import LAMBDAS, Controls

SIDES = ("Cloud", "Path", "λ valley", "Bounds", "Work", "Door zero")
VALLEY_REPETITIONS, BOUND_REPETITIONS, FEWEST = 20, 20, 4
BOUND_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
WORK_PEOPLE = 100  # all records in each of n^2 steps are n^3 gradients
# Where one move of a slider would take longer than a reader waits, a few releases come first: beyond so many people
# times curves, of which one by steps counts several times.
QUICK, STEPPING, FIRST_REPETITIONS = 7_000, 5, 10


def first_repetitions(experiment: Experiment) -> int:
    """How many releases come at once."""
    stepping = sum(isinstance(mechanism, NoisyGD) for mechanism in experiment.mechanisms)
    curves = len(experiment.mechanisms) + STEPPING * stepping
    return experiment.repetitions if experiment.problem.n * curves <= QUICK else FIRST_REPETITIONS


def show_beside(
    side: str, experiment: Experiment, controls: Controls, here: pd.DataFrame, theme: Theme, height: int
) -> None:
    """One of SIDES. experiment: of the main chart; here: its rows at the cursor; height: px."""
    if side == "Cloud":
        _show_cloud(experiment.mechanisms, False, controls, theme, height)  # type: ignore[arg-type]
    elif side == "Path":
        _show_cloud((dpcore.make_mechanism("noisy_gd"),), True, controls, theme, height)
    elif side == "λ valley":
        _show_valley(experiment, controls, here, theme, height)
    elif side == "Bounds":
        _show_bounds(experiment, controls, theme, height)
    elif side == "Work":
        problem = experiment.problem
        done = work(dc.replace(problem, n=min(problem.n, WORK_PEOPLE)))
        said = captions.work_caption(done, dpcore.data.get_source(problem.source))
        captioned_figure(descent_cost_figure(done, theme=theme, height=height), said, key="work", height=height)
    else:
        show_door_zero(controls.seed, theme)


def _show_cloud(mechanisms: tuple[Mechanism, ...], walks: bool, controls: Controls, theme: Theme, height: int) -> None:
    made = clouds(mechanisms, controls.problem("synthetic", p=2), controls.epsilon, walks=walks)
    said = captions.path_caption(made, controls.n) if walks else captions.cloud_caption(made, controls.n)
    captioned_figure(release_scatter_figure(made, theme=theme, height=height), said, key="cloud", height=height)


def _show_valley(experiment: Experiment, controls: Controls, here: pd.DataFrame, theme: Theme, height: int) -> None:
    sweep = dpcore.Axis("lam", tuple(lam for lam in LAMBDAS if not isinstance(lam, str)))
    problem = dc.replace(experiment.problem, lam="auto")
    swept = dc.replace(
        experiment, problem=problem, epsilon=controls.epsilon, sweep=sweep, repetitions=VALLEY_REPETITIONS
    )
    valley, progress = refined(swept, first=first_repetitions(swept), key="valley")
    lam = captions.lam_at(here) if isinstance(controls.lam, str) else controls.lam
    said = captions.valley_caption(valley, here)
    live_figure(valley_figure(valley, lam=lam, theme=theme, height=height), key="valley", alt=said, height=height)
    st.caption(" ".join(filter(None, (said, progress))))


def _show_bounds(experiment: Experiment, controls: Controls, theme: Theme, height: int) -> None:
    rules = tuple(dpcore.make_mechanism("noisy_gd", rule=rule) for rule in RULE_NAMES)
    sweep = dpcore.Axis("epsilon", BOUND_EPSILONS)
    problem = dc.replace(experiment.problem, lam="auto")
    ruled = dpcore.Experiment(problem, rules, sweep=sweep, repetitions=BOUND_REPETITIONS)
    table, progress = refined(ruled, first=FEWEST, key="bounds")
    lecture = lecture_bound(next(ruled.cells()))
    picture = bounds_figure(table, lecture=lecture, epsilon=controls.epsilon, theme=theme, height=height)
    said = captions.bounds_caption(table, lecture, worst=2.0 * problem.theta_norm)
    live_figure(picture, key="proved", alt=said, height=height)
    st.caption(" ".join(filter(None, (said, progress))))
