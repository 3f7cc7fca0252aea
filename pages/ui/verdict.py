"""Where an upper bound says something, in one line below a chart of excess risk."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pages.ui.numbers import nearest, rounded

NO_LOWER = "No lower bound is proved for this setting."
Curve = tuple[str, Any, Any]  # a name, the measured means and the upper bound along the axis


def verdict(
    x: Any,
    curves: Sequence[Curve],
    nothing: Any,
    at: float,
    name: str,
    *,
    text: Callable[[float], str] = "{:,g}".format,
) -> str:
    """From where on each upper bound is below the excess of a model that learns nothing, and how far it is above the
    measurement at the cursor.

    nothing: along the axis, or one number. at, name: of the cursor, and of what the axis holds; text: how its places
    are written. A curve's name may be "" where there is one only.

    >>> x, mean, bound = [0.1, 1.0, 10.0], [0.3, 0.1, 0.01], [3.0, 0.2, 0.02]
    >>> verdict(x, [("", mean, bound)], 0.25, 10.0, "ε")
    'The upper bound is informative (below learning nothing) from ε = 1; here it is 2 times the measurement.'
    """
    x = np.asarray(x, float)
    parts = []
    for title, means, bounds in curves:
        mean, bound = np.asarray(means, float), np.asarray(bounds, float)
        if not np.isfinite(bound).any():
            continue
        said = _where(x, bound < np.broadcast_to(np.asarray(nothing, float), x.shape), name, text)
        k = nearest(x, at)
        if np.isfinite(bound[k]) and mean[k] > 0.0:
            said += f"; here it is {rounded(bound[k] / mean[k], 2)} times the measurement"
        parts.append(f"{title}: {said}" if title else said)
    if not parts:
        return ""
    if len(parts) == 1 and not curves[0][0]:
        return f"The upper bound is {parts[0]}."
    return f"Upper bounds, {'. '.join(parts)}."


def _where(x: np.ndarray, below: np.ndarray, name: str, text: Callable[[float], str]) -> str:
    """On which part of the axis a bound is below the excess of learning nothing."""
    says = "informative (below learning nothing)"
    if not below.any():
        return f"nowhere {says} on this axis"
    first, last = np.flatnonzero(below)[[0, -1]]
    if not below[first : last + 1].all():
        return f"{says} at {below.sum()} of {len(x)} points"
    if first == 0 and last == len(x) - 1:
        return f"{says} all along"
    if last == len(x) - 1:
        return f"{says} from {name} = {text(x[first])}"
    if first == 0:
        return f"{says} up to {name} = {text(x[last])}"
    return f"{says} from {name} = {text(x[first])} to {text(x[last])}"
