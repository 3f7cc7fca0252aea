"""What a figure sends to the browser, beside what plotly would send."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcore.figures.figure import Figure


def difference(ours: Any, theirs: Any, place: str = "figure") -> str:
    """Where two figures read from JSON differ first, and how; empty where both say the same.

    What is None or an empty list is not set, and an array is what it holds.
    """
    ours, theirs = _read(ours), _read(theirs)
    if ours == theirs or (ours in (None, []) and theirs in (None, [])):
        return ""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        pairs = [(f"{place}.{key}", ours.get(key), theirs.get(key)) for key in {**ours, **theirs}]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = [(f"{place}[{k}]", ours[k], theirs[k]) for k in range(len(ours))]
    else:
        return f"{place} is {ours!r:.200}, plotly says {theirs!r:.200}"
    return next(filter(None, (difference(one, other, where) for where, one, other in pairs)), "")


def checked(to_json: Callable[[Figure], str]) -> Callable[[Figure], str]:
    """The same, after a look at what plotly makes of the figure; plotly refuses what it does not know.

    Plotly sees the figures in which a property, or a word of one, is new: it takes most of the time of a test that
    draws. An accuracy says little without that of the larger class, which must be beside it.
    """
    seen, passed = set[str](), set[int]()

    def made(figure: Figure) -> str:
        if hash(sent := to_json(figure)) in passed:
            return sent
        ours = json.loads(sent)
        if not (found := kinds(ours)) <= seen:
            theirs = json.loads(figure.plotly.to_json(engine="json"))
            theirs["layout"]["template"] = {}  # an empty one, which plotly fills with traces that set nothing
            assert not (differs := difference(ours, theirs)), differs
            seen.update(found)
        titles = [note.get("text", "") for note in ours["layout"].get("annotations", ())]
        if any(re.match("accuracy(?!<br>reached)|.*, %$", title) for title in titles):
            names = [str(trace.get("name")) for trace in ours["data"]]
            levels = ("always the larger class", "the largest class")
            assert any(name.startswith(levels) for name in names), f"no larger class among {names}"
        passed.add(hash(sent))
        return sent

    return made


def kinds(sent: Any, place: str = "") -> set[str]:
    """What plotly may refuse: every property of every kind of trace, and its words; of numbers, texts and colours that
    they are."""
    if isinstance(sent, dict) and "bdata" in sent:
        return {f"{place}: {sent['dtype']}, {sent.get('shape', '').count(',')}"}
    if isinstance(sent, dict):
        here = f"{place} {sent.get('type', '')}"
        return {here}.union(*(kinds(value, f"{here}.{key.rstrip('23456789')}") for key, value in sent.items()))
    if isinstance(sent, list):
        return {f"{place}[]"}.union(*(kinds(each, f"{place}[]") for each in sent))
    if isinstance(sent, str):
        if place.rstrip("[]").rpartition(".")[2] in _TEXTS:
            return {f"{place}: text"}
        return {f"{place}: {'colour' if _COLOUR.match(sent) else sent}"}
    return {f"{place}: {sent if isinstance(sent, bool | None) else 'number'}"}


_COLOUR = re.compile("#[0-9A-F]{6}$")
# Properties whose words nobody but a reader takes in.
_TEXTS = {"text", "name", "hovertemplate", "hovertext", "ticktext", "alt", "x", "y"}


def _read(value: Any) -> Any:
    if not (isinstance(value, dict) and "bdata" in value):
        return value
    shape = [int(size) for size in value.get("shape", "-1").split(",")]
    array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).reshape(shape)
    return np.where(np.isfinite(array), array.astype(object), None).tolist()
