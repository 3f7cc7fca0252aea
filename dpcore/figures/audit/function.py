"""Pictures of an audit of a function: the errors that it measured, the bet against the claim, and the scores."""

import numpy as np

from ...audit.all_versions import error_rates, histograms
from ...audit.function import FunctionReport
from ..figure import Figure
from ..style import Theme
from .attack import betting_figure, plane_figure, scores_figure

# Shares of false alarms at which the claim is drawn.
_FALSE = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), np.geomspace(1e-4, 1e-2, 20)]))


def function_figures(report: FunctionReport, *, theme: Theme = "light", height: int = 350) -> dict[str, Figure]:
    """Figures "errors", "betting test" and "scores" of the page Audit, of the runs that the report certifies from.

    height: of each, in px.
    """
    bet, both = report.betting_test, [c for c in report.certificates if c.errors]
    errors = max(both, key=lambda c: c.epsilon or 0.0).errors
    return {
        "errors": plane_figure(
            _FALSE,
            report.curve.missed(_FALSE),
            error_rates(report.scores),
            None,
            errors,
            verdict=report.verdict,
            theme=theme,
            height=height,
        ),
        "betting test": betting_figure(
            (2.0 * bet.pairs, bet.logs),
            None,
            runs=report.runs - report.fitting_runs,
            verdict=report.verdict,
            theme=theme,
            height=height,
        ),
        "scores": scores_figure(*histograms(report.scores), theme=theme, height=height),
    }
