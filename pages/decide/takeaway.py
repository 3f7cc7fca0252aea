"""The view "download": the decision as a briefing, as slides, as numbers and as code."""

import math
from collections.abc import Callable
from importlib.util import find_spec

import streamlit as st

import dpcore
from dpcore.data import is_private
from dpcore.studies.decide.threshold_interval import Answer
from pages.decide import background, words
from pages.decide.briefing.content import Briefing, EquivalentSizes, Guarantee, Interval, LossCurve
from pages.decide.briefing.page import html_page
from pages.decide.state import State
from pages.ui import share_link
from pages.ui.html import readable
from pages.ui.upload_form import clipping_warning

QUESTION = "Which privacy budget can we sign?"
MOST_ASSUMPTIONS = 6  # on a slide; the page has all
NAME = "price_of_privacy_briefing"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def show(state: State) -> None:
    """Draw the view; its files are offered once every number is known."""
    st.markdown(
        f"A briefing on **ε = {state.epsilon:g}**, the slider's: five slides in one file that opens offline, about the "
        "budget, the accuracy loss, attack success, the equivalent sample size and the assumptions; and its numbers."
    )
    missing = unfinished(state)
    if missing:
        st.caption(missing)
        return
    briefing = briefing_of(state, link(state))
    # Large files, and those that take long, are made on demand.
    offers: list[tuple[str, str | Callable[[], str | bytes], str, str]] = [
        ("Briefing (HTML)", lambda: html_page(briefing), "html", "text/html"),
        ("Numbers (JSON)", briefing.to_json(), "json", "application/json"),
        ("Curves (CSV)", briefing.csv(), "csv", "text/csv"),
        ("Code (Python)", briefing.snippet, "py", "text/x-python"),
    ]
    if slides_available():
        offers.append(("Slides (PowerPoint)", lambda: _slides(briefing), "pptx", SLIDES))
    with st.container(horizontal=True, key="take_away"):
        for label, make, ending, kind in offers:
            st.download_button(label, make, f"{NAME}.{ending}", kind, on_click="ignore", key=f"take_{ending}")
    if not slides_available():
        st.caption("Slides with editable charts need the package python-pptx on the server.")


def slides_available() -> bool:
    """Whether python-pptx is there."""
    return find_spec("pptx") is not None


def _slides(briefing: Briefing) -> bytes:
    from pages.decide.briefing.slides import powerpoint

    return powerpoint(briefing)


def unfinished(state: State) -> str:
    """Reason for which there is no briefing yet, or will be none; "" when it can be made."""
    if state.plan is None:
        return f"There is no briefing because nothing is released at ε = {state.epsilon:g}: choose a larger ε."
    if not state.held.finished:
        return "Its numbers are being computed …"
    if state.attack_success is None or any(job.failed for job in state.held.jobs.values()):
        return "There is no briefing because a number could not be computed: the server's log has the error."
    return ""


def link(state: State) -> str:
    """Address of this state, which never names an uploaded file."""
    address = share_link.link_to_here()
    if is_private(state.source.key):
        return f"{address} (without the file, which stays with its holder)"
    return address


def briefing_of(state: State, address: str) -> Briefing:
    """Briefing on the slider's epsilon, with the page's numbers."""
    assert state.curve is not None and state.plan is not None and state.attack_success is not None
    curve, (low, high), spent = state.curve, state.band, state.plan.spent
    return Briefing(
        title=QUESTION,
        source=state.source,
        mechanism=words.mechanisms()[state.way],
        family=state.family,
        n=state.n,
        guarantee=Guarantee(state.epsilon, state.setting.problem.delta, spent.epsilon, spent.delta),
        at_most=state.at_most,
        curve=LossCurve(
            *(tuple(map(float, column)) for column in (curve.epsilons, curve.mean, curve.smooth, low, high))
        ),
        reference=state.reference,
        score=state.learned(state.epsilon)["score"],
        floor=state.floor,
        budget=_interval(state.found, f"The largest ε tried was {state.found.last:g}."),
        attack_success=state.attack_success,
        equivalent=_equivalent(state),
        needed=_needed(state),
        assumptions=tuple(background.assumption_lines(state)[:MOST_ASSUMPTIONS]),
        link=address,
        version=dpcore.__version__,
        seed=state.controls.seed,
        snippet=background.snippet(state),
        warnings=tuple(filter(None, [clipping_warning(state.source)])),
    )


def _interval(found: Answer, reason: str) -> Interval:
    value, low, high = (end if math.isfinite(end) else None for end in (found.value, found.low, found.high))
    return Interval(value, low, high, "" if value is not None else reason)


def _needed(state: State) -> Interval:
    found = state.needed
    if found is None:
        return Interval(None, None, None, _sentence(state.held.jobs["needed"].reason or "no sample size is enough"))
    return _interval(found, f"More than {found.last:,.0f} {state.source.records} are needed.")


def _equivalent(state: State) -> EquivalentSizes:
    metric, here = words.ERRORS[state.error], state.equivalent_here
    if here is None:
        reason = _sentence(state.no_equivalent or "nothing is released at this ε")
        return EquivalentSizes(metric, Interval(None, None, None, reason))
    assert state.equivalent is not None
    columns = [tuple(float(getattr(size, end)) for size in state.sizes) for end in ("value", "low", "high")]
    epsilons = tuple(map(float, state.equivalent.curve.epsilons))
    reason = f"Even {here.first:,.0f} {state.source.records} without privacy, the fewest tried, do no worse."
    found = Interval(None, None, None, reason) if here.at_first else _interval(here, "It is too small to be measured.")
    return EquivalentSizes(metric, found, epsilons, *columns)


def _sentence(reason: str) -> str:
    told = readable(reason)
    return f"{told[0].upper()}{told[1:]}."
