"""Records that a visitor brings along: one file, declared by its holder, in the memory of this session only.

The file's words and numbers appear in messages to its holder and nowhere else.
"""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore import data
from dpcore.checks import shown
from dpcore.data import Declared, Format, PrivateRecords, Report, Sheet, Source
from dpcore.data.lines import number_in

from .text import readable
from .upload_server import CHECK_SECONDS, LEFT_SECONDS, note_holder, why_off

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")
Bounds = tuple[float, float]  # nan where there is none yet

NOT_PRIVATE = (
    "What you see of these records here, their accuracy, their excess risk, even the ε that you pick by them, is "
    "computed from them and is itself not private. Only a release made by the mechanism is."
)
STAYS = (
    "The file stays in this server's memory: it is not written to disk, not logged, shown to no other visitor, and "
    f"gone when you remove it here or {LEFT_SECONDS + CHECK_SECONDS:g} seconds after you close the page. It is kept "
    "while you visit other pages of this dashboard."
)
_HELD = "upload held"
_CHOSEN = "upload"
_CONTROLS = "upload "  # how the keys of all controls begin that ask something about the file
_LIBSVM = ("txt", "svm", "libsvm")
_LABEL = "label"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|"}
_DECIMALS = {".": "decimal points", ",": "decimal commas"}
_ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (little-endian)",
    "utf-16-be": "UTF-16 (big-endian)",
    "cp1252": "Latin-1",
}
_NO_BOUNDS: Bounds = (math.nan, math.nan)
_PERCENT, _SHARE = "percent|percentage|pct", "probability|fraction|proportion"
# Bounds that are public knowledge: what a column's name must be in small letters, smallest and largest value.
_PROPOSED = (
    ("age|age (in )?years", 0.0, 120.0),
    (f"({_PERCENT})|.* ({_PERCENT})|({_PERCENT}) .*", 0.0, 100.0),
    (f"({_SHARE})|.* ({_SHARE})|({_SHARE}) .*", 0.0, 1.0),
    ("(is|has) .*", 0.0, 1.0),
    ("month", 1.0, 12.0),
    ("day of (the )?month", 1.0, 31.0),
    ("hour|hour of (the )?day", 0.0, 24.0),
    ("hours (per|a) week", 0.0, 168.0),
    ("lat|latitude", -90.0, 90.0),
    ("lon|lng|longitude", -180.0, 180.0),
)


@dc.dataclass
class _Upload:
    """What a session holds of its file.

    bounds: of each column that has been in the table. confirmed: those that their holder called public knowledge.
    table: the table of bounds before the edits that its editor holds, None where it is to be made anew; tables: how
    many there were. kept: see `_kept`.
    """

    name: str
    content: bytes
    bounds: dict[str, Bounds] = dc.field(default_factory=dict)
    confirmed: dict[str, Bounds] = dc.field(default_factory=dict)
    table: pd.DataFrame | None = None
    tables: int = 0
    kept: dict[str, tuple[Hashable, Any]] = dc.field(default_factory=dict)


class _Facts(NamedTuple):
    """What the controls must know of a table, so that it need not be held once there are records.

    columns: those with a number in some row. words: the others. gaps: rows without a number, of each column.
    unlabelled: rows without a label. values: the labels that occur. suspects: as in `Sheet`. decimal: how numbers are
    written.
    """

    columns: tuple[str, ...]
    words: tuple[str, ...]
    gaps: dict[str, int]
    unlabelled: int
    values: tuple[str, ...]
    suspects: dict[str, str]
    decimal: str


def upload_source() -> Source | None:
    """The uploader with all that its holder must declare; a source once that is complete and confirmed, else None.

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
    note_holder()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{literal(held.name)}**, {len(held.content) / 1000:,.0f} kB", width="content")
        st.button(f"Remove {literal(held.name)}", on_click=_forget)
    st.caption(STAYS)
    try:
        # Once the bounds are confirmed, results are wanted near the top of the page.
        with st.expander("What the file holds", expanded=not held.confirmed):
            records = _records(held)
    except ValueError as error:
        st.error(literal(readable(str(error).replace(held.name, repr(held.name)))))
        records = None
    except Exception as error:
        # Streamlit logs what reaches it, and these words may quote a cell.
        raise RuntimeError(f"an upload could not be read ({type(error).__name__})") from None
    if records is None:
        held.kept.pop("records", None)
        return None
    st.markdown(done(records.report, records.source))
    st.warning(NOT_PRIVATE)
    return records.source


def literal(text: str) -> str:
    """Text of a file as Markdown shows it letter by letter, and makes no link of.

    >>> literal("got '**x** $1'")
    "got \\\\'\\\\*\\\\*x\\\\*\\\\* \\\\$1\\\\'"
    >>> literal("www.example.org").replace("\\u2060", "|")
    'www|\\\\.example\\\\.org'
    """
    # Markdown looks for addresses after it has taken the backslashes away; a word joiner (no width) breaks them.
    unlinked = re.sub(r"(?i)(https?(?=://)|www(?=\.)|(?<=@))", "\\1\u2060", " ".join(text.split()))
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", unlinked)


def done(report: Report, source: Source) -> str:
    """What was read, left out and clipped, as Markdown.

    >>> from dpcore.data import BUNDLED
    >>> done(Report(150, 0, {"width": 0}), BUNDLED["iris"])
    'Read 150 rows; nothing was left out or clipped. 105 records to learn from, 45 to measure with.'
    """
    told = [f"Read {report.read:,} rows"]
    if report.dropped:
        told.append(f"{report.dropped:,} left out, because a number or the label is missing")
    clipped = {column: count for column, count in report.clipped.items() if count}
    if clipped:
        worst = sorted(clipped, key=lambda column: (-clipped[column], column))[:5]
        named = ", ".join(f"{literal(column)} {clipped[column]:,}" for column in worst)
        others = f" and {len(clipped) - 5:,} more columns" if len(clipped) > 5 else ""
        told.append(f"{sum(clipped.values()):,} values beyond your bounds clipped to them ({named}{others})")
    if len(told) == 1:
        told.append("nothing was left out or clipped")
    whole = report.read - report.dropped
    return f"{'; '.join(told)}. {source.size:,} records to learn from, {whole - (source.size or 0):,} to measure with."


def clipping_warning(source: Source) -> str:
    """A sentence for a headline where bounds clip more than 1% of a column of an upload, else "".

    Plain text with a column's name in it: to be escaped where it is shown.
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
    return f"Your bounds clip {told}: every result below is about the clipped values."


def proposed_bounds(column: str) -> Bounds:
    """Smallest and largest value of a column as its name alone suggests them; nan where it suggests none.

    >>> proposed_bounds("Age"), proposed_bounds("body_fat_%"), proposed_bounds("weight")
    ((0.0, 120.0), (0.0, 100.0), (nan, nan))
    """
    words = " ".join(re.findall("[a-z]+", column.lower().replace("%", " percent ")))
    return next(((low, high) for name, low, high in _PROPOSED if re.fullmatch(name, words)), _NO_BOUNDS)


def pasted_bounds(text: str, columns: Sequence[str], decimal: str = ".") -> dict[str, Bounds]:
    """The bounds in lines of "column, smallest, largest", with tabs or semicolons as well.

    columns: the names that there are. decimal: as the file writes numbers. A first line without a number is a heading.
    Raises ValueError with the line that is none of these.

    >>> pasted_bounds("age\\t0\\t120\\nsize, cm; 40; 250", ["age", "size, cm"])
    {'age': (0.0, 120.0), 'size, cm': (40.0, 250.0)}
    """
    found: dict[str, Bounds] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        separator = next((mark for mark in "\t;" if mark in line), ",")
        column, *ends = (cell.strip().strip('"') for cell in line.rsplit(separator, 2))
        numbers = [number_in(end, decimal) for end in ends]
        if not line.strip() or (number == 1 and len(ends) == 2 and all(map(math.isnan, numbers))):
            continue
        if len(ends) < 2 or not all(map(math.isfinite, numbers)):
            written = " with decimal commas, as in the file" if decimal == "," else ""
            raise ValueError(
                f"line {number} must be a column, its smallest and its largest value{written}, got {shown(line)}"
            )
        if column not in columns:
            raise ValueError(f"line {number} must begin with a column of numbers of this file, got {shown(column)}")
        if column in found:
            raise ValueError(f"line {number} must be about another column, got {shown(column)} twice")
        low, high = numbers
        if not low < high:
            raise ValueError(f"line {number} must have its smallest value first, got {ends[0]} and {ends[1]}")
        found[column] = low, high
    if not found:
        raise ValueError('a table must have a line with "column, smallest, largest", got none')
    return found


def _take() -> None:
    """Move a file that has just come from Streamlit's keeping into the session, where it outlives its widget."""
    file, context = st.session_state[_CHOSEN], get_script_run_ctx()
    if file is not None and context is not None:
        st.session_state[_HELD] = _Upload(file.name, file.getvalue())
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _forget() -> None:
    """Drop the file, and what its controls hold, which has its words."""
    for key in [key for key in st.session_state if str(key).startswith(_CONTROLS)]:
        del st.session_state[key]


def _kept(held: _Upload, name: str, key: Hashable, make: Callable[[], Value]) -> Value:
    """What is held under a name, made anew when its key differs."""
    if name not in held.kept or held.kept[name][0] != key:
        held.kept.pop(name, None)
        held.kept[name] = (key, make())
    return held.kept[name][1]


def _records(held: _Upload) -> PrivateRecords | None:
    """The records as declared by the controls; None while something is left to declare."""
    form, label, place = None, _LABEL, 0
    if held.name.lower().endswith(".csv"):
        form = _format(held)
        columns = data.sheet_columns(held.content, held.name, form)
        chosen = st.selectbox(
            "Which column is the label?", columns, None, key=f"{_CONTROLS}label", persist_state="session"
        )
        if chosen is None:
            return None
        label, place = chosen, columns.index(chosen)

    def sheet() -> Sheet:
        return _kept(held, "sheet", (label, form), lambda: _sheet(held, label, form))

    facts = _kept(held, "facts", (label, form), lambda: _facts(sheet(), form.decimal if form else "."))
    declared = _declared(held, facts, f"{place} {form}")
    if declared is None:
        return None
    records = _kept(held, "records", (label, form, declared), lambda: PrivateRecords(sheet(), declared, held.name))
    held.kept.pop("sheet", None)  # read again where something else is declared
    return records


def _format(held: _Upload) -> Format:
    """How the file is written: as it seems, unless its holder says otherwise."""
    guess = _kept(held, "guess", None, lambda: data.sniff(held.content, held.name))
    with st.container(horizontal=True, vertical_alignment="center"):
        told = st.empty()
        change = st.popover("Read it differently")
    with change:
        chosen = [
            st.selectbox(
                label,
                names,
                list(names).index(seems),
                names.__getitem__,
                key=key,
                persist_state="session",
            )
            for label, names, seems, key in (
                ("Columns are separated by", _SEPARATORS, guess.separator, f"{_CONTROLS}separator"),
                ("Numbers are written with", _DECIMALS, guess.decimal, f"{_CONTROLS}decimal"),
                ("Text is written in", _ENCODINGS, guess.encoding, f"{_CONTROLS}encoding"),
            )
        ]
    separator, decimal, encoding = chosen
    if not guess.header:
        st.warning(
            "Is the first line a header? It holds values like the lines below, so it is read as a record, and columns "
            "are called by their places."
        )
    with change if guess.header else st.container():
        header = st.checkbox(
            "The first line is a header", guess.header, key=f"{_CONTROLS}header", persist_state="session"
        )
    first = "the first line is a header" if header else "the first line is a record"
    told.caption(
        f"Read as: separated by {_SEPARATORS[separator]}, {_DECIMALS[decimal]}, {_ENCODINGS[encoding]}, {first}.",
        width="content",
    )
    return Format(encoding, separator, decimal, header)


def _sheet(held: _Upload, label: str, form: Format | None) -> Sheet:
    if form is not None:
        return data.read_sheet(held.content, held.name, label, form)
    return data.read_libsvm_sheet(held.content, held.name)


def _facts(sheet: Sheet, decimal: str) -> _Facts:
    gaps, rows = dict(zip(sheet.columns, sheet.gaps.tolist(), strict=True)), len(sheet.labels)
    columns = tuple(column for column in sheet.columns if gaps[column] < rows)
    if not columns:
        raise ValueError("columns must hold numbers in one column at least beside the label, got none")
    words = tuple(column for column in sheet.columns if gaps[column] == rows)
    return _Facts(columns, words, gaps, int((sheet.labels < 0).sum()), sheet.values, sheet.suspects, decimal)


def _declared(held: _Upload, facts: _Facts, name: str) -> Declared | None:
    """What the holder says of a table, None while something is left to say.

    name: tells the controls of different tables apart.
    """
    if facts.words:
        st.caption(f"Without any number, and not to be used: {_named(facts.words, facts.suspects)}.")
    positive = st.selectbox(
        "Which label counts as +1? Any other counts as −1.",
        facts.values,
        None,
        key=f"{_CONTROLS}positive {name}",
        persist_state="session",
    )
    if doubtful := [column for column in facts.columns if column in facts.suspects]:
        st.warning(f"No feature unless you choose it below: {_named(doubtful, facts.suspects)}.")
    used = tuple(
        st.multiselect(
            "Which columns are features?",
            facts.columns,
            [column for column in facts.columns if column not in facts.suspects],
            key=f"{_CONTROLS}columns {name}",
            persist_state="session",
        )
    )
    confirmed = bool(used) and _bounds(held, used, facts)
    theta_norm = st.number_input(
        "Guess of a good model's norm, made without looking (0: by the rule of the bundled sets)",
        min_value=0.0,
        max_value=1e6,
        value=0.0,
        format="%g",
        key=f"{_CONTROLS}norm",
        persist_state="session",
    )
    drop = _drops(facts, used)
    if positive is None or not confirmed:
        return None
    return Declared(
        used,
        tuple(held.bounds[column][0] for column in used),
        tuple(held.bounds[column][1] for column in used),
        positive,
        "drop" if drop else "refuse",
        theta_norm or None,
    )


def _bounds(held: _Upload, used: tuple[str, ...], facts: _Facts) -> bool:
    """Ask for the smallest and largest value of each column that is used; whether all were confirmed."""
    import pandas as pd

    st.markdown("**Smallest and largest value of each column**")
    st.caption(
        "What the column can hold in any record, from what is publicly known of it, never from this file: bounds that "
        "follow the records give them away. Values beyond are clipped."
    )
    for column in used:
        if column not in held.bounds:
            held.bounds[column] = proposed_bounds(column)
    _set_several(held, used)
    _paste(held, facts)
    key = f"{_CONTROLS}bounds {held.tables}"
    if held.table is None or tuple(held.table.index) != used or key not in st.session_state:
        held.tables += 1
        key = f"{_CONTROLS}bounds {held.tables}"
        held.table = pd.DataFrame(
            [held.bounds[column] for column in used], pd.Index(used, name="column"), ["smallest", "largest"], float
        )
    number = st.column_config.NumberColumn(format="plain")
    table = st.data_editor(
        held.table,
        disabled=["column"],
        column_config={"smallest": number, "largest": number},
        key=key,
        height=min(35 * (len(used) + 1) + 3, 300),
        placeholder="",
        alt="Smallest and largest value of each column",
    )
    held.bounds |= zip(used, table.itertuples(index=False, name=None), strict=True)
    if all(held.confirmed.get(column) == held.bounds[column] for column in used):
        st.caption("You confirmed that these bounds are public knowledge.")
        return True
    if proposed := [column for column in used if held.bounds[column] == proposed_bounds(column)]:
        st.caption(f"Proposed because of the column's name: {_named(proposed)}.")
    if lacking := _lacking(held, used):
        st.info(f"No result is computed before each column has its bounds; still without: {_named(lacking)}.")
        return False
    st.button("Confirm: these bounds are public knowledge, not taken from this file", on_click=_confirm)
    return False


def _confirm() -> None:
    held: _Upload = st.session_state[_HELD]
    if held.table is not None:
        held.confirmed |= {column: held.bounds[column] for column in held.table.index}


def _set_several(held: _Upload, used: tuple[str, ...]) -> None:
    """Ask for bounds that several columns share."""
    with st.form(f"{_CONTROLS}several", clear_on_submit=True, border=False):
        which, first, second, button = st.columns([3, 1, 1, 1], vertical_alignment="bottom")
        chosen = which.multiselect(
            "Set several columns at once", used, placeholder="all that have no bounds", key=f"{_CONTROLS}chosen"
        )
        low = first.number_input("Smallest", value=None, format="%g", key=f"{_CONTROLS}low")
        high = second.number_input("Largest", value=None, format="%g", key=f"{_CONTROLS}high")
        if not button.form_submit_button("Set bounds", width="stretch"):
            return
    if low is None or high is None or not low < high:
        given = " and ".join("none" if end is None else f"{end:.10g}" for end in (low, high))
        st.error(readable(f"The smallest value must be a number below the largest, got {given}: type both again."))
        return
    held.bounds |= dict.fromkeys(chosen or _lacking(held, used), (low, high))
    held.table = None


def _paste(held: _Upload, facts: _Facts) -> None:
    """Ask for a table of bounds as text."""
    with st.expander("Paste bounds from a spreadsheet"), st.form(f"{_CONTROLS}paste", border=False):
        text = st.text_area(
            "A line for each column: its name, smallest and largest value, with tabs, semicolons or commas between",
            placeholder="age, 0, 120",
            key=f"{_CONTROLS}pasted",
        )
        if st.form_submit_button("Take over this table"):
            try:
                found = pasted_bounds(text, facts.columns, facts.decimal)
            except ValueError as error:
                st.error(literal(f"Nothing was taken over: {readable(str(error))}."))
                return
            held.bounds |= found
            held.table = None
            st.caption(f"Bounds of {len(found):,} columns were taken over: check and confirm them below.")


def _lacking(held: _Upload, used: Sequence[str]) -> list[str]:
    return [column for column in used if any(map(math.isnan, held.bounds[column]))]


def _named(columns: Sequence[str], reasons: Mapping[str, str] | None = None) -> str:
    """Names of columns as Markdown, the first five, each with its reason where it has one.

    >>> _named(["a", "b"], {"b": "counts the rows"})
    'a, b counts the rows'
    """
    reasons = reasons or {}
    told = [f"{literal(column)} {reasons.get(column, '')}".rstrip() for column in columns[:5]]
    more = f" and {len(columns) - 5:,} more" if len(columns) > 5 else ""
    return ", ".join(told) + more


def _drops(facts: _Facts, used: tuple[str, ...]) -> bool:
    """Whether to leave out rows with a gap; asks only where there are some."""
    lacking = [f"{literal(column)} in {facts.gaps[column]:,} rows" for column in used if facts.gaps[column]]
    if facts.unlabelled:
        lacking.append(f"the label in {facts.unlabelled:,} rows")
    if not lacking:
        return False
    told = ", ".join(lacking[:5]) + (f" and {len(lacking) - 5:,} more" if len(lacking) > 5 else "")
    st.markdown(
        f"Missing: {told}. Take these columns off the list of features, or leave the rows out. The number of records "
        "counts as public, and then it depends on who has gaps."
    )
    return st.checkbox("Leave out rows with a gap", key=f"{_CONTROLS}drop", persist_state="session")
