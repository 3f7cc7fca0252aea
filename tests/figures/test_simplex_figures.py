"""Figures of draws from a mixture: what they mark, and what leaves a gap."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.selection.simplex import columns_figure, draws_figure, support_figure
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.selection.simplex.beside_others import excess_against_columns
from dpcore.studies.selection.simplex.excess_by_draws import valley
from dpcore.studies.selection.simplex.single_release import support

from . import pictures

SETTINGS = {"n": 600, "p": 24, "epsilon": 1.0, "delta": 1e-6, "loss": "huber", "seed": 2}
THEMES = ["light", "dark"]


@pytest.fixture
def free():
    return pictures.valley("auto")


@pytest.fixture
def fixed():
    return pictures.valley(0.1)


@pytest.fixture
def by_p():
    return pictures.columns()


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def test_the_band_is_8_of_10_runs_down_to_the_edge(fixed):
    figure = draws_figure(fixed, m=20, on="fresh", theme="light", height=520)
    floor = 10.0 ** figure.layout.yaxis.range[0]
    upper, lower = figure.data[:2]
    assert (np.asarray(upper.y) == np.maximum(fixed.fresh.q90, floor)).all()
    assert (np.asarray(lower.y) == np.maximum(fixed.fresh.q10, floor)).all()
    assert (lower.name, lower.fill) == ("8 of 10 runs", "tonexty")


def test_what_the_budget_does_not_pay_for_is_grey_and_says_so(fixed, free):
    figure = draws_figure(fixed, m=1, on="training", theme="light", height=520)
    assert fixed.affordable.any() and not fixed.affordable.all()
    first = int(np.argmin(fixed.affordable))
    grey, cursor = figure.layout.shapes
    assert grey.x0 == pytest.approx(np.sqrt(fixed.m[first - 1] * fixed.m[first])) and grey.x1 == fixed.m[-1]
    assert cursor.x0 == cursor.x1 == 1 and cursor.line.color == MUTED["light"]
    assert "privacy spent above ε = 1" in words(figure)
    assert len(draws_figure(free, m=1, on="training", theme="light", height=520).layout.shapes) == 1
    richer = dc.replace(fixed, epsilon=0.25, affordable=fixed.spent_epsilon <= 0.25)
    other = draws_figure(richer, m=1, on="training", theme="light", height=520)
    assert "privacy spent above ε = 0.25" in words(other) and "privacy spent above ε = 1" not in words(other)


def test_refused_points_leave_a_gap_that_is_labelled(free):
    gone = np.arange(16) >= 12
    lost = {
        field.name: np.where(gone, np.nan, getattr(free.training, field.name)) for field in dc.fields(free.training)
    }
    made = dc.replace(free, training=type(free.training)(**lost), affordable=~gone)
    figure = draws_figure(made, m=1, on="training", theme="light", height=520)
    assert "refused" in words(figure) and len(figure.layout.shapes) == 2
    assert np.isfinite(np.asarray(figure.data[0].y)).all() and len(figure.data[0].y) == 12


def test_a_valley_that_is_refused_altogether_is_still_a_figure():
    made = valley(**(SETTINGS | {"loss": "hinge"}), lam="auto", repetitions=10)
    figure = draws_figure(made, m=1, on="fresh", theme="light", height=520)
    assert "refused" in words(figure)
    assert not any(trace.showlegend for trace in figure.data)


def test_a_mean_at_or_below_zero_is_a_triangle_on_the_edge(free, by_p):
    below = free.fresh.mean.copy()
    below[-2:] = -0.01, 0.0
    made = dc.replace(free, fresh=dc.replace(free.fresh, mean=below))
    figure = draws_figure(made, m=1, on="fresh", theme="light", height=520)
    mark = named(figure, "measured mean: 0 or below")
    assert list(mark.x) == [5_000, 10_000] and list(mark.customdata) == [-0.01, 0.0] and mark.showlegend
    assert np.allclose(mark.y, 10.0 ** figure.layout.yaxis.range[0])
    assert np.isnan(np.asarray(named(figure, "measured mean").y)[-2:]).all()
    assert not named(draws_figure(free, m=1, on="fresh", theme="light", height=520), mark.name).showlegend
    better = dc.replace(by_p, objective=dc.replace(by_p.objective, mean=-np.abs(by_p.objective.mean)))
    figure = columns_figure(better, p=8, theme="light", height=420)
    assert list(named(figure, "objective perturbation: 0 or below").x) == [8, 32, 128]


@pytest.mark.parametrize("theme", THEMES)
def test_bars_and_ticks_are_the_shares_of_a_release(theme):
    seen = support(**SETTINGS, lam="auto", m=13, columns=6)
    figure = support_figure(seen, theme=theme, height=360)
    drawn, truth, ticks = named(figure, "one release, 13 draws"), named(figure, "the truth"), figure.data[2]
    assert list(drawn.y) == [*seen.drawn, seen.others.drawn]
    assert list(truth.y) == [*seen.truth, 0.0]
    assert list(ticks.y) == [*seen.weights, seen.others.weight]
    assert sum(drawn.y) == pytest.approx(1.0) and sum(ticks.y) == pytest.approx(1.0)
    assert drawn.marker.color == FAMILIES[theme]["sampling"] and truth.marker.color == "rgba(0,0,0,0)"
    assert list(figure.layout.xaxis.ticktext) == [*(str(c + 1) for c in seen.columns), "others<br>(18)"]
    assert figure.layout.yaxis.range[1] > max(max(drawn.y), max(truth.y), max(ticks.y))
    one = support_figure(support(**SETTINGS, lam="auto", m=1), theme=theme, height=360)
    assert one.data[0].name == "one release, 1 draw"


def test_idle_columns_stand_together():
    seen = support(**(SETTINGS | {"p": 2_000}), lam="auto", m=50, columns=6)
    figure = support_figure(seen, theme="light", height=360)
    assert figure.layout.xaxis.ticktext[-1] == "zero<br>(1,360)" and figure.data[0].y[-1] == seen.idle.drawn > 0
    assert figure.layout.meta["narrow"]["xaxis"]["ticktext"][-2:] == ["<br>rest", "<br>zero"]


def test_a_cost_without_objective_perturbation_shows_the_draws():
    by_p = excess_against_columns(n=300, epsilon=1.0, delta=1e-6, loss="squared", seed=0, repetitions=10, ps=(8, 16))
    figure = columns_figure(by_p, p=8, theme="light", height=420)
    shown = {trace.name for trace in figure.data if trace.showlegend}
    assert "simplex sampling" in shown and "ln p, shape only" in shown
    assert not any("objective" in name or "√p" in name for name in shown)
    assert not any("objective" in text or "√p" in text for text in words(figure))
