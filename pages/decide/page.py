"""Decide: which budget can we sign, and what does it cost?"""

import dataclasses as dc
from typing import cast

import streamlit as st

from dpcore import NotApplicable
from dpcore.audit.attack_success import AttackSuccessQuestion
from dpcore.core.cancel import Cancelled
from dpcore.data import MAX_VALUES, Source, is_private
from dpcore.figures.figure import Figure
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.compare_mechanisms import CompareQuestion
from dpcore.studies.decide.equivalent_sample_size import ERRORS, EquivalentSampleSizeQuestion, Error
from dpcore.studies.decide.loss_curve import Setting
from dpcore.studies.decide.sample_size import SampleSizeQuestion
from pages.background.asking import ask, with_progress
from pages.background.jobs import Question
from pages.decide import background, comparing, views, words
from pages.decide.state import State
from pages.decide.upload.form import ask_file, clipping_warning, note_looks
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.chips import chips
from pages.ui.details import behind, behind_nothing, cards
from pages.ui.html import plain
from pages.ui.live_figure import current_theme
from pages.ui.page import Page
from pages.ui.pickers import DEFAULT_PLACE, OVERVIEW, pick_source_or_file, switch
from pages.ui.sidebar import SAMPLE_SIZES, Controls, release, sidebar

HEIGHT = 330
MAX_COLUMNS = 32
FILE_SIZE = "size of the file that n was set from"
# What a move may wait for the attack, with the chart on the screen.
AT_ONCE_SECONDS = 0.1
POINTS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)


def questions_of(setting: Setting, controls: Controls, at_most: float, view: str) -> tuple[dict[str, Question], str]:
    """Questions for the background, by urgency, and why there is no equivalent sample size ("" where there is)."""
    asked: dict[str, Question] = {"curve": setting}
    cell = setting.cell(0)
    try:
        plan = cell.problem.plan(cell.mechanism, controls.epsilon)
        asked["attack_success"] = AttackSuccessQuestion(plan, controls.seed)
    except NotApplicable:
        pass  # the curve ends above the cursor
    asked["needed"] = SampleSizeQuestion(setting, controls.epsilon, at_most)
    if view == "compare":
        asked[comparing.NAME] = CompareQuestion(setting.problem, controls.epsilon, at_most, setting.splits)
    try:
        asked["equivalent"] = EquivalentSampleSizeQuestion(setting)
    except NotApplicable as reason:
        return asked, str(reason)
    return asked, ""


def show(source: Source, way: str, at_most: float, controls: Controls) -> None:
    """Draw everything below the controls."""
    page.halves(1.9, key="attack_halves")
    row = st.container()
    names = {key: name for key, (name, _) in views.VIEWS.items()}
    view = switch("More", names, "equivalent", key="more", wrap=True)
    below = st.container()
    with below:
        metric = switch("Metric", words.ERRORS, ERRORS[0], key="error") if view == "equivalent" else ERRORS[0]

    def setting_at(controls: Controls) -> Setting:
        return Setting(controls.problem(source.key), way, splits=loss_curve.SPLITS)

    setting = setting_at(controls)
    questions, no_equivalent = questions_of(setting, controls, at_most, view)
    answers = {"curve": ask(setting)}
    # The others begin once the first has something to show.
    answers |= {name: ask(question, 0.0) for name, question in questions.items() if name != "curve"}
    theme = current_theme()
    looks = 0
    if is_private(source.key):  # the attack plays on data sets of its own
        looks = note_looks([question for name, question in questions.items() if name != "attack_success"])
    state = State(answers, source, setting, controls, at_most, cast(Error, metric), no_equivalent, theme, looks)
    sentence = words.takeaway(state)
    page.headline(plain(clipping_warning(source)), sentence, colour=FAMILIES[theme][state.family])
    if state.curve is None:
        behind_nothing()
        return

    def picture_at(controls: Controls, cancelled: Cancelled) -> tuple[Figure, str]:
        there, known = setting_at(controls), answers
        if there != setting:
            known = {"curve": prefetch.answered(there, cancelled)}
        then = dc.replace(state, answers=known, setting=there, controls=controls)
        return background.budget_picture(then, HEIGHT), plain(words.takeaway(then))

    counted = f"{state.curve.splits} of {setting.splits} splits"
    page.chart(
        background.budget_picture(state, HEIGHT),
        sentence,
        key="budget",
        height=HEIGHT,
        ahead=(picture_at, controls) if answers["curve"].complete and not is_private(source.key) else None,
        caption=with_progress(words.caption(state), answers["curve"], counted),
    )
    # The chart is drawn by now: a moment for what stands beside it.
    if "attack_success" in questions:
        answers |= {"attack_success": ask(questions["attack_success"], AT_ONCE_SECONDS)}
        state = dc.replace(state, answers=answers)
    with page.right, st.container(key="attack_success"):
        views.attack_success(state)
    cards(words.readouts(state), row)
    row.caption(words.SPENDS)
    with below:
        views.VIEWS[view][1](state)
    chips([*words.CHIPS, *words.next_budget(state)])
    behind(
        lambda: background.assumptions(state),
        background.FORMULA,
        lambda: background.snippet(state),
        lambda: background.table(state),
    )


page = Page("Which privacy budget can we sign?")
with page.pickers:
    source = pick_source_or_file("synthetic", "at_hand")
    way = url_controls.select("way", "Mechanism", words.mechanisms(), OVERVIEW[DEFAULT_PLACE], width=290)
    at_most = url_controls.slider("give_up", "Acceptable accuracy loss (points)", POINTS, 2.0, "{:g}".format, width=285)
if source is None:
    upload = ask_file(lambda: None)
    source = upload.source if upload else None
first = source.sample_size if source else SAMPLE_SIZES[0]
size = first if source and is_private(source.key) else None
another = st.session_state.get(FILE_SIZE) != size
if another and size is not None:  # n belonged to other records
    release("n")
most = MAX_VALUES // ((source and (source.stored or source.p)) or MAX_COLUMNS)
controls = sidebar(
    sample_sizes=tuple(sorted({*(n for n in SAMPLE_SIZES if n <= most), first})),
    default_n=first,
    columns=source.p if source else None,
    max_columns=MAX_COLUMNS,
    unused=("m",),
)
if another and size not in (None, controls.n):
    st.rerun()  # a slider with another scale is a new one, which at first says what the address says
st.session_state[FILE_SIZE] = size
if source is None:
    page.headline(words.NO_FILE, colour=MUTED["light"])
    behind_nothing()
elif is_private(source.key):
    try:
        show(source, way, at_most, controls)
    except Exception as error:
        # Streamlit logs every error, and this one may quote a record.
        raise RuntimeError(f"a page with an upload met an error ({type(error).__name__})") from None
else:
    show(source, way, at_most, controls)
