"""Decide: which budget can we sign, and what does it cost?"""

import streamlit as st

from dpcore.data import MAX_VALUES, Source, is_private
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon, usual_setting
from dpcore.studies.decide.usual_mechanism import usual_delta
from pages.background.asking import ask, with_progress
from pages.decide import background, takeaway, views, words
from pages.decide.briefing.content import UNCOUNTED
from pages.decide.state import State
from pages.decide.upload.form import ask_file, clipping_warning, note_looks, tell_refused
from pages.decide.upload.session import drop_zone, held_file
from pages.decide.upload.upload import Upload
from pages.server.upload_lifetime import why_off
from pages.ui import url_controls
from pages.ui.chips import chips
from pages.ui.details import behind, behind_nothing, cards
from pages.ui.html import plain
from pages.ui.live_figure import current_theme
from pages.ui.page import Page
from pages.ui.pickers import OWN_FILE, is_drawn, pick_source_or_file
from pages.ui.set_controls import set_controls
from pages.ui.sidebar import KEYS, SAMPLE_SIZES, Controls, sidebar

HEIGHT = 330
MAX_COLUMNS = 32
PEOPLE = 1_000  # few enough that privacy has a price
RELEASES = (1, 2, 3, 4, 5, 7, 10, 20, 50, 100)
KEEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


def show(source: Source, upload: Upload | None, controls: Controls) -> None:
    """Draw everything below the file: how much may be lost, the answer, and what follows from it."""
    with st.container(horizontal=True, vertical_alignment="center", key="asked"):
        keep = url_controls.slider(
            "keep", "Keep this much of what learning gains", KEEPS, 0.9, "{:.0%}".format, width=300
        )
        releases = url_controls.slider("releases", "Planned releases", RELEASES, 1, width=220)
        points = st.empty()
    page.halves(1.9, key="attack_halves")
    n = controls.n if is_drawn(source) else source.sample_size
    setting = usual_setting(controls.problem(source.key, n=n, lam="auto", delta=usual_delta(n)), loss_curve.SPLITS)
    known = ask(setting)
    curve, theme = known.snapshot, current_theme()
    colour = FAMILIES[theme][setting.cell(0).mechanism.family]
    if curve is None or not len(curve.epsilons):
        page.headline(words.no_answer(source.drawn(n), known, curve), colour=colour)
        behind_nothing()
        return
    answer = SmallestEpsilon(curve, keep, upload.records if upload else 1, releases)
    state = State(answer, known, source, upload, theme)
    sentence = words.sentence(state)
    points.caption(words.points_kept(state), width="stretch")
    page.headline(plain(clipping_warning(source)), sentence, colour=colour)
    counted = f"{curve.splits} of {setting.splits} splits"
    page.chart(
        background.budget_picture(state, HEIGHT),
        sentence,
        key="budget",
        height=HEIGHT,
        caption=with_progress(words.caption(state), known, counted),
    )
    with page.right, st.container(key="attack_success"):
        views.attack_success(state)
    cards(words.readouts(state))
    st.caption(" ".join((*answer.remarks, UNCOUNTED)))
    taken = st.container()
    view = url_controls.pill("more", "More:", views.offered(state), views.name_of, wrap=True)
    if view:
        views.show(view, state)
    looks = note_looks([(setting, keep), *views.looks(view, state)]) if upload else 0
    with taken:
        takeaway.show(state, looks)
    chips(words.CHIPS)
    behind(
        lambda: background.assumptions(state),
        background.FORMULA,
        lambda: background.snippet(state),
        lambda: background.table(state),
    )


def use_file() -> None:
    """Have the page show the file that has come."""
    set_controls({"at_hand": OWN_FILE})


page = Page("Which privacy budget can we sign?")
with page.pickers:
    source, upload = pick_source_or_file("synthetic", "at_hand"), None
    dropping = source is not None and held_file() is None and not why_off()
    if dropping:
        drop_zone("Or drop a file of your own: CSV, Parquet or LIBSVM", use_file, 300)
if dropping:
    tell_refused()
if source is None:
    upload = ask_file(use_file)
    source = upload.source if upload else None
drawn = source is not None and is_drawn(source)
own = source is None or is_private(source.key)
needed = ("n", "p", "seed") if drawn else () if own else ("seed",)
controls = sidebar(
    sample_sizes=tuple(n for n in SAMPLE_SIZES if n <= MAX_VALUES // MAX_COLUMNS),
    default_n=PEOPLE,
    columns=source.p if source else None,
    max_columns=MAX_COLUMNS,
    unused=[key for key in KEYS if key not in needed],
)
if source is None:
    page.headline(words.UNDECLARED if held_file() else words.NO_FILE, colour=MUTED["light"])
    behind_nothing()
elif is_private(source.key):
    try:
        show(source, upload, controls)
    except Exception as error:
        # Streamlit logs every error, and this one may quote a record.
        raise RuntimeError(f"a page with an upload met an error ({type(error).__name__})") from None
else:
    show(source, None, controls)
