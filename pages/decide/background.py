"""What stands behind the page Decide: pictures, assumptions, formula, code and data."""

import numpy as np
import pandas as pd

from dpcore.core.facts import text_beside
from dpcore.data import held, is_private
from dpcore.figures.decide import budget_figure, worth_figure
from dpcore.figures.figure import Figure
from pages.decide.state import State
from pages.ui.html import readable
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed

FORMULA = text_beside(__file__, "formula.md")


def budget_picture(state: State, height: int) -> Figure:
    """The hero: points lost against epsilon, with a cursor, and the answer."""
    assert state.curve is not None
    low, high = state.band
    return budget_figure(
        state.curve.epsilons,
        state.curve.smooth,
        low,
        high,
        at_most=state.at_most,
        learnable=state.curve.learnable,
        answer=state.found,
        epsilon=state.epsilon,
        family=state.family,
        theme=state.theme,
        height=height,
    )


def worth_picture(state: State, height: int) -> Figure:
    """The price in people against epsilon."""
    assert state.price is not None
    value, low, high = (np.array([getattr(w, end) for w in state.worth], float) for end in ("value", "low", "high"))
    return worth_figure(
        state.price.curve.epsilons,
        value,
        low,
        high,
        n=state.n,
        epsilon=state.epsilon,
        family=state.family,
        theme=state.theme,
        height=height,
    )


def assumptions(state: State) -> str:
    """What must be true for the answers, as a list in Markdown."""
    lines = assumption_lines(state)
    return "\n".join(f"- **{head}:** {rest}" for head, _, rest in (line.partition(": ") for line in lines))


def assumption_lines(state: State) -> list[str]:
    """What must be true for the answers, a sentence each that begins with what it is about."""
    assert state.curve is not None
    told = assumed(
        __file__,
        "assumptions.md",
        source=state.source,
        scaling=readable(state.source.scaling),
        delta=delta_text(state.setting.problem.delta),
        problem=state.setting.problem,
        splits=state.setting.splits,
    )
    lines = [line.removeprefix("- ") for line in told.splitlines()]
    if state.curve.refused:
        first, reason = next(iter(state.curve.refused.items()))
        lines.append(f"Refused budgets: {len(state.curve.refused)}, from ε = {first:g}: {readable(reason)}.")
    return lines


def table(state: State) -> pd.DataFrame:
    """What is drawn: points lost and what people are worth, along epsilon."""
    assert state.curve is not None
    low, high = state.band
    columns = {
        "epsilon": state.curve.epsilons,
        "lost_mean": state.curve.mean,
        "lost_smooth": state.curve.smooth,
        "lost_low": low,
        "lost_high": high,
    }
    if state.price is not None and len(state.worth) == len(state.curve.epsilons):
        columns |= {
            f"people_{end}": np.array([getattr(w, end) for w in state.worth]) for end in ("value", "low", "high")
        }
    return pd.DataFrame(columns)


def snippet(state: State) -> str:
    """Python that answers the budget question and redraws the chart from an empty file."""
    imports, records, source = _file(state.setting.source)
    problem = repr(state.setting.problem).replace(repr(state.setting.source), source)
    return f"""{imports}from dpcore import Problem
from dpcore.figures.decide import budget_figure
from dpcore.studies.decide.loss_curve import Setting, lost_curve, smallest_budget

{records}problem = {problem}
curve = lost_curve(Setting(problem, {state.way!r}, splits={state.setting.splits}))
found = smallest_budget(curve, at_most={state.at_most!r})
print(found)
low, high = curve.band()
figure = budget_figure(
    curve.epsilons,
    curve.smooth,
    low,
    high,
    at_most={state.at_most!r},
    learnable=curve.learnable,
    answer=found,
    epsilon={state.epsilon!r},
    family={state.family!r},
    theme="light",
    height=500,
)
figure.show()
"""


def _file(source: str) -> tuple[str, str, str]:
    """Python for the source of a snippet: imports, lines that read a file of the reader's own, and its name."""
    if not is_private(source):
        return "", "", repr(source)
    own = held(source)
    written = f", {own.label!r}, {own.form!r}" if own.form else ""
    imports = f"""from pathlib import Path

from dpcore.data import Declared, {"Format, " if own.form else ""}UploadedRecords, read_sheet
"""
    records = f"""name = {own.file!r}  # in the folder where this runs
content = Path(name).read_bytes()
sheet = read_sheet(content, name{written})
declared = {own.declared!r}
records = UploadedRecords(sheet, declared, name)
"""
    return imports, records, "records.key"
