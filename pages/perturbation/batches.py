"""Noisy SGD beside the chart: excess risk against the size of its random batches or its steps."""

import dataclasses as dc

import pandas as pd
import streamlit as st

import dpcore
from dpcore import Experiment, NotApplicable
from dpcore.figures.noisy_sgd import noisy_sgd_figure
from dpcore.figures.style import Theme
from dpcore.mechanisms import Mechanism
from pages.background.tables import refined
from pages.ui import url_controls
from pages.ui.html import readable
from pages.ui.live_figure import captioned_figure, small_print
from pages.ui.numbers import rounded
from pages.ui.pickers import switch
from pages.ui.sidebar import Controls

ALONG = {"batch": "batch size", "steps": "steps"}
BATCHES: tuple[int | str, ...] = ("auto", 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
STEPS: tuple[int | str, ...] = ("auto", 25, 50, 100, 200, 400, 800)
REPETITIONS, FIRST_REPETITIONS = 20, 4


def show_batches(experiment: Experiment, controls: Controls, theme: Theme, height: int) -> None:
    """The knobs of noisy SGD, and a chart along one of them. experiment: of the main chart; height: px."""
    along = switch("Noisy SGD against", ALONG, "batch", key="sgd_along")
    with st.container(horizontal=True):
        batch = url_controls.slider("sgd_batch", "b batch size", BATCHES, "auto", width=170)
        steps = url_controls.slider("sgd_steps", "T steps", STEPS, "auto", width=170)
    if not isinstance(batch, str):
        batch = min(batch, controls.n)
    problem = experiment.problem
    if problem.lam == "population":  # no rule of descent's
        problem = dc.replace(problem, lam="auto")
    chosen = dpcore.make_mechanism("noisy_sgd", batch=batch, steps=steps)
    try:
        plan = problem.plan(chosen, controls.epsilon)
    except NotApplicable as error:
        small_print(f"Noisy SGD gives no guarantee here: {readable(str(error))}. Choose other steps or batches.")
        return
    mechanisms = (*_swept(along, batch, steps, controls.n), dpcore.make_mechanism("noisy_gd"))
    swept = Experiment(problem, mechanisms, sweep=dpcore.Axis("epsilon", (controls.epsilon,)), repetitions=REPETITIONS)
    table, progress = refined(swept, first=FIRST_REPETITIONS)
    cursor = plan.ledger[0].rate * problem.n if along == "batch" else float(plan.steps)
    figure = noisy_sgd_figure(table, along=along, cursor=cursor, theme=theme, height=height)
    captioned_figure(figure, caption(table, along, cursor), key="batches", height=height, progress=progress)


def _swept(along: str, batch: int | str, steps: int | str, n: int) -> list[Mechanism]:
    """Noisy SGD with each value of one knob, the chosen one among them."""
    if along == "steps":
        return [dpcore.make_mechanism("noisy_sgd", batch=batch, steps=T) for T in STEPS]
    sizes = dict.fromkeys(b if isinstance(b, str) else min(b, n) for b in BATCHES)
    return [dpcore.make_mechanism("noisy_sgd", batch=b, steps=steps) for b in sizes]


def _records(batch: float) -> str:
    return f"{rounded(batch)} records"


def caption(table: pd.DataFrame, along: str, cursor: float) -> str:
    """Excess risk and gradients at the cursor, beside noisy GD, which takes all records in every step."""
    rows = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    own, full = rows[rows.mechanism == "noisy_sgd"], rows[rows.mechanism == "noisy_gd"]
    here = own.loc[(own[along] - cursor).abs().idxmin()]
    text = (
        f"{here.steps:,} steps on {_records(here.batch)} each compute {here.steps * here.batch:,.0f} gradients and "
        f"leave an excess risk of {rounded(here['mean'])}"
    )
    for _, row in full.iterrows():
        text += f"; noisy GD computes {row.steps * row.n:,} and leaves {rounded(row['mean'])}"
    beyond = ", above “nothing learned” and not informative" if here.bound >= here.nothing_learned else ""
    return (
        f"{text}. The upper bound is {rounded(here.bound / here['mean'], 2)} times the measurement{beyond}. Each "
        "record joins each batch independently at random, which gives more privacy for the same noise as long as the "
        "batches stay secret."
    )
