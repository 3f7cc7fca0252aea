"""Figures and details of the page Decide: assumptions, formula, code and data."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Problem
from dpcore.core.arrays import Array
from dpcore.core.facts import text_beside
from dpcore.data import UploadedRecords, held, is_private, read_table
from dpcore.figures.decide import budget_figure, equivalent_figure
from dpcore.figures.figure import Figure
from dpcore.studies.decide.loss_curve import lost_curve
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon, usual_setting
from dpcore.studies.decide.threshold_interval import Answer
from dpcore.studies.decide.usual_mechanism import usual_mechanism
from pages.decide.state import State
from pages.ui.code import script, verbatim
from pages.ui.html import readable
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed, learner_line

FORMULA = text_beside(__file__, "formula.md")


def budget_picture(state: State, height: int) -> Figure:
    """Loss of single releases against epsilon, with the budget to sign."""
    return budget_figure(state.answer, family=state.mechanism.family, theme=state.theme, height=height)


def equivalent_picture(state: State, epsilons: Array, sizes: Sequence[Answer], metric: str, height: int) -> Figure:
    """Equivalent sample size against epsilon."""
    value, low, high = (np.array([getattr(w, end) for w in sizes], float) for end in ("value", "low", "high"))
    return equivalent_figure(
        epsilons,
        value,
        low,
        high,
        n=state.problem.n,
        metric=metric,
        epsilon=state.answer.epsilon,
        family=state.mechanism.family,
        theme=state.theme,
        height=height,
    )


def assumptions(state: State) -> str:
    """Assumptions behind the answers, as a list in Markdown."""
    _, why = usual_mechanism(state.problem)
    told = assumed(
        __file__,
        "assumptions.md",
        source=state.source,
        scaling=readable(state.source.scaling),
        delta="none (pure)" if state.answer.plan.spent.pure else delta_text(state.problem.delta),
        mechanism=state.mechanism.label,
        why=why,
        learner=learner_line(state.problem),
        splits=state.setting.splits,
    )
    if refused := state.answer.curve.refused:
        first, reason = next(iter(refused.items()))
        told += f"\n- **Refused budgets:** {len(refused)}, from ε = {first:g}: {readable(reason)}."
    return told


def table(state: State) -> pd.DataFrame:
    """Loss along epsilon."""
    curve = state.answer.curve
    columns = {
        "epsilon": curve.epsilons,
        "loss_mean": curve.mean,
        "loss_smooth": curve.smooth,
        "loss_of_half": curve.quantile(0.5),
        "loss_of_nine_of_ten": curve.most,
    }
    low, high = curve.band("file")
    return pd.DataFrame(columns | {"loss_low": low, "loss_high": high})


def snippet(state: State) -> str:
    """Program that answers the budget question and draws the chart again."""
    setting, records, problem = state.setting, {}, vars(state.problem)
    if is_private(setting.source):
        records, problem = _read(held(setting.source)), problem | {"source": verbatim("records.key")}
    said: dict[str, Any] = {"keep": state.answer.keep} | ({"records": state.answer.records} if state.upload else {})
    made: dict[str, Any] = records | {
        "problem": partial(Problem, **problem),
        "setting": partial(usual_setting, verbatim("problem"), splits=setting.splits),
        "curve": partial(lost_curve, verbatim("setting")),
        "answer": partial(SmallestEpsilon, verbatim("curve"), **said),
    }
    drawn = partial(budget_figure, verbatim("answer"), family=state.mechanism.family, height=500)
    return script(made, drawn) + "print(answer.sentence())\n"


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
