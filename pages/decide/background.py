"""Figures and details of the page Decide: assumptions, formula, code and data."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Problem
from dpcore.core.facts import text_beside
from dpcore.data import UploadedRecords, held, is_private, read_table
from dpcore.figures.decide import budget_figure, equivalent_figure
from dpcore.figures.figure import Figure
from dpcore.studies.decide.loss_curve import Setting, lost_curve, smallest_budget
from pages.decide.state import State
from pages.ui.code import script, verbatim
from pages.ui.html import readable
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed, learner_line

FORMULA = text_beside(__file__, "formula.md")


def budget_picture(state: State, height: int) -> Figure:
    """Accuracy loss against epsilon, with a cursor and the smallest budget."""
    assert state.curve is not None
    low, high = state.band
    return _budget_chart(state)(
        state.curve.epsilons,
        state.curve.smooth,
        low,
        high,
        learnable=state.curve.learnable,
        most=state.curve.most,
        answer=state.found,
        theme=state.theme,
        height=height,
    )


def _budget_chart(state: State) -> partial[Figure]:
    return partial(budget_figure, at_most=state.at_most, epsilon=state.epsilon, family=state.family)


def equivalent_picture(state: State, metric: str, height: int) -> Figure:
    """Equivalent sample size against epsilon."""
    assert state.equivalent is not None
    value, low, high = (np.array([getattr(w, end) for w in state.sizes], float) for end in ("value", "low", "high"))
    return equivalent_figure(
        state.equivalent.curve.epsilons,
        value,
        low,
        high,
        n=state.n,
        metric=metric,
        epsilon=state.epsilon,
        family=state.family,
        theme=state.theme,
        height=height,
    )


def assumptions(state: State) -> str:
    """Assumptions behind the answers, as a list in Markdown."""
    assert state.curve is not None
    told = assumed(
        __file__,
        "assumptions.md",
        source=state.source,
        scaling=readable(state.source.scaling),
        delta=delta_text(state.setting.problem.delta),
        learner=learner_line(state.setting.problem),
        splits=state.setting.splits,
    )
    if state.curve.refused:
        first, reason = next(iter(state.curve.refused.items()))
        told += f"\n- **Refused budgets:** {len(state.curve.refused)}, from ε = {first:g}: {readable(reason)}."
    return told


def table(state: State) -> pd.DataFrame:
    """Accuracy loss and equivalent sample size along epsilon."""
    assert state.curve is not None
    low, high = state.band
    columns = {
        "epsilon": state.curve.epsilons,
        "loss_mean": state.curve.mean,
        "loss_smooth": state.curve.smooth,
        "loss_of_nine_of_ten": state.curve.most,
        "loss_low": low,
        "loss_high": high,
    }
    if state.equivalent is not None and len(state.sizes) == len(state.curve.epsilons):
        columns |= {
            f"equivalent_{end}": np.array([getattr(w, end) for w in state.sizes]) for end in ("value", "low", "high")
        }
    return pd.DataFrame(columns)


def snippet(state: State) -> str:
    """Program that answers the budget question and draws the chart again."""
    setting, records, problem = state.setting, {}, vars(state.setting.problem)
    if is_private(setting.source):
        records, problem = _read(held(setting.source)), problem | {"source": verbatim("records.key")}
    made = records | {
        "problem": partial(Problem, **problem),
        "setting": partial(Setting, verbatim("problem"), state.way, splits=setting.splits),
        "curve": partial(lost_curve, verbatim("setting")),
        "found": partial(smallest_budget, verbatim("curve"), at_most=state.at_most),
    }
    lines = map(verbatim, ("curve.epsilons", "curve.smooth", f'*curve.band("{state.widest}")'))
    drawn = partial(_budget_chart(state), *lines, learnable=verbatim("curve.learnable"), answer=verbatim("found"))
    drawn = partial(drawn, most=verbatim("curve.most"))
    return script(made, partial(drawn, height=500)) + "print(found)\n"


def _read(own: UploadedRecords) -> dict[str, Any]:
    """Steps by which a program reads an uploaded file, by name."""
    read = partial(read_table, verbatim("content"), verbatim("name"), own.label)
    if own.form is not None:
        read = partial(read, own.form)
    return {
        "name": verbatim(f"{own.file!r}  # in the folder where this runs"),
        "content": verbatim('open(name, "rb").read()'),
        "table": read,
        "declared": own.declared,
        "records": partial(UploadedRecords, verbatim("table"), verbatim("declared"), verbatim("name")),
    }
