"""Figures of streams: what is counted where it cannot be drawn, and plays."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.selection.streaming import play_figure, regret_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.selection.streaming import regret as streaming
from dpcore.studies.selection.streaming.adversaries import ADVERSARIES

BUDGET = {"epsilon": 4.0, "delta": 1e-4, "seed": 2}
GRID, HEIGHT = (20, 60, 200), 430
themes = pytest.mark.parametrize("theme", ["light", "dark"])


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def free(p):
    """Without privacy."""
    return streaming.regret_curve("random", p, GRID, **(BUDGET | {"epsilon": 1e6, "repetitions": 1}))


def regret(p=8, **more):
    curve = streaming.regret_curve("random", p, GRID, **(BUDGET | more))
    return curve, regret_figure(curve, free(p), steps=60, theme="light", height=HEIGHT)


def test_regret_below_zero_is_counted_not_lost():
    """A single arm has no regret; a mean below 0 is set by hand."""
    single, alone = regret(1)
    assert np.isnan(named(alone, "private").y).all() and not single.expected.any()
    eight, usual = regret()
    lower = dc.replace(eight, expected=eight.expected - [eight.expected[0] + 1.0, 0.0, 0.0])
    figure = regret_figure(lower, free(8), steps=60, theme="light", height=HEIGHT)
    assert any(note.text.startswith("not drawn: 1 of the means") for note in figure.layout.annotations)
    assert np.isnan(named(figure, "private").y).sum() == 1
    assert not any("not drawn" in note.text for note in usual.layout.annotations)


def test_what_does_not_apply_leaves_the_non_private_learner():
    curve, figure = regret(1, lam="published")
    assert np.isnan(curve.expected).all() and not named(figure, "private").showlegend
    _, usual = regret()
    assert figure.layout.yaxis.range == usual.layout.yaxis.range


@themes
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_a_play_shows_the_arms_the_best_one_and_the_regret_with_its_bounds(theme, adversary):
    made = streaming.play(adversary, 9, 120, **BUDGET)
    figure = play_figure(made, theme=theme, height=560)
    dots, best = named(figure, "arm played"), named(figure, "best arm so far")
    assert np.array_equal(dots.x, np.arange(1, 121)) and np.array_equal(dots.y, made.arms + 1)
    assert np.array_equal(best.x, made.marks[1:]) and np.array_equal(best.y, made.leader[1:] + 1)
    run, mean, bound = (named(figure, name) for name in ("this run", "mean", "upper bound of the mean"))
    assert np.array_equal(run.y, made.regret) and np.array_equal(mean.y, made.expected)
    assert run.line.color == FAMILIES[theme]["sampling"]
    low, high = figure.layout.yaxis2.range
    assert bound.y.tolist() == [made.bound] and bound.x.tolist() == [120.0] and low < made.bound < high
    assert low < made.regret.min() and made.regret.max() < high
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert figure.layout.yaxis.range[0] < 1 and figure.layout.yaxis.range[1] > 9


def test_long_plays_are_drawn_with_fewer_dots_at_their_own_steps():
    made = streaming.play("random", 3, 4100, **BUDGET)
    dots = named(play_figure(made, theme="light", height=560), "arm played")
    assert len(dots.x) <= 2000
    assert np.array_equal(dots.y, made.arms[np.asarray(dots.x) - 1] + 1)
