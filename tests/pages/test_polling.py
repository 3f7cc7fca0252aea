"""The questions that a page asks: what its picture needs first, the others when the picture is there."""

from __future__ import annotations

import dataclasses as dc
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from pages.background import polling


@dc.dataclass(frozen=True)
class Noted:
    """A question that notes when its answer begins, and waits before it is there."""

    name: str
    notes: list[str] = dc.field(compare=False)
    wait: threading.Event = dc.field(compare=False)
    source: None = None

    def snapshots(self, cancelled) -> Iterator[str]:
        self.notes.append(f"{self.name} begins")
        assert self.wait.wait(30.0)
        self.notes.append(f"{self.name} is there")
        yield self.name


@pytest.fixture
def session(monkeypatch) -> dict[str, object]:
    state: dict[str, object] = {}
    monkeypatch.setattr(polling, "st", SimpleNamespace(session_state=state))
    monkeypatch.setattr(polling, "watcher", lambda: "me")
    return state


def test_the_others_begin_when_the_first_has_something_to_show(session):
    notes, slow, quick = [], threading.Event(), threading.Event()
    quick.set()
    threading.Timer(0.1, slow.set).start()
    held = polling.ask({"curve": Noted("curve", notes, slow), "size": Noted("size", notes, quick)})
    held.jobs["size"].wait(30.0)
    assert notes[:3] == ["curve begins", "curve is there", "size begins"]
    assert session == {polling._NAME: held} and list(held.jobs) == ["curve", "size"]


def test_what_is_asked_again_is_kept_and_the_rest_is_left(session):
    notes, now = [], threading.Event()
    now.set()
    first = polling.ask({name: Noted(f"{name} kept", notes, now) for name in ("curve", "size")})
    again = polling.ask({"curve": Noted("another", notes, now), "size": Noted("size kept", notes, now)})
    assert again.jobs["size"] is first.jobs["size"]
    assert "me" not in first.jobs["curve"]._heard and "me" in again.jobs["size"]._heard
