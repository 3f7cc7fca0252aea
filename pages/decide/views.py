"""Attack success beside the chart of the page Decide, and the views that "More" opens."""

from collections.abc import Callable, Hashable
from typing import cast

import streamlit as st

from dpcore import NotApplicable
from dpcore.audit.attack_success import AttackSuccessQuestion
from dpcore.data import held
from dpcore.figures.decide import uses_figure
from dpcore.figures.style import FAMILIES, GRID
from dpcore.studies.decide.deployments import DEPLOYMENTS
from dpcore.studies.decide.equivalent_sample_size import ERRORS, EquivalentSampleSizeQuestion, Error
from dpcore.studies.decide.loss_by_group import loss_by_group
from dpcore.studies.decide.sample_size import SampleSizeQuestion
from pages.background.asking import ask
from pages.decide import background, comparing, words
from pages.decide.state import State
from pages.ui import url_controls
from pages.ui.html import icon_array, plain, readable
from pages.ui.live_figure import live_figure, paragraph, small_print
from pages.ui.pickers import switch

HEIGHT = 330
# What a move may wait for the attack, with the chart on the screen.
_AT_ONCE_SECONDS = 0.1
_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def attack_success(state: State) -> None:
    """Attack success on one release at the epsilon to sign."""
    answer = state.answer
    if not answer.useful:
        return
    one = " of one release" if answer.releases > 1 else ""
    paragraph(f"**Attack success{one} at ε = {answer.epsilon:g}**")
    if not state.complete:
        st.caption("Our own attack begins once all splits are in.")
        return
    found = ask(AttackSuccessQuestion(answer.plan, state.problem.seed), _AT_ONCE_SECONDS).snapshot
    if found is None or found.success is None:
        st.caption("Our own attack is running …")
        return
    said, labels = words.attack_success(found.success, answer.records)
    small_print(said)
    colour = FAMILIES[state.theme][state.mechanism.family]
    st.html(icon_array(*found.success.of_100, colour=colour, rest=GRID[state.theme], alt=said, labels=labels))


def _groups(state: State) -> None:
    """Who bears the loss: by one declared column."""
    columns = held(state.source.key).declared.features
    column = st.selectbox("Column", columns, key="group by", width=290)
    try:
        found = loss_by_group(state.answer.curve, column, state.answer.epsilon)
    except NotApplicable as reason:
        paragraph(f"**No loss by group:** {readable(str(reason))}.")
        return
    st.dataframe(words.groups(found), hide_index=True)
    st.caption(words.GROUPS.format(state.answer.epsilon))


def _equivalent(state: State) -> None:
    """Equivalent sample size along epsilon."""
    metric = cast(Error, switch("Metric", cast("dict[str, str]", words.ERRORS), ERRORS[0], key="error"))
    found = ask(EquivalentSampleSizeQuestion(state.setting)).snapshot
    if found is None:
        st.caption("The learners without privacy are being trained …")
        return
    sizes = found.answers(metric)
    said = words.equivalent(state, metric, found)
    chart, text = st.columns([1.6, 1], gap="medium", vertical_alignment="center")
    text.markdown(said)
    with chart:
        figure = background.equivalent_picture(state, found.curve.epsilons, sizes, words.ERRORS[metric], HEIGHT)
        live_figure(figure, key="equivalent", alt=plain(said), height=HEIGHT)


def _sample_size(state: State) -> None:
    """How many records make an epsilon affordable."""
    epsilon = url_controls.slider("at", "ε", _EPSILONS, 1.0, "{:g}".format, width=290)
    found = ask(SampleSizeQuestion(state.setting, epsilon, state.answer.at_most))
    paragraph(words.sample_size(state, epsilon, found))


def _deployments(state: State) -> None:
    """Budgets of deployments, for scale."""
    figure = uses_figure(DEPLOYMENTS, epsilon=state.answer.epsilon, theme=state.theme)
    said = words.deployments(state.answer.epsilon, [use.epsilon for use in DEPLOYMENTS])
    paragraph(said)
    live_figure(figure, key="deployments", alt=plain(said), height=figure.layout.height)
    with st.expander("Facts and sources"):
        st.dataframe(words.facts(DEPLOYMENTS), hide_index=True)


# Each view's label, the function that draws it, and whether it builds on the final answer.
_VIEWS: dict[str, tuple[str, Callable[[State], None], bool]] = {
    "groups": ("who bears the loss", _groups, True),
    "equivalent": ("equivalent sample size", _equivalent, True),
    "needed": ("records needed", _sample_size, True),
    "compare": ("other mechanisms", comparing.show, True),
    "deployments": ("deployments", _deployments, False),
}


def offered(state: State) -> list[str]:
    """The views that there are; groups are those of a file's declared columns."""
    return [view for view in _VIEWS if view != "groups" or state.upload]


def name_of(view: str) -> str:
    return _VIEWS[view][0]


def looks(view: str | None, state: State) -> list[Hashable]:
    """What a view asks of the records, beyond the answer that all of the page is about."""
    if view is None or not _VIEWS[view][2] or not state.complete:
        return []
    chosen = st.session_state.get({"groups": "group by", "needed": "at"}.get(view, "more"))
    return [(state.setting, state.answer.keep, view, chosen)]


def show(view: str, state: State) -> None:
    """Draw one of the views."""
    _, draw, builds = _VIEWS[view]
    if builds and not state.complete:
        st.caption("This begins once all splits are in.")
    elif builds and state.answer.at_most <= 0.0:
        st.caption("There is nothing to lose: without privacy nothing is learned.")
    else:
        draw(state)
