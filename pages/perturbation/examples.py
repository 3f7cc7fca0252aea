"""Two more things to learn beside the chart: a geometric median, which is a point, and a polynomial."""

import dataclasses as dc
from typing import Any

import numpy as np

from dpcore import Problem
from dpcore.figures.perturbation import polynomials_figure, release_scatter_figure
from dpcore.figures.style import Theme
from dpcore.studies.perturbation.private_polynomials import DEGREE, RELEASES, Polynomials, private_polynomials
from dpcore.studies.perturbation.release_scatter import ReleaseScatter, release_scatter
from pages.perturbation import words
from pages.ui.live_figure import captioned_figure
from pages.ui.numbers import rounded
from pages.ui.pickers import switch

EXAMPLES = {"median": "a geometric median", "polynomial": "a polynomial"}


def show_examples(mechanisms: Any, problem: Problem, epsilon: float, theme: Theme, height: int) -> None:
    """A picker, a figure and what it shows. mechanisms, problem: of the main chart; height: px."""
    if switch("What is learned", EXAMPLES, "median", key="example") == "median":
        points = dc.replace(problem, source="synthetic_location", loss="geometric_median", p=2)
        scatter = release_scatter(mechanisms, points, epsilon)
        figure = release_scatter_figure(scatter, theme=theme, height=height)
        captioned_figure(figure, median_caption(scatter, problem.n), key="releases", height=height)
        return
    made = private_polynomials(mechanisms, problem, epsilon)
    figure = polynomials_figure(made, theme=theme, height=height)
    captioned_figure(figure, polynomial_caption(made), key="polynomials", height=height)


def median_caption(made: ReleaseScatter, n: int) -> str:
    """Distance of each mechanism's releases of a geometric median from the median without noise."""
    return (
        f"Geometric median of {n:,} synthetic points in the plane, the point with the smallest mean distance from all: "
        f"{words.spread(made)}"
    )


def polynomial_caption(made: Polynomials) -> str:
    """Distance of each mechanism's curves from the curve without privacy."""
    several = len(words.noises_of(fit.mechanism for fit in made.fits)) > 1
    parts = []
    for fit in made.fits:
        name = words.name_of(fit.mechanism, several)
        away = float(np.sqrt(((fit.curves - made.best) ** 2).mean())) if len(fit.curves) else None
        parts.append(f"{name}: refused" if away is None else f"{name}: {rounded(away, 2)}")
    return (
        f"Polynomials of degree {DEGREE}, fitted to {len(made.x):,} synthetic records, Huber loss, same ε and rule for "
        f"λ: {RELEASES} releases of each mechanism. Typical distance from the best curve without privacy: "
        f"{'; '.join(parts)}."
    )
