"""The view Simplex sampling: m random draws from a mixture, and the valley between too few and too many."""

from collections.abc import Callable
from functools import partial

from dpcore.core.cancel import Cancelled, go_on, never
from dpcore.experiments.proof_chain import ProofChain
from dpcore.figures.figure import Figure
from dpcore.figures.selection.simplex import columns_figure, draws_figure, support_figure
from dpcore.figures.style import FAMILIES, Theme
from dpcore.studies.hardest.excess import HardestQuestion
from dpcore.studies.selection.simplex import beside_others, excess_by_draws
from dpcore.studies.selection.simplex.data import SOURCE
from dpcore.studies.selection.simplex.single_release import Support, support
from pages.background.hardest import hardest_call, hardest_known, hardest_so_far, question_of_plan
from pages.background.pictures import made_once
from pages.selection import simplex_words as words
from pages.ui.code import redrawn
from pages.ui.details import behind, table_of
from pages.ui.live_figure import current_theme
from pages.ui.page import Page, or_reason
from pages.ui.pickers import switch
from pages.ui.proof import PROOF, proof_view
from pages.ui.sidebar import SAMPLE_SIZES, Controls, sidebar
from pages.ui.verdict import hardest_line

HEIGHT, SIDE_HEIGHT = 430, 380
FIRST_N, MOST_RECORDS, MOST_COLUMNS = 5_000, 20_000, 65_536
OWN = {"p": 64, "delta": 1e-8}  # what the sidebar opens with
REPETITIONS, COLUMN_REPETITIONS = 50, 8
SIDES = ("Draws", "Dimension", PROOF)


def show(page: Page) -> None:
    """All of the page but its question and the picker of the view."""
    with page.pickers:
        on: excess_by_draws.On = (
            "fresh" if switch("Measured on", words.ON, "training", key="on") == "fresh" else "training"
        )
    controls = sidebar(
        sample_sizes=tuple(n for n in SAMPLE_SIZES if n <= MOST_RECORDS),
        default_n=FIRST_N,
        max_columns=MOST_COLUMNS,
        own=OWN,
        unused=(),
    )
    theme = current_theme()
    page.halves()

    def hardest_of(release: Support | None, controls: Controls) -> HardestQuestion | None:
        return question_of_plan(release.plan, controls.seed) if release and on == "training" else None

    def drawn(
        controls: Controls, cancelled: Cancelled = never
    ) -> tuple[Figure, str, excess_by_draws.Valley, Support | None, Callable[[], str], Callable[[], ProofChain]]:
        """The chart there and its sentence; its numbers, one release, the chart's code, and its bound's proof."""
        release, reason = or_reason(
            partial(support, lam=controls.lam, m=controls.m, **words.arguments(controls))  # type: ignore[arg-type]
        )
        go_on(cancelled)
        m = words.cursor(release, controls.m)
        # A rule for lam has its number once m is known; "auto" gives each m its own.
        lam = float(release.plan.spec.lam) if release and controls.lam == "population" else controls.lam
        question = partial(
            excess_by_draws.valley,
            lam="auto" if lam == "population" else lam,  # type: ignore[arg-type]
            repetitions=REPETITIONS,
            ms=tuple(sorted({*excess_by_draws.MS, m})),
            **words.arguments(controls),
        )
        asked = hardest_of(release, controls)
        hard = hardest_known(asked)
        draw, valley = partial(draws_figure, m=m, on=on, height=HEIGHT), question(cancelled=cancelled)
        figure, sentence = made_once(
            SOURCE,
            ("draws", controls, on, theme, hard is None),
            lambda: (draw(valley, theme=theme, hardest=hard), words.takeaway(valley, release, reason, on)),
        )
        code = partial(redrawn, question, partial(draw, **hardest_call(asked, hard)))
        return figure, sentence, valley, release, code, partial(excess_by_draws.proof, m=m, **question.keywords)

    figure, sentence, valley, release, code, proof = drawn(controls)
    if hard := hardest_so_far(hardest_of(release, controls)):
        figure, sentence, _, _, code, _ = drawn(controls)
    line = hardest_line(hard, controls.epsilon, controls.n)
    page.headline(sentence, colour=FAMILIES[theme]["sampling"])
    page.chart(
        figure,
        sentence,
        key="draws",
        height=HEIGHT,
        ahead=(drawn, controls),
        verdict=f"{words.verdict_of(valley, on, words.cursor(release, controls.m))} {line}".strip(),
        caption=words.caption(valley, on),
    )
    draw_beside = partial(_beside, controls=controls, release=release, theme=theme, proof=proof)
    page.beside(SIDES, draw_beside, key="beside", chart="beside_chart", height=SIDE_HEIGHT)
    behind(
        lambda: words.assumptions(valley, controls),
        words.FORMULA,
        code,
        lambda: table_of(valley),
    )


def _beside(
    side: str,
    controls: Controls,
    release: Support | None,
    proof: Callable[[], ProofChain],
    theme: Theme,
) -> tuple[Figure, str] | str:
    """The chart beside and its caption, or why there is none."""
    if side == PROOF and release:
        return proof_view(proof(), release.plan.mechanism, theme, SIDE_HEIGHT)
    if side == "Dimension":
        by_p = beside_others.excess_against_columns(
            ps=tuple(sorted({*beside_others.PS, controls.p})),
            repetitions=COLUMN_REPETITIONS,
            **words.arguments(controls, "p"),
        )
        figure = columns_figure(by_p, p=controls.p, theme=theme, height=SIDE_HEIGHT)
        return figure, words.columns_caption(by_p)
    if release:
        return support_figure(release, theme=theme, height=SIDE_HEIGHT), words.support_caption(release)
    return "Nothing is drawn: the budget allows no sample. Choose a larger ε, λ or n."
