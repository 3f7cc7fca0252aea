"""Figures of the page Geometry show the engine's numbers, and every mark that its legend names."""

import math

import numpy as np
import pytest

from dpcore.figures.geometry import (
    ball_figure,
    learners_figure,
    lengths_figure,
    members_figure,
    order_figure,
    place,
    rates_figure,
)
from dpcore.figures.style import BACKGROUND, FAMILIES, MUTED, TEXT
from dpcore.studies.geometry import excess_by_n, excess_by_norm, hardest_data, noise, table_1

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "seed": 3}
THEMES = ["light", "dark"]


@pytest.fixture(scope="module")
def orders():
    return [excess_by_norm.against_order(d, 2_000, repetitions=4, **BUDGET) for d in (100, 1_000)]


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def test_the_axis_of_norm_orders_goes_from_the_lasso_to_the_box():
    assert [place(p) for p in (1.0, 1.25, 2.0, 4.0, math.inf)] == pytest.approx([0.0, 0.2, 0.5, 0.75, 1.0])
    assert np.all(np.diff([place(p) for p in excess_by_norm.orders(1_000)]) > 0.0)


@pytest.mark.parametrize("theme", THEMES)
def test_against_the_norm_order(orders, theme):
    other, found = orders
    figure = order_figure(found, [other], p_norm=2.0, theme=theme, height=430)
    x = [place(p) for p in found.p_norm]
    for side, name, family in (
        (found.vertices, "exponential mechanism", "frank_wolfe"),
        (found.gaussian, "Gaussian noise", "gradient"),
    ):
        trace = named(figure, f"{name}, mean")
        assert np.array_equal(trace.y, side.mean) and trace.x.tolist() == x
        assert trace.line.color == FAMILIES[theme][family] and np.array_equal(trace.error_y.array, 2.0 * side.se)
        assert list(trace.marker.size) == [13.0 if p == 2.0 else 8.0 for p in found.p_norm]
        bound = named(figure, f"{name}: upper bound")
        seen = np.isfinite(bound.y)
        assert bound.line.dash == "dash" and np.array_equal(np.asarray(bound.y)[seen], side.bound[seen])
    assert np.array_equal(named(figure, "smaller bound, d = 100").y, other.mean)
    assert np.array_equal(named(figure, "nothing learned").y, found.signal)
    assert np.array_equal(named(figure, "lower bound in the ball, hardest data").y, found.least)
    assert figure.layout.shapes[0].x0 == 0.5 and "L2 ball" in words(figure) and "d = 100" in words(figure)
    assert [w.strip("↑ ").partition("<br>")[0] for w in words(figure)].count("upper bound") == 2
    assert figure.layout.paper_bgcolor == BACKGROUND[theme]
    low, high = (10.0**edge for edge in figure.layout.yaxis.range)
    for side in (found.vertices, found.gaussian):
        assert np.all((side.mean > low) & (side.mean < high))


@pytest.mark.parametrize("width, most", [("wide", 6), ("narrow", 3)])
@pytest.mark.parametrize("p_norm", excess_by_norm.orders(1_000))
def test_tick_labels_leave_room_for_the_cursor_s_flag(orders, p_norm, width, most):
    figure = order_figure(orders[1], [], p_norm=p_norm, theme="light", height=430)
    axis = figure.layout.xaxis if width == "wide" else figure.layout.meta["narrow"]["xaxis"]
    ticks = axis["tickvals"]
    assert 2 <= len(ticks) <= most
    room = 62.0 / (560.0 if width == "wide" else 280.0)
    assert all(abs(tick - place(p_norm)) > room for tick in ticks)


@pytest.mark.parametrize("p_norm, vertices", [(1.0, 4), (math.inf, 4), (1.5, 200), (2.0, 200)])
def test_the_ball_shows_noisy_means_and_the_models_they_lead_to(p_norm, vertices):
    found = noise.ball_picture(p_norm, **BUDGET)
    figure = ball_figure(found, theme="light", height=380)
    ball, _, noisy, models, best = figure.data
    assert np.array_equal(np.column_stack([ball.x, ball.y]), found.ball)
    order = p_norm
    lengths = np.linalg.norm(found.ball, order, axis=1)
    assert lengths == pytest.approx(np.ones(len(lengths)), abs=1e-12)
    assert np.array_equal(np.column_stack([noisy.x, noisy.y]), found.noisy) and sum(models.customdata) == 200
    share = np.array(models.customdata) / 200
    assert np.allclose(models.marker.size, 6.0 + 26.0 * np.sqrt(share))
    assert len(models.x) <= vertices and (vertices == 4 or len(models.x) > 150)
    assert (best.x[0], best.y[0]) == tuple(found.best) and best.marker.line.color == TEXT["light"]
    away = np.linalg.norm(found.level - found.mean, axis=1)
    assert away == pytest.approx(np.full(len(away), away[0]), rel=1e-12), "a level of the density"


def test_rates_are_those_of_table_1_cut_at_what_every_model_has():
    rows = [table_1.table_row(p, 1_000, 300, 0.5, 1e-6) for p in excess_by_norm.orders(1_000)]
    assert max(row.privacy for row in rows) > 1.0
    figure = rates_figure(rows, p_norm=1.5, theme="dark", height=380)
    assert np.array_equal(named(figure, "cost of sampling").y, np.minimum([row.sampling for row in rows], 1.0))
    assert np.array_equal(named(figure, "cost of privacy").y, np.minimum([row.privacy for row in rows], 1.0))
    assert np.array_equal(named(figure, "lower bound, hardest data").y, [row.least for row in rows])
    assert any("shape only" in text for text in words(figure)) and "p = 1.5" in words(figure)


def test_lengths_of_both_noises_and_the_hardest_records():
    lengths = noise.noise_lengths((1.0, 1.1, 1.5, 2.0), d=500, **BUDGET)
    figure = lengths_figure(lengths, p_norm=1.1, theme="light", height=380)
    assert np.array_equal(named(figure, "Gaussian").y, lengths.gaussian)
    assert np.array_equal(named(figure, "generalised Gaussian").y, lengths.generalized)
    assert np.all(lengths.gaussian[:-1] < lengths.generalized[:-1])
    traced = hardest_data.hardest_tracing(seed=1, p_norm=1.5, d=300, delta=1e-6)
    figure = members_figure(traced, epsilon=1.0, theme="light", height=380)
    assert np.array_equal(named(figure, "AUC: a member scores above a non-member").y, traced.auc)
    assert np.array_equal(named(figure, "limit of every attack").y, traced.limit)
    assert np.array_equal(
        named(figure, "excess, share of “nothing learned”").y, np.minimum(traced.excess / traced.signal, 1.2)
    )
    assert figure.layout.shapes[0].x0 == 1.0 and MUTED["light"] == figure.layout.shapes[0].line.color


@pytest.mark.parametrize("p_norm, family", [(1.0, "frank_wolfe"), (1.5, "variance_reduced"), (2.0, "gradient")])
def test_against_n(p_norm, family):
    found = excess_by_n.excess_against_n(p_norm, d=8, ns=(1_000, 4_000), runs=2, **BUDGET)
    figure = learners_figure(found, n=4_000, theme="light", height=430)
    private = named(figure, "private, mean")
    assert np.array_equal(private.y, found.private.mean) and private.line.color == FAMILIES["light"][family]
    for name, values in (
        ("non-private, the same without noise", found.plain),
        ("upper bound, 95% of runs", found.tail),
    ):
        floor = 10.0 ** figure.layout.yaxis.range[0]
        assert np.array_equal(named(figure, name).y, np.where(values >= floor, values, np.nan), equal_nan=True)
    assert np.array_equal(named(figure, "upper bound").y, found.bound)
    order = named(figure, "reconstructed rate, shape only").y
    assert order == pytest.approx(found.rate * found.private.mean[0] / found.rate[0], rel=1e-12)
    assert named(figure, "nothing learned").y.tolist() == [found.nothing] * 2
    assert "excess risk on fresh records" in words(figure) and "n = 4,000" in words(figure)
