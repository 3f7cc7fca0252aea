"""Pure functions from an experiment's table to a plotly figure: the only place that imports plotly.

Every figure has a stable trace order and `uirevision`, so that a browser can update it in place, and a
`layout.meta["narrow"]` with the changes a phone needs.
"""

from .cost import cost_figure
from .dimension import Lower, curve_name, dimension_figure, orthant_figure
from .style import BACKGROUND, FAMILIES, GRID, MUTED, TEXT, Theme, family_of, plain_number, spread

__all__ = [
    "BACKGROUND",
    "FAMILIES",
    "GRID",
    "MUTED",
    "TEXT",
    "Lower",
    "Theme",
    "cost_figure",
    "curve_name",
    "dimension_figure",
    "family_of",
    "orthant_figure",
    "plain_number",
    "spread",
]
