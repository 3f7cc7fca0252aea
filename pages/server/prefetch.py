"""Pictures of a chart at other places of a slider, drawn before they are requested.

Once a chart is on the screen its browser fetches the pictures beside it, and keeps them: first one step away on the
slider of the sidebar that the reader moved last (at first that of epsilon), then one step away on each other slider,
then farther away. So a step has its picture at once, and so has a drag where pictures are cheap. One thread draws them
for the whole server. It gives up as soon as its reader moves on, and does nothing while several people move, whose own
pictures come first.
"""

from __future__ import annotations

import asyncio
import dataclasses as dc
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response

from dpcore import Experiment, NotApplicable, Unconverged, run
from dpcore.core.cancel import Cancelled
from dpcore.figures.figure import Figure
from pages.background.asking import session
from pages.background.jobs import AHEAD, SHARED, Answer, Question
from pages.background.tables import of_cached_cells
from pages.ui import share_link
from pages.ui.html import plain
from pages.ui.sidebar import Controls

if TYPE_CHECKING:
    import pandas as pd

# Given what the controls say, in the page's own class, and what tells whether the reader has moved on: the chart there,
# its sentence, and what else the page wants of them. It runs outside the script, so it must not call Streamlit.
Draw = Callable[[Any, Callable[[], bool]], tuple[Any, ...]]
# What a browser is told of one picture, given figure, sentence and what the controls say there.
Finish = Callable[[Figure, str, dict[str, str]], dict[str, Any]]

PATH = "ahead"
# Longest total time for which further places are drawn; the two next ones of the slider are always drawn.
_SECONDS = 0.7
_LONGEST_SECONDS = 3.0  # of one picture: who would have to wait so long for it loses little by waiting
_ANSWER_SECONDS = 0.1  # what a browser waits for at a time, where one picture does not take longer
_LOOK_SECONDS = 0.02
# So many visitors that have moved within so many seconds are a crowd.
_CROWD, _CROWD_SECONDS = 3, 2.0
_SLIDERS = {field.name for field in dc.fields(Controls)} - {"seed"}
# In the session: key of a chart -> Ahead; what the controls said last, and which slider was moved last, up or down.
OFFERS, _MOVED = "pictures ahead", "moved last"

_POOL = ThreadPoolExecutor(1, thread_name_prefix=PATH)
_OFFERED: WeakValueDictionary[str, Prefetch] = WeakValueDictionary()
_MOVES: deque[tuple[float, Hashable]] = deque(maxlen=1_000)


@dc.dataclass(frozen=True)
class Place:
    """A place of a slider: what the sidebar and all controls say there."""

    controls: Controls
    state: dict[str, str]


class Prefetch:
    """The pictures of one chart beside the one that is shown; they live as long as the session offers them.

    draw, finish: as above. places: in the order in which they are drawn.
    """

    def __init__(self, draw: Draw, finish: Finish, places: Iterable[Place]) -> None:
        self.given_up = False
        self._draw, self._finish = draw, finish
        self._pictures = self._drawn(places)

    def _drawn(self, places: Iterable[Place]) -> Iterator[dict[str, Any]]:
        spent = 0.0
        for k, place in enumerate(places):
            if k >= 2 and spent > _SECONDS:
                return
            started = time.perf_counter()
            try:
                figure, sentence, *_ = self._draw(place.controls, partial(self._enough, started + _LONGEST_SECONDS))
            except (NotApplicable, Unconverged):
                continue
            finally:
                spent += time.perf_counter() - started
            yield self._finish(figure, plain(sentence), place.state)

    def _enough(self, latest: float) -> bool:
        return self.given_up or time.perf_counter() > latest

    def some(self) -> tuple[list[dict[str, Any]], bool]:
        """The next pictures, as many as are drawn in a moment, and whether there are more."""
        drawn: list[dict[str, Any]] = []
        started = time.monotonic()
        try:
            while not self.given_up and (not drawn or time.monotonic() - started < _ANSWER_SECONDS):
                drawn.append(next(self._pictures))
        except StopIteration:
            return drawn, False
        except CancelledError:
            self.given_up = True  # too slow, or not the time for it: a later run may offer them again
        except Exception:
            logging.getLogger(__name__).exception("no pictures ahead")
            return drawn, False
        return drawn, True


def begin() -> None:
    """Drop, at the start of each run, the pictures drawn ahead of the last one."""
    _MOVES.append((time.monotonic(), session()))
    for ahead in st.session_state.pop(OFFERS, {}).values():
        ahead.given_up = True


def offer(key: str, draw: Draw, finish: Finish, controls: Controls, state: dict[str, str]) -> str:
    """Let the browser of this session fetch the pictures beside a chart; returns the address, below the server's.

    controls, state: what the sidebar and all controls say now.
    """
    token = secrets.token_urlsafe(16)
    slider, up = _moved_last(state)
    others = [share_link.control_of(key) for key in state if key in _SLIDERS - {slider}]
    ahead = Prefetch(draw, finish, places(share_link.control_of(slider), up, others, controls, state))
    st.session_state.setdefault(OFFERS, {})[key] = _OFFERED[token] = ahead
    return f"{PATH}/{token}"


def _moved_last(state: dict[str, str]) -> tuple[str, bool]:
    """The slider that the reader moved last, and whether upwards; that of epsilon where the view is another one."""
    before, slider, up = st.session_state.get(_MOVED, ({}, "epsilon", True))
    changed = [key for key in state if state[key] != before.get(key)]
    if before.keys() != state.keys():
        slider, up = "epsilon", True
    elif len(changed) == 1 and changed[0] in _SLIDERS:
        (slider,) = changed
        texts = share_link.control_of(slider).texts
        up = before[slider] not in texts or texts.index(state[slider]) > texts.index(before[slider])
    st.session_state[_MOVED] = state, slider, up
    return slider, up


def places(
    moved: share_link.Control, up: bool, others: Sequence[share_link.Control], controls: Controls, state: dict[str, str]
) -> Iterator[Place]:
    """The next two places of the slider that was moved, the next two of each other one, and then its further ones.

    They are made as they are fetched: in a class nobody fetches them.
    """
    mine = beside(moved, up, controls, state)
    yield from mine[:2]
    for other in others:
        yield from beside(other, True, controls, state)[:2]
    yield from mine[2:]


def beside(control: share_link.Control, up: bool, controls: Controls, state: dict[str, str]) -> list[Place]:
    """The other places of a slider, the nearest first, of two the one further up (or down)."""
    at = control.texts.index(state[control.key])
    away = sorted((k - at for k in range(len(control.texts)) if k != at), key=lambda k: (abs(k), (k > 0) != up))
    return [
        Place(
            dc.replace(controls, **{control.key: control.options[at + k]}),
            state | {control.key: control.texts[at + k]},
        )
        for k in away
    ]


def crowded() -> bool:
    """True if so many visitors move that the server is needed for their present pictures."""
    since = time.monotonic() - _CROWD_SECONDS
    return len({who for moved, who in list(_MOVES) if moved > since}) >= _CROWD


def whole(experiment: Experiment, cancelled: Cancelled) -> pd.DataFrame:
    """The experiment's table; raises CancelledError where it was given up."""
    known = of_cached_cells(experiment)
    if known is not None:
        return known
    table = run(experiment, cancelled=cancelled)
    if (table.status == "cancelled").any():
        raise CancelledError
    return table


def answered(question: Question, cancelled: Cancelled) -> Answer:
    """The whole answer to a question; raises CancelledError where it was given up, or there is none."""
    job = SHARED.job_of(question)
    job.show(AHEAD, first=False)
    while not job.answer.finished and not cancelled():
        job.wait(_LOOK_SECONDS, lambda snapshot: False)
    job.hide(AHEAD)
    if not job.answer.complete or job.answer.reason:
        raise CancelledError
    return job.answer


async def answer(request: Request) -> Response:
    """The pictures that are offered under a token, as many as are drawn in a moment; 204 where there are none."""
    ahead = _OFFERED.get(request.path_params["token"])
    if ahead is None or crowded():
        return Response(status_code=204)
    drawn = asyncio.wrap_future(_POOL.submit(ahead.some))
    while not (await asyncio.wait({drawn}, timeout=_LOOK_SECONDS))[0]:
        if await request.is_disconnected():
            ahead.given_up = True
    pictures, more = drawn.result()
    if ahead.given_up and not pictures:
        return Response(status_code=204)
    text = json.dumps({"pictures": pictures, "more": more})
    return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})
