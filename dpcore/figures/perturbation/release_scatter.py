"""Released models of two parameters over the contours of the excess risk."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.ndimage import map_coordinates

from ...core.arrays import Array
from ...mechanisms import mechanism_class
from ...studies.perturbation.release_scatter import ReleaseScatter
from ..chart import Chart
from ..figure import Figure
from ..style import NOISES, Look, Theme, marker_of, plain_number

_APART = 0.12  # of the window: labels of rings from one another and from the best model


def release_scatter_figure(clouds: ReleaseScatter, *, theme: Theme, height: int) -> Figure:
    """Released models of two parameters as dots over the contours of the excess risk, factors of 10 apart.

    height: px; the window is a square.
    """
    chart = Chart(theme, height, left=46, right=8, top=12, bottom=44)
    rings = _rings(clouds)
    low, high = (min(rings), max(rings)) if rings else (-1.0, 0.0)
    ground = {
        "type": "contour",
        "x": clouds.x,
        "y": clouds.y,
        "z": np.log10(np.maximum(clouds.excess, 1e-12)),
        "contours": {"start": low, "end": high, "size": 1.0, "coloring": "none"},
        "line": {"color": chart.muted, "width": 1, "smoothing": 1.0},
        "showscale": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    chart.traces.append(ground)
    classes = {cloud.mechanism: mechanism_class(cloud.mechanism) for cloud in clouds.clouds}
    inks = {key: chart.colours[cls.family] for key, cls in classes.items()}
    for cloud in clouds.clouds:
        cls = classes[cloud.mechanism]
        look = marker_of(cls, theme, 6) | {"opacity": 0.75}
        _points(chart, cloud.thetas, f"{cls.place}, {NOISES[cls.noise]}", look)
    for cloud in clouds.clouds:
        edge = {"color": chart.paper, "width": 2}
        cross = {"symbol": "x", "size": 12, "color": inks[cloud.mechanism], "line": edge}
        name = f"{classes[cloud.mechanism].place}, without noise"
        _points(chart, cloud.theta_hat[None], name, cross, showlegend=False)
    for cloud in clouds.clouds:
        if cloud.path is not None and cloud.quiet_path is not None:
            for path, name, colour, dash in (
                (cloud.path, "one run, step by step", inks[cloud.mechanism], "solid"),
                (cloud.quiet_path, "the same without noise", chart.colours["reference"], "dot"),
            ):
                shown = {"type": "scatter", "mode": "lines", "x": path[:, 0], "y": path[:, 1], "name": name}
                chart.traces.append(shown | {"line": {"color": colour, "width": 1, "dash": dash}, "hoverinfo": "skip"})
    edge = {"color": chart.paper, "width": 1}
    star = {"symbol": "star", "size": 15, "color": chart.colours["reference"], "line": edge}
    _points(chart, clouds.best[None], "best model", star)
    where = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle", "bgcolor": chart.paper}
    for level, (x, y) in rings.items():
        chart.write(plain_number(10.0**level), float(x), float(y), chart.muted, 12, **where)
    x, y = (
        chart.axis(range=[float(at[0]), float(at[-1])], showgrid=False, constrain="domain", nticks=5)
        | {"title": {"text": name, "standoff": 4}}
        for at, name in ((clouds.x, "θ₁"), (clouds.y, "θ₂"))
    )
    return chart.below(x, y | {"scaleanchor": "x"}, drop=46)


def _points(chart: Chart, thetas: Array, name: str, marker: Look, **more: Any) -> None:
    hover = f"{name}: (%{{x:.3~g}}, %{{y:.3~g}})<extra></extra>"
    chart.marks(thetas[:, 0], thetas[:, 1], marker, name=name, hovertemplate=hover, **more)


def _rings(clouds: ReleaseScatter) -> dict[float, Array]:
    """Exponent -> where to write it: rings of equal excess risk that are large enough, on a ray from the best model."""
    side, logs = float(np.ptp(clouds.x)), np.log10(np.maximum(clouds.excess, 1e-12))
    corner = np.array([clouds.x[0], clouds.y[0]])
    angles = np.pi * (0.25 + 0.25 * np.arange(8))
    steps = np.linspace(0.0, side, 200)
    rays = [clouds.best + np.outer(steps, [np.cos(angle), np.sin(angle)]) for angle in angles]
    found: dict[float, Array] = {}
    for level in np.arange(-6.0, 1.0 + math.ceil(logs.max())):
        for ray in rays:
            places = (ray - corner) / side
            heights = map_coordinates(logs, (len(clouds.x) - 1) * places.T[::-1], order=1, mode="nearest")
            met = int(np.argmax(heights >= level))  # 0 where it is never met
            away = [np.linalg.norm(ray[met] - other) for other in (clouds.best, *found.values())]
            if met and (np.abs(places[met] - 0.5) < 0.44).all() and min(away) > _APART * side:
                found[float(level)] = ray[met]
                break
    return found
