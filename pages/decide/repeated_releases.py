"""The view "repeated releases": privacy spent by repeated releases, and on people with more than one record."""

import math
from decimal import ROUND_DOWN, ROUND_UP

import numpy as np

from dpcore import Budget, NotApplicable
from dpcore.accounting.ledger import EpsilonCurve, Kind
from dpcore.figures.audit.ledger import ledger_figure
from dpcore.studies.decide.repeated_releases import RepeatedReleases, budget_each
from pages.decide.state import State
from pages.ui.html import literal, plain, readable
from pages.ui.live_figure import live_figure, paragraph
from pages.ui.numbers import safely

HEIGHT = 330
RELEASES = (1, 2, 3, 4, 5, 7, 10, 20, 50, 100)
KINDS: tuple[Kind, ...] = ("basic", "advanced", "exact")


def show(state: State) -> None:
    """Draw the view."""
    after = {times: state.answer.spent(times) for times in RELEASES}
    text = words(state, after[state.releases])
    figure = ledger_figure(
        curves(after),
        RELEASES,
        at=state.releases,
        target=state.answer.epsilon,
        level="guarantee",
        theme=state.theme,
        height=HEIGHT,
        family=state.mechanism.family,
        counted="releases k",
    )
    live_figure(figure, key="repeated", alt=plain(text), height=HEIGHT)
    paragraph(text)


def curves(after: dict[int, RepeatedReleases]) -> tuple[EpsilonCurve, ...]:
    """epsilon after each number of releases, by every accounting; nan where one has no bound."""
    found = {kind: np.array([getattr(one, kind) for one in after.values()], float) for kind in KINDS}
    return tuple(EpsilonCurve(kind, np.where(np.isfinite(values), values, np.nan)) for kind, values in found.items())


def words(state: State, after: RepeatedReleases) -> str:
    """Privacy spent by all releases, and the budget that each may have to stay within the guarantee."""
    releases = f"{after.releases} release{'s' if after.releases > 1 else ''}"
    records = f"{after.records} record{'s' if after.records > 1 else ''} per {literal(state.unit)}"
    if not math.isfinite(after.epsilon):
        text = f"After **{releases}** with **{records}**, no accounting here keeps ε below 300: no guarantee is left."
    else:
        text = (
            f"After **{releases}** at ε = {state.answer.epsilon:g} with **{records}**, the privacy spent is "
            f"**ε = {safely(after.epsilon, ROUND_UP)}**: an attacker is right at most {after.of_100} times in 100."
        )
    return f"{text} {each(state, after)}"


def each(state: State, after: RepeatedReleases) -> str:
    """Budget of each release that keeps all of them within the guarantee."""
    if after.releases == after.records == 1:
        return f"With one release and one record per {literal(state.unit)}, the guarantee holds as stated."
    epsilon, spec = state.answer.epsilon, state.problem.spec(state.mechanism)
    try:
        total = Budget(epsilon, state.problem.delta)
        one = budget_each(state.mechanism, spec, total, after.releases, after.records)
    except NotApplicable as reason:
        return f"No smaller budget keeps ε = {epsilon:g} in total: {readable(str(reason))}."
    return f"To spend ε = {epsilon:g} in total, give each release ε = {safely(one.epsilon, ROUND_DOWN)}."
