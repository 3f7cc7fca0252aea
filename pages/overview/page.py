"""Overview: what does privacy cost, and what does it buy?"""

import dataclasses as dc
from functools import partial

import pandas as pd
import streamlit as st

import dpcore
from dpcore.audit.attack_success import Attack, AttackSuccessQuestion
from dpcore.core.cancel import Cancelled, never
from dpcore.experiments.proof_chain import ProofQuestion
from dpcore.figures.figure import Figure
from dpcore.figures.overview import cost_figure
from dpcore.figures.style import FAMILIES, GRID
from dpcore.mechanisms import Mechanism
from pages.background.asking import ask
from pages.background.hardest import hardest_call, hardest_known, hardest_question, hardest_so_far
from pages.background.pictures import made_once
from pages.background.tables import TableQuestion, refined
from pages.overview import words
from pages.server import prefetch
from pages.ui.html import icon_array, plain
from pages.ui.live_figure import current_theme, paragraph
from pages.ui.page import Page
from pages.ui.pickers import DEFAULT_PLACE, OVERVIEW, defaults_of, norm_of, pick_source, sizes_of, switch
from pages.ui.proof import PROOF, show_proof
from pages.ui.sidebar import SAMPLE_SIZES, Controls, sidebar
from pages.ui.sources import axis_title
from pages.ui.verdict import hardest_line

HEIGHT, MAX_COLUMNS = 420, 32
# As on Perturbation, whose numbers are the same; beyond, where single releases differ less, a move stays short.
REPETITIONS, MANY_RECORDS, FEWER_REPETITIONS = 50, 10_000, 10
FIRST_REPETITIONS = 4
# What a move waits for the curves of the other mechanisms, and then, with the chart on the screen, for the attack.
OTHERS_SECONDS, ATTACK_SECONDS = 0.3, 0.25
SIDES = ("Attack success", PROOF)
RELEASED = "released models"  # in the session: of the state in which they were drawn

page = Page("What does privacy cost, and what does it buy?")
with page.pickers:
    source, size = pick_source("source")
    place = switch("Perturbation", tuple(OVERVIEW), DEFAULT_PLACE, key="place")
    proof = switch("Which proof sets the noise", words.PROOFS, "tight", key="proof") if place == "output" else "tight"
controls = sidebar(
    sample_sizes=sizes_of(source, size, SAMPLE_SIZES[-1]),
    default_n=size,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused=("m",),
    own=defaults_of(source),
)
page.halves(2.2, key="attack_halves")

mechanisms: dict[str, Mechanism] = {name: dpcore.make_mechanism(key) for name, key in OVERVIEW.items()}
mechanisms["output"] = dpcore.make_mechanism(OVERVIEW["output"], accounting=proof)
chosen, others = mechanisms.pop(place), tuple(mechanisms.values())


def experiment_at(controls: Controls) -> dpcore.Experiment:
    """Of all mechanisms, the page's first."""
    return dpcore.Experiment(
        controls.problem(source.key, theta_norm=norm_of(source)),
        (chosen, *others),
        repetitions=REPETITIONS if controls.n <= MANY_RECORDS else FEWER_REPETITIONS,
        proved=chosen.key,
    )


def sentence_of(table: pd.DataFrame, controls: Controls) -> str:
    """What the chart shows with its cursor there."""
    at_cursor = table[(table.x == controls.epsilon) & (table.mechanism == chosen.key)].set_index("metric")
    if "accuracy" not in at_cursor.index:
        return words.refusal(at_cursor.iloc[0], source)
    not_by_hand = "auto", "population", defaults_of(source).get("lam")
    return words.takeaway(at_cursor.loc["accuracy"], source, by_hand=controls.lam not in not_by_hand)


drawing = partial(cost_figure, mechanism=chosen.key, accuracy_title=axis_title(source), height=HEIGHT)


def picture_at(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    """The chart there and its sentence."""
    there = experiment_at(controls)
    shown = there == experiment
    one = accuracies[-1] if shown and accuracies and controls.epsilon == at else None
    other = None if shown else prefetch.whole(there, cancelled)
    worst = hardest_known(hardest_question(there.problem, chosen))

    def make() -> tuple[Figure, str]:
        all_curves = table() if other is None else other
        figure = drawing(all_curves, epsilon=controls.epsilon, theme=theme, released=one, hardest=worst)
        return figure, plain(sentence_of(all_curves, controls))

    state = ("cost", there, controls, chosen, theme, one, shown and (complete, progress), worst is None)
    return made_once(source.key, state, make)


experiment, at = experiment_at(controls), controls.epsilon
mine = dc.replace(experiment, mechanisms=(chosen,))
own, progress = refined(mine, first=FIRST_REPETITIONS)


def release_at_cursor() -> tuple[dpcore.Plan, list[tuple[str, str, str]], str] | None:
    """The plan of one release, the cards, and what is said of the larger class; None where nothing is released."""
    rows = own[(own.x == at) & (own.metric == "accuracy")]
    if rows.empty:
        return None
    row = rows.iloc[0]
    return experiment.problem.plan(chosen, at), words.readouts(row, source), words.larger_class(row, source)


at_cursor = made_once(source.key, ("cursor", mine, controls, progress), release_at_cursor)
plan = at_cursor[0] if at_cursor else None
beside = ask(TableQuestion(dc.replace(experiment, mechanisms=others, proved=""), first=REPETITIONS), OTHERS_SECONDS)
if plan is not None:
    ask(AttackSuccessQuestion(plan, controls.seed), 0.0)  # it begins while the chart is drawn
complete = beside.complete
question = hardest_question(experiment.problem, chosen)
hard = hardest_so_far(question) if complete and not progress else None


def table() -> pd.DataFrame:
    """Of all mechanisms, so far."""
    return pd.concat([own, beside.snapshot], ignore_index=True) if complete else own


theme = current_theme()
colour = FAMILIES[theme][chosen.family]
with page.left:
    pressed = plan is not None and st.button("Release once", key="release", help=words.RELEASE_HELP)
    state = (experiment.problem, chosen, at)
    accuracies = st.session_state.get(RELEASED, {}).get(state, [])
    if pressed and plan is not None:
        accuracies = [*accuracies, words.release(experiment.problem, plan)]
        st.session_state[RELEASED] = {state: accuracies}
    if plan is not None and accuracies:
        paragraph(words.released(accuracies, plan))
figure, alt = picture_at(controls)
verdict, caption, sentence = made_once(
    source.key,
    ("words", experiment, controls, chosen, complete, progress),
    lambda: (words.verdict_of(own, at), words.caption(experiment, table()), sentence_of(own, controls)),
)
# The chart first: the browser draws it while the attack is played.
page.chart(
    figure,
    alt,
    key="cost",
    height=HEIGHT,
    ahead=(picture_at, controls) if complete and not progress else None,
    verdict=f"{verdict} {hardest_line(hard, at, controls.n)}".strip(),
    caption=" ".join(filter(None, (caption, progress))),
)
page.left.markdown(words.decide_link(source, controls))
sentences = [sentence]
readouts: list[tuple[str, str, str]] = []
if at_cursor is not None:
    plan, readouts, larger_class = at_cursor
    attacked = AttackSuccessQuestion(plan, controls.seed)
    attack: Attack | None = ask(attacked, ATTACK_SECONDS, lambda attack: attack.success is not None).snapshot
    success = attack.success if attack and attack.success else words.unattacked(plan)
    sentences += [larger_class, words.answer(success)]
    text = words.attack_success(success, attack.runs if attack else 0, attacked.runs)
    with page.right:
        if switch("Beside the chart", SIDES, SIDES[0], key="beside_cost", wrap=True) == PROOF:
            show_proof(ProofQuestion(chosen, experiment.problem, at, experiment.repetitions), theme, HEIGHT)
        else:
            with st.container(key="attack_success"):
                st.markdown("**Attack success: your record or a substitute?**")
                st.html(icon_array(*success.of_100, colour=colour, rest=GRID[theme], alt=plain(text)))
                paragraph(text)
page.headline(*sentences, colour=colour)
page.below(
    readouts,
    words.chips(source),
    lambda: words.assumptions(experiment, source, at),
    words.FORMULA,
    lambda: words.snippet(experiment, partial(drawing, epsilon=at, **hardest_call(question, hard))),
    table,
)
