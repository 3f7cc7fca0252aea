"""The view "Take away": the decision as a briefing, as slides, as numbers and as code."""

import math
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import streamlit as st

import dpcore
from dpcore.data import is_private
from dpcore.studies.decide.threshold_interval import Answer
from pages.decide import background, words
from pages.decide.briefing.content import Briefing, Interval, LossCurve, People, Promise
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
    """Draw the view: what can be taken away, once all of it is known."""
    st.markdown(
        "Five slides in one file that opens without a network: the question, the curve, the odds, the price in people, "
        "what it rests on. And the numbers behind it."
    )
    missing = unfinished(state)
    if missing:
        st.caption(missing)
        return
    briefing = briefing_of(state, link(state))
    # What takes long to make, or is large, is made when it is asked for.
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
        st.caption("Slides with charts to edit need the package python-pptx on the server.")


def slides_available() -> bool:
    """Whether python-pptx is there."""
    return find_spec("pptx") is not None


def _slides(briefing: Briefing) -> bytes:
    from pages.decide.briefing.slides import powerpoint

    return powerpoint(briefing)


def unfinished(state: State) -> str:
    """What a briefing still waits for, or why there will be none; "" when it can be made."""
    if state.plan is None:
        return f"Nothing is released at ε = {state.epsilon:g}: there is nothing to brief on."
    if not state.held.finished:
        return "Its numbers are still being computed …"
    if state.odds is None or any(job.failed for job in state.held.jobs.values()):
        return "An error, noted in the server's log, keeps a number away."
    return ""


def link(state: State) -> str:
    """The address of this state; a file of one's own is in no address."""
    address = share_link.link_to_here()
    if is_private(state.source.key):
        return f"{address} (without the file, which stays with its holder)"
    return address


def briefing_of(state: State, address: str) -> Briefing:
    """The page's numbers as a briefing at the cursor's budget."""
    assert state.curve is not None and state.plan is not None and state.odds is not None
    curve, (low, high), spent = state.curve, state.band, state.plan.spent
    at = int(np.flatnonzero(curve.epsilons == state.epsilon)[0])
    return Briefing(
        title=QUESTION,
        source=state.source,
        mechanism=words.mechanisms()[state.way],
        family=state.family,
        n=state.n,
        promise=Promise(state.epsilon, state.setting.problem.delta, spent.epsilon, spent.delta),
        at_most=state.at_most,
        curve=LossCurve(
            *(tuple(map(float, column)) for column in (curve.epsilons, curve.mean, curve.smooth, low, high))
        ),
        reference=state.reference,
        score=float(curve.private[:, at].mean()),
        floor=state.floor,
        budget=_interval(state.found, f"no budget up to {state.found.last:g} loses so little"),
        odds=state.odds,
        people=_people(state),
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
        return Interval(None, None, None, readable(state.held.jobs["needed"].reason or "no number suffices"))
    return _interval(found, f"more than {found.last:,.0f} {state.source.records} are needed")


def _people(state: State) -> People:
    error = words.BRIEF_ERRORS[state.error]
    here = state.worth_here
    if here is None:
        return People(error, Interval(None, None, None, readable(state.no_price or "nothing is released here")))
    assert state.price is not None
    columns = [tuple(float(getattr(worth, end)) for worth in state.worth) for end in ("value", "low", "high")]
    epsilons = tuple(map(float, state.price.curve.epsilons))
    if here.at_first:
        fewest = f"{here.first:,.0f} {state.source.records} without it, the fewest looked at, have no larger error"
        return People(error, Interval(None, None, None, fewest), epsilons, *columns)
    return People(error, _interval(here, "fewer than can be told"), epsilons, *columns)
