"""The figure of tracing shows the engine's numbers, and every mark that its legend names."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.sparsity.l1 import tracing_figure
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.sparsity.l1.membership import tracing

THEMES = ["light", "dark"]


@pytest.fixture(scope="module")
def found():
    return tracing(seed=2, p=64, repetitions=10)


def named(figure, name):
    (trace,) = [trace for trace in figure.data if trace.name == name]
    return trace


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


@pytest.mark.parametrize("theme", THEMES)
def test_curves_are_the_numbers_of_the_tracing(found, theme):
    figure = tracing_figure(found, epsilon=30.0, theme=theme, height=420)
    colour = FAMILIES[theme]["frank_wolfe"]
    private = named(figure, "private model")
    assert (np.asarray(private.x) == found.epsilon).all() and (np.asarray(private.y) == found.auc).all()
    assert (private.line.width, private.line.dash, private.line.color) == (3, "solid", colour)
    assert list(private.marker.size) == [7.0, 7.0, 7.0, 13.0, 7.0, 7.0, 7.0]
    assert (np.asarray(private.customdata) == np.column_stack([100 * found.agreement, found.excess])).all()
    limit = named(figure, "limit of every attack")
    assert (np.asarray(limit.y) == found.limit).all() and limit.line.dash == "dash"
    best, guess = named(figure, "best model, non-private"), named(figure, "guessing")
    assert list(best.y) == [found.exact] * 2 and best.line.color == FAMILIES[theme]["reference"]
    assert list(guess.y) == [0.5, 0.5] and (guess.line.dash, guess.line.color) == ("dot", MUTED[theme])
    assert list(best.x) == list(guess.x) == [1.0, 1000.0]


def test_the_band_is_8_of_10_runs(found):
    upper, lower = tracing_figure(found, epsilon=3.0, theme="light", height=420).data[:2]
    assert np.allclose(upper.y, np.quantile(found.every_auc, 0.9, axis=1))
    assert np.allclose(lower.y, np.quantile(found.every_auc, 0.1, axis=1))
    assert (lower.name, lower.fill) == ("8 of 10 runs", "tonexty")


def test_everything_lies_in_the_window_and_is_labelled_once(found):
    unlucky = dc.replace(found, every_auc=0.3 * found.every_auc)
    for made in (found, unlucky):
        figure = tracing_figure(made, epsilon=3.0, theme="dark", height=420)
        low, high = figure.layout.yaxis.range
        assert all((np.asarray(trace.y) >= low).all() and (np.asarray(trace.y) <= high).all() for trace in figure.data)
        for text in ("private model", "limit of<br>every attack", "best model,<br>non-private", "guessing", "ε = 3"):
            assert words(figure).count(text) == 1
        left, right = figure.layout.xaxis.range
        assert left < 0.0 and right > 3.0 and figure.layout.xaxis.type == "log"
    assert figure.layout.shapes[0].x0 == 3.0 and figure.layout.uirevision == "keep"


def test_phones_get_a_legend_instead_of_labels(found):
    figure = tracing_figure(found, epsilon=3.0, theme="light", height=420)
    narrow = figure.layout.meta["narrow"]
    kept = {annotation["text"] for annotation in narrow["annotations"]}
    assert kept < set(words(figure)) and narrow["showlegend"] and not figure.layout.showlegend
    assert narrow["height"] - figure.layout.height == 20 * sum(bool(trace.showlegend) for trace in figure.data) == 100
    assert narrow["margin"]["r"] < figure.layout.margin.r
    assert "guessing" not in kept and "ε = 3" in kept
    figure.plotly.update_layout({key: value for key, value in narrow.items() if key != "annotations"})
