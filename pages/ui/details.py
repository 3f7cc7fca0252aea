"""Below a chart: cards with numbers, and details (assumptions, formula, code, data and the link that leads back)."""

from __future__ import annotations

import dataclasses as dc
import html
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.core.facts import text_beside
from pages.ui import share_link, url_controls
from pages.ui.html import unbroken

if TYPE_CHECKING:
    import pandas as pd

_OFFERED = ("Assumptions", "Formula", "Code", "Data", "Link")
FIGURES = "figures"  # in the session: those of this run, whose bounds stand below the formula
_OF_A_CURVE = ("mean", "se", "bound", "lower_bound", "proved_low", "proved_high")
# At import, so once per process.
_component = st.components.v2.component("details", js=text_beside(__file__, "details.js"), isolate_styles=False)


def readout(noun: str, value: str, rest: str = "") -> str:
    """HTML of a noun over its value, with what else is to be said below it; st.metric would cut what does not fit.

    >>> readout("Accuracy loss", "1 point", "all of it noise").count("</div>")
    3
    """
    return "".join(
        f'<div class="readout" style="font-size:{size}rem;line-height:{line}">{html.escape(unbroken(text))}</div>'
        for text, size, line in ((noun, 0.875, 1.35), (value, 1.6, 1.3), (rest, 0.875, 1.35))
        if text
    )


def cards(found: Sequence[tuple[str, str, str]], place: DeltaGenerator | None = None) -> None:
    """A framed read-out for each (noun, value, rest), side by side (theme.css); nothing where there is none."""
    if found:
        framed = "".join(f"<div>{readout(*each)}</div>" for each in found)
        (place or st).html(f'<div class="cards" style="--cards:{len(found)}">{framed}</div>')


def table_of(found: Any) -> pd.DataFrame:
    """The axis of a finding, and its curves as columns, those of its parts after the part's name, with the numbers
    beside them.

    found: a dataclass, whose first array is the axis; where it has a field `axis`, by this name.

    >>> from dpcore.studies.survey.estimates import against_people
    >>> [*table_of(against_people(1.0, (10, 20)))]
    ['people', 'epsilon', 'local', 'central']
    """
    import pandas as pd

    name, axis = next((name, value) for name, value in _named(found) if isinstance(value, np.ndarray))
    columns = {name: axis} | dict(_columns(found, len(axis)))
    return pd.DataFrame(columns).rename(columns={"x": getattr(found, "axis", "x")})


def by_axis(table: pd.DataFrame, cursor: float | None) -> pd.DataFrame:
    """What a reader sees of a table: a row an x and a column a curve, the cursor's row first; no empty columns.

    table: its first column is the axis, or it is what `dpcore.run` returns.

    >>> import dpcore
    >>> few, epsilons = dpcore.Problem("synthetic", n=100), dpcore.Axis("epsilon", (1.0, 2.0))
    >>> shown = by_axis(dpcore.run(dpcore.Experiment(few, ("output_gaussian",), sweep=epsilons)), 2.0)
    >>> [*shown][:3], [*shown.epsilon]
    (['epsilon', 'accuracy mean', 'excess empirical risk mean'], [2.0, 1.0])
    """
    if "metric" in table:
        table = _curves(table)
    shown = table.dropna(axis="columns", how="all").rename(columns=lambda name: str(name).replace("_", " "))
    shown = shown.loc[:, shown.any()]
    return shown.sort_values([*shown.columns[:1]], key=lambda x: x != cursor, kind="stable")


def _curves(table: pd.DataFrame) -> pd.DataFrame:
    """For each x the mean of each curve that `dpcore.run` found, its standard error and its bounds."""
    import pandas as pd

    found = {table.axis.iloc[0]: pd.Series(table.x.unique(), table.x.unique())}
    for column in _OF_A_CURVE:
        for (mechanism, metric), rows in table.groupby(["mechanism", "metric"], sort=False):
            name = metric if table.mechanism.nunique() == 1 else f"{mechanism}_{metric}"
            found[f"{name}_{column}"] = rows.set_index("x")[column]
    return pd.DataFrame(found)


def _named(found: Any) -> list[tuple[str, Any]]:
    return [*found.items()] if isinstance(found, dict) else [(f.name, getattr(found, f.name)) for f in dc.fields(found)]


def _columns(found: Any, length: int) -> Iterator[tuple[str, Any]]:
    for name, value in _named(found):
        if dc.is_dataclass(value) or isinstance(value, dict):
            yield from ((f"{name}_{part}", column) for part, column in _columns(value, length))
        elif isinstance(value, float) or (isinstance(value, np.ndarray | tuple) and np.shape(value) == (length,)):
            yield name, value


@contextmanager
def _together() -> Iterator[None]:
    """A place that details.js brings into sight when something in it is opened."""
    with st.container(key="details"):
        yield


@_together()
def behind(
    assumptions: Callable[[], str], formula: str, code: Callable[[], str], data: Callable[[], pd.DataFrame]
) -> None:
    """Draw pills and the content of the chosen one; all but the formula are computed only when they are wanted.

    Below the formula stand the bounds of the figures that this run has drawn.
    """
    drawn = st.session_state.get(FIGURES, {})
    chosen = _picked()
    if chosen == "Assumptions":
        st.markdown(assumptions())
    elif chosen == "Formula":
        proved = [f"- {line}" for figure in drawn.values() for line in figure.proved]
        st.markdown("\n".join([formula, "", "**Bounds at the cursor**", "", *proved]) if proved else formula)
    elif chosen == "Code":
        st.code(code(), language="python", wrap_lines=True)  # what scrolls sideways is out of the keyboard's reach
    elif chosen == "Link":
        share_link.offer()
    elif chosen == "Data":
        table = data()
        cursor = next((figure.cursor for figure in drawn.values() if figure.cursor is not None), None)
        st.dataframe(by_axis(table, cursor), hide_index=True)
        # Made now: what is made at the click is gone once the page has run again, and the same content stays.
        content = table.to_csv(index=False)
        st.download_button("Download CSV", content, "price_of_privacy.csv", "text/csv", on_click="ignore")


@_together()
def behind_nothing() -> None:
    """The same row where there is no picture yet, so that what is picked stays; its link can be had all the same."""
    chosen = _picked()
    if chosen == "Link":
        share_link.offer()
    elif chosen:
        st.caption("This stands below a chart, and there is none yet.")


def _picked() -> str | None:
    # Label and pills in a row: theme.css.
    chosen = url_controls.pill(share_link.BEHIND, "Details:", _OFFERED, wrap=True)
    if chosen:
        _component(key=f"details_{chosen}")
    return chosen
