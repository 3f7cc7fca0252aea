"""Pictures of a chart at other places of epsilon's slider, drawn before anybody asks for them.

Once a chart is on the screen its browser fetches them, the nearest place first, and keeps them: a step of the slider
has its picture at once, and so has a drag where pictures are cheap. One thread draws them for the whole server. It
gives up as soon as its reader moves on, and does nothing while several people move, whose own pictures come first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response

from dpcore import EPSILON_GRID, Experiment, NotApplicable, Unconverged, figures, run
from dpcore.inquiries import Question, join
from dpcore.refinement import Watched
from pages.ui.refine import watcher

if TYPE_CHECKING:
    import pandas as pd

# Given an epsilon and what says whether its reader has moved on: the chart there and its sentence. It runs outside the
# script, so it must not call Streamlit.
Draw = Callable[[float, Callable[[], bool]], tuple[figures.Figure, str]]
# What a browser is told of one picture, given figure, sentence and what the controls say there.
Finish = Callable[[figures.Figure, str, dict[str, str]], dict[str, Any]]

PATH = "ahead"
# The two next places are drawn whatever they cost; the others as long as all of them took no more than this.
_SECONDS = 0.4
_ANSWER_SECONDS = 0.1  # what a browser waits for at a time, where one picture does not take longer
_LOOK_SECONDS = 0.02
# So many visitors that have moved within so many seconds are a crowd.
_CROWD, _CROWD_SECONDS = 3, 2.0
_OFFERS = "pictures ahead"  # in the session: key of a chart -> Ahead

_POOL = ThreadPoolExecutor(1, thread_name_prefix=PATH)
_OFFERED: WeakValueDictionary[str, Ahead] = WeakValueDictionary()
_MOVES: deque[tuple[float, Hashable]] = deque(maxlen=1_000)


class Ahead:
    """The pictures of one chart beside the one that is shown; they live as long as the session offers them.

    draw, finish: as above. state: what the controls say now, epsilon among them.
    """

    def __init__(self, draw: Draw, finish: Finish, state: dict[str, str]) -> None:
        self.given_up = False
        self._draw, self._finish, self._state = draw, finish, state
        self._pictures = self._nearest_first()

    def _nearest_first(self) -> Iterator[dict[str, Any]]:
        here = float(self._state["epsilon"])
        # No place beyond the ends: the nearest are two, or one at an end.
        at = min(range(len(EPSILON_GRID)), key=lambda k: abs(EPSILON_GRID[k] - here))
        places = sorted((k for k in range(len(EPSILON_GRID)) if k != at), key=lambda k: (abs(k - at), -k))
        spent = 0.0
        for k in places:
            if abs(k - at) > 1 and spent > _SECONDS:
                return
            started = time.perf_counter()
            try:
                figure, alt = self._draw(EPSILON_GRID[k], lambda: self.given_up)
            except (NotApplicable, Unconverged):
                continue
            finally:
                spent += time.perf_counter() - started
            yield self._finish(figure, alt, self._state | {"epsilon": f"{EPSILON_GRID[k]:g}"})

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
            pass  # given up
        except Exception:
            logging.getLogger(__name__).exception("no pictures ahead")
            return drawn, False
        return drawn, True


def begin() -> None:
    """At the begin of each run: whoever moves wants none of what was drawn ahead of the picture before."""
    _MOVES.append((time.monotonic(), watcher()))
    for ahead in st.session_state.pop(_OFFERS, {}).values():
        ahead.given_up = True


def offer(key: str, draw: Draw, finish: Finish, state: dict[str, str]) -> str:
    """Let the browser of this session fetch the pictures beside a chart; returns the address, below the server's."""
    token = secrets.token_urlsafe(16)
    ahead = Ahead(draw, finish, state)
    st.session_state.setdefault(_OFFERS, {})[key] = _OFFERED[token] = ahead
    return f"{PATH}/{token}"


def crowded() -> bool:
    """Whether so many people move that each needs the server for the picture of now."""
    since = time.monotonic() - _CROWD_SECONDS
    return len({who for moved, who in list(_MOVES) if moved > since}) >= _CROWD


def whole(experiment: Experiment, cancelled: Callable[[], bool]) -> pd.DataFrame:
    """The experiment's table; raises CancelledError where it was given up."""
    table = run(experiment, cancelled=cancelled)
    if (table.status == "cancelled").any():
        raise CancelledError
    return table


def finish(held: Watched, me: Hashable, cancelled: Callable[[], bool]) -> None:
    """Wait for all of what `me` watches in the background; raises CancelledError where it was given up."""
    while not held.finished:
        held.watch(me)
        held.wait(_LOOK_SECONDS)
        if cancelled():
            held.leave(me)
            raise CancelledError
    held.leave(me)


def answered(question: Question, cancelled: Callable[[], bool]) -> Any:
    """The whole answer; raises CancelledError where it was given up, or there is none."""
    me = object()
    inquiry = join(question, me)
    finish(inquiry, me, cancelled)
    if not inquiry.complete or inquiry.reason:
        raise CancelledError
    return inquiry.snapshot


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
    if ahead.given_up:
        return Response(status_code=204)
    text = json.dumps({"pictures": pictures, "more": more})
    return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})
