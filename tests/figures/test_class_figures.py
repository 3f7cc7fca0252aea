"""Figures of many classes show the engine's numbers, and every mark that its legend names."""

import dataclasses as dc
import re

import numpy as np
import pytest

from dpcore.figures.multiclass import (
    accuracy_figure,
    classes_excess_figure,
    ellipses_figure,
    existence_figure,
    membership_leak_figure,
    regions_figure,
    theorem_figure,
    tuning_figure,
)
from dpcore.figures.style import BACKGROUND, FAMILIES, MUTED, TEXT
from dpcore.studies.multiclass import curves, decision_regions, one_vs_rest
from dpcore.studies.multiclass.curves import Records
from dpcore.studies.papers import pathak_raj, pathak_raj_leak

THEMES = ["light", "dark"]
DRAWN = "gaussian_classes"
HEIGHT = 430
LOOKS = {
    "ellipsoids": ("large-margin Gaussian classifier", "objective", "square", "solid"),
    "pure": ("Gaussian classifier, δ = 0", "objective", "square-open", "dashdot"),
    "answer": ("Gaussian classifier, output perturbation", "output", "circle", "solid"),
    "split": ("one-vs-rest", "objective", "x", "dash"),
    "split_answer": ("one-vs-rest, output perturbation", "output", "x", "dash"),
}
VALUES = {"epsilon": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "classes": (2, 3, 5, 10), "d": (2, 4, 8, 16)}
CURSORS = {"epsilon": 1.0, "classes": 5.0, "d": 8.0}
FLAGS = {"epsilon": "ε = 1", "classes": "C = 5", "d": "d = 8"}


def accuracies(axis, learners=one_vs_rest.LEARNERS, delta=1e-5, source=DRAWN, runs=6):
    return curves.accuracy_against(
        axis, VALUES[axis], Records(source, 120, 0), epsilon=1.0, delta=delta, learners=learners, repetitions=runs
    )


@pytest.fixture(scope="module")
def along():
    return {axis: accuracies(axis) for axis in VALUES}


@pytest.fixture(scope="module")
def excess():
    records = Records(DRAWN, 300, 0)
    return curves.excess_against_epsilon((0.1, 0.3, 1.0, 3.0), records, delta=1e-5, repetitions=10)


@pytest.fixture(scope="module")
def tuned():
    return curves.accuracy_against_lam((0.3, 1.0, 10.0), Records(DRAWN, 300, 0), delta=1e-5, repetitions=2)


@pytest.fixture(scope="module")
def drawn():
    return decision_regions.picture(Records(DRAWN, 400, 0), epsilon=2.0, delta=1e-6)


@pytest.fixture(scope="module")
def real():
    return decision_regions.picture(Records("iris", 105, 0), epsilon=2.0, delta=1e-6)


@pytest.fixture(scope="module")
def guessed():
    return pathak_raj_leak.membership_leak(400)


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def texts(figure):
    """All words that a reader can meet."""
    every = words(figure) + [trace.name or "" for trace in figure.data]
    every += [trace.hovertemplate or "" for trace in figure.data]
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        every += [axis.title.text or "", *map(str, axis.ticktext or ())]
    return every


def equal(trace, values):
    assert np.array_equal(np.asarray(trace.y, float), np.asarray(values, float), equal_nan=True)


def fits(figure, values, axis="yaxis"):
    """All values lie on the axis."""
    low, high = figure.layout[axis].range
    if figure.layout[axis].type == "log":
        low, high = 10.0**low, 10.0**high
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    assert len(values) and low <= values.min() and values.max() <= high


# Accuracy


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("axis", VALUES)
def test_accuracy_along_an_axis(along, axis, theme):
    found = along[axis]
    figure = accuracy_figure(found, cursor=CURSORS[axis], theme=theme, height=HEIGHT)
    for key, measured in found.learners.items():
        name, family, symbol, dash = LOOKS[key]
        trace, ink = named(figure, name), FAMILIES[theme][family]
        equal(trace, measured.mean)
        assert np.asarray(trace.x).tolist() == list(VALUES[axis])
        assert (trace.line.color, trace.marker.color, trace.marker.symbol, trace.line.dash) == (ink, ink, symbol, dash)
        assert list(trace.marker.size) == [13.0 if x == CURSORS[axis] else 7.0 for x in VALUES[axis]]
        assert f"<br>{name}: %{{y:.1%}}" in trace.hovertemplate
        fits(figure, np.concatenate([measured.mean, measured.q10, measured.q90]))
    for name, values, ink, dash in (
        ("Bayes classifier, true distribution", found.bayes, MUTED[theme], "dash"),
        ("non-private Gaussian classifier", found.plain, FAMILIES[theme]["reference"], "solid"),
        ("non-private logistic regression", found.logistic, FAMILIES[theme]["reference"], "dot"),
        ("the largest class", found.chance, MUTED[theme], "dot"),
    ):
        trace = named(figure, name)
        equal(trace, values)
        assert (trace.line.color, trace.line.dash) == (ink, dash) and "%{y:.1%}" in trace.hovertemplate
        fits(figure, values)
    bands = [trace for trace in figure.data if trace.line.width == 0]
    for k, measured in enumerate(found.learners.values()):
        equal(bands[2 * k], measured.q90)
        equal(bands[2 * k + 1], measured.q10)
    assert [band.name for band in bands if band.showlegend] == ["8 of 10 runs"]
    assert words(figure).count(FLAGS[axis]) == 1 and words(figure)[0] == "accuracy on test records"
    (cursor,) = figure.layout.shapes
    assert cursor.x0 == cursor.x1 == CURSORS[axis] and figure.layout.paper_bgcolor == BACKGROUND[theme]
    label = next(a for a in figure.layout.annotations if a.text == FLAGS[axis])
    assert label.x == (0.0 if axis == "epsilon" else CURSORS[axis]) and label.bgcolor == TEXT[theme]
    span = [np.log10(v) for v in VALUES[axis]] if axis == "epsilon" else VALUES[axis]
    low, high = figure.layout.xaxis.range
    assert low < span[0] and span[-1] < high


@pytest.mark.parametrize("axis", VALUES)
def test_a_phone_gets_a_legend_and_its_own_title(along, axis):
    figure = accuracy_figure(along[axis], cursor=CURSORS[axis], theme="light", height=HEIGHT)
    narrow = figure.layout.meta["narrow"]
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert len(shown) == len(set(shown)) == 10 and narrow["showlegend"] and narrow["height"] == HEIGHT + 20 * 10
    assert [note["text"] for note in narrow["annotations"]] == ["accuracy on test records", FLAGS[axis]]
    title = {"epsilon": "budget ε", "classes": "classes C", "d": "dimension d"}[axis]
    assert narrow["xaxis"]["title"]["text"] == title and len(figure.layout.xaxis.title.text) >= len(title)
    labels = {"Gaussian classifier", "one-vs-rest", "non-private", "Bayes classifier", "the largest class"}
    assert labels <= set(words(figure)) and not figure.layout.showlegend


@pytest.mark.parametrize("axis, shift", [("classes", 3), ("d", 2), ("d", 16)])
def test_the_flag_stands_in_the_place_of_a_tick_label(along, axis, shift):
    figure = accuracy_figure(along[axis], cursor=float(shift), theme="light", height=HEIGHT)
    x = figure.layout.xaxis
    assert list(x.tickvals) == list(VALUES[axis])
    assert [text for tick, text in zip(x.tickvals, x.ticktext, strict=True) if tick == shift] == [""]
    assert [text for tick, text in zip(x.tickvals, x.ticktext, strict=True) if tick > shift + 1] == [
        f"{tick}" for tick in VALUES[axis] if tick > shift + 1
    ]


def test_names_and_order_stay_when_the_numbers_change(along):
    one, other = (
        accuracy_figure(found, cursor=cursor, theme="light", height=HEIGHT)
        for found, cursor in ((along["epsilon"], 1.0), (along["classes"], 2.0))
    )
    assert [trace.name for trace in one.data] == [trace.name for trace in other.data]


def test_fewer_than_ten_releases_are_no_band():
    few, enough = (
        accuracy_figure(accuracies("epsilon", runs=runs), cursor=1.0, theme="light", height=HEIGHT) for runs in (4, 6)
    )  # on each of two draws of the records
    for figure, drawn in ((few, False), (enough, True)):
        assert any(trace.showlegend for trace in figure.data if trace.name == "8 of 10 runs") is drawn
        assert any(len(trace.x) for trace in figure.data if trace.line.width == 0) is drawn


def test_what_has_no_guarantee_leaves_no_trace_of_itself():
    found = accuracies("epsilon", learners=("ellipsoids", "pure"), delta=0.0)
    figure = accuracy_figure(found, cursor=1.0, theme="light", height=HEIGHT)
    assert not named(figure, "large-margin Gaussian classifier").showlegend
    assert "Gaussian classifier" not in words(figure) and "Gaussian, δ = 0" in words(figure)
    assert [len(trace.x) for trace in figure.data if trace.line.width == 0] == [0, 0, 6, 6]
    assert [trace.name for trace in figure.data if trace.showlegend].count("8 of 10 runs") == 1
    nobody = accuracies("epsilon", learners=("ellipsoids", "split"), delta=0.0, source="iris")
    figure = accuracy_figure(nobody, cursor=1.0, theme="light", height=HEIGHT)
    assert {trace.name for trace in figure.data if trace.showlegend} == {
        "non-private Gaussian classifier",
        "non-private logistic regression",
        "the largest class",
    }
    assert "Bayes classifier" not in words(figure)


# Excess


@pytest.mark.parametrize("theme", THEMES)
def test_excess_and_its_bounds(excess, theme):
    figure = classes_excess_figure(excess, epsilon=1.0, theme=theme, height=HEIGHT)
    private, floor = FAMILIES[theme]["objective"], 10.0 ** figure.layout.yaxis.range[0]
    for name, values, ink, dash in (
        ("upper bound, best", excess.bound, private, "dash"),
        ("upper bound, regularised", excess.over_bound, MUTED[theme], "dash"),
        ("Φ = 0, nothing learned", np.full(2, excess.nothing), MUTED[theme], "dot"),
    ):
        trace = named(figure, name)
        equal(trace, np.where(values >= floor, values, np.nan))
        assert (trace.line.color, trace.line.dash) == (ink, dash)
    for name, measured, ink in (
        ("over the best in the ball, mean", excess.excess, private),
        ("over the regularised optimum, mean", excess.over, MUTED[theme]),
    ):
        trace = named(figure, name)
        equal(trace, np.where(measured.mean > 0.0, measured.mean, np.nan))
        assert trace.line.color == ink and list(trace.marker.size) == [7.0, 7.0, 13.0, 7.0]
        fits(figure, measured.mean[measured.mean > 0.0])
    fits(figure, np.concatenate([excess.bound, excess.over_bound]))
    over = "over the best<br>in the ball" if excess.excess.mean.max() > 0.0 else "over the regularised"
    for text in ("ε = 1", over, "nothing learned", "excess risk on the training records"):
        assert words(figure).count(text) == 1
    narrow = figure.layout.meta["narrow"]
    assert narrow["showlegend"] and narrow["xaxis"]["title"]["text"] == "budget ε"


# Another lam


@pytest.mark.parametrize("theme", THEMES)
def test_tuning_names_the_oracle_not_private(tuned, theme):
    figure = tuning_figure(tuned, theme=theme, height=380)
    private, reference = FAMILIES[theme]["objective"], FAMILIES[theme]["reference"]
    assert [trace.name for trace in figure.data] == [
        *("ε = 0.3", "ε = 1", "ε = 10"),
        *("default λ", "oracle, not private", "the largest class"),
    ]
    classes_of = Records(DRAWN, 300, 0).split().test.y.astype(int)
    assert set(named(figure, "the largest class").y) == {np.bincount(classes_of).max() / len(classes_of)}
    for trace, row in zip(figure.data, tuned.accuracy, strict=False):
        equal(trace, row)
        assert np.array_equal(trace.x, tuned.factor) and trace.line.color == private
        assert trace.hovertemplate == f"{trace.name}, %{{x}} times the default λ: %{{y:.1%}}<extra></extra>"
    default, oracle = named(figure, "default λ"), named(figure, "oracle, not private")
    equal(default, tuned.accuracy[:, list(tuned.factor).index(1.0)])
    equal(oracle, np.nanmax(tuned.accuracy, axis=1))
    assert list(default.x) == [1.0] * 3 and default.marker.color == private
    assert (oracle.marker.color, oracle.marker.line.color) == (BACKGROUND[theme], reference)
    for k, x in enumerate(oracle.x):
        assert tuned.accuracy[k, list(tuned.factor).index(x)] == oracle.y[k]
    fits(figure, tuned.accuracy)
    low, high = figure.layout.yaxis.range
    assert high - low < np.nanmax(tuned.accuracy) - np.nanmin(tuned.accuracy) + 0.12, "no empty drawing"
    said = [note.text for note in figure.layout.annotations if note.text.startswith("↓ the largest class (")]
    assert len(said) == (tuned.chance < low)
    fits(figure, tuned.factor, "xaxis")
    assert figure.layout.meta["narrow"] == {} and figure.layout.showlegend


def test_tuning_takes_any_number_of_budgets_and_none_that_is_granted():
    records = Records(DRAWN, 100, 0)
    one = curves.accuracy_against_lam((1.0,), records, delta=1e-5, repetitions=2)
    assert len(tuning_figure(one, theme="light", height=380).data) == 4
    five = curves.accuracy_against_lam((0.1, 0.3, 1.0, 3.0, 10.0), records, delta=1e-5, repetitions=2)
    looks = {(t.line.dash, t.line.width) for t in tuning_figure(five, theme="light", height=380).data[:5]}
    assert len(looks) == 5
    none = curves.accuracy_against_lam((1.0,), records, delta=0.0, repetitions=2)
    assert np.isnan(named(tuning_figure(none, theme="light", height=380), "oracle, not private").y).all()


# Decisions and ellipses


def outline_of(trace):
    """The outlines of a trace, cut at its gaps."""
    points = np.column_stack([np.asarray(trace.x, float), np.asarray(trace.y, float)])
    gaps = np.flatnonzero(np.isnan(points[:, 0]))
    return [points[a:b] for a, b in zip([0, *(gaps[:-1] + 1)], gaps, strict=True)]


@pytest.mark.parametrize("theme", THEMES)
def test_decisions(drawn, theme):
    figure = regions_figure(drawn, theme=theme, height=400)
    private, plain = FAMILIES[theme]["objective"], FAMILIES[theme]["reference"]
    shade, *rest = figure.data
    differ = drawn.private.argmax(axis=0) != drawn.plain.argmax(axis=0)
    assert np.array_equal(np.asarray(shade.z), differ) and 0.0 < differ.mean() < 0.6
    assert np.array_equal(shade.x, drawn.axis) and np.array_equal(shade.y, drawn.axis)
    borders = [trace for trace in rest if trace.type == "contour"]
    inks = [(trace.line.color, trace.line.dash) for trace in borders]
    assert inks == [(plain, "dash")] * 2 + [(private, "solid")] * 2
    for trace, lead in zip(borders, [*drawn.plain[:2], *drawn.private[:2]], strict=True):
        step = np.abs(lead).max() / 32_767
        assert np.allclose(step * np.asarray(trace.z), lead, rtol=0.0, atol=0.51 * step)
        assert (trace.contours.start, trace.contours.end, trace.contours.coloring) == (0.0, 0.0, "none")
    assert [trace.name for trace in rest if trace.type == "scatter"] == [
        "private release",
        "without privacy",
        "privacy changes the decision",
        "true ellipses, 2 standard deviations",
    ]
    assert named(figure, "private release").line.color == private
    assert named(figure, "without privacy").line.color == plain
    assert words(figure) == ["A", "B", "C"] and figure.layout.meta["narrow"] == {}
    for note, at in zip(figure.layout.annotations, drawn.centres, strict=True):
        assert (note.x, note.y) == tuple(at) and (note.xref, note.yref) == ("x", "y")
    for side in ("xaxis", "yaxis"):
        fits(figure, drawn.axis, side)
    assert figure.layout.yaxis.scaleanchor == "x"


@pytest.mark.parametrize("theme", THEMES)
def test_ellipses(drawn, theme):
    figure = ellipses_figure(drawn, theme=theme, height=400)
    for trace, name, outlines, ink, dash in zip(
        figure.data,
        ("true ellipses, 2 standard deviations", "without privacy", "private release"),
        (drawn.true, drawn.hidden, drawn.ellipses),
        (MUTED[theme], FAMILIES[theme]["reference"], FAMILIES[theme]["objective"]),
        ("dot", "dash", "solid"),
        strict=True,
    ):
        assert (trace.name, trace.line.color, trace.line.dash) == (name, ink, dash)
        shown = outline_of(trace)
        assert len(shown) == 3 and all(np.array_equal(a, b) for a, b in zip(shown, outlines, strict=True))
    assert list(figure.layout.xaxis.range) == [drawn.axis[0], drawn.axis[-1]] == list(figure.layout.yaxis.range)


@pytest.mark.parametrize("make", [regions_figure, ellipses_figure])
def test_records_without_a_law_have_no_true_ellipses(drawn, real, make):
    one, other = (make(found, theme="light", height=400) for found in (drawn, real))
    names = [trace.name for trace in one.data if trace.name]
    assert [trace.name for trace in other.data if trace.name] == [name for name in names if "true" not in name]
    assert one.layout.margin.b - other.layout.margin.b == 20, "a row of the legend"
    assert words(other) == ["setosa", "versicolor", "virginica"]


def test_names_stay_from_budget_to_budget(drawn):
    later = decision_regions.picture(Records(DRAWN, 400, 0), epsilon=0.2, delta=1e-6)
    for make in (regions_figure, ellipses_figure):
        one, other = (make(found, theme="light", height=400) for found in (drawn, later))
        assert [(t.type, t.name) for t in one.data] == [(t.type, t.name) for t in other.data]


# The exhibit


@pytest.mark.parametrize("theme", THEMES)
def test_every_guess_is_in_a_bar(guessed, theme):
    figure = membership_leak_figure(guessed, theme=theme, height=380)
    for name, values, family in (
        ("the data set used", guessed.own, "frank_wolfe"),
        ("the other data set, one record replaced", guessed.other, "reference"),
    ):
        trace = named(figure, name)
        assert sum(trace.y) == guessed.guesses == len(values) and trace.marker.line.color == FAMILIES[theme][family]
        low, high = (np.asarray(trace.x) + sign * np.asarray(trace.width) / 2 for sign in (-1, 1))
        assert high[:-1] == pytest.approx(low[1:], rel=1e-9), "bars touch"
        inside = [((values > a) & (values <= b)).sum() for a, b in zip(low, high, strict=True)]
        assert list(trace.y)[1:] == inside[1:], "what is smaller than the axis is in the first bar"
        fits(figure, np.concatenate([low * (1 + 1e-9), high * (1 - 1e-9)]), "xaxis")
    assert words(figure) == ["outputs"] and figure.layout.meta["narrow"] == {}
    own, other = (np.flatnonzero(trace.y) for trace in figure.data)
    assert own.max() < other.min(), "no residual of the truth is as large as one of a neighbour"


def test_values_beyond_the_axis_are_counted_at_its_ends(guessed):
    odd = dc.replace(guessed, own=np.array([0.0, 1e-300, 1e-3]), other=np.array([50.0, 10.0, 1.0]))
    own, other = membership_leak_figure(odd, theme="light", height=380).data
    assert sum(own.y) == sum(other.y) == 3 and own.y[0] == 2 and other.y[-1] == 2


@pytest.mark.parametrize("theme", THEMES)
def test_existence(theme):
    found = [(d, pathak_raj.existence(d, 1.0, 1.0, draws=2_000)) for d in (1, 2, 3, 6)]
    assert found[-1][1].found == 0 < found[1][1].found
    figure = existence_figure(found, draws=2_000, theme=theme, height=380)
    trace, share = named(figure, "has a minimiser"), np.array([each.found / 2_000 for _, each in found])
    equal(trace, np.where(share > 0.0, share, np.nan))
    assert list(trace.x) == [1, 2, 3, 6] and trace.line.color == FAMILIES[theme]["frank_wolfe"]
    assert np.asarray(trace.error_y.array) == pytest.approx([each.high - each.share for _, each in found])
    assert np.asarray(trace.error_y.arrayminus) == pytest.approx([each.share - each.low for _, each in found])
    assert list(named(figure, "never more than half").y) == [0.5, 0.5]
    fits(figure, [0.5, *share[share > 0.0], *[each.high for _, each in found if each.found]])
    assert words(figure) == ["share of noise draws"] and list(figure.layout.xaxis.tickvals) == [1, 2, 3, 6]


@pytest.mark.parametrize("theme", THEMES)
def test_theorem_2(theme):
    found = pathak_raj.theorem_2_violations(draws=100)
    figure = theorem_figure(found, theme=theme, height=380)
    for name, values, ink in (
        ("violates Theorem 2, proved for each draw", (found.low > found.bound).mean(axis=1), "frank_wolfe"),
        ("satisfies it, proved for each draw", (found.high <= found.bound).mean(axis=1), None),
    ):
        trace = named(figure, name)
        equal(trace, values)
        assert np.array_equal(trace.x, found.caps)
        assert trace.line.color == (FAMILIES[theme][ink] if ink else MUTED[theme])
        fits(figure, values)
    fits(figure, found.caps, "xaxis")
    assert np.diff(named(figure, "violates Theorem 2, proved for each draw").y).max() > 0.0


def test_an_exhibit_claims_no_privacy(guessed):
    shares = [(d, pathak_raj.existence(d, 1.0, 1.0, draws=500)) for d in (1, 2)]
    for figure in (
        membership_leak_figure(guessed, theme="light", height=380),
        existence_figure(shares, draws=500, theme="light", height=380),
        theorem_figure(pathak_raj.theorem_2_violations(draws=20), theme="light", height=380),
    ):
        assert not re.search(r"ε|epsilon|privat|privacy|budget", " ".join(texts(figure)), re.IGNORECASE)
