"""Pure functions from an experiment's table to what plotly draws: the only place that knows plotly.

Every figure has a stable trace order and `uirevision`, so that a browser can update it in place, and a
`layout.meta["narrow"]` with the changes a phone needs.
"""

from .as_printed import betrayal_figure, existence_figure, theorem_figure
from .attack import LONGEST, Row, ink_of, plane_figure, ruler_figure, scores_figure, wealth_figure
from .briefing import lost_on_wall, worth_on_wall
from .budgets import Range, Use, budget_figure, uses_figure, worth_figure
from .classes import accuracy_figure, classes_excess_figure, tuning_figure
from .clouds import cloud_figure
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
    order_text,
    rates_figure,
)
from .icons import ICONS_SIDE, icons_svg
from .large import ENLARGED, enlarged
from .lasso import path_figure, people_curves_figure, remark_figure, steps_figure, width_figure
from .ledger import accounting_name, ledger_figure, noise_figure
from .mixtures import columns_figure, draws_figure
from .published import people_figure
from .release import support_figure
from .streaming import play_figure, regret_figure
from .style import (
    BACKGROUND,
    FAMILIES,
    GRID,
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

__all__ = [
    "BACKGROUND",
    "ENLARGED",
    "FAMILIES",
    "GRID",
    "ICONS_SIDE",
    "LONGEST",
    "MUTED",
    "NOISES",
    "RULE_NAMES",
    "TEXT",
    "Figure",
    "Lower",
    "Range",
    "Row",
    "Theme",
    "Use",
    "accounting_name",
    "accuracy_figure",
    "ball_figure",
    "betrayal_figure",
    "bounds_figure",
    "budget_figure",
    "classes_excess_figure",
    "cloud_figure",
    "columns_figure",
    "cost_figure",
    "curve_name",
    "dimension_figure",
    "door_of",
    "doors_figure",
    "draws_figure",
    "ellipses_figure",
    "enlarged",
    "exhibits_figure",
    "existence_figure",
    "family_of",
    "fit_figure",
    "icons_svg",
    "ink_of",
    "leak_figure",
    "learners_figure",
    "ledger_figure",
    "lengths_figure",
    "lost_on_wall",
    "members_figure",
    "noise_figure",
    "noise_of",
    "order_figure",
    "order_text",
    "orthant_figure",
    "path_figure",
    "people_curves_figure",
    "people_figure",
    "place_of",
    "plain_number",
    "plane_figure",
    "play_figure",
    "rates_figure",
    "regions_figure",
    "regret_figure",
    "remark_figure",
    "ruler_figure",
    "scores_figure",
    "spread",
    "steps_figure",
    "support_figure",
    "theorem_figure",
    "tracing_figure",
    "tuning_figure",
    "uses_figure",
    "valley_figure",
    "wealth_figure",
    "width_figure",
    "work_figure",
    "worth_figure",
    "worth_on_wall",
]
