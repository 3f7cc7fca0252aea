"""Records that a visitor brings along: one file, declared by its holder, in the memory of this session only.

The file's words and numbers appear in messages to its holder and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from dpcore import data
from dpcore.data import Declared, PrivateRecords, Report, Sheet, Source

from .upload_server import CHECK_SECONDS, LEFT_SECONDS, note_holder, why_off

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

Value = TypeVar("Value")

NOT_PRIVATE = (
    "What you see of these records here, their accuracy, their excess risk, even the ε that you pick by them, is "
    "computed from them and is itself not private. Only a release made by the mechanism is."
)
STAYS = (
    "The file stays in this server's memory: it is not written to disk, not logged, shown to no other visitor, and "
    f"gone when you remove it here or {LEFT_SECONDS + CHECK_SECONDS:g} seconds after you close the page."
)
_HELD = "upload held"
_LIBSVM = ("txt", "svm", "libsvm")
_LABEL = "label"


def upload_source() -> Source | None:
    """The uploader with all that its holder must declare; a source once that is complete, else None.

    The source's key is known to `dpcore` while this session holds the records, and to nobody afterwards. Not to be
    called twice in a script.
    """
    if off := why_off():
        _forget()
        st.caption(off)
        return None
    file = st.file_uploader("Your own records: CSV with a header line, or LIBSVM", type=["csv", *_LIBSVM], key="upload")
    st.caption(STAYS)
    if file is None:
        _forget()
        return None
    note_holder()
    held = st.session_state.setdefault(_HELD, {})
    if held.get("file") != file.file_id:
        held.clear()  # a new dictionary would leave the old one to Streamlit until the next run
        held["file"] = file.file_id
    try:
        records = _records(file)
    except ValueError as error:
        st.error(literal(str(error)))
        records = None
    except Exception as error:
        # Streamlit logs what reaches it, and these words may quote a cell.
        raise RuntimeError(f"an upload could not be read ({type(error).__name__})") from None
    if records is None:
        held.pop("records", None)
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


def _forget() -> None:
    st.session_state.pop(_HELD, None)


def _kept(name: str, key: Hashable, make: Callable[[], Value]) -> Value:
    """What this session holds of its file under a name, made anew when its key differs."""
    held = st.session_state[_HELD]
    if name not in held or held[name][0] != key:
        held.pop(name, None)
        held[name] = (key, make())
    return held[name][1]


def _records(file: UploadedFile) -> PrivateRecords | None:
    """The records as declared by the controls; None while something is left to declare."""
    content = file.getvalue()
    if file.name.lower().endswith(".csv"):
        columns = data.sheet_columns(content, file.name)
        label = st.selectbox("Which column is the label?", columns, None, key=f"upload label {file.file_id}")
        if label is None:
            return None
        sheet = _kept("sheet", label, lambda: data.read_sheet(content, file.name, str(label)))
    else:
        label = _LABEL
        sheet = _kept("sheet", label, lambda: data.read_libsvm_sheet(content, file.name))
    declared = _declared(sheet, f"{file.file_id} {label}")
    if declared is None:
        return None
    return _kept("records", (label, declared), lambda: PrivateRecords(sheet, declared, file.name))


def _declared(sheet: Sheet, name: str) -> Declared | None:
    """What the holder says of a table, None while something is left to say.

    name: tells the controls of different tables apart.
    """
    gaps = dict(zip(sheet.columns, sheet.gaps.tolist(), strict=True))
    rows = len(sheet.labels)
    numeric = [column for column in sheet.columns if gaps[column] < rows]
    if not numeric:
        raise ValueError("columns must hold numbers in one column at least beside the label, got none")
    if len(numeric) < len(sheet.columns):
        words = [column for column in sheet.columns if gaps[column] == rows]
        shown = ", ".join(map(literal, words[:5])) + (", …" if len(words) > 5 else "")
        st.caption(f"Without any number, and not to be used: {shown}.")
    positive = st.selectbox(
        "Which label counts as +1? Any other counts as −1.", sheet.values, None, key=f"upload positive {name}"
    )
    used = tuple(st.multiselect("Which columns are features?", numeric, numeric, key=f"upload columns {name}"))
    low, high = _bounds(numeric, name)
    theta_norm = st.number_input(
        "Guess of a good model's norm, made without looking (0: by the rule of the bundled sets)",
        min_value=0.0,
        max_value=1e6,
        value=0.0,
        format="%g",
        key=f"upload norm {name}",
    )
    drop = _drops(sheet, used, gaps, name)
    if positive is None or not used:
        return None
    return Declared(
        used,
        tuple(low[column] for column in used),
        tuple(high[column] for column in used),
        positive,
        "drop" if drop else "refuse",
        theta_norm or None,
    )


def _bounds(columns: list[str], name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Smallest and largest value that each column may take, from what is publicly known of it."""
    import pandas as pd

    st.caption(
        "Smallest and largest value that each column can take in any record, from what is publicly known of it, not "
        "from the file; values beyond are clipped. First what holds for most columns, then the others one by one."
    )
    first, second = st.columns(2)
    smallest = first.number_input("Smallest, for all columns", value=0.0, format="%g", key=f"upload low {name}")
    largest = second.number_input("Largest, for all columns", value=1.0, format="%g", key=f"upload high {name}")
    table = st.data_editor(
        pd.DataFrame({"smallest": smallest, "largest": largest}, index=pd.Index(columns, name="column")),
        disabled=["column"],
        # Whoever changes what holds for all columns begins anew with the others.
        key=f"upload bounds {name} {smallest!r} {largest!r}",
        height=min(35 * (len(columns) + 1) + 3, 300),
    )
    return table["smallest"].to_dict(), table["largest"].to_dict()


def _drops(sheet: Sheet, used: tuple[str, ...], gaps: dict[str, int], name: str) -> bool:
    """Whether to leave out rows with a gap; asks only where there are some."""
    lacking = [f"{literal(column)} in {gaps[column]:,} rows" for column in used if gaps[column]]
    if unlabelled := int((sheet.labels < 0).sum()):
        lacking.append(f"the label in {unlabelled:,} rows")
    if not lacking:
        return False
    shown = ", ".join(lacking[:5]) + (f" and {len(lacking) - 5:,} more" if len(lacking) > 5 else "")
    st.markdown(
        f"Missing: {shown}. Take these columns off the list of features, or leave the rows out. The number of records "
        "counts as public, and then it depends on who has gaps."
    )
    return st.checkbox("Leave out rows with a gap", key=f"upload drop {name}")
