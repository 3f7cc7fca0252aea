"""How many draws a theorem allows: the figure holds the counts, and says where nothing is released."""

import math

import numpy as np
import pytest

from dpcore.figures.sparsity.simplex import published_draws_figure
from dpcore.studies.sparsity.simplex.published_draws import draws_at, published_draws

FACTS = dict(p=128, epsilon=1.0, delta=1e-6, loss="huber")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_counts_are_drawn_as_computed_and_less_than_one_draw_is_marked(theme):
    made = published_draws(**FACTS)
    figure = published_draws_figure(made, n=5_000, theme=theme, height=380)
    ours, theirs = figure.data
    assert (ours.name, theirs.name) == ("tight", "as published") and (ours.line.dash, theirs.line.dash) == (
        "solid",
        "dash",
    )
    assert np.array_equal(ours.y, made.ours) and np.array_equal(theirs.y, made.published)
    assert np.array_equal(ours.x, made.n) and np.array_equal(theirs.x, made.n)
    region, cursor = figure.layout.shapes
    low, high = figure.layout.yaxis.range
    assert region.y1 == 1.0 and math.log10(region.y0) == pytest.approx(low) and cursor.x0 == 5_000
    assert low < math.log10(made.published.min()) and math.log10(made.ours.max()) < high
    said = [note.text for note in figure.layout.annotations]
    assert {"n = 5,000", "less than one draw: no release", "tight", "as published"} <= set(said)
    assert figure.layout.meta["narrow"]["showlegend"] and not figure.layout.showlegend


def test_the_counts_at_one_n_are_those_of_the_curve():
    made = published_draws(**FACTS)
    for k in (0, 5, 15):
        theirs, ours = draws_at(int(made.n[k]), **FACTS)
        assert (theirs, ours) == (made.published[k], made.ours[k])
    assert draws_at(made.first, **FACTS)[0] >= 1.0 > draws_at(made.first - 1, **FACTS)[0]
