"""What theme options cannot say: the sides of the page, readable small print, a visible focus, a chart's table, and
where a phone has the slider of epsilon."""

from __future__ import annotations

from dpcore.figures.style import BACKGROUND, MUTED, Theme

# Sliders whose label begins with a symbol. The label itself holds no Markdown: Streamlit makes it the accessible name.
_SIDEBAR = ("epsilon", "delta", "n", "p", "lam", "m")
SYMBOLS = (*_SIDEBAR, "p_norm", "T", "radius", "C", "columns", "steps", "steps_of_stream")

# On a phone the open sidebar covers the chart. While it is closed, its slider of epsilon stands below the page, so that
# headline and chart are seen as it moves. A lecture puts the controls of its step above the chart.
_PINNED = """@media (max-width: 768px) {
.stAppViewContainer:has(.stSidebar[data-collapsed=true] .st-key-epsilon input:enabled):not(:has(.st-key-lecture)) {
    flex-direction: column;
    > :has(> .stMain) { position: relative; flex: 1 }
    .stMain { height: auto }
    .stSidebar { order: 1; transform: none !important; width: 100% !important; max-width: none;
        padding-bottom: env(safe-area-inset-bottom) }
    [data-testid=stSidebarContent] { height: auto }
    [data-testid=stSidebarUserContent] { padding: 0.5rem 2rem }
    [data-testid=stSidebarHeader], [data-testid=stSidebarNav], [data-testid=stSidebarUserContent] :is(
        .stElementContainer, [data-testid=stLayoutWrapper]
    ):not(.st-key-block_epsilon *, :has(.st-key-block_epsilon)) { display: none }
}
}"""


def look(theme: Theme) -> str:
    """A style sheet as HTML, for every page.

    Streamlit's own captions and labels of disabled controls are paler than the 4.5:1 that small text needs.

    >>> MUTED["dark"] in look("dark")
    True
    """
    muted = MUTED[theme]
    symbols = ", ".join(f".st-key-block_{key} label p::first-letter" for key in SYMBOLS)
    return f"""<style>
/* Streamlit's own sides waste a sixth of a projector's width. */
.stMainBlockContainer {{ padding-left: 2.5rem; padding-right: 2.5rem }}
/* Beside the pages' names Streamlit keeps 200 px for a menu of 40; on a small screen they cut the last name. */
[data-testid=stTopNav] + div {{ min-width: 0 }}
[data-testid=stCaptionContainer], label[disabled] p, [data-testid=stSliderThumbValue][disabled] p {{
    color: {muted} !important; opacity: 1 !important }}
{symbols} {{ font-weight: 700 }}
/* Streamlit writes the options that are on in white, on a dark theme's light colour, too. */
[data-tag] * {{ color: {BACKGROUND[theme]} }}
/* Streamlit draws nothing around the place that Page Down scrolls. */
[data-testid=stMain]:focus-visible {{ outline: 2px solid {muted} !important; outline-offset: -2px }}
/* A chart's tools are seen while the keyboard is at them, not only below a mouse. */
.live-figure .modebar:focus-within {{ opacity: 1 !important }}
/* And below the labels at the ends of curves, where live_figure.js says that there are any. */
.live-figure.labelled .modebar-container {{ top: auto !important; bottom: 28px }}
/* What live_figure.js marks: the picture shows another ε than the sentence. */
[data-ahead] .takeaway {{ opacity: 0.4 }}
.live-figure-numbers {{ color: {muted}; font-size: 0.8rem; line-height: 1.4 }}
.live-figure-numbers summary {{ cursor: pointer; width: fit-content }}
.live-figure-numbers div {{ max-height: 18rem; overflow: auto }}
.live-figure-numbers caption {{ text-align: left; font-weight: 600; padding-top: 0.5rem; caption-side: top }}
.live-figure-numbers th, .live-figure-numbers td {{ text-align: left; font-weight: 400; padding: 0 1.5rem 0 0 }}
.live-figure-numbers td {{ font-variant-numeric: tabular-nums }}
{_PINNED}
</style>"""
