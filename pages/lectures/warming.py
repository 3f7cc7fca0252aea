"""What a class will look at, computed before the server answers and kept for everybody who asks the same."""

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence

from pages.lectures import rehearsal, stories
from pages.lectures.reader import FaultyLecture, Story
from pages.server import preload_imports


def named(names: Sequence[str]) -> list[Story]:
    """The lectures with these names, or all of them; raises FaultyLecture for a name that is none."""
    if unknown := [name for name in names if name not in (*stories.STORIES, "all")]:
        raise FaultyLecture(f"There is no lecture “{unknown[0]}”, only {', '.join(stories.STORIES)}, and all.")
    return list(stories.STORIES.values()) if "all" in names else [stories.STORIES[name] for name in names]


def warm(lectures: Sequence[Story]) -> None:
    """Open every step of these lectures and go through all places of the sliders that stay there, one at a time.

    To be called before Streamlit's runtime exists, which the pages opened here replace for a while.
    """
    preload_imports.start()
    preload_imports.wait()
    print("The server answers when these steps are computed:", flush=True)
    with _ended_at_once(), rehearsal.without_warnings():
        for story in lectures:
            for number in range(1, len(story.steps) + 1):
                print(f"{story.name}, step {number} of {len(story.steps)}", flush=True)
                _warm_step(story, number)


def _warm_step(story: Story, number: int) -> None:
    page = rehearsal.opened(story, number)
    rehearsal.settle(page)
    for key in story.steps[number - 1].kept:
        for option in rehearsal.places(page, key):
            if not page.exception:
                page.session_state[key] = option
                page.run()
                rehearsal.settle(page)
    if page.exception:
        problem = page.exception[0].message
        print(f"{story.name}, step {number}: the page stops with an error: {problem}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _ended_at_once() -> Iterator[None]:
    """Ctrl-C ends the process here; the server, which loads the app, would only take note of it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
