"""The figures of the ledger: the cursor, the axis, and where a curve ends."""

import json
import math

import numpy as np
import pytest

from dpcore.accounting.ledger import EpsilonCurve, Run, ledger_of
from dpcore.figures.composition import ledger_figure

STEPS = (1, 10, 1_000, 80_000, 4_000_000, 12_000_000)
ONE, BATCH, FULL = Run(2000, 1, 100.0, 1e-6), Run(2000, 50, 3.0, 1e-6), Run(2000, 2000, 100.0, 1e-6)


def draw(run=ONE, at=1_000, theme="light", target=1.0, steps=STEPS):
    curves = ledger_of(run, steps)
    return curves, ledger_figure(curves, steps, at=at, span=(1, 10**8), target=target, theme=theme, height=400)


def trace(figure, name):
    (found,) = (t for t in figure.data if t.name == name)
    return found


def test_a_curve_that_ends_has_a_cross_where_it_ends():
    _, figure = draw(Run(2000, 50, 100.0, 1e-6))
    claim = trace(figure, "Kamath's claim")
    assert claim.marker.symbol == "x" and [size > 0 for size in claim.marker.size] == [t == 80_000 for t in STEPS]
    assert trace(figure, "basic composition").mode == "lines"


@pytest.mark.parametrize("run", [ONE, BATCH, FULL], ids=["one", "batch", "full"])
@pytest.mark.parametrize("target", [0.01, 1.0, 10.0])
def test_the_axes_stay_and_hold_the_target(run, target):
    _, figure = draw(run, target=target)
    _, other = draw()
    low, high = figure.layout.yaxis.range
    assert low < math.log10(target) < high and (low, high) == tuple(other.layout.yaxis.range)
    assert tuple(figure.layout.xaxis.range) == tuple(other.layout.xaxis.range)
    json.loads(figure.to_json())


def test_where_no_accounting_says_anything_the_target_is_drawn_alone():
    curves = [EpsilonCurve(kind, np.full(len(STEPS), math.nan)) for kind in ("basic", "advanced", "exact")]
    figure = ledger_figure(curves, STEPS, at=1_000, span=(1, 10**8), target=3.0, theme="light", height=330)
    assert [t.name for t in figure.data if t.showlegend] == ["target, ε = 3"]
    low, high = figure.layout.yaxis.range
    assert low < math.log10(3.0) < high
    json.loads(figure.to_json())


@pytest.mark.parametrize(("at", "left"), [(1, []), (1_000, ["1.9"]), (12_000_000, ["110", "41", "0.5"])])
def test_the_values_at_the_cursor_stand_beside_their_points(at, left):
    """The largest on the left and the others on the right, but at an end of the axis on its inner side."""
    steps, heights = (1, 1_000, 12_000_000), {"basic": [0.1, 1.9, 110.0], "advanced": [0.4, 1.2, 41.0]}
    heights["exact"] = [0.1, 0.3, 0.5]
    curves = [EpsilonCurve(kind, np.array(values)) for kind, values in heights.items()]
    look = {"span": (1, steps[-1]), "target": 3.0, "theme": "light", "height": 330}
    layout = ledger_figure(curves, steps, at=at, **look).layout
    phone = {note["text"] for note in layout.meta["narrow"]["annotations"] if note["yref"] == "y"}
    here = sorted({values[steps.index(at)] for values in heights.values()})
    assert phone == {f"{value:g}" for value in (here[0], here[-1])}, "others would touch curves"
    notes = [note for note in layout.annotations if note.yref == "y"]
    notes = [note for note in notes if note.xref == "x"]
    wanted = {f"{values[steps.index(at)]:g}" for values in heights.values()}
    assert {note.text for note in notes} == wanted and all(note.x == math.log10(at) for note in notes)
    assert {note.text for note in notes if note.xanchor == "right"} == set(left)
    assert all(note.y == pytest.approx(math.log10(float(note.text))) for note in notes)
