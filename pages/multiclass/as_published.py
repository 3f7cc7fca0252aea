"""The exhibit on the page Multiclass: the published mechanism, which protects nobody. It carries no guarantee."""

from functools import partial

import numpy as np
import pandas as pd

from dpcore.core.facts import text_beside
from dpcore.figures.multiclass import existence_figure, membership_leak_figure
from dpcore.figures.style import FAMILIES, Theme
from dpcore.studies.papers import pathak_raj, pathak_raj_leak, pathak_raj_lemmas
from pages.multiclass import words
from pages.ui.code import redrawn
from pages.ui.live_figure import captioned_figure
from pages.ui.numbers import rounded
from pages.ui.page import Page
from pages.ui.sources import assumed

HEIGHT, SIDE_HEIGHT = 430, 380
DRAWS, COLUMNS = 40_000, (1, 2, 3, 4)
PROOF_CLASSES, PROOF_RECORDS, PROOF_COLUMNS = 3, 20, 2

FORMULA = text_beside(__file__, "as_published_formula.md")


def show(page: Page, seed: int, theme: Theme) -> None:
    """All of the page below its pickers."""
    question = partial(pathak_raj_leak.membership_leak, seed=seed)
    draw = partial(membership_leak_figure, height=HEIGHT)
    guessed = question()
    sentence = (
        f"**As published, the mechanism protects nobody.** With {guessed.exist:,} of {guessed.draws:,} noise draws its "
        f"objective has a minimiser, {guessed.exist - guessed.guesses:,} of which leave a class empty. An attacker who "
        "sees one of the others and guesses which of two data sets was used is right "
        f"**{guessed.right:,} times in {guessed.guesses:,}**."
    )
    page.headline(sentence, colour=FAMILIES[theme]["frank_wolfe"])
    page.halves()
    page.chart(
        draw(guessed, theme=theme),
        sentence,
        key="membership_leak",
        height=HEIGHT,
        caption="Two data sets of two classes and one column that differ in one record; noise and λ as published. Both "
        "classes get the same noise, so it cancels in an equation that the released matrices satisfy only for "
        "their own records. A minimiser with an empty class reveals nothing.",
    )
    shares = [(d, pathak_raj.existence(d, 1.0, 1.0, draws=DRAWS, seed=seed)) for d in COLUMNS]
    first, last = (rounded(100 * share.share, 2) for _, share in (shares[0], shares[-1]))
    with page.right:
        beside = existence_figure(shares, draws=DRAWS, theme=theme, height=SIDE_HEIGHT)
        text = (
            f"The published objective has a minimiser in {first}% of {DRAWS:,} draws with one column and in {last}% "
            f"with {COLUMNS[-1]} columns; otherwise it is unbounded below. More than half is impossible. Bars: 95% "
            "intervals."
        )
        captioned_figure(beside, text, key="beside_published_chart", height=SIDE_HEIGHT)
    page.below(
        [],
        words.CHIPS,
        assumptions,
        FORMULA,
        lambda: redrawn(question, draw) + 'print(found.right, "of", found.guesses)\n',
        lambda: pd.DataFrame({"own_records": guessed.own, "one_replaced": guessed.other}),
    )


def assumptions() -> str:
    """What is assumed, and the steps of the published proof with the numbers that hold."""
    lemma = pathak_raj_lemmas.lemma_1(PROOF_CLASSES)
    matrix, sphere = pathak_raj_lemmas.noise_lengths(PROOF_COLUMNS, 1.0)
    few, many = (pathak_raj_lemmas.needed_alpha(PROOF_CLASSES, n, 1.0) for n in (PROOF_RECORDS, 2 * PROOF_RECORDS))
    return assumed(
        __file__,
        "as_published_assumptions.md",
        classes=PROOF_CLASSES,
        lemma=lemma,
        columns=PROOF_COLUMNS,
        matrix=matrix,
        sphere=sphere,
        records=PROOF_RECORDS,
        few=few,
        many=many,
        share=pathak_raj_lemmas.lemma_3_share(np.tile(np.diag([1.0] * PROOF_COLUMNS + [0.0]), (3, 1, 1))),
    )
