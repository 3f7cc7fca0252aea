"""Plotly figures that are updated in place.

st.plotly_chart replaces its chart on every change of data, and with it the reader's zoom, pan and hidden
traces. This component keeps the chart and lets Plotly.react compute the difference. It remembers the pictures
it has shown, and what the controls said to each: a slider that comes back to one brings it back at once, also while
it is dragged, and the server's, which is the same, follows.
"""

from typing import Any

import streamlit as st

from dpcore.core.facts import text_beside
from dpcore.figures.figure import Figure
from dpcore.figures.style import Theme
from pages.server import prefetch
from pages.server.assets import PLOTLY_JS_URL
from pages.ui import share_link
from pages.ui.details import FIGURES
from pages.ui.html import unbroken
from pages.ui.sidebar import Controls

LARGE = "large figures"  # in the session: True while figures are drawn for the last row of a lecture hall
ENLARGED = 1.35  # then a figure is laid out in less room and drawn so many times larger

# At import, so once per process.
_component = st.components.v2.component(
    "live_figure",
    js=text_beside(__file__, "chart_numbers.js") + text_beside(__file__, "live_figure.js"),
    isolate_styles=False,  # plotly puts its styles into the document's head
)


def current_theme() -> Theme:
    """What the reader's browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"


def load_library() -> None:
    """Have the browser load what draws figures, before there is one."""
    _component(key="library", data={"src": PLOTLY_JS_URL})


def live_figure(
    figure: Figure,
    *,
    key: str,
    alt: str,
    height: int,
    ahead: tuple[prefetch.Draw, Controls] | None = None,
    beside: bool = False,
) -> None:
    """Draw a figure, or update the one drawn before under the same key.

    figure: keep the order and number of traces from run to run, so that a hidden trace stays the same trace.
    Zoom, pan and hidden traces last while layout.uirevision does (default: for ever). layout.meta["narrow"]
    may hold a partial layout, merged over the layout while the chart is narrower than 560 px; it may set a
    height of its own.
    alt: one sentence with what the chart shows, for screen readers.
    height: in pixels, kept free from the start; in a lecture everything is larger, the height too.
    ahead: what draws figure and sentence where the sidebar says something else, as `prefetch.Draw`, and what it says
    now, if these may be drawn before they are asked for: never from records that a visitor has brought along.
    beside: whether it stands beside a page's own chart; its numbers are then for screen readers alone.
    """
    st.session_state.setdefault(FIGURES, {})[key] = figure
    share_link.note_chart(key)
    scale = ENLARGED if st.session_state.get(LARGE) else 1.0

    def told(figure: Figure, alt: str, state: dict[str, str]) -> dict[str, Any]:
        return {"figure": figure.to_json(), "alt": alt, "height": height, "scale": scale, "state": state}

    state = share_link.state() | {"theme": str(st.context.theme.type), "scale": str(scale)}
    data = {**told(figure, alt, state), "src": PLOTLY_JS_URL, "ahead": "", "beside": beside}
    if ahead is not None:
        draw, controls = ahead
        data["ahead"] = prefetch.offer(key, draw, told, controls, state)
    _component(key=key, data=data)


def captioned_figure(figure: Figure, said: str, *, key: str, height: int, progress: str | None = None) -> None:
    """Draw a figure beside a page's own, and below it the sentence that screen readers hear, too, and after it
    progress."""
    live_figure(figure, key=key, alt=said.replace("**", ""), height=height, beside=True)
    small_print(f"{said} {progress}" if progress else said)


def small_print(said: str) -> None:
    """What else a figure's reader should know, below it."""
    st.caption(unbroken(said))


def paragraph(said: str) -> None:
    """Markdown of a sentence or two with numbers."""
    st.markdown(unbroken(said))
