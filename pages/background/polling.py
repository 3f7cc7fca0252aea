"""Open jobs of a page: asked once, polled while it is open, and given up when others replace them."""

import time
from collections.abc import Hashable, Mapping, Sequence

import streamlit as st

from pages.background.jobs import FIRST_PICTURES, Job, Question, join
from pages.ui.html import readable

POLL_SECONDS = 0.4
# What a move may wait for something to show: of the first question, without which there is no picture; of the others.
FIRST_SECONDS, AT_ONCE_SECONDS = 3.0, 0.1
# Time added to a watcher's longest silence while a page is drawn, during which it cannot poll.
_DRAWING_SECONDS = 60.0
IN_THE_BACKGROUND = " in the background"  # ends the names of all jobs in the session
_NAME = f"jobs{IN_THE_BACKGROUND}"


class Open:
    """Several jobs that are watched together; `news` grows with what any of them has to show.

    seen: the snapshots that the page shows.
    """

    def __init__(self, jobs: dict[str, Job]) -> None:
        self.jobs = jobs
        self.seen: dict[str, int] = {}

    @property
    def news(self) -> int:
        return sum(job.news for job in self.jobs.values())

    @property
    def finished(self) -> bool:
        """True if nothing more will come."""
        return all(job.complete or job.failed for job in self.jobs.values())

    def watch(self, watcher: Hashable, longer: float = 0.0) -> None:
        for job in self.jobs.values():
            job.watch(watcher, longer)

    def wait(self, name: str, seconds: float) -> None:
        """Wait until nothing more will come of this question, at most so many seconds; the page will show it."""
        job = self.jobs[name]
        with FIRST_PICTURES.other_work():
            job.wait(seconds)
        self.seen[name] = job.news

    def leave(self, watcher: Hashable) -> None:
        for job in self.jobs.values():
            job.leave(watcher)


def watcher() -> Hashable:
    """Watcher that represents this session in the background jobs."""
    return st.session_state.setdefault("watcher", object())


def ask(questions: Mapping[str, Question], patience: float | None = None) -> Open:
    """Open questions of the page, each with its answer so far; questions that are no longer asked are given up.

    It waits until the first has something to show, at most so many seconds, FIRST_SECONDS by default. The page must end
    with `keep_alive`. Without questions all are given up.
    """
    me = watcher()
    before: Open | None = st.session_state.get(_NAME)
    known = {job.question: job for job in before.jobs.values()} if before else {}
    kept = {it: known[it] for it in questions.values() if it in known and not known[it].given_up}
    for question, job in known.items():
        if question in kept:
            job.watch(me, _DRAWING_SECONDS)
        else:
            job.leave(me)
    held = st.session_state[_NAME] = Open({})
    seconds = FIRST_SECONDS if patience is None else patience
    for name, question in questions.items():
        job = held.jobs[name] = kept.get(question) or join(question, me, first=not held.jobs and seconds > 0.0)
        job.watch(me, _DRAWING_SECONDS)
        if len(held.jobs) == 1:  # the others begin when it has something to show
            _wait([job], seconds)
    held.seen = {name: job.news for name, job in held.jobs.items()}
    return held


def glance(held: Open) -> None:
    """Wait a little for something to show of the other questions; the first one's picture is drawn by now."""
    others = dict(list(held.jobs.items())[1:])
    _wait(list(others.values()), AT_ONCE_SECONDS)
    held.seen |= {name: job.news for name, job in others.items()}


def _wait(jobs: Sequence[Job], seconds: float) -> None:
    until = time.monotonic() + seconds
    with FIRST_PICTURES.other_work():
        for job in jobs:
            job.wait_for_first(until - time.monotonic())


def waiting(job: Job) -> str:
    """Instead of the takeaway, where there is no curve yet or none to come."""
    if job.failed:
        return "An error, noted in the server's log, stops the curves."
    return f"There are no curves: {readable(job.reason)}." if job.reason else "Computing the curves …"


def keep_alive(held: Open) -> None:
    """Run the page again when there is more to show than what has been seen.

    To be the last thing on a page: a block that comes and goes above a chart would have the browser make it anew.
    """
    seen = sum(held.seen.values())
    if held.news > seen or not held.finished:  # an answer may have come while the page was drawn
        follow(_NAME, seen)


def leave_other_pages(page: str) -> None:
    """Give up what is computed for a page that the reader has just left; to be called by every run, before its page.

    It stays in the session, so a reader who comes back finds what is complete, and asks for the rest again.
    """
    last, st.session_state["page of the last run"] = st.session_state.get("page of the last run", page), page
    if last != page:
        for name in filter(lambda name: str(name).endswith(IN_THE_BACKGROUND), list(st.session_state)):
            st.session_state[name].leave(watcher())


def follow(name: str, seen: int = 0) -> None:
    """Keep what the session holds under this name alive while the page is open, and run the page again when it has
    more to show than what has been `seen`."""
    # In a separate block: if Streamlit handles a move and a poll at once, it drops the polling block and draws it again
    # at its old place, over the element that has moved up there.
    with st.container():
        _poll(name, seen)


@st.fragment(run_every=POLL_SECONDS)
def _poll(name: str, seen: int = 0) -> None:
    """A question that was on its way when the reader moved on must not call back what the move has given up."""
    held: Job | Open | None = st.session_state.get(name)
    if held is None:
        return
    held.watch(watcher())
    if held.news > seen:
        st.rerun()
