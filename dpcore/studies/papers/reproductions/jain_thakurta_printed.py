"""What Jain and Thakurta 2014 print in Figure 1, read off its curves: right of 100, of two digits at best.

A mark is (x, right of 100); a level stretch is given by its two ends. Where a curve wavers, each marker of the printed
axis is a mark. Panel (d) prints shares, here times 100, and draws both laws of noise in the objective as one curve.

Source: Jain and Thakurta 2014 (PMLR 32, jain14), Figure 1.
"""

from __future__ import annotations

Marks = tuple[tuple[float, float], ...]

_MAJORITY = 66.7  # two records of three are alike

PRINTED: dict[str, dict[str, Marks]] = {
    "a": {
        "objective_gaussian": ((0.001, 91.0), (10.0, 91.0)),
        "output_gaussian": ((0.001, 56.0), (0.005, 62.0), (0.01, 70.0), (0.05, 90.0), (10.0, 90.0)),
        "objective_gamma": (
            *((0.001, 49.0), (0.005, 58.0), (0.01, 60.0), (0.05, 69.0), (0.1, 80.0), (0.5, 90.0)),
            *((1.0, 91.0), (10.0, 91.0)),
        ),
        "output_gamma": ((0.001, 50.0), (5.0, 50.0), (10.0, 65.0)),
    },
    "b": {
        "objective_gaussian": ((0.001, 44.0), (0.005, 65.0), (0.01, 77.0), (0.05, 88.0), (10.0, 88.0)),
        "objective_gamma": ((0.001, 54.0), (0.005, 63.0), (0.01, 55.0), (0.05, 87.0), (0.1, 88.0), (10.0, 88.0)),
        "output_gaussian": (
            *((0.001, 52.0), (0.005, 50.0), (0.01, 53.0), (0.05, 56.0), (0.1, 54.0)),
            *((1.0, 70.0), (5.0, 83.0), (10.0, 86.0)),
        ),
        "output_gamma": (
            *((0.001, 46.0), (0.005, 56.0), (0.01, 53.0), (0.05, 55.0), (0.1, 57.0)),
            *((5.0, 83.0), (10.0, 86.0)),
        ),
    },
    "c": {
        "objective_gaussian": ((8.0, 87.0), (50_000.0, 87.0)),
        "output_gaussian": ((8.0, 74.0), (50_000.0, 74.0)),
        "objective_gamma": ((8.0, 87.0), (10_000.0, 62.0), (50_000.0, 51.0)),
        "output_gamma": ((8.0, 76.0), (10_000.0, 54.0), (50_000.0, 43.0)),
    },
    "d": {
        "none": ((8.0, 78.5), (28.0, 78.5), (33.0, 76.0), (38.0, 78.5)),
        "simplex_sampling": ((8.0, 78.5), (33.0, 78.5), (38.0, 74.5)),
        "objective_gaussian": ((8.0, 78.5), (18.0, 78.5), (23.0, 77.0), (28.0, _MAJORITY), (38.0, _MAJORITY)),
        "objective_gamma": ((8.0, 78.5), (18.0, 78.5), (23.0, 77.0), (28.0, _MAJORITY), (38.0, _MAJORITY)),
    },
}


def mark_at(panel: str, mechanism: str, x: float) -> float:
    """The printed value at a mark.

    >>> mark_at("c", "output_gamma", 8.0)
    76.0
    """
    return dict(PRINTED[panel][mechanism])[x]
