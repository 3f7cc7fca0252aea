"""The shared sidebar: every control in the same place on every page.

A page says which controls it uses; the others stay visible, disabled, with the page's reason. Sliders walk frozen
grids, so that every position has a finished curve behind it.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping

import streamlit as st

from dpcore import EPSILON_GRID

DELTAS = tuple(10.0**-k for k in range(10, 2, -1))
PEOPLE = (200, 300, 500, 700, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
DIMENSIONS = tuple(2**k for k in range(3, 21))
LAMBDAS: tuple[float | str, ...] = ("auto", *(m * 10.0**k for k in (-4, -3, -2, -1) for m in (1, 2, 5)), 1.0)
SAMPLES: tuple[int | str, ...] = ("auto", *(m * 10**k for k in range(4) for m in (1, 2, 5)), 10_000)
DEFAULTS = {"epsilon": 1.0, "delta": 1e-6, "p": 8, "lam": "auto", "m": "auto", "seed": 7}


@dc.dataclass(frozen=True)
class Controls:
    """What the sidebar says. lam: a number or "auto"."""

    epsilon: float
    delta: float
    n: int
    p: int
    lam: float | str
    m: int | str
    seed: int


def superscript(power: int) -> str:
    """An integer as an exponent: 10⁻⁶.

    >>> "10" + superscript(-6)
    '10⁻⁶'
    """
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def delta_text(delta: float) -> str:
    """A power of ten as people write it.

    >>> delta_text(1e-6)
    '10⁻⁶'
    """
    return "10" + superscript(round(math.log10(delta)))


def lam_text(lam: float | str) -> str:
    return "theory" if lam == "auto" else f"{lam:g}"


def delta_note(delta: float, n: int) -> str | None:
    """What a large delta means, or None while delta is below 1/n^2."""
    if delta >= 1 / n:
        return "⚠️ δ ≥ 1/n: a rule that publishes one whole record at random would pass."
    if delta > 1 / n**2:
        return "δ is above 1/n²; cautious users stay below."
    return None


def sidebar(
    *, people: tuple[int, ...], default_people: int, columns: int | None, max_columns: int, unused: Mapping[str, str]
) -> Controls:
    """Draw the sidebar and return its state.

    people: sizes n can take, default_people the first. columns: of the data set where it fixes them, else the slider
    decides up to max_columns. unused: control -> reason, for controls that this page does not use.
    """
    state = st.session_state
    for key, value in DEFAULTS.items():
        state.setdefault(key, value)
    if state.get("n") not in people:
        state["n"] = default_people
    with st.sidebar:
        st.markdown("### Price of Privacy")
        st.select_slider("**ε** privacy budget", EPSILON_GRID, key="epsilon", format_func=lambda e: f"{e:g}")
        st.select_slider("**δ** failure chance", DELTAS, key="delta", format_func=delta_text)
        if note := delta_note(state["delta"], state["n"]):
            st.caption(note)
        st.select_slider("**n** people", people, key="n", format_func=lambda n: f"{n:,}")
        p = _dimension(columns, max_columns)
        st.select_slider("**λ** regularisation", LAMBDAS, key="lam", format_func=lam_text)
        _or_reason("m", "**m** samples", SAMPLES, unused)
        seed, reroll = st.columns([3, 2], vertical_alignment="bottom")
        seed.number_input("**seed** of chance", min_value=0, max_value=10**6, key="seed", step=1)
        reroll.button("Re-roll", on_click=_reroll, width="stretch", help="New data and new noise.")
    return Controls(state["epsilon"], state["delta"], state["n"], p, state["lam"], state["m"], int(state["seed"]))


def _reroll() -> None:
    st.session_state["seed"] = (int(st.session_state["seed"]) + 1) % (10**6 + 1)


def _dimension(columns: int | None, max_columns: int) -> int:
    label = "**p** dimension"
    if columns is not None:
        st.select_slider(
            label, sorted({*DIMENSIONS, columns}), columns, key=f"p_of_{columns}", disabled=True, format_func=str
        )
        st.caption(f"this data set has {columns} columns")
        return columns
    allowed = [p for p in DIMENSIONS if p <= max_columns]
    if st.session_state["p"] not in allowed:
        st.session_state["p"] = allowed[-1]
    st.select_slider(label, allowed, key="p", help=f"This page goes up to {max_columns:,}.")
    return st.session_state["p"]


def _or_reason(key: str, label: str, options: tuple[int | str, ...], unused: Mapping[str, str]) -> None:
    st.select_slider(label, options, key=key, disabled=key in unused)
    if key in unused:
        st.caption(unused[key])
