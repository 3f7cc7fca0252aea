"""Guesses about a table, for its holder before anything is declared: the question, and what each column holds.

They look at the records. Whatever is declared because of a guess is chosen after looking at them, and epsilon does not
cover that.
"""

import dataclasses as dc
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.validation import shown
from .cells import has_thousands, word_of
from .tables import NO_NAME, Column, RawTable

MAX_LEVELS = 100  # different texts of a category
_FEW = 10  # values of a label
_FEWEST_ROWS = 10  # that show a pattern
_LONGEST_CYCLE = 31  # of hours, weekdays, days of a month, which are no running numbers
_SHORT_CYCLE = 4  # of rows, in a column that is named like their number
_COPY = "alone tells the label in more than 99% of the rows: a copy of the answer? is it known when you ask?"
STANDS_IN = "one value stands in"  # so many rows, by which somebody may have several
_RIGHT = 0.99  # share of rows in which a copy tells the answer
_FEWEST_ANSWERS = 5
_CUT_FROM = 20  # different numbers, from which on only a cut between them is tried
_EXAMPLES = 3
_DATED = 0.9  # share of a column's different texts
_YES_NO = [{*pair.split()} for pair in ("0 1", "-1 1", "no yes", "n y", "false true", "f t", "ja nein", "non oui")]
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?( ?z|[+-]\d{2}:?\d{2})?"
_DATES = re.compile(
    rf"({_CLOCK}|\d{{4}}[-/.]\d{{1,2}}([-/.]\d{{1,2}})?|\d{{1,2}}[-/. ](\d{{1,2}}|[a-zäé]{{3,9}}\.?)[-/., ]+\d{{2,4}}"
    rf"|[a-zäé]{{3,9}}\.? \d{{1,2}},? \d{{4}})([t ,]+{_CLOCK})?",
    re.IGNORECASE,
)
_ID_NAME = re.compile(
    r"(.*[^a-z])?(id|ids|uuid|guid|identifier|ssn|iban|e-?mail|phone|telephone)([^a-z].*)?|(?-i:.*[a-z]I[Dd])"
    r"|index|row[ _.]?(names?|numbers?|num|no|nr)|(s|sr|serial)[ _.]*(no|number)\.?"
    r"|__index_level_\d+__|level_\d+|unnamed: ?\d+(\.\d+)*",  # what pandas calls an index
    re.IGNORECASE,
)
_COUNT_NAME = re.compile(
    r"x(\.\d+)?|v1|rn|_?n_?|\.\.\.1|row|case|obs|observation|record|line|seq|sequence|zeile|#"
    r"|((case|obs|observation|record|line|seq|sequence|lfd\.?)[ _.]?)?(no|nr|num|number|nummer)\.?",
    re.IGNORECASE,
)
_WRITTEN_AMOUNT = re.compile(r"\W{0,2}\d[\d.,]*(\s?[^\W\d]{0,3}\W?$|,)")  # 5 mg, £5k, 1.5-
_DATE_NAME = re.compile(r"(.*[^a-z])?(date|datetime|timestamp|dob)([^a-z].*)?|(?-i:.*[a-z]Date)", re.IGNORECASE)
# Names of labels: first those that mean nothing else, then outcomes.
_LABEL_NAMES = [
    re.compile(names, re.IGNORECASE)
    for names in (
        "labels?|target|class|y|outcome|response",
        r"churn(ed)?|survived|(is[ _]?)?fraud|attrition|readmitted|died|death[ _]event|mortality|spam|diagnosis",
    )
]


@dc.dataclass(frozen=True)
class Question:
    """Question that a model answers: whether the column `label` has the value `positive`.

    positive: a value, a threshold like ">= 50", or "" where none is guessed.
    """

    label: str
    positive: str


@dc.dataclass(frozen=True)
class ColumnFacts:
    """Facts about a column.

    kind: number, yes/no or category. numeric: whether most of its cells are numbers. reason: why it is left out by
    default, "" if it is used. gaps: rows without a value; gap_words: how these are written, "" for an empty cell.
    others: cells that are no numbers, where most are; other_words: examples. unit: beside its numbers.
    """

    name: str
    kind: str
    numeric: bool
    reason: str
    gaps: int
    gap_words: tuple[str, ...]
    others: int
    other_words: tuple[str, ...]
    unit: str

    @property
    def use(self) -> bool:
        return not self.reason

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about cells that were not read as they are written."""
        told = []
        if self.others:
            meant = ", which may mean two numbers: say what separates groups of three digits"
            known = (
                meant if has_thousands(self.other_words[0]) else "; declared as a category, the column keeps these rows"
            )
            told.append(
                f"{_counted(self.others, 'cell is not a number', 'cells are not numbers')}, such as "
                f"{shown(self.other_words[0])}{known}"
            )
        if self.gaps:
            words = " and ".join(_quoted(word) if word else "empty cells" for word in self.gap_words)
            told.append(f"{_counted(self.gaps, 'gap', 'gaps')}: {words}")
        if self.unit:
            told.append(f"numbers in {self.unit}: '5 {self.unit}' is read as 5")
        return tuple(told)


@dc.dataclass(frozen=True)
class TableFacts:
    """Facts about a table: the question, its label, and all other columns."""

    question: Question
    label: ColumnFacts
    columns: tuple[ColumnFacts, ...]


def facts_of(table: RawTable, question: Question | None = None) -> TableFacts:
    """Facts about each column of a table, for a question, by default the guessed one.

    They depend on the records and are for their holder only. Left out by default are columns without a name or a value,
    constants, IDs, running numbers, dates, texts of too many kinds, and columns that alone tell the answer in more than
    99% of the rows.

    >>> from dpcore.data.tables import read_table
    >>> rows = "".join(f"{i},{i * i % 83},{i % 7 // 4}\\n" for i in range(60))
    >>> facts = facts_of(read_table(f"no,dose,sick\\n{rows}".encode(), "people.csv"))
    >>> facts.question, [(column.name, column.kind, column.reason) for column in facts.columns]
    (Question(label='sick', positive='1'), [('no', 'number', 'counts the rows'), ('dose', 'number', '')])
    """
    asked = question or guess_question(table)
    table = table.with_label(asked.label)
    answers = table.answers(asked.positive) if asked.positive else None
    features = []
    for name in table.features:
        found = _facts(name, table.columns[name])
        if answers and found.use and _is_copy(table.columns[name], *answers):
            found = dc.replace(found, reason=_COPY)
        features.append(found)
    return TableFacts(asked, _facts(asked.label, table.columns[asked.label]), tuple(features))


def guess_question(table: RawTable) -> Question:
    """Likely question: the label by its name, else the last column that has few values; and its rarer value.

    If the last column has many, it is the last one of two values, else of a few texts, else the last column itself.
    A table whose label is picked keeps it. No threshold is guessed for a label with more than 10 different numbers.
    """
    label = table.label or _likely_label(table)
    values = _values_of(table.columns[label])
    if not 2 <= len(values) <= _FEW:
        return Question(label, "")
    return Question(label, min(reversed(sorted(values)), key=values.__getitem__))


def _likely_label(table: RawTable) -> str:
    for names in _LABEL_NAMES:
        if found := [name for name in table.columns if names.fullmatch(name)]:
            return found[-1]
    usual = [name for name, column in table.columns.items() if not _unusual(name, column)]
    counts = {name: len(_values_of(table.columns[name])) for name in usual}
    few = [name for name in usual if 2 <= counts[name] <= _FEW]
    classes = [name for name in few if not _is_numeric(table.columns[name])]
    two = [name for name in few if counts[name] == 2]
    return [*table.columns, *usual, *classes, *two, *(name for name in usual[-1:] if name in few)][-1]


def _values_of(column: Column) -> dict[str, int]:
    """Number of rows of each value of a label; empty if there are too many."""
    try:
        names, places = column.values
    except ValueError:
        return {}
    return dict(zip(names, np.bincount(places[places >= 0], minlength=len(names)).tolist(), strict=True))


def _facts(name: str, column: Column) -> ColumnFacts:
    missing = column.missing
    other = np.isnan(column.numbers) & ~missing
    numeric = _is_numeric(column)
    gap_words, other_words = (_examples(column, rows) for rows in (missing, other & numeric))
    numbers = {word_of(number) for number in np.unique(column.numbers[~np.isnan(column.numbers)])[:3].tolist()}
    words = {word.casefold() for word in _examples(column, other)}
    if numbers | words in _YES_NO:
        kind = "yes/no"
    else:
        kind = "number" if numeric and not (words and numbers <= {"0", "1"}) else "category"
    gaps = 0 if column.unread else int(missing.sum())
    return ColumnFacts(
        name,
        kind,
        numeric,
        _unusual(name, column),
        gaps,
        gap_words,
        int((other & numeric).sum()),
        other_words,
        column.unit,
    )


def _is_numeric(column: Column) -> bool:
    """Whether more cells are numbers, or may be, than texts."""
    amounts = np.array([*map(has_thousands, column.words), False])[column.places] | ~np.isnan(column.numbers)
    return 2 * int(amounts.sum()) > int((~column.missing).sum())


def _examples(column: Column, rows: NDArray[np.bool_]) -> tuple[str, ...]:
    """The texts that most of some rows have, "" for an empty cell."""
    counts = np.bincount(column.places[rows] + 1, minlength=len(column.words) + 1)
    order = np.argsort(-counts, kind="stable")[:_EXAMPLES]
    return tuple(("", *column.words)[place] for place in order if counts[place])


def _quoted(word: str) -> str:
    return shown(word).replace("\\\\", "\\")


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


# Columns that cannot help


def _unusual(name: str, column: Column) -> str:
    """Reason why a column is hardly a feature of any question, "" for none."""
    if re.fullmatch(NO_NAME.format(r"\d+").replace("(", r"\(").replace(")", r"\)"), name):
        return "has no name"
    if column.unread:
        return column.unread
    rows, known = np.flatnonzero(~np.isnan(column.numbers)), column.numbers[~np.isnan(column.numbers)]
    texts = [word for word, mark in zip(column.words, column.marks, strict=True) if not mark]
    filled = int((~column.missing).sum())
    if not filled:
        return "has no value"
    if texts and sum(bool(_DATES.fullmatch(word)) for word in texts) >= _DATED * len(texts):
        return "holds dates or times"
    if not len(known) and any(map(has_thousands, texts)):
        return f"has numbers that may mean two, such as {shown(texts[0])}: say what separates groups of three digits"
    different, counts = np.unique(known, return_counts=True)
    if len(different) + len(texts) == 1:
        return "has one value only"
    if not column.unit and (numbering := _numbering(name, rows, known, different, counts)):
        return numbering
    if _ID_NAME.fullmatch(name):
        most = max(counts.max(initial=0), np.bincount(column.places + 1)[1:].max(initial=0))
        return "is named like an ID" + (f": {STANDS_IN} {most:,} rows" if most > 1 else "")
    if _DATE_NAME.fullmatch(name):
        return "is named like a date"
    if len(texts) > _FEW and all(map(_WRITTEN_AMOUNT.match, texts)) and not _is_numeric(column):
        return f"holds what may be numbers but is not read as such, like {_quoted(texts[0])}: write them in digits only"
    if len(texts) == filled >= _FEWEST_ROWS:
        return "has a different text in every row"
    if not _is_numeric(column) and len(texts) > MAX_LEVELS:
        return f"has {len(texts):,} different texts, too many for a category"
    return ""


def _numbering(name: str, rows: NDArray[np.int_], known: Array, different: Array, counts: NDArray[np.int_]) -> str:
    """Reason why a column of numbers seems to hold dates or to number the rows, else ""."""
    if len(known) < _FEWEST_ROWS:
        return ""
    step = (known[-1] - known[0]) / (rows[-1] - rows[0])
    if step and np.allclose(known, known[0] + step * (rows - rows[0]), rtol=0.0, atol=abs(step) / 1e3):
        return "counts the rows"
    if (known != np.rint(known)).any():
        return ""
    if _are_days(different):
        return "holds dates"
    if len(different) == len(known):
        return "has a different value in every row"
    runs = 1 + int((np.diff(known) <= 0).sum())
    whole = different[0] in (0, 1) and different[-1] - different[0] == len(different) - 1
    # Each part of a table that counts its own rows has all numbers that a longer part has up to its own end.
    shuffled = whole and len(different) > _LONGEST_CYCLE and bool((np.diff(counts) <= 0).all())
    longest = _SHORT_CYCLE if _COUNT_NAME.fullmatch(name) else _LONGEST_CYCLE
    return "counts rows, and begins again" if shuffled or len(known) > longest * runs else ""


def _are_days(known: Array) -> bool:
    """Whether all numbers are days like 20260131."""
    parts = ((known // 10_000, 1900, 2100), (known // 100 % 100, 1, 12), (known % 100, 1, 31))
    return all(((low <= part) & (part <= high)).all() for part, low, high in parts)


# Copies of the answer


def _is_copy(column: Column, answers: NDArray[np.bool_], labelled: NDArray[np.bool_]) -> bool:
    """Whether a column alone tells the answer, by its values or by a cut between its numbers.

    It is wrong in less than 1% of the rows, and in less than half as many rows as the smaller class has: a class of 1%
    is told in 99% of the rows by nothing.
    """
    yes = answers[labelled]
    smaller = min(int(yes.sum()), int((~yes).sum()))
    most = min((1 - _RIGHT) * len(yes), smaller / 2)
    return smaller >= _FEWEST_ANSWERS and _wrong(column, labelled, yes) < most


def _wrong(column: Column, rows: NDArray[np.bool_], yes: NDArray[np.bool_]) -> int:
    """Rows in which the best rule that knows this column alone is wrong; gaps are a value of their own."""
    numbers, places = column.numbers[rows], column.places[rows]
    other = np.isnan(numbers)
    wrong = _minorities(places[other] + 1, yes[other])
    if len(column.words) > len(yes) / _FEWEST_ROWS:
        return len(yes)
    different, which = np.unique(numbers[~other], return_inverse=True)
    if len(different) <= min(_CUT_FROM, len(yes) / _FEWEST_ROWS):
        return wrong + _minorities(which, yes[~other])
    each, ones = np.bincount(which), np.bincount(which, yes[~other])
    below, ones_below = np.cumsum(each), np.cumsum(ones)
    above, ones_above = below[-1] - below, ones_below[-1] - ones_below
    cut = np.minimum(ones_below, below - ones_below) + np.minimum(ones_above, above - ones_above)
    return wrong + int(cut.min())


def _minorities(values: NDArray[np.integer[Any]], yes: NDArray[np.bool_]) -> int:
    """Rows that are wrong if each value stands for the answer that most of its rows have."""
    if not len(values):
        return 0
    each, ones = np.bincount(values), np.bincount(values, yes)
    return int(np.minimum(ones, each - ones).sum())
