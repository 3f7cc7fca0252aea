"""The view "download": the decision as one page to sign, and its numbers."""

import math

import streamlit as st

import dpcore
from dpcore.core.privacy import Budget
from dpcore.data import held as held_records
from dpcore.data import is_private
from dpcore.mechanisms.signed import SignedPlan
from dpcore.studies.decide.repeated_releases import repeated_releases
from dpcore.studies.decide.threshold_interval import Answer
from pages.decide import words
from pages.decide.briefing.content import Briefing, Guarantee, Interval, Signing
from pages.decide.briefing.page import html_page
from pages.decide.repeated_releases import planned
from pages.decide.state import State
from pages.decide.upload.form import clipping_warning, looking_warning
from pages.decide.upload.session import held_file
from pages.ui import share_link
from pages.ui.html import readable

NAME = "price_of_privacy_briefing"


def show(state: State) -> None:
    """Draw the view; its files are offered once every number is known."""
    st.markdown(
        f"A briefing on **ε = {state.epsilon:g}**, the slider's value: one page to print and sign, and its numbers."
    )
    with st.container(horizontal=True):
        releases, records = planned()
    missing = unfinished(state)
    if missing:
        st.caption(missing)
        return
    if is_private(state.source.key):
        _ask_for_key()
    briefing = briefing_of(state, link(state), releases, records)
    with st.container(horizontal=True, key="take_away"):
        for label, content, ending, kind in (
            ("Page to sign (HTML)", html_page(briefing), "html", "text/html"),
            ("Numbers (JSON)", briefing.to_json(), "json", "application/json"),
        ):
            st.download_button(label, content, f"{NAME}.{ending}", kind, on_click="ignore", key=f"take_{ending}")


def _ask_for_key() -> None:
    """Offer the key of the file's digest."""
    st.markdown(
        "The page to sign names your file by a digest of its bytes under a random key. `python -m dpcore solve --plan` "
        "asks for that key and releases from exactly this file: keep it as it is."
    )
    if held := held_file():
        st.download_button("Key (text)", held.key, f"{NAME}.key", "text/plain", on_click="ignore", key="take_key")
        st.caption("Keep it, apart from the briefing. Whoever has both can test whether a file is yours.")


def unfinished(state: State) -> str:
    """Reason for which there is no briefing yet, or will be none; "" when it can be made."""
    if state.plan is None:
        return f"There is no briefing because nothing is released at ε = {state.epsilon:g}: choose a larger ε."
    answers = state.answers["curve"], state.answers["attack_success"]
    if not all(answer.finished for answer in answers):
        return "Its numbers are being computed …"
    if state.attack_success is None or any(answer.failed for answer in answers):
        return "There is no briefing because a number could not be computed: the server's log has the error."
    return ""


def link(state: State) -> str:
    """Address of this state, which never names an uploaded file."""
    address = share_link.link_to_here()
    if is_private(state.source.key):
        return f"{address} (without the file, which stays with its holder)"
    return address


def briefing_of(state: State, address: str, releases: int, records: int) -> Briefing:
    """Briefing on the slider's epsilon, with the page's numbers, for planned releases and records per person."""
    assert state.plan is not None and state.attack_success is not None
    signing = _signing(state, releases, records)
    spent = _released(state, signing.plan).spent
    return Briefing(
        source=state.source,
        mechanism=words.mechanisms()[state.way],
        n=state.n,
        guarantee=Guarantee(state.epsilon, state.setting.problem.delta, spent.epsilon, spent.delta),
        at_most=state.at_most,
        reference=state.reference,
        score=state.learned(state.epsilon)["score"],
        floor=state.floor,
        budget=_budget(state.found),
        attack_success=state.attack_success,
        signing=signing,
        link=address,
        version=dpcore.__version__,
        seed=state.controls.seed,
        warnings=tuple(filter(None, [clipping_warning(state.source), looking_warning(state.source)])),
    )


def _signing(state: State, releases: int, records: int) -> Signing:
    plan, reason, total = None, "", None
    try:
        plan = _signed(state, releases, records)
    except ValueError as refusal:
        reason = _sentence(str(refusal))
    released = _released(state, plan)
    if releases == records == 1:
        total = released.spent
    elif math.isfinite((after := repeated_releases(released, releases, records)).epsilon):
        total = Budget(after.epsilon, after.delta)
    low, high = state.lost_limits(state.widest)
    return Signing(low, high, records, releases, total, state.looks, plan, reason)


def _released(state: State, plan: SignedPlan | None) -> dpcore.Plan:
    """Plan of what is released: of all complete rows, or of the n of the page where there is nothing to sign."""
    assert state.plan is not None
    return plan.plan() if plan else state.plan


def _signed(state: State, releases: int, records: int) -> SignedPlan:
    """Plan of the release; ValueError where none can be signed."""
    if not is_private(state.source.key):
        raise ValueError("the records are a data set of this dashboard, without a file to release from")
    held_now = held_file()
    if held_now is None:
        raise ValueError("the file has been removed")
    digest = held_now.digest
    mechanism = state.setting.cell(0).mechanism
    held, planned = held_records(state.source.key), {"releases": releases, "records_per_person": records}
    return SignedPlan.of(state.setting.problem, mechanism, state.epsilon, held, digest, **planned)


def _budget(found: Answer) -> Interval:
    value, low, high = (end if math.isfinite(end) else None for end in (found.value, found.low, found.high))
    if value is None:
        return Interval(None, low, high, f"The largest ε tried was {found.last:g}.")
    return Interval(value, None if found.low <= found.first else low, high, at_first=found.at_first)


def _sentence(reason: str) -> str:
    told = readable(reason)
    return f"{told[0].upper()}{told[1:]}."
