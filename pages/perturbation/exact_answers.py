"""What is released: models and a median with noise, or exact answers, each of which reveals somebody's record."""

import numpy as np

from dpcore.figures.perturbation import fit_figure, leak_figure
from dpcore.figures.style import Theme
from dpcore.studies.perturbation.exact_answers_leak import (
    MARGIN_LAM,
    Fit,
    Leak,
    median_leak,
    polynomial_fit,
    support_vector_leak,
)
from pages.ui.html import plain
from pages.ui.live_figure import live_figure, paragraph
from pages.ui.numbers import rounded
from pages.ui.pickers import switch

HEIGHT = 300
NOISY = {"model": "two features", "location": "a private median"}
LEAKS = NOISY | {"median": "no noise: median", "vector": "classifier", "curve": "curve"}


def show_exact_answers(seed: int, theme: Theme) -> str:
    """A picker, and for an exact answer a figure and what it shows; the key picked. seed: of the records."""
    chosen = switch("What is released", LEAKS, "model", key="leak", wrap=True)
    if chosen in NOISY:
        return chosen
    if chosen == "curve":
        fit = polynomial_fit(seed)
        figure, said = fit_figure(fit, theme=theme, height=HEIGHT), curve_words(fit)
    elif chosen == "median":
        leak = median_leak(seed)
        marks = np.array([leak.published_before]), np.array([leak.published_after])
        title = "salary (line: published, ◇: replaced)"
        figure = leak_figure(leak, marks=marks, title=title, theme=theme, height=HEIGHT)
        said = median_words(leak)
    else:
        leak = support_vector_leak(seed)
        sides = np.array([-1.0, 1.0])
        marks = sides / leak.published_before, sides / leak.published_after
        title = "feature x (lines: ±1/θ, ◇: replaced)"
        figure = leak_figure(leak, marks=marks, title=title, theme=theme, height=HEIGHT)
        said = vector_words(leak)
    live_figure(figure, key=f"exact_{chosen}", alt=plain(said), height=HEIGHT)
    paragraph(said)
    return chosen


def median_words(leak: Leak) -> str:
    """The published median is somebody's salary."""
    return (
        f"Only the median of nine salaries is published: **{leak.published_before:,.0f}**, the salary of person "
        f"{leak.owner_before + 1}. Person {leak.replaced + 1} is replaced by somebody who earns "
        f"{leak.after[leak.replaced]:,.0f}; the median is now **{leak.published_after:,.0f}**, the salary of person "
        f"{leak.owner_after + 1}."
    )


def vector_words(leak: Leak) -> str:
    """The published weight of a hinge-loss classifier is one over somebody's record."""
    return (
        f"{len(leak.before)} people, one feature x, hinge loss, λ = {MARGIN_LAM:g}. Only the weight θ is published: "
        f"**{leak.published_before:.3f}**. Its inverse, {1 / leak.published_before:.3f}, is |x| of person "
        f"{leak.owner_before + 1} (filled), to every digit shown. If that record becomes "
        f"{leak.after[leak.replaced]:.3f}, θ becomes **{leak.published_after:.3f}**, and its inverse, "
        f"{1 / leak.published_after:.3f}, follows the record."
    )


def curve_words(fit: Fit) -> str:
    """The published curve passes through every record."""
    return (
        f"The published least-squares polynomial of degree {len(fit.x) - 1} passes through **every one** of the "
        f"{len(fit.x)} records, at most {rounded(max(fit.miss, 1e-16), 1)} away. Record {fit.replaced + 1} moves from "
        f"{rounded(fit.before[fit.replaced], 2)} to {rounded(fit.after[fit.replaced], 2)}, and the curve follows it."
    )
