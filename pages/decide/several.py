"""The view "Several releases": what a label becomes when it is not used once, or a person has more than one record."""

import math

import numpy as np
import streamlit as st

from dpcore import Budget, NotApplicable
from dpcore.accounting.ledger import EpsilonCurve, Kind
from dpcore.figures.audit.ledger import ledger_figure
from dpcore.studies.decide.repeated_releases import RepeatedReleases, budget_each, several
from pages.decide.state import State
from pages.ui import url_controls
from pages.ui.html import plain, readable
from pages.ui.live_figure import live_figure
from pages.ui.numbers import rounded

HEIGHT = 330
RELEASES = (1, 2, 3, 4, 5, 7, 10, 20, 30, 50, 100)
RECORDS = (1, 2, 3, 4, 5, 7, 10)
KINDS: tuple[Kind, ...] = ("basic", "advanced", "exact")
FURTHER = (
    "Re-rolling the seed, tuning λ by eye and exploring one's own records with these sliders are releases too, as soon "
    "as what was seen decides what is published. No accounting here counts them."
)


def show(state: State) -> None:
    """Draw the view."""
    chart, text = st.columns([1.6, 1], gap="medium", vertical_alignment="center")
    with text:
        k = url_controls.slider("releases", "releases planned", RELEASES, 4)
        g = url_controls.slider("per_person", "records of one person", RECORDS, 3)
    if state.plan is None:
        text.markdown(f"Nothing is released at ε = {state.epsilon:g}.")
        return
    after = {times: several(state.plan, times, g) for times in RELEASES}
    said = words(state, after[k])
    text.markdown(said)
    with chart:
        figure = ledger_figure(
            curves(after),
            RELEASES,
            at=k,
            label=state.epsilon,
            theme=state.theme,
            height=HEIGHT,
            family=state.family,
            counted="releases k",
        )
        live_figure(figure, key="several", alt=plain(said), height=HEIGHT)
    st.caption(FURTHER)


def curves(after: dict[int, RepeatedReleases]) -> tuple[EpsilonCurve, ...]:
    """epsilon after each number of releases, by every accounting; nan where one says nothing."""
    found = {kind: np.array([getattr(one, kind) for one in after.values()], float) for kind in KINDS}
    return tuple(EpsilonCurve(kind, np.where(np.isfinite(values), values, np.nan)) for kind, values in found.items())


def words(state: State, after: RepeatedReleases) -> str:
    """What the label becomes, and what each release may have for it to stay."""
    releases = f"{after.releases} release{'s' if after.releases > 1 else ''}"
    records = f"{after.records} record{'s' if after.records > 1 else ''} a person"
    if not math.isfinite(after.epsilon):
        said = f"After **{releases}** with **{records}** no accounting here keeps ε below 300: no promise is left."
    else:
        said = (
            f"After **{releases}** with **{records}** the label ε = {state.epsilon:g} is really "
            f"**ε = {rounded(after.epsilon, 2)}**: an attacker is right up to {100 * after.limit:.0f} times of 100."
        )
    return f"{said} {each(state, after)}"


def each(state: State, after: RepeatedReleases) -> str:
    """Which budget each release may have if the whole is to keep the label."""
    if after.releases == after.records == 1:
        return "One release, one record a person: the label means what it says."
    cell, total = state.setting.cell(0), Budget(state.epsilon, state.setting.problem.delta)
    try:
        one = budget_each(cell.mechanism, cell.problem.spec(cell.mechanism), total, after.releases, after.records)
    except NotApplicable as reason:
        return f"No smaller budget keeps the label: {readable(str(reason))}."
    return f"To keep it for all of them, each may have ε = {rounded(one.epsilon, 2)}."
