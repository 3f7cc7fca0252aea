"""Every chart of every page where its curves have no point at all, or a single one."""

import dataclasses as dc
import functools
import inspect
import pkgutil
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from dpcore import figures
from dpcore.accounting.ledger import EpsilonCurve
from dpcore.core.cache import SharedCache
from dpcore.figures.figure import Figure
from pages.background import pictures
from tests.nights import each
from tests.page_driver import finished, open_script

# Pictures of releases, and an answer, which there is only where there are numbers; no curves.
PICTURES = {"SmallestEpsilon", "Plan", "Path", "ReleaseScatter", "Picture", "BallPicture", "Support"}
# What curves are drawn over.
ACROSS = {"x", "epsilon", "n", "T", "p", "m", "steps", "p_norm", "marks"}
MEASURED = ["mean", "se", "q10", "q50", "q90", "noiseless", "bound", "reference"]
VIEWS = [
    ("geometry/page.py", {"beside_geometry": "Rates"}, {"order_figure", "rates_figure"}),
    ("geometry/page.py", {"view": "n"}, {"learners_figure"}),
    ("perturbation/page.py", {"side": "λ"}, {"excess_figure", "valley_figure"}),
    ("composition/page.py", {"repeated": "sgd"}, {"ledger_figure"}),
    ("dimension/page.py", {"topic": "sparse", "against": "p"}, {"excess_figure"}),
    ("dimension/page.py", {"topic": "sparse", "against": "n"}, {"excess_figure"}),
    ("selection/page.py", {"tab": "simplex", "beside": "Dimension"}, {"draws_figure", "columns_figure"}),
    ("selection/page.py", {"tab": "streaming"}, {"regret_figure", "play_figure"}),
    ("dimension/page.py", {}, {"dimension_figure", "orthant_figure"}),
    ("multiclass/page.py", {"price_against": "epsilon"}, {"accuracy_figure"}),
    ("multiclass/page.py", {"n": 300}, {"accuracy_figure"}),
    ("geometry/page.py", {"beside_geometry": "Membership attack"}, {"members_figure"}),
    ("dimension/page.py", {"topic": "sparse"}, {"excess_figure"}),
    ("overview/page.py", {}, {"price_figure", "bells_figure"}),
    ("decide/page.py", {"n": 500, "more": "equivalent"}, {"equivalent_figure"}),
]


def thinned(value, points, across=False):
    """The same with nan for all but the first `points` values of every curve."""
    if isinstance(value, pd.DataFrame):
        drawn = value.x.isin(value.x.unique()[:points])
        return value.assign(**{column: value[column].where(drawn) for column in MEASURED if column in value})
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 1 and not across:
        return np.where(np.arange(len(value)) < points, value, np.nan)
    if dc.is_dataclass(value) and type(value).__name__ not in PICTURES:
        axes = ACROSS - {"epsilon"} if isinstance(value, EpsilonCurve) else ACROSS
        return dc.replace(
            value,
            **{f.name: thinned(getattr(value, f.name), points, f.name in axes) for f in dc.fields(value) if f.init},
        )
    if isinstance(value, dict):
        return {key: thinned(one, points) for key, one in value.items()}
    if isinstance(value, list | tuple) and value and not isinstance(value[0], str | float | int):
        # A pair of arrays is a curve with what it is drawn over.
        return type(value)(thinned(one, points, k == 0 and isinstance(one, np.ndarray)) for k, one in enumerate(value))
    return value


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("script", "state", "shown"), each(4, VIEWS))
def test_charts_whose_curves_have_one_point_or_none_are_charts(script, state, shown, monkeypatch):
    calls = {}

    def watched(figure):
        @functools.wraps(figure)
        def drawn(*values, **named):
            calls[figure.__name__] = (figure, values, named)
            return figure(*values, **named)

        return drawn

    homes = [import_module(found.name) for found in pkgutil.walk_packages(figures.__path__, "dpcore.figures.")]
    pages = [module for name, module in sys.modules.items() if name.startswith("pages.")]
    for module in [*homes, *pages]:
        for name, figure in inspect.getmembers(module, inspect.isfunction):
            if name.endswith("_figure") and name[0] != "_" and figure.__module__.startswith("dpcore.figures."):
                monkeypatch.setattr(module, name, watched(inspect.unwrap(figure)))
    monkeypatch.setattr(pictures, "_MADE", SharedCache(1_000))  # what other tests have looked at is drawn again
    finished(open_script(script, **state))
    assert shown <= set(calls)
    for figure, values, named in calls.values():
        for points in (0, 1):
            less = [thinned(value, points, across=k == 0) for k, value in enumerate(values)]
            assert Figure.to_json(figure(*less, **named)), "which plotly takes too, as every figure in the tests"
