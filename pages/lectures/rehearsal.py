"""Every step of a lecture, opened without a server: whether its page can say and show what the step asks for."""

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from pages.background.asking import SHOWN
from pages.lectures.reader import FaultyLecture, Story
from pages.ui import share_link

_PATIENCE_SECONDS = 600  # for a run of a page
_SETTLED_SECONDS = 120  # for all that it computes in the background
_LOOK_SECONDS = 0.2


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Streamlit would warn many times that there is no browser."""
    logger = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def opened(story: Story, number: int) -> AppTest:
    """The page of a step, run once in the state on entering it."""
    script = Path(__file__).parents[1] / story.page.lower() / "page.py"
    page = AppTest.from_file(str(script), default_timeout=_PATIENCE_SECONDS)
    for key, value in story.state(number).items():
        page.session_state[key] = value
    return page.run()


def settle(page: AppTest) -> None:
    """Run a page again until nothing more comes from the background."""
    deadline = time.monotonic() + _SETTLED_SECONDS
    while not page.exception and _waits(page) and time.monotonic() < deadline:
        while _waits(page) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        page.run()


def places(page: AppTest, key: str) -> Sequence[Any]:
    """All places of a slider, where it stands last; none where the page has no such slider: also buttons may stay."""
    if key not in {each.key for each in page.select_slider}:
        return ()
    control, value = page.session_state[share_link.HELD].drawn[key]
    return [*(option for option in control.options if option != value), value]


def rehearse(story: Story, file: Path) -> None:
    """Open all steps; raises FaultyLecture with a line for each fault, at the beginning of its step in the file."""
    faults = [
        f"{file}, line {step.line}: Step {number}: {sentence}"
        for number, step in enumerate(story.steps, 1)
        for sentence in _faults(story, number)
    ]
    if faults:
        raise FaultyLecture("\n".join(faults))


def _faults(story: Story, number: int) -> Iterator[str]:
    step, state = story.steps[number - 1], story.state(number)
    page = opened(story, number)
    while not page.exception and step.shows and step.shows not in _shown(page) and _waits(page):
        time.sleep(_LOOK_SECONDS)
        page.run()
    held = page.session_state.to_dict().get(share_link.HELD, share_link.Held())
    for key, (control, value) in held.drawn.items():
        if value != state.get(key, value):
            options = control.options
            among = f"{options[0]} to {options[-1]}" if isinstance(options, range) else ", ".join(map(str, options))
            yield f"“{key}” must be one of {among} in this state, got {share_link.cut(repr(state[key]))}."
    if page.exception:
        yield "The page stops with an error in this state; the message above says where."
        return
    if missing := [key for key in step.kept if key not in _shown(page)]:
        yield f"There is no control “{', '.join(missing)}” in this state, only {', '.join(held.drawn)}."
    if step.shows and step.shows not in _shown(page):
        charts = ", ".join(held.charts) or "none"
        yield f"There is no chart “{step.shows}” in this state. Its charts are: {charts}."


def _shown(page: AppTest) -> set[str]:
    """The keys of all that a page has drawn."""
    ids = [str(getattr(getattr(each, "proto", None), "id", "")) for each in (*page.main, *page.sidebar)]
    return {each.split("-", 2)[-1] for each in ids if each}  # "$$ID-digest-key"


def _waits(page: AppTest) -> bool:
    """Whether more will come of what the page computes in the background."""
    shown = page.session_state.get(SHOWN, {})
    return not all(job.answer.finished for job, _ in shown.values())
