"""What stands beside and below the hero of the page Decide."""

import streamlit as st

from dpcore.figures.decide import uses_figure
from dpcore.figures.style import FAMILIES, GRID
from dpcore.studies.decide.deployments import DEPLOYMENTS
from pages.decide import background, comparing, several, takeaway, words
from pages.decide.state import State
from pages.ui.html import plain
from pages.ui.icon_array import ODDS_QUESTION, icon_array
from pages.ui.live_figure import live_figure
from pages.ui.pickers import switch

HEIGHT = 330


def odds(state: State) -> None:
    """Three odds at the cursor's budget."""
    st.markdown(f"**{ODDS_QUESTION}**")
    if state.plan is None:
        st.caption("Nothing is released at this budget.")
        return
    if state.odds is None:
        st.caption(words.playing(state))
        return
    said = words.odds(state.odds, state.epsilon)
    colour = FAMILIES[state.theme][state.family]
    st.html(icon_array(*state.odds.of_100, colour=colour, rest=GRID[state.theme], alt=plain(said)))
    st.markdown(said)
    prior = switch("What the attacker thought before", words.PRIORS, "2", key="prior", wrap=True)
    st.caption(words.belief(state, 1 / int(prior)))


def people(state: State) -> None:
    """The price in people along epsilon."""
    said = words.people_told(state)
    chart, text = st.columns([1.6, 1], gap="medium", vertical_alignment="center")
    text.markdown(said)
    if state.price is not None:
        with chart:
            live_figure(background.worth_picture(state, HEIGHT), key="worth", alt=plain(said), height=HEIGHT)


def elsewhere(state: State) -> None:
    """Budgets in use, for scale."""
    figure = uses_figure(DEPLOYMENTS, epsilon=state.epsilon, theme=state.theme)
    said = words.elsewhere(state.epsilon, [use.epsilon for use in DEPLOYMENTS])
    st.markdown(said)
    live_figure(figure, key="elsewhere", alt=plain(said), height=figure.layout.height)
    with st.expander("Facts and sources"):
        st.dataframe(words.facts(DEPLOYMENTS), hide_index=True)


# What the reader is shown of each, and what draws it.
VIEWS = {
    "people": ("in people", people),
    "several": ("several releases", several.show),
    "compare": ("all mechanisms", comparing.show),
    "elsewhere": ("elsewhere", elsewhere),
    "take": ("take away", takeaway.show),
}
