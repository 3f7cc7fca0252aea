"""The view Online: private FTRL draws an arm in every step, against costs that an adversary picks."""

from functools import partial

from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.selection.streaming import play_figure, regret_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.selection.streaming import regret
from dpcore.studies.selection.streaming.adversaries import ADVERSARIES
from pages.background.pictures import made_once
from pages.selection import streaming_words as words
from pages.ui import url_controls
from pages.ui.code import script, verbatim
from pages.ui.details import behind, table_of
from pages.ui.html import readable
from pages.ui.live_figure import current_theme
from pages.ui.page import Page, or_reason
from pages.ui.proof import PROOF, proof_view
from pages.ui.sidebar import SAMPLE_SIZES, sidebar

HEIGHT, SOURCE = 405, "synthetic"
LENGTHS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
FIRST_LENGTH, MOST_ARMS = 2_000, 2_048


def show(page: Page) -> None:
    """All of the page but its question and the picker of the view."""
    with page.pickers:
        offered = {key: f"costs: {each.label}" for key, each in ADVERSARIES.items()}
        adversary = url_controls.select("adversary", "Costs", offered, next(iter(offered)), width=240)
        steps = url_controls.slider("steps_of_stream", "T steps", LENGTHS, FIRST_LENGTH, "{:,}".format, width=150)
    controls = sidebar(
        default_n=SAMPLE_SIZES[-1],
        max_columns=MOST_ARMS,
        unused=("n", "m"),
        rules=("auto",),  # the other rule is for fresh records
    )
    theme = current_theme()
    page.halves(1.6)
    state = words.StreamingState(**vars(controls), adversary=adversary, steps=steps)

    def curve_at(state: words.StreamingState) -> partial[regret.RegretCurve]:
        return partial(regret.regret_curve, state.adversary, state.p, LENGTHS, **state.shared)

    def plain_at(state: words.StreamingState) -> partial[regret.RegretCurve]:
        return partial(regret.regret_curve, state.adversary, state.p, LENGTHS, **state.shared | words.NON_PRIVATE)

    def play_at(state: words.StreamingState) -> partial[regret.Play]:
        return partial(regret.play, state.adversary, state.p, state.steps, **state.shared)

    def drawn(
        state: words.StreamingState, cancelled: Cancelled = never
    ) -> tuple[Figure, str, regret.RegretCurve, regret.Play | None, str]:
        """The chart there and its sentence; its curve, one play, or the reason why there is none."""
        play, reason = or_reason(play_at(state))
        curve = curve_at(state)(cancelled=cancelled)
        free = plain_at(state)(cancelled=cancelled)
        figure, sentence = made_once(
            SOURCE,
            ("regret", state, theme),
            lambda: (
                regret_figure(curve, free, steps=state.steps, theme=theme, height=HEIGHT),
                words.takeaway(play, curve, free, state, reason),
            ),
        )
        return figure, sentence, curve, play, reason

    figure, sentence, curve, play, reason = drawn(state)
    page.headline(sentence, colour=FAMILIES[theme]["sampling"])
    page.chart(
        figure,
        sentence,
        key="regret",
        height=HEIGHT,
        ahead=(drawn, state),
        verdict=words.verdict_of(curve, state),
        caption=words.caption(curve, state),
    )

    def draw_beside(side: str) -> tuple[Figure, str] | str:
        if play is None:
            return readable(reason)
        if side == PROOF:
            made = regret.proof(state.adversary, state.p, state.steps, **state.shared)
            return proof_view(made, play.plan.mechanism, theme, HEIGHT)
        return play_figure(play, theme=theme, height=HEIGHT), words.play_caption(play)

    page.beside(("One stream", PROOF), draw_beside, key="beside_stream", chart="play", height=HEIGHT)
    behind(
        lambda: words.assumptions(state),
        words.FORMULA,
        lambda: script(
            {"curve": curve_at(state), "non_private": plain_at(state), "play": play_at(state)},
            partial(regret_figure, verbatim("curve"), verbatim("non_private"), steps=state.steps, height=HEIGHT),
            partial(play_figure, verbatim("play"), height=HEIGHT),
        ),
        lambda: table_of(curve),
    )
