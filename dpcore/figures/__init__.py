"""Pure functions from an experiment's table to what plotly draws: the only place that knows plotly.

Every figure has a stable trace order and `uirevision`, so that a browser can update it in place, and a
`layout.meta["narrow"]` with the changes a phone needs.

Names load on first use: a figure knows what it draws, and that all that computes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

_HOMES = {
    "multiclass.as_published": ("betrayal_figure", "existence_figure", "theorem_figure"),
    "audit.attack": ("LONGEST", "Row", "ink_of", "plane_figure", "ruler_figure", "scores_figure", "wealth_figure"),
    "decide.briefing": ("lost_on_wall", "worth_on_wall"),
    "decide.budget": ("Range", "Use", "budget_figure", "uses_figure", "worth_figure"),
    "multiclass.curves": ("accuracy_figure", "classes_excess_figure", "tuning_figure"),
    "perturbation.release_scatter": ("cloud_figure",),
    "sources.errata": ("corrections_figure",),
    "overview": ("cost_figure",),
    "multiclass.decision_regions": ("ellipses_figure", "regions_figure"),
    "perturbation.bounds_and_cost": ("RULE_NAMES", "bounds_figure", "work_figure"),
    "dimension": ("Lower", "curve_name", "dimension_figure", "orthant_figure"),
    "perturbation.exact_answers_leak": ("fit_figure", "leak_figure"),
    "perturbation.excess": ("doors_figure", "valley_figure"),
    "audit.exhibits": ("exhibits_figure",),
    "figure": ("Figure",),
    "labels": ("spread",),
    "geometry": (
        *("ball_figure", "learners_figure", "lengths_figure", "members_figure", "order_figure", "rates_figure"),
    ),
    "icon_array": ("ICONS_SIDE", "icons_svg"),
    "projector": ("ENLARGED", "enlarged"),
    "sparsity.l1": ("path_figure", "people_curves_figure", "remark_figure", "steps_figure", "width_figure"),
    "audit.ledger": ("accounting_name", "ledger_figure", "noise_figure"),
    "sparsity.simplex": ("columns_figure", "draws_figure"),
    "sparsity.published_draws": ("people_figure",),
    "sparsity.single_release": ("support_figure",),
    "sources.reproductions": ("reproduction_figure",),
    "sparsity.streaming": ("play_figure", "regret_figure"),
    "style": (
        *("BACKGROUND", "FAMILIES", "GRID", "LARGER", "MUTED", "NOISES", "TEXT", "Theme"),
        *("door_of", "family_of", "noise_of", "place_of", "plain_number"),
    ),
    "sparsity.membership": ("tracing_figure",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from .audit.attack import LONGEST, Row, ink_of, plane_figure, ruler_figure, scores_figure, wealth_figure
    from .audit.exhibits import exhibits_figure
    from .audit.ledger import accounting_name, ledger_figure, noise_figure
    from .decide.briefing import lost_on_wall, worth_on_wall
    from .decide.budget import Range, Use, budget_figure, uses_figure, worth_figure
    from .dimension import Lower, curve_name, dimension_figure, orthant_figure
    from .figure import Figure
    from .geometry import ball_figure, learners_figure, lengths_figure, members_figure, order_figure, rates_figure
    from .icon_array import ICONS_SIDE, icons_svg
    from .labels import spread
    from .multiclass.as_published import betrayal_figure, existence_figure, theorem_figure
    from .multiclass.curves import accuracy_figure, classes_excess_figure, tuning_figure
    from .multiclass.decision_regions import ellipses_figure, regions_figure
    from .overview import cost_figure
    from .perturbation.bounds_and_cost import RULE_NAMES, bounds_figure, work_figure
    from .perturbation.exact_answers_leak import fit_figure, leak_figure
    from .perturbation.excess import doors_figure, valley_figure
    from .perturbation.release_scatter import cloud_figure
    from .projector import ENLARGED, enlarged
    from .sources.errata import corrections_figure
    from .sources.reproductions import reproduction_figure
    from .sparsity.l1 import path_figure, people_curves_figure, remark_figure, steps_figure, width_figure
    from .sparsity.membership import tracing_figure
    from .sparsity.published_draws import people_figure
    from .sparsity.simplex import columns_figure, draws_figure
    from .sparsity.single_release import support_figure
    from .sparsity.streaming import play_figure, regret_figure
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
    )


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpcore.figures' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
