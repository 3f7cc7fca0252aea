"""The figures of an attack: what they draw, and that no verdict is colour alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.audit.report import VERDICTS
from dpcore.figures.audit.attack import LONGEST, betting_figure, ink_of, plane_figure, ruler_figure
from dpcore.figures.style import BACKGROUND

from .pictures import BET, CURVE, FALSE, ROWS
from .test_figures import contrast

THEMES = pytest.mark.parametrize("theme", ["light", "dark"])
CORRECT = (np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.48, 0.0]))


def ruler(rows=ROWS, picked=2, theme="light"):
    return ruler_figure(rows, claim=1.0, picked=picked, theme=theme, height=400)


def plane(correct=CORRECT, errors=(0.4, 0.45), verdict="contradicted", theme="light"):
    return plane_figure(FALSE, 0.9 * (1 - FALSE), CURVE, correct, errors, verdict=verdict, theme=theme, height=350)


def betting(correct=BET, verdict="contradicted", theme="light", runs=20_000):
    return betting_figure(BET, correct, runs=runs, verdict=verdict, theme=theme, height=350)


@THEMES
def test_verdicts_have_colours_of_their_own_that_one_can_see(theme):
    inks = [ink_of(verdict, theme) for verdict in (*VERDICTS, None)]
    assert len(set(inks)) == len(inks)
    assert all(contrast(ink, BACKGROUND[theme]) >= 3.0 for ink in inks)


@THEMES
def test_a_bar_reaches_what_is_certified_and_has_its_verdict_in_words(theme):
    figure = ruler(theme=theme)
    pale, dark = figure.data
    assert list(pale.x)[:4] == [0.9, 1.05, 2.0, 13.4] and list(dark.x)[:4] == [0.8, 0.95, 1.9, 12.2]
    assert list(dark.marker.color) == [ink_of(row.verdict, theme) for row in ROWS]
    ends = [a for a in figure.layout.annotations if a.yref == "y" and a.xref == "paper"]
    assert [a.text.replace("<b>", "").replace("</b>", "") for a in ends] == [row.told for row in ROWS]
    assert [a.y for a in ends] == list(range(5))


def test_the_claim_is_a_line_and_longer_bars_say_how_long_they_are():
    figure = ruler()
    assert figure.layout.shapes[1].x0 == figure.layout.shapes[1].x1 == 1.0
    assert "claimed: ε = 1" in [a.text for a in figure.layout.annotations]
    assert [a.text for a in figure.layout.annotations if "→" in a.text] == ["12 →"], (
        "certified with 99.9%, as the headline says"
    )
    assert figure.layout.xaxis.range == (0.0, LONGEST)


@pytest.mark.parametrize(("certified", "shown"), [(3.04, []), (3.06, ["3.1 →"]), (2.96, [])])
def test_only_a_bar_beyond_the_axis_has_an_arrow(certified, shown):
    figure = ruler([ROWS[2]._replace(shown=3.2, flagged=certified)], picked=0)
    assert [a.text for a in figure.layout.annotations if "→" in a.text] == shown


def test_phones_read_the_verdict_below_the_name():
    narrow = ruler().layout.meta["narrow"]
    assert narrow["yaxis"]["ticktext"][0] == "correct code<br>no contradiction found"
    assert not [a for a in narrow["annotations"] if a["text"] == "contradicted"]


def test_the_forbidden_region_lies_below_the_claim_and_is_hatched_and_named():
    figure = plane()
    limit, guessing, correct, measured, mark = figure.data
    assert limit.fill == "tozeroy" and limit.fillpattern.shape == "/"
    assert np.allclose(limit.y, 0.9 * (1 - FALSE))
    assert np.array_equal(guessing.y, 1.0 - guessing.x)
    assert np.array_equal(measured.x, CURVE[0]) and np.array_equal(measured.y, CURVE[1])
    assert np.array_equal(correct.x, CORRECT[0]) and measured.line.width > correct.line.width
    assert any("forbidden" in a.text for a in figure.layout.annotations)
    assert figure.layout.yaxis.scaleanchor == "x" and figure.layout.xaxis.range == figure.layout.yaxis.range
    assert (mark.x[0], mark.y[0]) == (0.4, 0.45) and mark.showlegend


@pytest.mark.parametrize("verdict", [*VERDICTS, None])
def test_traces_keep_their_places_whatever_is_there(verdict):
    full, bare = plane(), plane(correct=None, errors=None, verdict=verdict)
    assert [t.name for t in full.data] == [t.name for t in bare.data]
    assert not bare.data[2].showlegend and not bare.data[4].showlegend
    assert bare.data[3].line.color == ink_of(verdict, "light")
    assert [t.name for t in betting().data] == [t.name for t in betting(correct=None, verdict=verdict).data]


def test_the_bet_is_drawn_from_the_first_run_to_just_beyond_the_axis():
    figure = betting()
    _, picked, suspicious, contradicted = figure.data
    assert list(picked.x) == [2.0, 20.0, 200.0] and picked.y[0] == pytest.approx(math.exp(-1))
    assert picked.y[1] == pytest.approx(math.exp(5)) and math.log10(picked.y[2]) > figure.layout.yaxis.range[1]
    assert set(suspicious.y) == {20.0} and set(contradicted.y) == {1000.0}
    assert suspicious.line.dash != contradicted.line.dash
    assert {"20: suspicious (95%)", "1,000: contradicted (99.9%)"} <= {a.text for a in figure.layout.annotations}
    (beyond,) = [a for a in figure.layout.annotations if a.text.startswith("↑ this code (10")]
    assert (beyond.yref, beyond.yanchor) == ("paper", "top") and beyond.yshift < 0, "below the drawing"
    assert figure.layout.xaxis.range[1] == pytest.approx(math.log10(20_000)), "as long as the runs will be"
