"""The definition of differential privacy by hand: one record of a mean that the reader drags to another place.

The browser does it all while a record is dragged; the server sends the records and how large the noise is.
"""

import math

import streamlit as st

from dpcore import Budget
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.core.facts import text_beside
from dpcore.figures.style import BACKGROUND, FAMILIES, INKS, MUTED, TEXT
from pages.ui import share_link
from pages.ui.live_figure import current_theme

KEY = "definition"
RANGE = 100  # points of an exam, from 0: the public range
# Of the others, whose marks do not move: quantiles of a logistic distribution around 58.
OTHERS = tuple(round(58 + 10 * math.log((k + 0.5) / (18.5 - k))) for k in range(19))
STEP = RANGE / (len(OTHERS) + 1)  # the farthest that one record moves the mean
START = 60  # where the record that was at 0 stands at first

# At import, so once per process.
_component = st.components.v2.component(
    KEY,
    js=text_beside(__file__, "definition.js"),
    css=text_beside(__file__, "definition.css"),
    isolate_styles=False,
)


def definition(epsilon: float, delta: float, *, height: int) -> None:
    """Draw it. height: of the picture without the words around it, in pixels; less on a phone."""
    share_link.note_chart(KEY)
    theme = current_theme()
    was, now = FAMILIES[theme]["reference"], FAMILIES[theme]["output"]
    ink = INKS.get(now, now)
    colours = {
        "was": was,
        "now": now,
        "ink": ink,
        "text": TEXT[theme],
        "muted": MUTED[theme],
        "paper": BACKGROUND[theme],
    }
    _component(
        key=KEY,
        data={
            "epsilon": epsilon,
            "delta": delta,
            "scale": {"Laplace": STEP / epsilon, "Gaussian": STEP / gaussian_mu(Budget(epsilon, delta))},
            "range": RANGE,
            "others": OTHERS,
            "start": START,
            "height": height,
            "colours": colours,
        },
    )
