"""Released models of two parameters over the contours of the excess risk."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.ndimage import map_coordinates

from ...core.arrays import Array
from ...mechanisms import mechanism_class
from ...studies.perturbation.release_scatter import Cloud, Clouds
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    NOISES,
    Theme,
    axis,
    frame,
    marker_of,
    note,
    plain_number,
)

_BOTTOM = 54
_APART = 0.12  # of the window: labels of rings from one another and from the best model


def cloud_figure(clouds: Clouds, *, theme: Theme, height: int) -> Figure:
    """Released models of two parameters as dots over the contours of the excess risk, factors of 10 apart.

    height: px; the window is a square.
    """
    colours = FAMILIES[theme]
    rings = _rings(clouds)
    low, high = (min(rings), max(rings)) if rings else (-1.0, 0.0)
    ground = {
        "type": "contour",
        "x": clouds.x,
        "y": clouds.y,
        "z": np.log10(np.maximum(clouds.excess, 1e-12)),
        "contours": {"start": low, "end": high, "size": 1.0, "coloring": "none"},
        "line": {"color": MUTED[theme], "width": 1, "smoothing": 1.0},
        "showscale": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    traces: list[dict[str, Any]] = [ground]
    traces += [_dots(cloud, theme) for cloud in clouds.clouds]
    traces += [_cross(cloud, theme) for cloud in clouds.clouds]
    for cloud in clouds.clouds:
        if cloud.path is not None and cloud.quiet_path is not None:
            colour = colours[mechanism_class(cloud.mechanism).family]
            traces.append(_path(cloud.path, "one run, step by step", colour, "solid"))
            traces.append(_path(cloud.quiet_path, "the same without noise", colours["reference"], "dot"))
    edge = {"color": BACKGROUND[theme], "width": 1}
    star = {"symbol": "star", "size": 15, "color": colours["reference"], "line": edge}
    traces.append(_points(clouds.best[None], "best model", star))
    side = axis(theme) | {"title": {"text": "θ₁", "standoff": 4}, "range": [float(clouds.x[0]), float(clouds.x[-1])]}
    upright = axis(theme) | {"title": {"text": "θ₂", "standoff": 4}, "range": [float(clouds.y[0]), float(clouds.y[-1])]}
    legend = LEGEND_ROW * (1 + len(clouds.clouds) + 2 * sum(cloud.path is not None for cloud in clouds.clouds))
    layout = frame(theme, height) | {
        "margin": {"l": 46, "r": 8, "t": 12, "b": _BOTTOM + legend - 10},
        "showlegend": True,
        "legend": LEGEND | {"y": -(_BOTTOM - 8) / (height - 2 - _BOTTOM - legend)},
        "xaxis": side | {"showgrid": False, "constrain": "domain", "nticks": 5},
        "yaxis": upright | {"showgrid": False, "scaleanchor": "x", "constrain": "domain", "nticks": 5},
        "annotations": [_ring(level, place, theme) for level, place in rings.items()],
    }
    return Figure(traces, layout)


def _dots(cloud: Cloud, theme: Theme) -> dict[str, Any]:
    mechanism = mechanism_class(cloud.mechanism)
    name = f"{mechanism.place}, {NOISES[mechanism.noise]}"
    return _points(cloud.thetas, name, marker_of(mechanism, theme, 6) | {"opacity": 0.75})


def _cross(cloud: Cloud, theme: Theme) -> dict[str, Any]:
    mechanism = mechanism_class(cloud.mechanism)
    colour = FAMILIES[theme][mechanism.family]
    look = {"symbol": "x", "size": 12, "color": colour, "line": {"color": BACKGROUND[theme], "width": 2}}
    name = f"{mechanism.place}, without noise"
    return _points(cloud.theta_hat[None], name, look) | {"showlegend": False}


def _points(thetas: Array, name: str, marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": thetas[:, 0],
        "y": thetas[:, 1],
        "name": name,
        "marker": marker,
        "hovertemplate": f"{name}: (%{{x:.3~g}}, %{{y:.3~g}})<extra></extra>",
    }


def _path(iterates: Array, name: str, colour: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": iterates[:, 0],
        "y": iterates[:, 1],
        "name": name,
        "line": {"color": colour, "width": 1, "dash": dash},
        "hoverinfo": "skip",
    }


def _rings(clouds: Clouds) -> dict[float, Array]:
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


def _ring(level: float, place: Array, theme: Theme) -> dict[str, Any]:
    where = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle", "bgcolor": BACKGROUND[theme]}
    return note(plain_number(10.0**level), x=float(place[0]), y=float(place[1]), colour=MUTED[theme], size=12) | where
