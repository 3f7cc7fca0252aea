"""Attack success beside the chart of the page Decide, and the views below it."""

import streamlit as st

from dpcore.figures.decide import uses_figure
from dpcore.figures.style import FAMILIES, GRID
from dpcore.studies.decide.deployments import DEPLOYMENTS
from pages.decide import background, comparing, repeated_releases, takeaway, words
from pages.decide.state import State
from pages.ui.html import icon_array, plain
from pages.ui.live_figure import live_figure, paragraph

HEIGHT = 330


def attack_success(state: State) -> None:
    """Attack success at the slider's epsilon."""
    paragraph(f"**Attack success at ε = {state.epsilon:g}**")
    if state.plan is None:
        st.caption("Nothing is released at this ε: choose a larger one.")
        return
    if state.attack_success is None:
        st.caption(words.playing(state))
        return
    said = words.attack_success(state.attack_success)
    colour = FAMILIES[state.theme][state.family]
    st.html(icon_array(*state.attack_success.of_100, colour=colour, rest=GRID[state.theme], alt=plain(said)))
    paragraph(said)


def equivalent(state: State) -> None:
    """Equivalent sample size along epsilon."""
    said = words.equivalent(state)
    if state.equivalent is None:
        paragraph(said)
        return
    chart, text = st.columns([1.6, 1], gap="medium", vertical_alignment="center")
    text.markdown(said)
    with chart:
        figure = background.equivalent_picture(state, words.ERRORS[state.error], HEIGHT)
        live_figure(figure, key="equivalent", alt=plain(said), height=HEIGHT)


def deployments(state: State) -> None:
    """Budgets of deployments, for scale."""
    figure = uses_figure(DEPLOYMENTS, epsilon=state.epsilon, theme=state.theme)
    said = words.deployments(state.epsilon, [use.epsilon for use in DEPLOYMENTS])
    paragraph(said)
    live_figure(figure, key="deployments", alt=plain(said), height=figure.layout.height)
    with st.expander("Facts and sources"):
        st.dataframe(words.facts(DEPLOYMENTS), hide_index=True)


# Each view's label, and the function that draws it.
VIEWS = {
    "equivalent": ("equivalent sample size", equivalent),
    "repeated": ("repeated releases", repeated_releases.show),
    "compare": ("all mechanisms", comparing.show),
    "deployments": ("deployments", deployments),
    "download": ("download", takeaway.show),
}
