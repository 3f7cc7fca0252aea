"""How a page asks: each run of a page asks anew for what it shows, and runs again when there is more to show."""

import math
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.background.jobs import SHARED, Answer, Job, Jobs, Question, is_private
from pages.ui.html import readable

POLL_SECONDS = 0.4
# What a page waits for something to show of what it cannot be drawn without.
FIRST_SECONDS = 3.0
# In the session: the questions of this run, and of the last one, each with its job and the news that the page shows;
# and the jobs about records that only this session has.
SHOWN, _BEFORE, _OWN = "questions of the page", "questions of the last run", "own jobs"


def begin() -> None:
    """At the begin of each run: no question is shown until the page asks for it."""
    _own().forget_gone()
    before = st.session_state[_BEFORE] = st.session_state.get(SHOWN, {})
    st.session_state[SHOWN] = {}
    for job, _ in before.values():
        job.hide(session())


def ask(question: Question, seconds: float | None = None, enough: Callable[[Any], bool] | None = None) -> Answer:
    """The answer to a question so far; the page runs again when there is more.

    It waits until there is a snapshot that is enough (by default any), at most so many seconds: FIRST_SECONDS by
    default, inf for as long as it takes. Not to be called in a fragment.
    """
    shown, before = st.session_state.setdefault(SHOWN, {}), st.session_state.get(_BEFORE, {})
    job: Job
    job, _ = shown.get(question) or before.get(question) or (_jobs(question).job_of(question), 0)
    shown[question] = job, job.answer.news
    seconds = FIRST_SECONDS if seconds is None else seconds
    job.show(session(), first=seconds != 0.0)
    job.wait(seconds, enough or (lambda snapshot: True))
    answer = job.answer
    shown[question] = job, answer.news
    return answer


def end() -> None:
    """At the end of each run: while there is more to come the browser asks for it.

    The last thing on a page: a block that comes and goes above a chart would have the browser make it anew.
    """
    st.session_state[_BEFORE] = {}
    if any(job.answer.news > seen or not job.answer.finished for job, seen in st.session_state[SHOWN].values()):
        # In a separate block: if Streamlit handles a move and a poll at once, it drops the polling block and draws it
        # again at its old place, over the element that has moved up there.
        with st.container():
            _poll()


@st.fragment(run_every=POLL_SECONDS)
def _poll() -> None:
    if any(job.answer.news > seen for job, seen in st.session_state[SHOWN].values()):
        st.rerun()


def session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _own() -> Jobs:
    found: Jobs = st.session_state.setdefault(_OWN, Jobs())
    return found


def _jobs(question: Question) -> Jobs:
    return _own() if is_private(question) else SHARED


def waiting(answer: Answer) -> str:
    """Instead of the takeaway, where there is no curve yet or none to come."""
    if answer.failed:
        return "An error, noted in the server's log, stops the curves."
    return f"There are no curves: {readable(answer.reason)}." if answer.reason else "Computing the curves …"


def with_progress(caption: str, answer: Answer, counted: str) -> str:
    """A caption, and how far the answer is as long as it is not complete."""
    return " ".join(filter(None, (caption, still_to_come(answer, counted))))


def still_to_come(answer: Answer, counted: str) -> str | None:
    """How far an answer is, for example "10 of 50 releases, about 4 s more"; None once it is complete."""
    if answer.complete:
        return None
    if answer.failed:
        return f"{counted}; an error, noted in the server's log, keeps the others away."
    if math.isnan(answer.seconds_left):
        return f"{counted} …"
    return f"{counted}, about {duration(answer.seconds_left)} more …"


def duration(seconds: float) -> str:
    """A time to wait, rounded up so that it is not promised too short.

    >>> duration(0.3), duration(8.2), duration(42.0), duration(100.0)
    ('1 s', '9 s', '50 s', '2 min')
    """
    if seconds <= 10.0:
        return f"{max(1, math.ceil(seconds))} s"
    if seconds <= 60.0:
        return f"{10 * math.ceil(seconds / 10.0)} s"
    return f"{math.ceil(seconds / 60.0)} min"
