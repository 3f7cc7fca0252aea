"""Uploaded records: one file, declared by its holder, kept in the memory of this session only.

The file's words and numbers appear in messages to its holder and nowhere else.
"""

import dataclasses as dc
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpcore import data
from dpcore.core.validation import shown
from dpcore.data import ColumnFacts, Declared, Format, RawTable, Report, Source, UploadedRecords
from dpcore.data.tables import CSV_ENDINGS, LIBSVM_ENDINGS, PARQUET_ENDING, SPREADSHEET_ENDINGS
from dpcore.mechanisms.signed import keyed_digest
from pages.server.upload_lifetime import CHECK_SECONDS, LEFT_SECONDS, note_holder, why_off
from pages.ui.html import listed, literal, readable
from pages.ui.upload_bounds import CONTROLS, ask_bounds, bounds_of, held_bounds

Value = TypeVar("Value")

NOT_PRIVATE = (
    "Nothing shown here about your records is private: not their accuracy, not their excess risk, not an ε chosen by "
    "looking at them. Only a release made by the mechanism is."
)
STAYS = (
    "The file stays in this server's memory: it is not written to disk, not logged, shown to no other visitor, and "
    f"gone when you remove it here or {LEFT_SECONDS + CHECK_SECONDS:g} seconds after you close the page. Visits to "
    "other pages of this dashboard do not remove it."
)
_HELD = "upload held"
_CHOSEN = "upload"
_DICTIONARY = "upload of a dictionary"
_AFTER_LOOKING = "chosen after looking at the records: not covered by ε"
_ROWS_SHOWN = 8  # of a table, beyond which it scrolls
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|", " ": "blanks"}
_DECIMALS = {".": "decimal points", ",": "decimal commas"}
_QUOTES = {'"': "double quotes", "'": "single quotes"}
_THOUSANDS = {"": "nothing", ",": "commas", ".": "points", "'": "apostrophes", " ": "blanks"}
_ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (little-endian)",
    "utf-16-be": "UTF-16 (big-endian)",
    "cp1252": "Western European (Windows)",
    "latin-1": "Latin-1",
    "mac_roman": "Western European (Mac)",
}


@dc.dataclass
class _Upload:
    """A session's file. digest: under the last key that was drawn, "" where none was. looks: questions asked of it.
    kept: see `_kept`. unfit: whether the records do not fit what was declared and confirmed.

    dictionary: label and declaration that the holder loaded, and why it was not loaded, if so; loaded: how many there
    were; taken: the last one whose bounds were taken over.
    """

    name: str
    content: bytes
    digest: str = ""
    looks: set[Hashable] = dc.field(default_factory=set)
    kept: dict[str, tuple[Hashable, Any]] = dc.field(default_factory=dict)
    dictionary: tuple[str, Declared] | None = None
    refused: str = ""
    unfit: bool = False
    loaded: int = 0
    taken: int = 0


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
        endings = (*CSV_ENDINGS, PARQUET_ENDING, *LIBSVM_ENDINGS, *SPREADSHEET_ENDINGS)
        types = [ending.removeprefix(".") for ending in endings]
        st.file_uploader("Your own records: CSV, Parquet or LIBSVM", type=types, key=_CHOSEN, on_change=_take)
        st.caption(STAYS)
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{literal(held.name)}**, {max(len(held.content) / 1000, 1):,.0f} kB", width="content")
        st.button(f"Remove {literal(held.name)}", on_click=_forget)
        with st.popover("Load a column dictionary"):
            st.file_uploader(
                "A dictionary that you downloaded here: it declares all columns at once",
                type="json",
                key=_DICTIONARY,
                on_change=_take_dictionary,
            )
    st.caption(STAYS)
    if held.refused:
        st.error(literal(readable(held.refused)))
    try:
        # Once the bounds are confirmed, results belong near the top of the page, unless something is left to mend.
        with st.expander("What the file holds", expanded=held.unfit or not held_bounds().confirmed):
            records = _records(held)
        held.unfit = False
    except ValueError as error:
        if held_bounds().confirmed and not held.unfit:
            held.unfit = True
            st.rerun()
        st.error(literal(readable(str(error).replace(held.name, repr(held.name)))))
        records = None
    except Exception as error:
        # Streamlit logs every error, and this one may quote a cell.
        raise RuntimeError(f"an upload could not be read ({type(error).__name__})") from None
    if records is None:
        held.kept.pop("records", None)
        return None
    st.markdown(done(records.report, records.source))
    if (table := _changes(records))["Column"]:
        _table(table)
    if looked := looking_warning(records.source, literal):
        st.warning(looked)
    held_bounds().show(records.declared)
    st.download_button(
        "Download the column dictionary",
        data.write_dictionary(records.label, records.declared),
        "columns.json",
        "application/json",
        on_click="ignore",
    )
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
        unknown = ", or a level was not declared" if any(report.unknown.values()) else ""
        told.append(f"{report.dropped:,} left out, because a number or the label is missing{unknown}")
    clipped = {column: count for column, count in report.clipped.items() if count}
    if clipped:
        worst = sorted(clipped, key=lambda column: (-clipped[column], column))
        named = listed(f"{literal(column)} {clipped[column]:,}" for column in worst)
        told.append(f"{sum(clipped.values()):,} values beyond your bounds clipped to them ({named})")
    if len(told) == 1:
        told.append("nothing was left out or clipped")
    whole = report.read - report.dropped
    return f"{'; '.join(told)}. {source.size:,} records for training, {whole - (source.size or 0):,} for testing."


def _changes(records: UploadedRecords) -> dict[str, list[str]]:
    """Gaps, undeclared levels and clipped values of the columns that have any, as columns of a table."""
    report, kept = records.report, records.report.read - records.report.dropped
    rows = []
    for column, said in bounds_of(records.declared).items():
        clipped = report.clipped.get(column, 0)
        if not any((report.gaps[column], report.unknown.get(column, 0), clipped)):
            continue
        category = column in report.unknown
        bounds = f"{len(said)} levels" if category else f"{said[0]:g} to {said[1]:g}"
        share = "" if category else f"{clipped:,} ({clipped / kept:.1%})"
        unknown = f"{report.unknown[column]:,}" if category else ""
        rows.append((literal(column), bounds, f"{report.gaps[column]:,}", unknown, share))
    if report.unlabelled:
        rows.append(("the label", "", f"{report.unlabelled:,}", "", ""))
    names = ("Column", "Declared", "Rows without a value", "Rows with another level", "Values clipped")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _table(columns: dict[str, list[str]]) -> None:
    """A table in text, which scrolls where it is long."""
    long = len(next(iter(columns.values()))) > _ROWS_SHOWN
    with st.container(height=300 if long else "content", border=False):
        st.table(columns, hide_index=True)


def looking_warning(source: Source, spelled: Callable[[str], str] = str) -> str:
    """A sentence on the columns of an upload that were declared after looking at its records, else ""."""
    looked = data.held(source.key).declared.after_looking if data.is_private(source.key) else ()
    return f"{listed(map(spelled, looked))}: bounds or levels {_AFTER_LOOKING}." if looked else ""


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


def _arrived(uploader: str) -> tuple[str, bytes] | None:
    """Name and content of a file that has just come, which Streamlit then keeps no longer."""
    file, context = st.session_state[uploader], get_script_run_ctx()
    if not isinstance(file, UploadedFile) or context is None:  # a DeletedFile once it has been taken
        return None
    context.uploaded_file_mgr.remove_session_files(context.session_id)
    return file.name, file.getvalue()


def _take() -> None:
    """Move a file that has just come into the session, where it outlives its widget."""
    if (file := _arrived(_CHOSEN)) is not None:
        st.session_state[_HELD] = _Upload(*file)
        note_holder()


def _take_dictionary() -> None:
    """Read a dictionary that has just come, and let it declare what the controls show."""
    file, held = _arrived(_DICTIONARY), st.session_state.get(_HELD)
    if file is None or held is None:
        return
    name, content = file
    try:
        held.dictionary, held.refused = data.read_dictionary(content, name), ""
        held.loaded += 1
    except ValueError as error:
        held.refused = f"No dictionary was loaded: {error}."


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
    kind = data.kind_of(held.name)
    form = _format(held) if kind == "csv" else None
    with st.spinner("Reading the file"):
        table = _kept(held, "table", form, lambda: data.read_table(held.content, held.name, form=form))
    if kind != "libsvm":
        columns = [*table.columns]
        wanted = held.dictionary[0] if held.dictionary else None
        if wanted is not None and wanted not in columns:
            told = f"The dictionary does not fit this file, which has no column {shown(wanted)} for the label."
            st.warning(literal(readable(told)))
        at = columns.index(wanted) if wanted in columns else None
        chosen = _asked(st.selectbox, f"label {held.loaded}", "Which column is the label?", columns, at)
        if chosen is None:
            return None
        table = table.with_label(chosen)
    place = [*table.columns].index(table.label)
    facts = _kept(held, "facts", (table.label, form), lambda: data.facts_of(table).columns)
    declared = _declared(table, facts, f"{place} {form} {held.loaded}", _fitting(held, table, facts))
    if declared is None:
        return None
    return _kept(held, "records", (table.label, form, declared), lambda: UploadedRecords(table, declared, held.name))


def _format(held: _Upload) -> Format:
    """Format of the file: as guessed, unless its holder says otherwise."""
    guess = _kept(held, "guess", None, lambda: data.sniff(held.content, held.name))
    with st.container(horizontal=True, vertical_alignment="center"):
        told = st.empty()
        change = st.popover("Read it differently")
    with change:
        chosen = {
            key: _asked(st.selectbox, key, label, names, list(names).index(getattr(guess, key)), names.__getitem__)
            for key, label, names in (
                ("separator", "Columns are separated by", _SEPARATORS),
                ("decimal", "Numbers are written with", _DECIMALS),
                ("thousands", "Groups of three digits are separated by", _THOUSANDS),
                ("quote", "Texts stand in", _QUOTES),
                ("encoding", "Text is written in", _ENCODINGS),
            )
        }
        row_names = _asked(st.checkbox, "row names", "Rows begin with a name that the header lacks", guess.row_names)
    if not guess.header:
        st.warning(
            "Is the first line a header? It looks like the lines below it. Unless you say otherwise, it is read as a "
            "record, and columns are named by position."
        )
    with change if guess.header else st.container():
        header = _asked(st.checkbox, "header", "The first line is a header", guess.header)
    first = "the first line is a header" if header else "the first line is a record"
    groups = f"{_THOUSANDS[chosen['thousands']]} between groups of three digits, " if chosen["thousands"] else ""
    told.caption(
        f"Read as: separated by {_SEPARATORS[chosen['separator']]}, {_DECIMALS[chosen['decimal']]}, {groups}"
        f"{_ENCODINGS[chosen['encoding']]}, {first}.",
        width="content",
    )
    return Format(header=header, row_names=row_names, **chosen)


def _numeric(facts: Iterable[ColumnFacts]) -> tuple[str, ...]:
    return tuple(column.name for column in facts if column.numeric)


def _fitting(held: _Upload, table: RawTable, facts: Iterable[ColumnFacts]) -> Declared | None:
    """The loaded dictionary as far as it fits the table; what does not fit is told, and then nothing is confirmed."""
    if held.dictionary is None or held.dictionary[0] != table.label:
        return None
    declared = held.dictionary[1]
    wrong = data.mismatches(declared, table.features, _numeric(facts), table.labels[0])
    if wrong:
        told = literal(readable("; ".join(wrong)))
        st.warning(f"The dictionary does not fit this file, so check and confirm the rest: {told}.")
    if held.taken < held.loaded:
        held.taken = held.loaded
        bounds = held_bounds()
        bounds.of |= zip(declared.columns, zip(declared.low, declared.high, strict=True), strict=True)
        bounds.table = None
        for category in declared.categories:
            st.session_state[f"{CONTROLS}levels {category.column}"] = "\n".join(category.levels)
        bounds.looked |= {*declared.after_looking}
        if not wrong:
            bounds.confirm(bounds_of(declared))
    return declared


def _declared(table: RawTable, facts: tuple[ColumnFacts, ...], name: str, said: Declared | None) -> Declared | None:
    """Declaration of a table by its holder, None while something is left to declare.

    facts: about all columns but the label. name: tells the controls of different tables and dictionaries apart. said:
    a declaration with which they begin.
    """
    columns, values = _numeric(facts), table.labels[0]
    texts = tuple(column for column in table.features if column not in columns and table.columns[column].words)
    usable = (*columns, *texts)
    if not usable:
        raise ValueError("columns must hold numbers or levels in one column at least beside the label, got none")
    which = "Which label counts as +1? All others count as −1."
    at = values.index(said.positive) if said and said.positive in values else None
    positive = _asked(st.selectbox, f"positive {name}", which, values, at)
    likely = [column.name for column in facts if column.numeric and column.use]
    used = [column for column in said.features if column in usable] if said else likely
    used = _asked(st.multiselect, f"columns {name}", "Which columns are features?", usable, used)
    _tell_columns(table, facts, used)
    codes = [each.column for each in said.categories if each.column in columns] if said else []
    if columns:
        asked = "Which columns of numbers are codes of categories, not amounts?"
        codes = _asked(st.multiselect, f"codes {name}", asked, columns, codes, placeholder="none")
    numbers = tuple(column for column in used if column in columns and column not in codes)
    categories = tuple(column for column in used if column not in numbers)
    decimal = table.form.decimal if table.form else "."
    bounds = ask_bounds(numbers, categories, usable, columns, decimal, table.levels) if used else None
    drop = _drops(table, numbers, categories, name, said is not None and said.gaps == "drop")
    if positive is None or bounds is None:
        return None
    low, high = zip(*bounds[0], strict=True) if bounds[0] else ((), ())
    looked = tuple(column for column in (*numbers, *categories) if column in held_bounds().looked)
    return Declared(numbers, low, high, positive, "drop" if drop else "refuse", tuple(bounds[1]), looked)


def _tell_columns(table: RawTable, facts: Iterable[ColumnFacts], used: Collection[str]) -> None:
    """Tables of the columns that are no features, each with the reason, and of what is odd about the others."""
    left, odd = {}, {}
    for column in facts:
        if column.name in used:
            if column.notes:
                odd[column.name] = "; ".join(column.notes)
        else:
            usual = "is text: choose it, and declare its levels" if table.columns[column.name].words else "has no value"
            left[column.name] = column.reason or ("was left out by you" if column.numeric else usual)
    for told, first, second in ((left, "Left out", "because it"), (odd, "In this column", "there are")):
        if told:
            _table({first: [*map(literal, told)], second: [literal(readable(each)) for each in told.values()]})
    if left or odd:
        st.caption("This comes from a look at the records, which ε does not cover.")


def _drops(table: RawTable, numbers: Iterable[str], categories: Collection[str], name: str, said: bool) -> bool:
    """Whether to leave out rows with a gap; asks only where there are gaps, or may be undeclared levels."""
    gaps = {literal(column): int(np.isnan(table.columns[column].numbers).sum()) for column in numbers}
    gaps |= {literal(column): int(table.columns[column].missing.sum()) for column in categories}
    gaps["the label"] = int((table.labels[1] < 0).sum())
    lacking = [f"{count:,} in {where}" for where, count in gaps.items() if count]
    if not lacking and not categories:
        return False
    if lacking:
        st.markdown(
            f"Rows with a gap: {listed(lacking)}. Remove these columns from the features, or leave the rows out."
        )
    levels = " or an undeclared level" if categories else ""
    st.caption(f"The number of records is public: leaving rows out reveals how many have gaps{levels}.")
    return bool(_asked(st.checkbox, f"drop {name}", f"Leave out rows with a gap{levels}", said))
