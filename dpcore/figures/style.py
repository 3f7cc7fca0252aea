"""The house style of all figures: palette, markers, and how numbers and words are written.

Colour is the mechanism's family and the same on every page, line style is the kind of curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..core.facts import facts_beside

if TYPE_CHECKING:
    from ..mechanisms import Mechanism
    from ..mechanisms.base import Family, Place

Theme = Literal["light", "dark"]
Look = dict[str, Any]  # plotly.js attributes of a trace, a marker, an axis or words

# Of families, with the symbols of their markers, and of the paper. Families' are computed for contrast >= 3:1 on the
# background and CIEDE2000 >= 15.9 between all pairs, also under protanopia, deuteranopia and tritanopia; a test keeps
# it so.
_PALETTE = {row.pop("name"): row for row in facts_beside(__file__, "palette.csv")}
_THEMES: tuple[Theme, ...] = ("light", "dark")
FAMILIES: dict[Theme, dict[str, str]] = {
    theme: {name: row[theme] for name, row in _PALETTE.items() if row["of"] == "family"} for theme in _THEMES
}
SYMBOLS: dict[Family, str] = {name: row["symbol"] for name, row in _PALETTE.items() if row["symbol"]}
BACKGROUND, TEXT, MUTED, GRID = (
    {theme: _PALETTE[name][theme] for theme in _THEMES} for name in ("background", "text", "muted", "grid")
)
# Of a family's colour where small text in it would stay below 4.5:1: the same hue, darker or lighter.
INKS = {"#CB7513": "#AA6210", "#6599B3": "#497B94", "#1464C1": "#2781E9"}
# Where a mechanism puts its noise, by the field's names.
PERTURBATIONS: dict[Place, str] = {
    "output": "output perturbation",
    "objective": "objective perturbation",
    "gradient": "gradient perturbation",
    "selection": "private selection",
}
NOISES = {"gaussian": "Gaussian", "gamma": "Gamma"}
LARGER = "always the larger class"


def marker_of(mechanism: type[Mechanism], theme: Theme, size: int) -> Look:
    """The family's symbol in its colour; open where the guarantee is pure."""
    colour = FAMILIES[theme][mechanism.family]
    fill = colour if mechanism.noise == "gaussian" else BACKGROUND[theme]
    look = {"symbol": SYMBOLS[mechanism.family], "size": size, "line": {"color": colour, "width": 1.5}}
    return look | {"color": fill}


def with_opacity(colour: str, opacity: float) -> str:
    """#RRGGBB as an rgba() string.

    >>> with_opacity("#FF0000", 0.2)
    'rgba(255,0,0,0.2)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def plain_number(value: float) -> str:
    """A decimal without exponent for axis ticks and flags: 0.001, 0.1, 1, 10, 1k, 1M.

    >>> plain_number(0.001), plain_number(1.5), plain_number(20000)
    ('0.001', '1.5', '20k')
    """
    for size, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:.10f}".rstrip("0").rstrip(".")


def short_number(value: float) -> str:
    """Two digits for a label, far from 1 with a power of ten: longer decimals would not fit beside an axis.

    >>> short_number(-0.00123), short_number(123456.0), short_number(3e-7), short_number(1e-5)
    ('−0.0012', '120k', '3·10⁻⁷', '10⁻⁵')
    """
    if not value or 1e-4 <= abs(value) < 1e12:
        return plain_number(float(f"{value:.2g}") + 0.0).replace("-", "−")
    digits, power = f"{value:.1e}".split("e")
    return f"{float(digits):g}·{power_of_ten(int(power))}".replace("-", "−").removeprefix("1·")


def power_of_ten(exponent: int) -> str:
    """
    >>> power_of_ten(-7)
    '10⁻⁷'
    """
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def note(text: str, *, x: float, y: float, colour: str, size: int, **more: Any) -> Look:
    """Words in a figure at a place in shares of the drawing; more: further attributes for plotly.js."""
    place = {"xref": "paper", "yref": "paper", "x": x, "y": y, "xanchor": "left", "showarrow": False}
    return place | {"text": text, "font": {"color": INKS.get(colour, colour), "size": size}} | more


def pattern(colour: str, opacity: float, shape: str) -> Look:
    """Look of bars that lie over others: paler, with an edge, and hatched where there is a shape."""
    hatched = {"shape": shape, "fgcolor": colour, "size": 6, "solidity": 0.25}
    return {"color": with_opacity(colour, opacity), "line": {"color": colour, "width": 1}, "pattern": hatched}
