"""The file that a visitor has dropped: taken from Streamlit at once, and kept in the memory of this session only."""

import dataclasses as dc
import json
from collections.abc import Callable, Hashable
from typing import Any, Literal, TypeVar

import pandas as pd
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpcore import data
from dpcore.data import Declared
from dpcore.mechanisms.signed import keyed_digest, new_key
from dpcore.studies.decide.release_ledger import ReleaseLedger
from pages.server.upload_lifetime import note_holder

Value = TypeVar("Value")
Pair = tuple[float, float]
Levels = tuple[str, ...]

CONTROLS = "upload "  # how the keys of all controls begin that ask something about the file
REFUSED = f"{CONTROLS}refused"  # sentences about files that came last and were not taken
_HELD = f"{CONTROLS}held"
_DROPS = f"{CONTROLS}drops"  # how often files have come


@dc.dataclass
class Said:
    """What the holder has said of a column, or others for them.

    use, kind: None and "" for what is guessed. low, high: as texts, "" for none. origin: where bounds or levels come
    from.
    """

    use: bool | None = None
    kind: str = ""
    low: str = ""
    high: str = ""
    levels: Levels = ()
    origin: str = ""


@dc.dataclass(frozen=True)
class Dictionary:
    """A column dictionary that came with the file. number: how many have come."""

    label: str
    declared: Declared
    unit: str
    records: int
    number: int


@dc.dataclass
class Held:
    """A session's file. key: random; digest: of the file's bytes under it.

    dictionary: None where none came. fitted: number of the last one that was compared with the file. kept: see `keep`.
    said: of columns, by name. confirmed: bounds and levels that the holder called public knowledge. shown: those under
    which the page first told what they clip or leave out. looked: columns for which others were confirmed afterwards,
    or whose levels were taken from the file. frame: the table of columns as its editor has got it, None where it is to
    be made anew; frames: how many there were; guessed: of its cells those that were not typed. told, wrong: what the
    last import did, or why it did nothing. open: whether something is left to declare. unfit: whether the records do
    not fit what was confirmed. looks: questions asked of the records.
    """

    name: str
    content: bytes
    key: str
    digest: str
    dictionary: Dictionary | None = None
    fitted: int = 0
    ledger: ReleaseLedger | None = None
    kept: dict[str, tuple[Hashable, Any]] = dc.field(default_factory=dict)
    said: dict[str, Said] = dc.field(default_factory=dict)
    confirmed: dict[str, Pair | Levels] = dc.field(default_factory=dict)
    shown: dict[str, Pair | Levels] = dc.field(default_factory=dict)
    looked: set[str] = dc.field(default_factory=set)
    frame: pd.DataFrame | None = None
    frames: int = 0
    guessed: dict[str, list[str]] = dc.field(default_factory=dict)
    told: str = ""
    wrong: str = ""
    open: bool = True
    unfit: bool = False
    looks: set[Hashable] = dc.field(default_factory=set)

    @property
    def loaded(self) -> int:
        """How many dictionaries have come."""
        return self.dictionary.number if self.dictionary else 0

    def keep(self, name: str, key: Hashable, make: Callable[[], Value]) -> Value:
        """Value held under a name, made anew when its key differs."""
        if name not in self.kept or self.kept[name][0] != key:
            self.kept.pop(name, None)
            self.kept[name] = (key, make())
        value: Value = self.kept[name][1]
        return value

    def confirm(self, declared: dict[str, Pair | Levels]) -> None:
        """Take bounds and levels as confirmed, and record those that differ from what the page has told about."""
        self.open, self.told = False, ""
        self.confirmed |= declared
        self.looked |= {column for column, said in declared.items() if self.shown.get(column, said) != said}

    def show(self, declared: Declared) -> None:
        """Note that the page tells what these bounds and levels clip or leave out."""
        self.shown = bounds_of(declared) | self.shown


def bounds_of(declared: Declared) -> dict[str, Pair | Levels]:
    """Bounds or levels of each feature of a declaration."""
    pairs = zip(declared.low, declared.high, strict=True)
    return {**dict(zip(declared.columns, pairs, strict=True)), **{c.column: c.levels for c in declared.categories}}


def held_file() -> Held | None:
    """This session's file."""
    held: Held | None = st.session_state.get(_HELD)
    return held


def drop_zone(label: str, arrived: Callable[[], None], width: int | Literal["stretch"] = "stretch") -> None:
    """A place for a file, its dictionary and its ledger, together or one by one. arrived: called with a file. width:
    px."""
    key = f"{CONTROLS}files {st.session_state.get(_DROPS, 0)}"  # each shows no file of those before
    # Of any ending: what cannot be read is answered by what to do.
    st.file_uploader(label, accept_multiple_files=True, key=key, on_change=_take, args=(key, arrived), width=width)


def asked(widget: Callable[..., Any], key: str, label: str, *options: Any, **more: Any) -> Any:
    """A control about the file, whose value is kept while other pages are shown."""
    return widget(label, *options, key=f"{CONTROLS}{key}", persist_state="session", **more)


def inline(widget: Callable[..., Any], key: str, label: str, *options: Any, **more: Any) -> Any:
    """As `asked`, in the middle of a sentence, which says what the label says."""
    return asked(widget, key, label, *options, label_visibility="collapsed", **more)


def forget() -> None:
    """Drop the file and its controls, which hold its words."""
    for key in [key for key in st.session_state if str(key).startswith(CONTROLS)]:
        del st.session_state[key]


def _take(uploader: str, arrived: Callable[[], None]) -> None:
    """Move files that have just come into the session, where they outlive their widget."""
    if not (files := _arrived(uploader)):
        return
    st.session_state[_DROPS] = st.session_state.get(_DROPS, 0) + 1
    refused = st.session_state[REFUSED] = []
    kinds = [_kind_of(content) for _, content in files]
    tables = [file for file, kind in zip(files, kinds, strict=True) if kind == "records"]
    held = held_file()
    names = [held.name] if held else []
    names += [name for name, _ in tables]
    if len(names) > 1:
        advice = "remove the one that it has first" if held else "drop only one of them"
        refused.append(f"A page has one file of records, got {' and '.join(map(repr, names))}: {advice}")
    elif tables:
        name, content = tables[0]
        key = new_key()
        held = st.session_state[_HELD] = Held(name, content, key, keyed_digest(content, key))
        note_holder()
        arrived()
    elif held is None:
        refused.append("A dictionary or a ledger comes with a file of records: drop them together")
    if held is None:
        return
    for (name, content), kind in zip(files, kinds, strict=True):
        try:
            if kind == "columns":
                read = (*data.read_dictionary(content, name), *data.read_unit(content, name))
                held.dictionary = Dictionary(*read, number=held.loaded + 1)
            elif kind == "releases":
                held.ledger = ReleaseLedger.read(content, name)
        except ValueError as error:
            refused.append(f"Not loaded: {error}")


def _arrived(uploader: str) -> list[tuple[str, bytes]]:
    """Names and contents of files that have just come, which Streamlit then keeps no longer."""
    context = get_script_run_ctx()
    # Those that have been taken before are a DeletedFile.
    files = [file for file in st.session_state[uploader] if isinstance(file, UploadedFile)]
    if context is None:
        return []
    context.uploaded_file_mgr.remove_session_files(context.session_id)
    return [(file.name, file.getvalue()) for file in files]


def _kind_of(content: bytes) -> str:
    """What a file is: "columns" for a dictionary, "releases" for a ledger, "records" for everything else."""
    if content.lstrip()[:1] == b"{":
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return next((key for key in ("releases", "columns") if key in found), "records")
    return "records"
