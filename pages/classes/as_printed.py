"""The exhibit on the page Classes: the published mechanism, which protects nobody. It carries no epsilon label."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import classes, figures
from pages.classes import words
from pages.ui.behind import behind
from pages.ui.live_figure import live_figure
from pages.ui.pickers import chips, switch
from pages.ui.readout import cards
from pages.ui.text import emphasised, plain, rounded

HEIGHT, SIDE_HEIGHT = 430, 380
SIDES = ("Answers", "Theorem 2")
DRAWS, COLUMNS = 40_000, (1, 2, 3, 4)
THEOREM_DRAWS = 400

FORMULA = r"""
One matrix $b$ with density $\propto e^{-\frac\varepsilon2\|b\|_F}$ is added to the trace term of **all** classes:
$$J_p(\Phi)=L(\Phi)+\sum_c\langle\lambda I_d+b,\Phi_c\rangle,\qquad\Phi_c\succeq0 .$$

- $L$ sees only differences of the $\Phi_c$: if all move alike, $J_p$ changes by $C\langle\lambda I_d+b,S\rangle$. So it has a
  minimiser only where $\lambda I_d+\mathrm{sym}(b)\succ0$, in less than half of all draws.
- Where it has one, $Z_c\Phi_c=0$ for $Z_c=\partial L/\partial\Phi_c+\lambda I_d+\mathrm{sym}(b)$. The noise in all $Z_c$ is the
  same, so with bases $U_c$ of the ranges $U_c^\top(\partial L/\partial\Phi_c-\partial L/\partial\Phi_{c'})U_{c'}=0$: an equation
  without noise that the records satisfy.
- With a ridge in the place of the cone, shared noise moves only the mean of the $\Phi_c$, and no decision at all.
- **Theorem 2** bounds $J(\Phi^p)-J(\Phi^*)$ by $8(d+1)^4C\ln^2(d/\delta)/\varepsilon^2\lambda$ and needs a strongly convex $J$;
  $J$ is linear where all $\Phi_c$ move alike.
- **Lemma 4** bounds $\|b\|$ by a union bound with $\ln(d/\delta)$ in the place of $\ln((d+1)^2/\delta)$.
"""


def show(headline: DeltaGenerator, seed: int, theme: figures.Theme) -> None:
    """All of the page below its pickers."""
    guessed = classes.betrayal(seed=seed)
    colour = figures.FAMILIES[theme]["frank_wolfe"]
    sentence = (
        f"**As printed it protects nobody.** Of {guessed.draws:,} noise draws {guessed.exist:,} leave an answer at all; whoever "
        f"sees it and guesses which of two data sets it came from is right **{guessed.right:,} times of {guessed.guesses:,}**."
    )
    headline.html(emphasised(sentence, colour))
    with st.container(key="halves"):
        left, right = st.columns([1.5, 1], gap="medium")
    with left:
        chart = figures.betrayal_figure(guessed, theme=theme, height=HEIGHT)
        live_figure(chart, key="betrayal", alt=plain(sentence), height=HEIGHT)
        left_out = guessed.exist - guessed.guesses
        st.caption(
            "20 records of one column in two classes, and the same with one of them replaced; noise and λ as printed. The noise "
            "is the same for both classes and cancels in an equation that the released matrices satisfy for their own records "
            f"alone. {left_out:,} answers have an empty class and say nothing. No ε is written here: for none of them is it private."
        )
    with right:
        side = switch("Beside the chart", SIDES, SIDES[0], key="beside_printed", wrap=True)
        if side == "Answers":
            shares = [(d, classes.existence(d, 1.0, 1.0, draws=DRAWS, seed=seed)) for d in COLUMNS]
            beside = figures.existence_figure(shares, draws=DRAWS, theme=theme, height=SIDE_HEIGHT)
            said = (
                f"With one column {rounded(100 * shares[0][1].share, 2)}% of {DRAWS:,} draws leave the printed objective a minimiser, "
                f"with {shares[-1][0]} columns {rounded(100 * shares[-1][1].share, 2)}%; in all others it falls without end. "
                "More than half is impossible. Bars: 95% intervals."
            )
        else:
            broken = classes.theorem_2_violations(draws=THEOREM_DRAWS, seed=seed)
            beside = figures.theorem_figure(broken, theme=theme, height=SIDE_HEIGHT)
            said = (
                f"With traces capped there is always a minimiser. Theorem 2 then promises an excess of at most "
                f"{broken.bound:,.0f} in 9 of 10 draws, whatever the cap; at {broken.caps[-1]:,.0f} it is exceeded in "
                f"{100 * broken.violated[-1]:.0f} of 100."
            )
        live_figure(beside, key="beside_printed_chart", alt=said, height=SIDE_HEIGHT)
        st.caption(said)
    still = classes.decisions_without_noise(seed=seed)
    lemma = classes.norm_quantiles(5, 1.0, 0.05)
    fails = classes.lemma_4_fails(1)
    cards(
        [
            (
                f"{still.moved:.0e}",
                f"the most that noise moves any decision if a ridge takes the cone's place; the matrices' mean moves by {rounded(still.mean, 2)} or more",
            ),
            (
                f"{lemma.printed / lemma.exact:.1f} times",
                "how far Lemma 4 lies above the exact 95% length of the noise at d = 5; its union bound done right: "
                f"{lemma.union / lemma.exact:.1f} times",
            ),
            (
                f"δ ≥ {fails[0]:.2f}" if fails else "none",
                "where Lemma 4 is false at d = 1",
            ),
        ]
    )
    chips(words.CHIPS)
    table = pd.DataFrame({"own_records": guessed.own, "neighbour": guessed.other})
    behind(lambda: ASSUMPTIONS, FORMULA, lambda: snippet(seed), table)


ASSUMPTIONS = """- **The printed loss** has no lower bound (wrong signs); in its place stands the hinge that the text describes.
- **The attacker** knows all records but whether the last one is the true one or its replacement, as every audit here assumes.
- **Certified**: an answer is used only where a duality bound shows it to be the minimiser to 10 digits; none is trusted otherwise.
- **Repaired** (the other side of the switch): noise of its own for each class, a ridge, and the right sensitivity."""


def snippet(seed: int) -> str:
    """Python that redraws the chart from an empty file."""
    return f"""from dpcore import classes, figures

found = classes.betrayal(seed={seed})
print(found.right, "of", found.guesses)
figures.betrayal_figure(found, theme="light", height=430).show()
"""
