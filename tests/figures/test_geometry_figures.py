"""Figures of the page Geometry: the axis of norm orders, and the ball."""

import math

import numpy as np
import pytest

from dpcore.figures.geometry import (
    ball_figure,
    place,
)
from dpcore.figures.style import TEXT
from dpcore.studies.geometry import excess_by_norm, noise

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "seed": 3}


def test_the_axis_of_norm_orders_goes_from_the_lasso_to_the_box():
    assert [place(p) for p in (1.0, 1.25, 2.0, 4.0, math.inf)] == pytest.approx([0.0, 0.2, 0.5, 0.75, 1.0])
    assert np.all(np.diff([place(p) for p in excess_by_norm.orders(1_000)]) > 0.0)


@pytest.mark.parametrize("p_norm, vertices", [(1.0, 4), (math.inf, 4), (1.5, 200), (2.0, 200)])
def test_the_ball_shows_noisy_means_and_the_models_they_lead_to(p_norm, vertices):
    found = noise.ball_picture(p_norm, **BUDGET)
    figure = ball_figure(found, theme="light", height=380)
    ball, noisy, models, best = figure.data
    assert np.array_equal(np.column_stack([ball.x, ball.y]), found.ball)
    order = p_norm
    lengths = np.linalg.norm(found.ball, order, axis=1)
    assert lengths == pytest.approx(np.ones(len(lengths)), abs=1e-12)
    assert np.array_equal(np.column_stack([noisy.x, noisy.y]), found.noisy) and sum(models.customdata) == 200
    share = np.array(models.customdata) / 200
    assert np.allclose(models.marker.size, 6.0 + 26.0 * np.sqrt(share))
    assert len(models.x) <= vertices and (vertices == 4 or len(models.x) > 150)
    assert (best.x[0], best.y[0]) == tuple(found.best) and best.marker.line.color == TEXT["light"]
