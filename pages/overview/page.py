"""Overview: what does privacy cost, and what does it buy?"""

import dataclasses as dc
from functools import partial

import pandas as pd
import streamlit as st

import dpcore
from dpcore.audit.attack_success import Attack, AttackSuccessQuestion
from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.overview import cost_figure
from dpcore.figures.style import FAMILIES, GRID
from dpcore.mechanisms import Mechanism
from pages.background.asking import ask
from pages.background.pictures import made_once
from pages.background.tables import TableQuestion, refined
from pages.overview import words
from pages.server import prefetch
from pages.ui.details import behind, cards
from pages.ui.html import emphasised, icon_array, plain
from pages.ui.live_figure import current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import DEFAULT_PLACE, OVERVIEW, chips, pick_layers, pick_source, switch
from pages.ui.sidebar import SAMPLE_SIZES, Controls, sidebar
from pages.ui.sources import axis_title

HEIGHT, MAX_COLUMNS = 420, 32
# As on Perturbation, whose numbers are the same; beyond, where single releases differ less, a move stays short.
REPETITIONS, MANY_RECORDS, FEWER_REPETITIONS = 50, 10_000, 10
FIRST_REPETITIONS = 4
# What a move waits for the curves of the other mechanisms, and then, with the chart on the screen, for the attack.
OTHERS_SECONDS, ATTACK_SECONDS = 0.3, 0.25
RELEASED = "released models"  # in the session: of the state in which they were drawn

# Controls first, wherever they stand: the first run already knows what the address says.
st.title("What does privacy cost, and what does it buy?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    source, size = pick_source("breast_cancer", "source")
    place = switch("Perturbation", tuple(OVERVIEW), DEFAULT_PLACE, key="place")
    proof = switch("Which proof sets the noise", words.PROOFS, "tight", key="proof") if place == "output" else "tight"
controls = sidebar(
    sample_sizes=tuple(sorted({*SAMPLE_SIZES, size})),
    default_n=size,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused=("m",),
)
chart, attack_success = st.container(key="attack_halves").columns([2.2, 1], gap="medium")

mechanisms: dict[str, Mechanism] = {name: dpcore.make_mechanism(key) for name, key in OVERVIEW.items()}
mechanisms["output"] = dpcore.make_mechanism(OVERVIEW["output"], accounting=proof)
chosen, others = mechanisms.pop(place), tuple(mechanisms.values())


def experiment_at(controls: Controls) -> dpcore.Experiment:
    """Of all mechanisms, the page's first."""
    return dpcore.Experiment(
        controls.problem(source.key),
        (chosen, *others),
        repetitions=REPETITIONS if controls.n <= MANY_RECORDS else FEWER_REPETITIONS,
    )


def sentence_of(table: pd.DataFrame, controls: Controls) -> str:
    """What the chart shows with its cursor there."""
    at_cursor = table[(table.x == controls.epsilon) & (table.mechanism == chosen.key)].set_index("metric")
    if "accuracy" not in at_cursor.index:
        return words.refusal(at_cursor.iloc[0], source)
    return words.takeaway(at_cursor.loc["accuracy"], source, by_hand=not isinstance(controls.lam, str))


drawing = partial(cost_figure, mechanism=chosen.key, accuracy_title=axis_title(source), height=HEIGHT)


def picture_at(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    asked = experiment_at(controls)
    here = asked == experiment
    one = accuracies[-1] if here and accuracies and controls.epsilon == at else None
    found = None if here else prefetch.whole(asked, cancelled)

    def make() -> tuple[Figure, str]:
        shown = table() if found is None else found
        figure = drawing(shown, epsilon=controls.epsilon, theme=theme, released=one)
        return figure.showing(layers), plain(sentence_of(shown, controls))

    return made_once(
        source.key, ("cost", asked, controls, chosen, theme, one, here and (complete, progress), *layers), make
    )


experiment, at = experiment_at(controls), controls.epsilon
mine = dc.replace(experiment, mechanisms=(chosen,))
own, progress = refined(mine, first=FIRST_REPETITIONS)


def at_cursor() -> tuple[dpcore.Plan, list[tuple[str, str, str]], str] | None:
    """The plan of one release, the cards, and what is said of the larger class; None where nothing is released."""
    here = own[(own.x == at) & (own.metric == "accuracy")]
    if here.empty:
        return None
    row = here.iloc[0]
    return experiment.problem.plan(chosen, at), words.readouts(row, source), words.larger_class(row, source)


here = made_once(source.key, ("cursor", mine, controls, progress), at_cursor)
plan = here[0] if here else None
beside = ask(TableQuestion(dc.replace(experiment, mechanisms=others), first=REPETITIONS), OTHERS_SECONDS)
if plan is not None:
    ask(AttackSuccessQuestion(plan, controls.seed), 0.0)  # it begins while the chart is drawn
complete = beside.complete


def table() -> pd.DataFrame:
    """Of all mechanisms, so far."""
    return pd.concat([own, beside.snapshot], ignore_index=True) if complete else own


theme = current_theme()
colour = FAMILIES[theme][chosen.family]

# The chart first: the browser draws it while the attack is played.
with chart:
    drawn = st.container()
    with st.container(horizontal=True, vertical_alignment="center", key="below"):
        layers = pick_layers()
        pressed = plan is not None and st.button("Release once", key="release", help=words.RELEASE_HELP)
    state = (experiment.problem, chosen, at)
    accuracies = st.session_state.get(RELEASED, {}).get(state, [])
    if pressed and plan is not None:
        accuracies = [*accuracies, words.release(experiment.problem, plan)]
        st.session_state[RELEASED] = {state: accuracies}
    with drawn:
        figure, alt = picture_at(controls)
        ahead = (picture_at, controls) if complete and not progress else None
        live_figure(figure, key="cost", alt=alt, height=HEIGHT, ahead=ahead)
    if plan is not None and accuracies:
        paragraph(words.released(accuracies, plan))
    verdict, caption, sentence = made_once(
        source.key,
        ("words", experiment, controls, chosen, complete, progress),
        lambda: (words.verdict_of(own, at), words.caption(experiment, table()), sentence_of(own, controls)),
    )
    paragraph(verdict)
    small_print(" ".join(filter(None, (caption, progress))))
    st.markdown(words.decide_link(source, controls, chosen.key))
sentences = [sentence]
if here is not None:
    plan, readouts, larger_class = here
    cards(readouts)
    asked = AttackSuccessQuestion(plan, controls.seed)
    attack: Attack | None = ask(asked, ATTACK_SECONDS, lambda attack: attack.success is not None).snapshot
    found = attack.success if attack and attack.success else words.unattacked(plan)
    sentences += filter(None, [larger_class, words.answer(found)])
    text = words.attack_success(found, attack.runs if attack else 0, asked.runs)
    with attack_success, st.container(key="attack_success"):
        st.markdown("**Attack success: your record or a substitute?**")
        st.html(icon_array(*found.of_100, colour=colour, rest=GRID[theme], alt=plain(text)))
        paragraph(text)
chips(words.chips(source))
headline.html("".join(emphasised(line, colour) for line in sentences))

behind(
    lambda: words.assumptions(experiment, source, at),
    words.FORMULA,
    lambda: words.snippet(experiment, partial(drawing, epsilon=at)),
    table,
)
