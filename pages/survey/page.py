"""Survey: what does privacy cost if nobody is trusted?"""

from functools import partial

import streamlit as st

from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.style import FAMILIES
from dpcore.figures.survey import estimate_figure, survey_figure
from dpcore.studies.survey.coin import Coin
from dpcore.studies.survey.estimates import MOST_PEOPLE, against_people, central_bound, simulated, survey_of
from pages.rooms import screen
from pages.survey import words
from pages.ui import url_controls
from pages.ui.code import script, verbatim
from pages.ui.live_figure import captioned_figure, current_theme
from pages.ui.page import Page
from pages.ui.sidebar import Controls, sidebar

HEIGHT, SIDE_HEIGHT = 400, 320
PEOPLE = (10, 15, 20, 30, 50, 70, 100, 150, 200, 300, MOST_PEOPLE)

page = Page("What does privacy cost if nobody is trusted?")
answered = screen.randomised()
with page.pickers:
    if answered is None:
        share = url_controls.slider(
            "share", "true answers “yes” in the simulated class", range(0, 101, 5), 30, "{}%".format, width=330
        )
    else:
        st.markdown(f"**Answers of your room {answered.code}**", width="content")
controls = sidebar(sample_sizes=PEOPLE, default_n=50, max_columns=8, unused=("delta", "p", "lam", "m"))
theme = current_theme()

if answered is None:
    survey = partial(simulated, controls.n, share / 100, controls.epsilon, controls.seed)
else:
    survey = partial(survey_of, answered.yes, answered.phones, Coin(answered.keep))
found = survey()
room = None if answered is None else (found.n, found.bound)


def drawn(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    """The chart there, and its sentence."""
    curves = against_people(controls.epsilon, PEOPLE)
    figure = survey_figure(curves, n=controls.n, theme=theme, height=HEIGHT, room=room)
    return figure, words.takeaway(curves, controls.n)


figure, sentence = drawn(controls)
page.headline(sentence, colour=FAMILIES[theme]["sampling"])
page.halves()
page.chart(figure, sentence, key="survey", height=HEIGHT, ahead=(drawn, controls), caption=words.CAPTION)
central = central_bound(found.n, found.coin.epsilon)
with page.right:
    estimate = estimate_figure(found, central=central, theme=theme, height=SIDE_HEIGHT)
    captioned_figure(estimate, words.messages(found, answered, controls.seed), key="estimate", height=SIDE_HEIGHT)
page.below(
    [],
    words.CHIPS,
    lambda: words.assumptions(found, answered),
    words.FORMULA,
    lambda: script(
        {"curves": partial(against_people, controls.epsilon, PEOPLE), "found": survey},
        partial(survey_figure, verbatim("curves"), n=controls.n, height=HEIGHT, room=room),
        partial(estimate_figure, verbatim("found"), central=central, height=SIDE_HEIGHT),
    ),
    lambda: words.table(against_people(controls.epsilon, PEOPLE)),
)
