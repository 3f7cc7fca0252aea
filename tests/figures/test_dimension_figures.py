"""The figures of the dimension page as pure functions: what is drawn, in which look, and what a cursor move changes."""

import itertools
import json
import math

import numpy as np
import pytest

import dpcore
from dpcore.figures.dimension import dimension_figure, orthant_figure
from dpcore.figures.style import BACKGROUND, FAMILIES
from dpcore.studies.dimension import noise_growth, orthant

from ..flat_fields import experiment_of

PS = (8, 128, 4096, 2**20)
ANSWER = ("output_gaussian", "output_gamma")
BOTH = (*ANSWER, "objective_gaussian", "objective_gamma")


def draw(mechanisms=ANSWER, p=128, lower="distance", theme="light", **changes):
    fields = {"source": "synthetic_padded", "n": 300, "lam": 0.05, "repetitions": 4} | changes
    experiment = experiment_of(mechanisms=mechanisms, sweep=dpcore.Axis("p", PS), **fields)
    table, grown = dpcore.run(experiment), noise_growth.growth_of(experiment.cells())
    figure = dimension_figure(
        table, grown, p=p, lower=lower, accuracy_title="people classified correctly, %", theme=theme, height=420
    )
    return table, grown, figure


def draw_orthant(p=128, theme="light", **changes):
    arguments = {"n": 300, "epsilon": 1.0, "delta": 1e-6, "lam": 0.05, "seed": 0} | changes
    example = orthant.example(PS, **arguments)
    return example, orthant_figure(example, p=p, theme=theme, height=290)


def trace(figure, name, panel="y"):
    (found,) = (t for t in figure.data if t.name == name and t.yaxis == panel)
    return found


def test_accuracy_and_distance_are_the_table_s_and_the_plans():
    table, grown, figure = draw()
    for key, name in zip(ANSWER, ("Gaussian noise", "Gamma noise"), strict=True):
        rows = table[(table.mechanism == key) & (table.metric == "accuracy")]
        assert np.array_equal(trace(figure, name).y, 100 * rows["mean"])
        assert np.array_equal(trace(figure, name, "y2").y, grown[key].distance)
    assert set(trace(figure, "without privacy").y) == {100 * table.reference[0]}
    larger = 100 * table[table.metric == "accuracy"].nothing_learned.dropna().unique()
    assert set(trace(figure, "always the larger class").y) == set(larger) and 50.0 < larger[0] < 51.0
    assert set(trace(figure, "‖θ̂‖, its own length", "y2").y) == {grown["output_gaussian"].length}


def test_damage_stands_beside_its_bound_and_the_anchored_shape():
    table, grown, figure = draw(lower="damage")
    for key, name in zip(ANSWER, ("Gaussian noise", "Gamma noise"), strict=True):
        rows = table[(table.mechanism == key) & (table.metric == "excess_empirical_risk")]
        damage = (rows["mean"] - rows.noiseless).to_numpy()
        assert np.array_equal(trace(figure, name, "y2").y, damage)
        bound = trace(figure, f"{name}: bound", "y2")
        assert np.array_equal(bound.y, grown[key].damage_bound) and bound.line.dash == "dash"
        shape = trace(figure, f"{name}: earlier theory, shape only", "y2")
        assert shape.y[0] == pytest.approx(damage[0])
        assert shape.y / shape.y[0] == pytest.approx(grown[key].earlier / grown[key].earlier[0])
        assert shape.line.width < bound.line.width < trace(figure, name, "y2").line.width
    assert "‖θ̂‖, its own length" not in [t.name for t in figure.data]


def test_damage_that_is_none_is_a_gap_on_the_logarithmic_axis():
    """Noise may lower the loss a little; a logarithmic axis cannot show that."""
    table, grown, _ = draw()
    excess = (table.metric == "excess_empirical_risk") & (table.mechanism == "output_gamma")
    table.loc[excess & (table.x == 8), "mean"] = table.noiseless - 0.001
    figure = dimension_figure(table, grown, p=8, lower="damage", accuracy_title="", theme="light", height=420)
    drawn = trace(figure, "Gamma noise", "y2").y
    assert np.isnan(drawn[0]) and np.isfinite(drawn[1:]).all()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_family_is_colour_and_noise_is_line_and_marker(theme):
    _, _, figure = draw(BOTH, theme=theme)
    for family, place, symbol in (("output", "output", "circle"), ("objective", "objective", "square")):
        colour = FAMILIES[theme][family]
        gaussian, gamma = trace(figure, f"{place}, Gaussian"), trace(figure, f"{place}, Gamma")
        assert gaussian.line.color == gamma.line.color == gamma.marker.line.color == colour
        assert (gaussian.line.dash, gamma.line.dash) == ("solid", "dashdot")
        assert gaussian.marker.symbol == gamma.marker.symbol == symbol
        assert (gaussian.marker.color, gamma.marker.color) == (colour, BACKGROUND[theme])
    assert figure.layout.paper_bgcolor == BACKGROUND[theme]
    assert "layout" not in figure.layout.template.to_plotly_json()


def test_labels_say_which_guarantee_each_noise_makes():
    _, _, figure = draw()
    texts = [a.text for a in figure.layout.annotations]
    assert "Gaussian noise,<br>guarantee (ε, δ)" in texts and "Gamma noise,<br>guarantee pure ε" in texts


@pytest.mark.parametrize("mechanisms", [ANSWER, BOTH])
@pytest.mark.parametrize("lower", ["distance", "damage"])
def test_a_cursor_move_changes_markers_and_flag_only(mechanisms, lower):
    (_, _, one), (_, _, other) = (draw(mechanisms, p=p, lower=lower) for p in (8, 2**20))
    assert one.layout.uirevision == other.layout.uirevision == "keep"
    for a, b in zip(one.data, other.data, strict=True):
        assert a.name == b.name and np.array_equal(a.y, b.y, equal_nan=True)
    assert (one.layout.shapes[0].x0, other.layout.shapes[0].x0) == (8, 2**20)
    assert "p = 1,048,576" in [a.text for a in other.layout.annotations]
    sizes = trace(other, "output, Gamma" if mechanisms == BOTH else "Gamma noise").marker.size
    assert sizes[-1] > max(sizes[:-1])


@pytest.mark.parametrize("lower", ["distance", "damage"])
@pytest.mark.parametrize("changes", [{}, {"lam": 1.0}, {"lam": 1e-4}, {"epsilon": 0.01, "delta": 1e-10}])
def test_everything_positive_is_inside_the_axes(lower, changes):
    _, _, figure = draw(lower=lower, **changes)
    low, high = figure.layout.yaxis2.range
    for t in figure.data:
        drawn = np.asarray(t.y, float)
        drawn = drawn[np.isfinite(drawn)]
        if t.yaxis == "y2":
            assert (np.log10(drawn) > low).all() and (np.log10(drawn) < high).all()
        else:
            assert (drawn >= figure.layout.yaxis.range[0]).all() and (drawn < figure.layout.yaxis.range[1]).all()
    json.loads(figure.to_json())


@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize("width", ["wide", "narrow"])
def test_tick_labels_leave_room_for_the_cursor_s_flag(p, width):
    _, _, figure = draw(p=p)
    axis = figure.layout.xaxis if width == "wide" else figure.layout.meta["narrow"]["xaxis"]
    span = axis["range"][1] - axis["range"][0]
    least = 55 / (500 if width == "wide" else 250) * span
    shown = [tick for tick, text in zip(axis["tickvals"], axis["ticktext"], strict=True) if text]
    assert shown and all(abs(math.log10(tick / p)) > least for tick in shown)


@pytest.mark.parametrize("mechanisms", [ANSWER, BOTH])
@pytest.mark.parametrize("lower", ["distance", "damage"])
def test_labels_at_line_ends_keep_apart(mechanisms, lower):
    _, _, figure = draw(mechanisms, p=2**20, lower=lower)
    for panel, size in (("y", 137), ("y2", 137)):
        low, high = getattr(figure.layout, {"y": "yaxis", "y2": "yaxis2"}[panel]).range
        labels = [a for a in figure.layout.annotations if a.yref == panel]
        middles = sorted(
            ((a.y - low) / (high - low) * size + a.yshift, 16 * (1 + a.text.count("<br>"))) for a in labels
        )
        for (m, h), (n, k) in itertools.pairwise(middles):
            assert n - m >= (h + k) / 2 - 1e-6


def test_a_refusal_leaves_the_others_and_nothing_at_all_is_no_error():
    _, _, figure = draw(BOTH, lam=1e-4, epsilon=0.1)
    assert [t.name for t in figure.data if t.yaxis == "y"][2:] == ["Gaussian noise", "Gamma noise"]
    _, _, empty = draw(("objective_gaussian",), lam=1e-4, epsilon=0.1)
    assert [t.name for t in empty.data] == ["without privacy", "always the larger class"]


def test_the_phone_has_a_legend_instead_of_labels():
    _, _, figure = draw()
    narrow = figure.layout.meta["narrow"]
    assert narrow["showlegend"] and len(narrow["annotations"]) == 3 < len(figure.layout.annotations)
    named = [t.name for t in figure.data if t.showlegend is not False]
    assert named == [
        "without privacy",
        "always the larger class",
        "Gaussian noise",
        "Gamma noise",
        "‖θ̂‖, its own length",
    ]


def test_the_orthant_figure_s_curves_are_the_example_s():
    example, figure = draw_orthant()
    drawn = {t.name: t for t in figure.data}
    for name, values in (
        ("output, cut at 0", example.projected),
        ("output, free", example.free_output),
        ("objective, held ≥ 0", example.constrained),
        ("objective, free", example.free_objective),
    ):
        assert np.array_equal(drawn[name].y, values)
    assert drawn["output, cut at 0"].line.color == FAMILIES["light"]["output"]
    assert drawn["objective, held ≥ 0"].line.color == FAMILIES["light"]["objective"]
    low, high = figure.layout.yaxis.range
    for t in figure.data:
        assert (np.log10(t.y) > low).all() and (np.log10(t.y) < high).all()


def test_no_epsilon_is_written_on_the_orthant_figure():
    """Objective perturbation on the orthant has no guarantee: the figure must not seem to show one."""
    _, figure = draw_orthant()
    words = [a.text for a in figure.layout.annotations] + [t.name for t in figure.data]
    assert not any("ε" in word or "δ" in word for word in words)


def test_refused_objective_perturbation_leaves_output_perturbation_on_the_orthant():
    _, figure = draw_orthant(lam=1e-4, epsilon=0.1)
    assert [t.name for t in figure.data] == ["output, cut at 0", "output, free"]
