"""Figures of the page Perturbation: looks, refusals, contours and leaks."""

import itertools
import json
import math

import numpy as np
import pytest

import dpcore
from dpcore import Axis, Problem, data
from dpcore.core.losses import get_loss
from dpcore.experiments.metrics import risk
from dpcore.figures.perturbation import excess_figure, leak_figure, release_scatter_figure, valley_figure
from dpcore.figures.style import BACKGROUND, FAMILIES
from dpcore.mechanisms import mechanism_class
from dpcore.studies.perturbation.exact_answers_leak import median_leak, support_vector_leak
from dpcore.studies.perturbation.release_scatter import release_scatter

from ..flat_fields import experiment_of

KEYS = ("output_gaussian", "objective_gaussian", "output_gamma", "objective_gamma")
EPSILONS = (0.01, 0.1, 0.5, 1.0, 10.0)
HEIGHT = 430


def table_of(keys=KEYS[:2], sweep=None, **changes):
    fields = {"source": "synthetic", "n": 300, "lam": 0.05, "repetitions": 10, "seed": 1} | changes
    return dpcore.run(experiment_of(mechanisms=keys, sweep=sweep or Axis("epsilon", EPSILONS), **fields))


def draw(table, epsilon=1.0, theme="light", mechanism=None):
    chosen = mechanism or table.mechanism.iloc[0]
    return excess_figure(table, mechanism=chosen, epsilon=epsilon, theme=theme, height=HEIGHT)


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def excess_of(table, key):
    return table[(table.mechanism == key) & (table.metric == "excess_empirical_risk")]


def test_look_says_family_noise_and_kind():
    """Colour and symbol are the family, filling the noise, dashes the kind of curve."""
    for keys in (KEYS[:2], KEYS[2:]):
        figure = draw(table_of(keys))
        for key in keys:
            place = mechanism_class(key).place
            trace, colour = named(figure, f"{place} perturbation"), FAMILIES["light"][place]
            assert trace.line.color == trace.marker.line.color == colour and trace.line.dash == "solid"
            assert trace.marker.symbol == {"output": "circle", "objective": "square"}[place]
            assert trace.marker.color == (colour if key.endswith("gaussian") else BACKGROUND["light"])
            bound = named(draw(table_of(keys), mechanism=key), f"{place}: upper bound")
            assert bound.line.dash == "dash" and bound.line.color == colour


def test_where_a_mechanism_is_refused_the_axis_is_shaded_up_to_half_way_and_has_no_curve_there():
    table = table_of(lam=0.001)
    figure = draw(table)
    refused = table[table.status == "not applicable"].x
    assert list(refused) == [0.01, 0.1, 0.5]
    (shade,) = [s for s in figure.layout.shapes if s.type == "rect"]
    assert shade.x0 == 0.01 and shade.x1 == pytest.approx(math.sqrt(0.5 * 1.0))
    assert min(named(figure, "objective perturbation").x) == 1.0
    assert "objective: refused" in [a.text for a in figure.layout.annotations]
    assert not [s for s in draw(table_of(lam=0.5, n=3000)).layout.shapes if s.type == "rect"], "no shade without need"


def test_all_mechanisms_refused_is_a_chart_and_not_an_error():
    figure = draw(table_of(("objective_gaussian",), lam=1e-9))
    (shade,) = [s for s in figure.layout.shapes if s.type == "rect"]
    assert (shade.x0, shade.x1) == (0.01, 10.0)
    json.loads(figure.to_json())


def test_the_valley_is_the_table_over_lam_with_the_refused_part():
    lams = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    table = table_of(sweep=Axis("lam", lams), epsilon=0.5)
    figure = valley_figure(table, lam=0.0123456, theme="light", height=HEIGHT)
    for key, place in (("output_gaussian", "output"), ("objective_gaussian", "objective")):
        rows = excess_of(table, key)
        assert np.array_equal(named(figure, f"{place} perturbation").y, rows["mean"])
    assert named(figure, "regularisation alone").hovertemplate.startswith("λ = ")
    assert "λ = 0.012" in [a.text for a in figure.layout.annotations]
    (shade,) = [s for s in figure.layout.shapes if s.type == "rect"]
    assert shade.x0 == 1e-4 and shade.x1 == pytest.approx(math.sqrt(1e-3 * 1e-2))
    assert named(figure, "objective: refused").showlegend and not named(figure, "output: refused").showlegend
    layouts = figure.layout, figure.layout.meta["narrow"]
    said = [[note["text"] for note in layout["annotations"]] for layout in layouts]
    assert [set(texts) & {"objective: refused", "output"} for texts in said] == [
        {"objective: refused", "output"},
        set(),
    ]
    assert not figure.layout.showlegend and figure.layout.meta["narrow"]["showlegend"]
    nowhere = valley_figure(table, lam=None, theme="light", height=HEIGHT)
    assert not [s for s in nowhere.layout.shapes if s.type == "line"]


@pytest.mark.parametrize("lam, epsilon, seed", [(0.05, 1.0, 1), (0.001, 3.0, 2), (0.01, 0.3, 3), ("auto", 10.0, 4)])
def test_rings_are_powers_of_ten_and_their_labels_lie_on_them(lam, epsilon, seed):
    problem = Problem("synthetic", n=300, p=2, lam=lam, seed=seed)
    made = release_scatter((dpcore.make_mechanism(KEYS[0]),), problem, epsilon)
    figure = release_scatter_figure(made, theme="light", height=HEIGHT)
    ground, labels = figure.data[0], figure.layout.annotations
    assert ground.contours.size == 1.0 and ground.contours.start == round(ground.contours.start)
    assert len(labels) == round(ground.contours.end - ground.contours.start) + 1 >= 1
    train = data.load("synthetic", 300, 2, seed).train
    best = risk(get_loss("logistic"), made.best, train)
    for label in labels:
        here = risk(get_loss("logistic"), np.array([label.x, label.y]), train) - best
        assert float(label.text) == pytest.approx(here, rel=0.25), "up to the grid's coarseness"
    places = [made.best, *(np.array([label.x, label.y]) for label in labels)]
    for one, other in itertools.combinations(places, 2):
        assert np.linalg.norm(one - other) > 0.1 * np.ptp(made.x)


@pytest.mark.parametrize("make", [median_leak, support_vector_leak])
def test_the_published_record_is_filled_and_the_replaced_one_a_diamond(make):
    leak = make(2)
    marks = (np.array([leak.before[leak.owner_before]]), np.array([leak.after[leak.owner_after]]))
    figure = leak_figure(leak, marks=marks, title="unit", theme="light", height=300)
    for trace, records, owner in zip(
        figure.data, (leak.before, leak.after), (leak.owner_before, leak.owner_after), strict=True
    ):
        assert np.array_equal(trace.x, records)
        filled = [k for k, colour in enumerate(trace.marker.color) if not colour.endswith(",0)")]
        assert filled == [owner]
        assert [k for k, s in enumerate(trace.marker.symbol) if s == "diamond"] == [leak.replaced]
    assert [s.x0 for s in figure.layout.shapes] == [marks[0][0], marks[1][0]]
