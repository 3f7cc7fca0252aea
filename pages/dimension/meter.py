"""The slope meter: the measured exponent of p beside those of theory."""

import dataclasses as dc
import html
from collections.abc import Mapping

import numpy as np
import pandas as pd

from dpcore.core.power_law import LEAST_DECADES, LEAST_R_SQUARED, PowerLaw, power_law
from dpcore.figures.dimension import curve_name
from dpcore.studies.dimension.noise_growth import NoiseGrowth
from dpcore.studies.dimension.orthant import OrthantExample

HEADS = ("exponent of p", "measured", "bound", "earlier")
NOTE = (
    "A bound limits values, not slopes: a measured slope may be smaller or larger. Earlier: rates as cited by "
    "Jain and Thakurta (2014). Empty: nothing is proved or published. "
    f"A dash stands where R² is below {LEAST_R_SQUARED:g} or p spans fewer than {LEAST_DECADES:g} decades."
)


@dc.dataclass(frozen=True)
class Row:
    """One quantity: measured (or exact), by our bound, by earlier theory; None where there is none."""

    name: str
    measured: PowerLaw
    bound: PowerLaw | None = None
    earlier: PowerLaw | None = None


def slope_rows(table: pd.DataFrame, grown: Mapping[str, NoiseGrowth], example: OrthantExample) -> list[Row]:
    """Excess risk by noise and distance for each mechanism that releases something, then the orthant."""
    ok = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    shown = [key for key in grown if key in set(ok.mechanism)]
    both = len({key.split("_")[0] for key in shown}) > 1
    damage, distance = [], []
    for key in shown:
        rows, g, name = ok[ok.mechanism == key], grown[key], curve_name(key, both).removesuffix(" noise")
        damage.append(
            Row(
                f"excess, {name}",
                power_law(rows.x, rows["mean"] - rows.noiseless),
                _known(g.p, g.damage_bound),
                _known(g.p, g.earlier),
            )
        )
        if key.startswith(shown[0].split("_")[0]):  # the same exponent wherever the noise goes
            noise = curve_name(key, False).removesuffix(" noise")
            distance.append(Row(f"distance, {noise}", power_law(g.p, g.distance)))
    held = [Row("orthant, output", power_law(example.p, example.projected))]
    if not example.reason:
        measured, bound = power_law(example.p, example.constrained), power_law(example.p, example.bound)
        held.append(Row("orthant, objective", measured, bound))
    return [*damage, *distance, *held]


def _known(p: np.ndarray, values: np.ndarray) -> PowerLaw | None:
    return power_law(p, values) if np.isfinite(values).all() else None


def slope_meter(rows: list[Row]) -> str:
    """HTML of the rows, dressed by theme.css; a measured slope that is not there is a dash, and the note says why."""
    numbers = [(row.name, *map(exponent, (row.measured, row.bound, row.earlier))) for row in rows]
    lines = "".join(
        "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"
        for kind, cells in (("th", HEADS), *(("td", cells) for cells in numbers))
    )
    reasons = [f"{row.name}: {row.measured.reason}." for row in rows if row.measured.slope is None]
    note = html.escape(" ".join([NOTE, *reasons]))
    return f'<table class="slopes">{lines}</table><div class="slopes-note">{note}</div>'


def exponent(law: PowerLaw | None) -> str:
    """A slope with two decimals; a dash where it is silent; nothing where nothing was claimed.

    >>> exponent(PowerLaw(0.5, 1.0)), exponent(None)
    ('0.50', '')
    """
    if law is None:
        return ""
    if law.slope is None:
        return "–"
    return f"{round(law.slope, 2) + 0.0:.2f}"
