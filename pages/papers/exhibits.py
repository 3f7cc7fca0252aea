"""Mechanisms of papers that cost more than they claim, with bounds that runs of them certify.

Every number of its words comes out of a finding.
"""

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.core.facts import text_beside
from dpcore.figures.named_bars import exhibits_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.papers.exhibits import EXHIBITS, ExhibitResult, rounded_down, run_exhibit
from pages.ui.details import behind
from pages.ui.html import readable
from pages.ui.live_figure import current_theme, small_print
from pages.ui.page import Page

HEIGHT = 430
NAMES = {
    "objective_gamma": "objective perturbation<br>with Gamma noise",
    "objective_gaussian": "objective perturbation<br>with Gaussian noise",
    "lasso_laplace": "Frank-Wolfe on vertices<br>with Laplace noise",
    "quoted_kappa": "generalised Gaussian noise,<br>quoted constant",
    "published_classifier": "large-margin<br>Gaussian classifier",
}
SYMBOLS = {"epsilon": "ε", "delta": "δ"}
FORMULA = text_beside(__file__, "exhibits_formula.md")
CAPTION = (
    "A bar is what runs certify, as a multiple of the ε or δ that the paper claims: the line at 1. Each mechanism runs "
    "as published, or as reconstructed where the document has lost its formulas."
)


def show(page: Page, seed: int) -> None:
    """The first visitor of a server waits some seconds for the runs."""
    theme = current_theme()
    with st.spinner("Running the published mechanisms …", show_time=True):
        found = [run_exhibit(key, seed=seed) for key in EXHIBITS]
    sentence = takeaway(found)
    page.headline(sentence, colour=FAMILIES[theme]["frank_wolfe"])
    chart = exhibits_figure(
        [f"{NAMES[each.key]} ({SYMBOLS[each.unit]})" for each in found],
        [each.certified_999 / each.claimed for each in found],
        [each.certified_95 / each.claimed for each in found],
        [math.nan if each.exact is None else each.exact / each.claimed for each in found],
        theme=theme,
        height=HEIGHT,
    )
    page.wide_chart(chart, sentence, key="exhibits", height=HEIGHT)
    small_print(CAPTION)
    behind(lambda: assumptions(found), FORMULA, lambda: snippet(seed), lambda: _table(found))


def _table(found: list[ExhibitResult]) -> pd.DataFrame:
    names = {"key": "exhibit", "source": "source", "unit": "bounded", "claimed": "published", "exact": "exact"}
    names |= {"certified_95": "at_least_95", "certified_999": "at_least_999", "runs": "runs", "seed": "seed"}
    return pd.DataFrame(found)[list(names)].rename(columns=names)


def takeaway(found: Sequence[ExhibitResult]) -> str:
    """How many exhibits cost more than is published, and the worst one."""
    broken = [each for each in found if each.verdict == "contradicted"]
    if not broken:
        return f"These runs contradict **none of {len(found)}** published mechanisms, which proves nothing."
    worst = max(broken, key=lambda each: each.certified_999 / each.claimed)
    times, unit = float(rounded_down(worst.certified_999 / worst.claimed)), SYMBOLS[worst.unit]
    return (
        f"**{len(broken)} of {len(found)}** mechanisms cost more privacy than their papers claim, each with 99.9% "
        f"confidence. {_short(worst)}, the worst, has at least **{times:.3g} times** the {unit} that it claims."
    )


def _short(finding: ExhibitResult) -> str:
    name = NAMES[finding.key].replace("<br>", " ")
    return f"{name[0].upper()}{name[1:]}"


def assumptions(found: Sequence[ExhibitResult]) -> str:
    """Sources, data sets and confidence."""
    lines = [
        f"**{each.title}** ({each.source}): "
        + readable(f"{EXHIBITS[each.key]['description']} Data: {each.pair}. {each.sentence}")
        for each in found
    ]
    lines.append(
        "**Confidence** is that of each bound alone, over our runs; one of all bounds is wrong up to "
        f"{len(found)} times as often."
    )
    return "\n".join(f"- {line}" for line in lines)


def snippet(seed: int) -> str:
    """Python that repeats the exhibits from an empty file."""
    return f"""import dpcore
from dpcore.studies.papers.exhibits import EXHIBITS

for key in EXHIBITS:
    print(dpcore.run_exhibit(key, seed={seed}).sentence)
"""
