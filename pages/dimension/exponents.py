"""Exponents of p in Details: the measured ones beside those of the bound and of earlier theory."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpcore.core.power_law import LEAST_DECADES, LEAST_R_SQUARED, PowerLaw, power_law
from dpcore.figures.dimension import curve_name
from dpcore.studies.dimension.noise_growth import NoiseGrowth
from dpcore.studies.dimension.orthant import OrthantExample

NOTE = (
    "A bound limits values, not slopes. Earlier: rates as cited by Jain and Thakurta (2014). Empty: nothing is proved. "
    f"A dash stands where R² is below {LEAST_R_SQUARED:g} or p spans fewer than {LEAST_DECADES:g} decades."
)


def exponents_of(
    table: pd.DataFrame, grown: Mapping[str, NoiseGrowth], example: OrthantExample
) -> dict[str, tuple[PowerLaw | None, ...]]:
    """By quantity the power of p measured (or exact), of our bound and of earlier theory; None where there is none."""
    ok = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    found: dict[str, tuple[PowerLaw | None, ...]] = {}
    for key, g in grown.items():
        rows, name = ok[ok.mechanism == key], curve_name(key)
        if len(rows):
            damage = power_law(rows.x, rows["mean"] - rows.noiseless)
            found[f"excess, {name}"] = damage, _known(g.p, g.damage_bound), _known(g.p, g.earlier)
    found["orthant, output"] = power_law(example.p, example.projected), None, None
    if not example.reason:
        measured, bound = power_law(example.p, example.constrained), power_law(example.p, example.bound)
        found["orthant, objective"] = measured, bound, None
    return found


def _known(p: np.ndarray, values: Any) -> PowerLaw | None:
    return power_law(p, values) if np.isfinite(values).all() else None


def exponents_table(found: Mapping[str, tuple[PowerLaw | None, ...]]) -> str:
    """Markdown of the exponents."""
    rows = [f"| {name} | {' | '.join(map(exponent, laws))} |" for name, laws in found.items()]
    return "\n".join(["| exponent of p | measured | bound | earlier |", "|---|---|---|---|", *rows, "", NOTE])


def exponent(law: PowerLaw | None) -> str:
    """A slope with two decimals; a dash where it is silent; nothing where nothing was claimed.

    >>> exponent(PowerLaw(0.5, 1.0)), exponent(None)
    ('0.50', '')
    """
    if law is None:
        return ""
    return "–" if law.slope is None else f"{round(law.slope, 2) + 0.0:.2f}"
