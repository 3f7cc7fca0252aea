"""The exhibit on the page Multiclass: the published mechanism, which protects nobody. It carries no epsilon label."""

import math
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.core.facts import text_beside
from dpcore.figures.multiclass import existence_figure, membership_leak_figure, theorem_figure
from dpcore.figures.style import FAMILIES, Theme
from dpcore.studies.papers import pathak_raj, pathak_raj_leak
from pages.multiclass import words
from pages.ui.cards import cards
from pages.ui.code import redrawn
from pages.ui.details import behind
from pages.ui.html import emphasised, plain
from pages.ui.live_figure import captioned_figure, live_figure
from pages.ui.numbers import power, rounded
from pages.ui.pickers import chips, switch
from pages.ui.sources import assumed

HEIGHT, SIDE_HEIGHT = 430, 380
SIDES = ("Answers", "Theorem 2")
DRAWS, COLUMNS = 40_000, (1, 2, 3, 4)
THEOREM_DRAWS = 400
LEMMA_COLUMNS, LEMMA_MISS = 5, 0.05

FORMULA = text_beside(__file__, "as_printed_formula.md")


def show(headline: DeltaGenerator, seed: int, theme: Theme) -> None:
    """All of the page below its pickers."""
    asked, draw = partial(pathak_raj_leak.betrayal, seed=seed), partial(membership_leak_figure, height=HEIGHT)
    guessed = asked()
    sentence = (
        f"**As printed it protects nobody.** Of {guessed.draws:,} draws of its noise {guessed.exist:,} leave an answer "
        "at all; whoever sees one and guesses which of two data sets it was made from is right "
        f"**{guessed.right:,} times of {guessed.guesses:,}**."
    )
    headline.html(emphasised(sentence, FAMILIES[theme]["frank_wolfe"]))
    with st.container(key="halves"):
        left, right = st.columns([1.5, 1], gap="medium")
    with left:
        live_figure(draw(guessed, theme=theme), key="betrayal", alt=plain(sentence), height=HEIGHT)
        st.caption(
            "Records of one column in two classes, and the same with one of them replaced; noise and λ as printed. "
            "Both classes get the same noise, and it cancels in an equation that the released matrices satisfy for "
            f"their own records alone. {guessed.exist - guessed.guesses:,} answers have an empty class and say nothing."
        )
    with right:
        side = switch("Beside the chart", SIDES, SIDES[0], key="beside_printed", wrap=True)
        _show_beside(side, seed, theme)
    cards(_readouts(seed))
    chips(words.CHIPS)
    table = pd.DataFrame({"own_records": guessed.own, "one_replaced": guessed.other})
    behind(
        lambda: assumed(__file__, "as_printed_assumptions.md"),
        FORMULA,
        lambda: redrawn(asked, draw) + 'print(found.right, "of", found.guesses)\n',
        lambda: table,
    )


def _show_beside(side: str, seed: int, theme: Theme) -> None:
    if side == "Answers":
        shares = [(d, pathak_raj.existence(d, 1.0, 1.0, draws=DRAWS, seed=seed)) for d in COLUMNS]
        beside = existence_figure(shares, draws=DRAWS, theme=theme, height=SIDE_HEIGHT)
        first, last = (rounded(100 * share.share, 2) for _, share in (shares[0], shares[-1]))
        said = (
            f"With one column {first}% of {DRAWS:,} draws leave the printed objective a minimiser, with {COLUMNS[-1]} "
            f"columns {last}%; in all others it falls without end. More than half is impossible. Bars: 95% intervals."
        )
    else:
        broken = pathak_raj.theorem_2_violations(draws=THEOREM_DRAWS, seed=seed)
        beside = theorem_figure(broken, theme=theme, height=SIDE_HEIGHT)
        said = (
            "With the traces capped there is always a minimiser. Theorem 2 then promises an excess of at most "
            f"{broken.bound:,.0f} in {100 * (1 - broken.delta):.0f} of 100 draws, whatever the cap; where it is "
            f"{broken.caps[-1]:,.0f}, {100 * broken.violated[-1]:.0f} of 100 draws exceed it."
        )
    captioned_figure(beside, said, key="beside_printed_chart", height=SIDE_HEIGHT)


def _readouts(seed: int) -> list[tuple[str, str]]:
    still = pathak_raj_leak.decisions_without_noise(seed=seed)
    lemma, fails = pathak_raj.norm_quantiles(LEMMA_COLUMNS, 1.0, LEMMA_MISS), pathak_raj.lemma_4_fails(1)
    made = [
        (
            f"< {power('10', str(math.ceil(math.log10(still.moved))))}" if still.moved else "0",
            "what noise moves decisions by, if a ridge takes the place of the cone; the matrices' mean moves by "
            f"{rounded(still.mean, 2)} or more",
        ),
        (
            f"{lemma.printed / lemma.exact:.1f} times",
            f"how far Lemma 4 lies above the noise's length at d = {LEMMA_COLUMNS}, which {LEMMA_MISS:.0%} of draws "
            f"exceed; its union bound done right lies {lemma.union / lemma.exact:.1f} times above",
        ),
    ]
    if fails:
        made.append((f"δ > {fails[0]:.2f}", "where Lemma 4 is false as printed at d = 1"))
    return made
