"""The view "as printed": mechanisms of papers that cost more than they say, with bounds that runs certify."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from dpcore.figures.named_bars import exhibits_figure
from dpcore.figures.style import FAMILIES, Theme
from dpcore.studies.papers.exhibits import EXHIBITS, Finding, run_exhibit
from pages.audit import printed_words as words
from pages.ui.cards import cards
from pages.ui.details import behind
from pages.ui.html import emphasised, plain
from pages.ui.live_figure import live_figure

HEIGHT = 430


def show(headline: st.delta_generator.DeltaGenerator, seed: int, theme: Theme) -> None:
    """Everything below the headline. The first visitor of a server waits some seconds for the runs."""
    with st.spinner("Playing the printed mechanisms …", show_time=True):
        found = [run_exhibit(key, seed=seed) for key in EXHIBITS]
    sentence = words.takeaway(found)
    headline.html(emphasised(sentence, FAMILIES[theme]["frank_wolfe"]))
    chart = exhibits_figure(
        [words.NAMES[each.key] for each in found],
        [each.certified_999 / each.claimed for each in found],
        [each.certified_95 / each.claimed for each in found],
        [math.nan if each.exact is None else each.exact / each.claimed for each in found],
        theme=theme,
        height=HEIGHT,
    )
    live_figure(chart, key="exhibits", alt=plain(sentence), height=HEIGHT)
    st.caption(words.caption(found))
    cards([words.readout(each) for each in found])
    behind(lambda: words.assumptions(found), words.FORMULA, lambda: words.snippet(seed), lambda: _table(found))


def _table(found: list[Finding]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "exhibit": each.key,
            "source": each.source,
            "bounded": each.unit,
            "printed": each.claimed,
            "exact": each.exact,
            "at_least_95": each.certified_95,
            "at_least_999": each.certified_999,
            "runs": each.runs,
            "seed": each.seed,
        }
        for each in found
    )
