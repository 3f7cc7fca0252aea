"""Releases of one mechanism from the same records: the privacy they spend together.

Every number of its words comes out of a ledger.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from dpcore import Budget
from dpcore.accounting.ledger import EpsilonCurve, Kind, Noise, releases_of
from dpcore.core.facts import text_beside
from dpcore.figures.composition import accounting_name, ledger_figure
from dpcore.figures.style import FAMILIES
from pages.ui import url_controls
from pages.ui.chips import chips_beside
from pages.ui.code import script, verbatim
from pages.ui.live_figure import current_theme, small_print
from pages.ui.numbers import rounded
from pages.ui.page import Page
from pages.ui.sidebar import delta_text, sidebar

HEIGHT = 400
RELEASES = (*(m * 10**k for k in range(3) for m in (1, 2, 5)), 1_000)
CHIPS = chips_beside(__file__, "chips.json")
FORMULA = text_beside(__file__, "formula.md")
ASSUMPTIONS = text_beside(__file__, "assumptions.md")
NEAR_ROOT = 1.5  # releases cost at most this many times √k times one: they are said to add up like √k
FAMILY = {"gaussian": "output", "laplace": "sampling"}


def show(page: Page, noise: Noise) -> None:
    """All of the page but its question and the picker of the mechanism."""
    with page.pickers:
        times = url_controls.slider("times", "releases", RELEASES, 10, "{:,}".format, width=260)
    unused = ("n", "p", "lam", "m", "seed")
    controls = sidebar(default_n=2_000, max_columns=8, unused=unused, own={"epsilon": 0.1})
    one = Budget(controls.epsilon, controls.delta)
    curves = releases_of(noise, one, RELEASES)
    here = {curve.kind: float(curve.epsilon[RELEASES.index(times)]) for curve in curves}
    drawn = [curve for curve in curves if curve.kind != "advanced" or not above_basic(curves)]
    sentence = takeaway(noise, times, one, here)
    page.headline(sentence, colour=FAMILIES[current_theme()][FAMILY[noise]])
    chart = partial(ledger_figure, at=times, span=(1, RELEASES[-1]), target=one.epsilon, level="one release")
    chart = partial(chart, height=HEIGHT, family=FAMILY[noise], counted="releases k")
    page.wide_chart(chart(drawn, RELEASES, theme=current_theme()), sentence, key="releases", height=HEIGHT)
    small_print(caption(noise, times, one, here, len(drawn) < len(curves)))
    page.below(
        [],
        CHIPS,
        lambda: ASSUMPTIONS,
        FORMULA,
        lambda: script(
            {"releases": RELEASES, "curves": partial(releases_of, noise, one, verbatim("releases"))},
            partial(chart, verbatim("curves"), verbatim("releases")),
        ),
        lambda: table(curves),
    )


def above_basic(curves: Sequence[EpsilonCurve]) -> bool:
    """Whether advanced composition is worse than basic for every number of releases on the chart, and so not drawn."""
    known = {curve.kind: curve.epsilon for curve in curves}
    return bool(np.all(known["advanced"] >= known["basic"]))


def takeaway(noise: Noise, times: int, one: Budget, here: dict[Kind, float]) -> str:
    """The exact cost of all releases, and what basic composition says of it."""
    each = f"at ε = {one.epsilon:g}"
    if times == 1:
        return f"**One release** {each} costs **ε = {rounded(here['exact'])}**."
    exact, basic = rounded(here["exact"]), rounded(here["basic"])
    if exact == basic:
        return f"**{times:,} releases** {each} cost **ε = {exact}**: no less than basic composition says."
    found = f"**{times:,} releases** {each} cost **ε = {exact}**, not the {basic} of basic composition"
    like = noise == "gaussian" and here["exact"] <= NEAR_ROOT * one.epsilon * math.sqrt(times)
    return f"{found}: Gaussian releases add up like √k." if like else f"{found}."


def caption(noise: Noise, times: int, one: Budget, here: dict[Kind, float], hidden: bool) -> str:
    """What all curves share, what basic composition adds up, and why advanced composition is above it or not drawn."""
    shared = f"**Same guarantee:** δ = {delta_text(one.delta)} for all releases together."
    if noise == "gaussian" and times > 1:
        each = rounded(here["basic"] / times)
        shared += f" Basic composition gives each δ/k, where it costs ε = {each}, and grows like k."
    why = (
        f" Advanced composition is not drawn: at this ε it is above basic composition up to {RELEASES[-1]:,} releases."
        if hidden
        else " Advanced composition pays off for many only."
    )
    return f"{shared}{why}"


def table(curves: Sequence[EpsilonCurve]) -> pd.DataFrame:
    """A row a number of releases, a column an accounting."""
    return pd.DataFrame(
        {"releases": RELEASES} | {accounting_name(curve.kind, full=True): curve.epsilon for curve in curves}
    )
