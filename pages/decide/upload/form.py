"""Steps 1 to 3 of the page Decide: drop a file, say the question, check one table.

The file's words and numbers appear in messages to its holder and nowhere else.
"""

from collections.abc import Callable, Collection, Hashable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import data
from dpcore.core.validation import shown
from dpcore.data import Report, Source, UploadedRecords
from dpcore.data.guesses import STANDS_IN
from pages.server.upload_lifetime import CHECK_SECONDS, LEFT_SECONDS, why_off
from pages.ui.html import listed, literal, readable

from .columns import ask_columns
from .question import ask_question
from .reading import ask_format, ask_unit
from .session import REFUSED, Held, drop_zone, forget, held_file
from .upload import Upload

NOT_PRIVATE = (
    "Nothing shown here about your records is private: not their accuracy, not their excess risk, not an ε chosen by "
    "looking at them. Only a release made by the mechanism is."
)
STAYS = (
    "The file stays in this server's memory: it is not written to disk, not logged, shown to no other visitor, and "
    f"gone when you remove it here or {LEFT_SECONDS + CHECK_SECONDS:g} seconds after you close the page. Visits to "
    "other pages of this dashboard do not remove it."
)
_AFTER_LOOKING = "chosen after looking at the records: not covered by ε"


def ask_file(arrived: Callable[[], None]) -> Upload | None:
    """Draw the place for a file and all that its holder must declare; the file once that is confirmed and fits.

    arrived: called when a file of records has come. The source's key is known to `dpcore` while this session holds the
    records, and to nobody afterwards. What was declared is kept while other pages are shown. Not to be called twice in
    a script.
    """
    if off := why_off():
        forget()
        st.caption(off)
        return None
    held = held_file()
    if held is None:
        drop_zone(
            "Your own records: CSV, Parquet or LIBSVM, with column dictionary and ledger if you have them", arrived
        )
        tell_refused()
        st.caption(STAYS)
        return None
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    with row:
        line = st.empty()
        line.markdown(f"**{literal(held.name)}**", width="content")
        st.button("Remove", on_click=forget)
        with st.popover("Add a dictionary or a ledger"):
            drop_zone("A column dictionary that you downloaded here, or the ledger of earlier releases", arrived)
    tell_refused()
    try:
        # Once all is confirmed, results belong near the top of the page, unless something is left to mend.
        with st.expander("The file, the question and its columns", expanded=held.open):
            found = _declared(held, line)
    except ValueError as error:
        if not held.open:
            held.open = True
            st.rerun()
        told = readable(str(error).replace(held.name, repr(held.name)))
        st.error(literal(f"{told[0].upper()}{told[1:]}."))
        found = None
    except Exception as error:
        # Streamlit logs every error, and this one may quote a cell.
        raise RuntimeError(f"an upload could not be read ({type(error).__name__})") from None
    held.open = found is None
    if found is None:
        held.kept.pop("records", None)
        return None
    held.unfit = False
    records, unit, most = found
    # Beside the file's name, so that results stay near the top of the page.
    row.download_button(
        "Download the column dictionary",
        data.write_dictionary(records.label, records.declared, unit, most),
        "columns.json",
        "application/json",
        help="Dropped together with next month's file, it declares and confirms everything at once.",
        on_click="ignore",
    )
    st.caption(f"{done(records.report, records.source)} {NOT_PRIVATE}")
    if looked := looking_warning(records.source, literal):
        st.warning(looked)
    held.show(records.declared)
    return Upload(records.source, unit, most, held.key, held.digest, held.ledger)


def tell_refused() -> None:
    """Say why files that came last were not taken."""
    for told in st.session_state.get(REFUSED, ()):
        st.error(literal(f"{readable(told)}."))


def _declared(held: Held, line: DeltaGenerator) -> tuple[UploadedRecords, str, int] | None:
    """The records as declared by the controls, what one row is and the rows that one has at most; None while something
    is left to declare. line: place for what the file is.
    """
    table = ask_format(held)
    told = [f"**{literal(held.name)}**", f"{table.rows:,} rows, {len(table.columns):,} columns"]
    told += ["with a column dictionary"] if held.dictionary else []
    if held.ledger:
        releases = len(held.ledger.releases)
        other = "" if held.ledger.file == held.name else f" from {literal(held.ledger.file)}"
        told.append(f"with a ledger of {releases:,} {'release' if releases == 1 else 'releases'}{other}")
    line.markdown(" · ".join(told), width="content")
    unit = ask_unit(held)
    question = ask_question(held, table)
    table = table.with_label(question.label)
    facts = held.keep("facts", (question, table.form), lambda: data.facts_of(table, question))
    if unit and unit[1] == 1 and (several := [column for column in facts.columns if STANDS_IN in column.reason]):
        named = "; ".join(f"{shown(column.name)} {column.reason}" for column in several)
        st.warning(literal(readable(f"Has one {unit[0]} more than one row? Column {named}.")))
    declared = ask_columns(held, table)
    if declared is None or unit is None:
        return None

    def scaled() -> UploadedRecords:
        try:
            return UploadedRecords(table, declared, held.name)
        except ValueError:
            held.unfit = True
            held.show(declared)  # a refusal says how many rows do not fit
            raise

    return held.keep("records", (table.label, table.form, declared), scaled), *unit


def done(report: Report, source: Source) -> str:
    """Rows read, left out and clipped, as Markdown.

    >>> from dpcore.data import SOURCES
    >>> done(Report(150, 0, {"width": 0}), SOURCES["iris"])
    'Read 150 rows; nothing was left out or clipped. 105 records for training, 45 for testing.'
    """
    told = [f"Read {report.read:,} rows"]
    if report.dropped:
        lacking = {column: count + report.unknown.get(column, 0) for column, count in report.gaps.items()}
        unknown = ", or a level was not declared" if any(report.unknown.values()) else ""
        why = f"because a number or the label is missing{unknown}"
        told.append(f"{report.dropped:,} left out, {why} ({_counted(lacking | {'the label': report.unlabelled})})")
    if clipped := sum(report.clipped.values()):
        values = "value" if clipped == 1 else "values"
        told.append(f"{clipped:,} {values} beyond your bounds clipped to them ({_counted(report.clipped)})")
    if len(told) == 1:
        told.append("nothing was left out or clipped")
    whole = report.read - report.dropped
    return f"{'; '.join(told)}. {source.size:,} records for training, {whole - (source.size or 0):,} for testing."


def _counted(rows: dict[str, int]) -> str:
    """Columns with their numbers of rows, the most first; none that has none."""
    worst = sorted((column for column in rows if rows[column]), key=lambda column: (-rows[column], column))
    return listed(f"{literal(column)} {rows[column]:,}" for column in worst)


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


def note_looks(asked: Collection[Hashable]) -> int:
    """Count questions whose answers from the records of this session's file are shown; each counts once."""
    held = held_file()
    if held is None:
        return len(asked)
    held.looks.update(asked)
    return len(held.looks)
