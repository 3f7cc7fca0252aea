"""Pure functions from an experiment's table to what plotly draws: the only place that knows plotly.

Every figure has a stable trace order and `uirevision`, so that a browser can update it in place, and a
`layout.meta["narrow"]` with the changes a phone needs.

Names load on first use: a figure knows what it draws, and that all that computes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

_HOMES = {
    "as_printed": ("betrayal_figure", "existence_figure", "theorem_figure"),
    "attack": ("LONGEST", "Row", "ink_of", "plane_figure", "ruler_figure", "scores_figure", "wealth_figure"),
    "briefing": ("lost_on_wall", "worth_on_wall"),
    "budgets": ("Range", "Use", "budget_figure", "uses_figure", "worth_figure"),
    "classes": ("accuracy_figure", "classes_excess_figure", "tuning_figure"),
    "clouds": ("cloud_figure",),
    "corrections": ("corrections_figure",),
    "cost": ("cost_figure",),
    "decisions": ("ellipses_figure", "regions_figure"),
    "descent": ("RULE_NAMES", "bounds_figure", "work_figure"),
    "dimension": ("Lower", "curve_name", "dimension_figure", "orthant_figure"),
    "door_zero": ("fit_figure", "leak_figure"),
    "doors": ("doors_figure", "valley_figure"),
    "exhibits": ("exhibits_figure",),
    "figure": ("Figure",),
    "geometry": (
        *("ball_figure", "learners_figure", "lengths_figure", "members_figure", "order_figure", "rates_figure"),
    ),
    "icons": ("ICONS_SIDE", "icons_svg"),
    "large": ("ENLARGED", "enlarged"),
    "lasso": ("path_figure", "people_curves_figure", "remark_figure", "steps_figure", "width_figure"),
    "ledger": ("accounting_name", "ledger_figure", "noise_figure"),
    "mixtures": ("columns_figure", "draws_figure"),
    "published": ("people_figure",),
    "release": ("support_figure",),
    "reproduced": ("reproduction_figure",),
    "streaming": ("play_figure", "regret_figure"),
    "style": (
        *("BACKGROUND", "FAMILIES", "GRID", "LARGER", "MUTED", "NOISES", "TEXT", "Theme"),
        *("door_of", "family_of", "noise_of", "place_of", "plain_number", "spread"),
    ),
    "tracing": ("tracing_figure",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from .as_printed import betrayal_figure, existence_figure, theorem_figure
    from .attack import LONGEST, Row, ink_of, plane_figure, ruler_figure, scores_figure, wealth_figure
    from .briefing import lost_on_wall, worth_on_wall
    from .budgets import Range, Use, budget_figure, uses_figure, worth_figure
    from .classes import accuracy_figure, classes_excess_figure, tuning_figure
    from .clouds import cloud_figure
    from .corrections import corrections_figure
    from .cost import cost_figure
    from .decisions import ellipses_figure, regions_figure
    from .descent import RULE_NAMES, bounds_figure, work_figure
    from .dimension import Lower, curve_name, dimension_figure, orthant_figure
    from .door_zero import fit_figure, leak_figure
    from .doors import doors_figure, valley_figure
    from .exhibits import exhibits_figure
    from .figure import Figure
    from .geometry import (
        ball_figure,
        learners_figure,
        lengths_figure,
        members_figure,
        order_figure,
        rates_figure,
    )
    from .icons import ICONS_SIDE, icons_svg
    from .large import ENLARGED, enlarged
    from .lasso import path_figure, people_curves_figure, remark_figure, steps_figure, width_figure
    from .ledger import accounting_name, ledger_figure, noise_figure
    from .mixtures import columns_figure, draws_figure
    from .published import people_figure
    from .release import support_figure
    from .reproduced import reproduction_figure
    from .streaming import play_figure, regret_figure
    from .style import (
        BACKGROUND,
        FAMILIES,
        GRID,
        LARGER,
        MUTED,
        NOISES,
        TEXT,
        Theme,
        door_of,
        family_of,
        noise_of,
        place_of,
        plain_number,
        spread,
    )
    from .tracing import tracing_figure


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpcore.figures' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
