"""The view Sparse model: LASSO by private Frank-Wolfe on the L1 ball against p, T and n."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpcore.core.cancel import Cancelled, go_on, never
from dpcore.figures.figure import Figure
from dpcore.figures.lasso import excess_figure, path_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.dimension.lasso import curves
from dpcore.studies.dimension.lasso.curves import Excesses, Path, path
from dpcore.studies.dimension.lasso.data import SOURCE
from pages.background.pictures import made_once
from pages.dimension import sparse_words as words
from pages.ui import url_controls
from pages.ui.code import redrawn
from pages.ui.details import behind, table_of
from pages.ui.html import readable
from pages.ui.live_figure import current_theme
from pages.ui.page import Page, or_reason
from pages.ui.pickers import switch
from pages.ui.proof import PROOF, proof_view
from pages.ui.sidebar import sidebar

HEIGHT, SIDE_HEIGHT = 405, 380
FIRST_N, MOST_COLUMNS = 10_000, 65_536
OWN = {"p": MOST_COLUMNS, "delta": 1e-8}  # what the sidebar opens with
# "bound" minimises the proved upper bound, which asks for public facts only.
STEPS: tuple[int | str, ...] = ("bound", *curves.TS)


def show(page: Page) -> None:
    """All of the page but its question and the picker of the view."""
    with page.pickers:
        against = switch("Excess risk against", words.AXES, "p", key="against")
        records = url_controls.select("lasso_data", "Records", words.RECORDS, "sparse", width=150)
        T = url_controls.slider("T", "T steps", STEPS, STEPS[0], words.steps_text, width=190)
    controls = sidebar(default_n=FIRST_N, max_columns=MOST_COLUMNS, own=OWN, unused=("lam", "m"))
    theme = current_theme()
    page.halves()
    state = words.SparseState(**vars(controls), T=T, hardest=records == "hardest")

    def drawn(
        state: words.SparseState, cancelled: Cancelled = never
    ) -> tuple[Figure, str, Excesses, Path | None, str, Callable[[], str]]:
        """The chart there and its sentence; the curves, one run, or why there is none, and the chart's code."""
        walked, reason = or_reason(partial(path, state.setting, n=state.n, p=state.p, T=state.T))
        go_on(cancelled)
        question = _question(against, state, walked)
        found = question(cancelled=cancelled)
        draw = partial(excess_figure, at=words.place(found, walked, state), height=HEIGHT)
        figure, sentence = made_once(
            SOURCE,
            ("lasso", against, state, theme),
            lambda: (draw(found, theme=theme), words.takeaway(found, walked, state, reason)),
        )
        return figure, sentence, found, walked, reason, partial(redrawn, question, draw)

    figure, sentence, found, walked, reason, code = drawn(state)
    page.headline(sentence, colour=FAMILIES[theme]["frank_wolfe"])
    page.chart(
        figure,
        sentence,
        key="lasso",
        height=HEIGHT,
        ahead=(drawn, state),
        verdict=words.verdict_of(found, walked, state),
        caption=words.caption(found, state),
    )

    def draw_beside(side: str) -> tuple[Figure, str] | str:
        if walked is None:
            return readable(reason)
        if side == PROOF:
            made = curves.proof(state.setting, n=state.n, p=state.p, T=state.T)
            return proof_view(made, walked.plan.mechanism, theme, SIDE_HEIGHT)
        return path_figure(walked, theme=theme, height=SIDE_HEIGHT), words.path_caption(walked)

    page.beside(("One run", PROOF), draw_beside, key="beside_vertices", chart="beside_lasso", height=SIDE_HEIGHT)
    behind(
        lambda: words.assumptions(state),
        words.FORMULA,
        code,
        lambda: table_of(found),
    )


def _question(against: str, state: words.SparseState, walked: Path | None) -> partial[Any]:
    """The computation of the curves over the chosen axis."""
    if against == "n":
        return partial(curves.against_n, state.setting, p=state.p, T=state.T)
    if against == "p":
        ps = tuple(sorted({*curves.PS, state.p}))
        return partial(curves.against_p, state.setting, n=state.n, T=state.T, ps=ps)
    Ts = tuple(sorted({*curves.TS, words.steps_of(walked, state.T)}))
    return partial(curves.against_T, state.setting, n=state.n, p=state.p, Ts=Ts)
