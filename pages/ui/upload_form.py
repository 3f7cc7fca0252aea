"""Uploaded records: one file, declared by its holder, kept in the memory of this session only.

The file's words and numbers appear in messages to its holder and nowhere else.
"""

import dataclasses as dc
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore import data
from dpcore.core.validation import shown
from dpcore.data import Declared, Format, RawTable, Report, Source, UploadedRecords
from dpcore.mechanisms.signed import keyed_digest
from pages.server.upload_lifetime import CHECK_SECONDS, LEFT_SECONDS, note_holder, why_off
from pages.ui.html import listed, literal, readable
from pages.ui.upload_bounds import CONTROLS, ask_bounds, held_bounds

Value = TypeVar("Value")

NOT_PRIVATE = (
    "Nothing shown here about your records is private: not their accuracy, not their excess risk, not an ε that you "
    "choose by them. Only a release made by the mechanism is."
)
STAYS = (
    "The file stays in this server's memory: it is not written to disk, not logged, shown to no other visitor, and "
    f"gone when you remove it here or {LEFT_SECONDS + CHECK_SECONDS:g} seconds after you close the page. Visits to "
    "other pages of this dashboard do not remove it."
)
_HELD = "upload held"
_CHOSEN = "upload"
_LIBSVM = ("txt", "svm", "libsvm")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|"}
_DECIMALS = {".": "decimal points", ",": "decimal commas"}
_ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (little-endian)",
    "utf-16-be": "UTF-16 (big-endian)",
    "cp1252": "Latin-1",
}


@dc.dataclass
class _Upload:
    """A session's file. digest: under the last key that was drawn, "" where none was. looks: questions asked of it.
    kept: see `_kept`.
    """

    name: str
    content: bytes
    digest: str = ""
    looks: set[Hashable] = dc.field(default_factory=set)
    kept: dict[str, tuple[Hashable, Any]] = dc.field(default_factory=dict)


class _Facts(NamedTuple):
    """Facts about a table for the controls, which replace it once there are records.

    columns: with a number in some row. words: the others. gaps: rows without a number, of each column.
    unlabelled: rows without a label. values: the labels that occur. suspects: as in `RawTable`. decimal: how numbers
    are written.
    """

    columns: tuple[str, ...]
    words: tuple[str, ...]
    gaps: dict[str, int]
    unlabelled: int
    values: tuple[str, ...]
    suspects: dict[str, str]
    decimal: str


def upload_source() -> Source | None:
    """Draw the uploader and all that its holder must declare; a source once that is complete and confirmed, else None.

    The source's key is known to `dpcore` while this session holds the records, and to nobody afterwards. What was
    declared is kept while other pages are shown. Not to be called twice in a script.
    """
    if off := why_off():
        _forget()
        st.caption(off)
        return None
    held: _Upload | None = st.session_state.get(_HELD)
    if held is None:
        types = ["csv", *_LIBSVM]
        st.file_uploader("Your own records: CSV or LIBSVM", type=types, key=_CHOSEN, on_change=_take)
        st.caption(STAYS)
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{literal(held.name)}**, {max(len(held.content) / 1000, 1):,.0f} kB", width="content")
        st.button(f"Remove {literal(held.name)}", on_click=_forget)
    st.caption(STAYS)
    try:
        # Once the bounds are confirmed, results belong near the top of the page.
        with st.expander("What the file holds", expanded=not held_bounds().confirmed):
            records = _records(held)
    except ValueError as error:
        st.error(literal(readable(str(error).replace(held.name, repr(held.name)))))
        records = None
    except Exception as error:
        # Streamlit logs every error, and this one may quote a cell.
        raise RuntimeError(f"an upload could not be read ({type(error).__name__})") from None
    if records is None:
        held.kept.pop("records", None)
        return None
    st.markdown(done(records.report, records.source))
    st.warning(NOT_PRIVATE)
    return records.source


def done(report: Report, source: Source) -> str:
    """Rows read, left out and clipped, as Markdown.

    >>> from dpcore.data import SOURCES
    >>> done(Report(150, 0, {"width": 0}), SOURCES["iris"])
    'Read 150 rows; nothing was left out or clipped. 105 records for training, 45 for testing.'
    """
    told = [f"Read {report.read:,} rows"]
    if report.dropped:
        told.append(f"{report.dropped:,} left out, because a number or the label is missing")
    clipped = {column: count for column, count in report.clipped.items() if count}
    if clipped:
        worst = sorted(clipped, key=lambda column: (-clipped[column], column))
        named = listed(f"{literal(column)} {clipped[column]:,}" for column in worst)
        told.append(f"{sum(clipped.values()):,} values beyond your bounds clipped to them ({named})")
    if len(told) == 1:
        told.append("nothing was left out or clipped")
    whole = report.read - report.dropped
    return f"{'; '.join(told)}. {source.size:,} records for training, {whole - (source.size or 0):,} for testing."


def clipping_warning(source: Source) -> str:
    """A sentence for a headline where bounds clip more than 1% of a column of an upload, else "".

    Plain text with a column's name in it, to be escaped where it is shown.
    """
    if not data.is_private(source.key):
        return ""
    report = data.held(source.key).report
    clipped = report.heavily_clipped()
    if not clipped:
        return ""
    worst, share = next(iter(clipped.items()))
    told = f"{shown(worst)} in {share:.1%} of the records"
    if len(clipped) > 1:
        told = f"{len(clipped)} of {len(report.clipped)} columns in more than 1% of the records, most of all {told}"
    return f"Your bounds clip {told}: all results below use the clipped values."


def digest_under(key: str) -> str:
    """Keyed digest of this session's file, which is kept with it, while the key is not; "" without a file."""
    held: _Upload | None = st.session_state.get(_HELD)
    if held is None:
        return ""
    held.digest = keyed_digest(held.content, key)
    return held.digest


def digest() -> str:
    """The last keyed digest of this session's file; "" where there is none."""
    held: _Upload | None = st.session_state.get(_HELD)
    return held.digest if held else ""


def note_looks(asked: Collection[Hashable]) -> int:
    """Count questions whose answers from the records of this session's file are shown; each counts once."""
    held: _Upload | None = st.session_state.get(_HELD)
    if held is None:
        return len(asked)
    held.looks.update(asked)
    return len(held.looks)


def _take() -> None:
    """Move a file that has just come from Streamlit's keeping into the session, where it outlives its widget."""
    file, context = st.session_state[_CHOSEN], get_script_run_ctx()
    if file is not None and context is not None:
        st.session_state[_HELD] = _Upload(file.name, file.getvalue())
        note_holder()
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _forget() -> None:
    """Drop the file and its controls, which hold its words."""
    for key in [key for key in st.session_state if str(key).startswith(CONTROLS)]:
        del st.session_state[key]


def _kept(held: _Upload, name: str, key: Hashable, make: Callable[[], Value]) -> Value:
    """Value held under a name, made anew when its key differs."""
    if name not in held.kept or held.kept[name][0] != key:
        held.kept.pop(name, None)
        held.kept[name] = (key, make())
    return held.kept[name][1]


def _asked(widget: Callable[..., Any], key: str, label: str, *options: Any, **more: Any) -> Any:
    """A control about the file, whose value is kept while other pages are shown."""
    return widget(label, *options, key=f"{CONTROLS}{key}", persist_state="session", **more)


def _records(held: _Upload) -> UploadedRecords | None:
    """The records as declared by the controls; None while something is left to declare."""
    form, label, place = None, "", 0
    if held.name.lower().endswith(".csv"):
        form = _format(held)
        columns = data.sheet_columns(held.content, held.name, form)
        chosen = _asked(st.selectbox, "label", "Which column is the label?", columns, None)
        if chosen is None:
            return None
        label, place = chosen, columns.index(chosen)

    def sheet() -> RawTable:
        return _kept(held, "sheet", (label, form), lambda: data.read_sheet(held.content, held.name, label, form))

    facts = _kept(held, "facts", (label, form), lambda: _facts(sheet(), form.decimal if form else "."))
    declared = _declared(facts, f"{place} {form}")
    if declared is None:
        return None
    records = _kept(held, "records", (label, form, declared), lambda: UploadedRecords(sheet(), declared, held.name))
    held.kept.pop("sheet", None)  # read again where something else is declared
    return records


def _format(held: _Upload) -> Format:
    """Format of the file: as guessed, unless its holder says otherwise."""
    guess = _kept(held, "guess", None, lambda: data.sniff(held.content, held.name))
    with st.container(horizontal=True, vertical_alignment="center"):
        told = st.empty()
        change = st.popover("Read it differently")
    with change:
        chosen = [
            _asked(st.selectbox, key, label, names, list(names).index(seems), names.__getitem__)
            for key, label, names, seems in (
                ("separator", "Columns are separated by", _SEPARATORS, guess.separator),
                ("decimal", "Numbers are written with", _DECIMALS, guess.decimal),
                ("encoding", "Text is written in", _ENCODINGS, guess.encoding),
            )
        ]
    separator, decimal, encoding = chosen
    if not guess.header:
        st.warning(
            "Is the first line a header? It looks like the lines below it. Unless you say otherwise, it is read as a "
            "record, and columns are named by position."
        )
    with change if guess.header else st.container():
        header = _asked(st.checkbox, "header", "The first line is a header", guess.header)
    first = "the first line is a header" if header else "the first line is a record"
    told.caption(
        f"Read as: separated by {_SEPARATORS[separator]}, {_DECIMALS[decimal]}, {_ENCODINGS[encoding]}, {first}.",
        width="content",
    )
    return Format(encoding, separator, decimal, header)


def _facts(sheet: RawTable, decimal: str) -> _Facts:
    gaps, rows = dict(zip(sheet.columns, sheet.gaps.tolist(), strict=True)), len(sheet.labels)
    columns = tuple(column for column in sheet.columns if gaps[column] < rows)
    if not columns:
        raise ValueError("columns must hold numbers in one column at least beside the label, got none")
    words = tuple(column for column in sheet.columns if gaps[column] == rows)
    return _Facts(columns, words, gaps, int((sheet.labels < 0).sum()), sheet.values, sheet.suspects, decimal)


def _declared(facts: _Facts, name: str) -> Declared | None:
    """Declaration of a table by its holder, None while something is left to declare.

    name: tells the controls of different tables apart.
    """
    if facts.words:
        st.caption(f"Not usable because they hold no number: {_with_reasons(facts.words, facts.suspects)}.")
    which = "Which label counts as +1? All others count as −1."
    positive = _asked(st.selectbox, f"positive {name}", which, facts.values, None)
    if doubtful := [column for column in facts.columns if column in facts.suspects]:
        st.warning(f"Not used as features unless you choose them below: {_with_reasons(doubtful, facts.suspects)}.")
    unsuspected = [column for column in facts.columns if column not in facts.suspects]
    used = tuple(_asked(st.multiselect, f"columns {name}", "Which columns are features?", facts.columns, unsuspected))
    bounds = ask_bounds(used, facts.columns, facts.decimal) if used else None
    norm = "Guess at the norm of a good model, made without looking at the file (0: the default rule)"
    theta_norm = _asked(st.number_input, "norm", norm, min_value=0.0, max_value=1e6, value=0.0, format="%g")
    drop = _drops(facts, used)
    if positive is None or bounds is None:
        return None
    low, high = zip(*bounds, strict=True)
    return Declared(used, low, high, positive, "drop" if drop else "refuse", theta_norm or None)


def _with_reasons(columns: Iterable[str], reasons: Mapping[str, str]) -> str:
    """Names of columns as Markdown, each with its reason where it has one.

    >>> _with_reasons(["a", "b"], {"b": "counts the rows"})
    'a, b counts the rows'
    """
    return listed(f"{literal(column)} {reasons.get(column, '')}".rstrip() for column in columns)


def _drops(facts: _Facts, used: tuple[str, ...]) -> bool:
    """Whether to leave out rows with a gap; asks only where there are gaps."""
    gaps = {literal(column): facts.gaps[column] for column in used} | {"the label": facts.unlabelled}
    lacking = [f"{count:,} in {name}" for name, count in gaps.items() if count]
    if not lacking:
        return False
    st.markdown(
        f"Rows with a gap: {listed(lacking)}. Remove these columns from the features, or leave the rows out. The "
        "number of records is public: leaving rows out reveals how many have gaps."
    )
    return bool(_asked(st.checkbox, "drop", "Leave out rows with a gap"))
