"""Guesses about a table: the question, and what each column holds."""

import numpy as np
import pytest

from dpcore import data


def table_of(columns: dict[str, object]) -> data.RawTable:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(f'"{cell}"' for cell in row) for row in (list(columns), *rows)]
    return data.read_table("\n".join(lines).encode(), "people.csv")


def facts(columns: dict[str, object], question: data.Question | None = None) -> data.TableFacts:
    return data.facts_of(table_of(columns), question)


DRAW = np.random.default_rng(0)
UNUSUAL = [
    ("", DRAW.integers(0, 5, 60), "has no name"),
    ("age", DRAW.integers(0, 60, 60), ""),
    ("row", range(1, 61), "counts the rows"),
    ("odd", range(119, 0, -2), "counts the rows"),
    ("time", 0.1 * np.arange(60), "counts the rows"),
    ("with gaps", [*range(7, 300, 5), "NA"], "counts the rows"),
    ("ticket", 10**6 + DRAW.permutation(900)[:60], "has a different value in every row"),
    ("name", [f"person {i}" for i in range(60)], "has a different text in every row"),
    ("dose", DRAW.standard_normal(60), ""),
    ("constant", [1] * 60, "has one value only"),
    ("word", ["x"] * 60, "has one value only"),
    ("gaps", ["NA", ""] * 30, "has no value"),
    ("day", [20260131, 20260201] * 30, "holds dates"),
    ("restarted", [*range(40), *range(35), *range(50)], "counts rows, and begins again"),
    ("shuffled", DRAW.permutation([*range(1, 41), *range(1, 36), *range(1, 51)]), "counts rows, and begins again"),
    (
        "dropped",
        np.concatenate([np.sort(DRAW.permutation(90)[:60]) for _ in range(2)]),
        "counts rows, and begins again",
    ),
    *((f"{cycle} long", [*range(cycle)] * 9, "") for cycle in (2, 12, 24, 31)),
    *(
        (name, [*range(1, 21)] * 5, "counts rows, and begins again")
        for name in ("X", "row", "case", "Obs", "line no", "nr")
    ),
    ("Unnamed: 0.1", [*range(1, 21)] * 5, "is named like an ID"),
    ("case", [0, 1] * 30, ""),
    ("n", np.minimum(DRAW.geometric(0.4, 99), 8), ""),
    ("visit", [k for i in range(60) for k in range(1, 2 + i % 5)], ""),
    ("index", DRAW.integers(0, 5, 60), "is named like an ID: one value stands in"),
    ("OrderDate", [45_000, 45_001, 45_007] * 20, "is named like a date"),
    ("code", [f"P{i % 120}" for i in range(300)], "has 120 different texts, too many for a category"),
    ("sorted", np.sort(DRAW.integers(0, 60, 60)), ""),
    *(
        (name, [1, 2, 3] * 20, "is named like an ID: one value stands in 20 rows")
        for name in ("patient_id", "ID", "customerId", "e-mail")
    ),
    *((name, [1, 2, 3] * 20, "") for name in ("paid", "idle")),
    *(
        ("when", [day] * 60, reason)
        for reason, days in {
            "holds dates or times": (
                *("2026-01-31", "31.01.2026", "1/31/26", "2026-01-31T10:20:30Z"),
                *("31 January 2026", "Jan 31, 2026", "10:45"),
            ),
            "has one value only": ("2026", "12345678", "A-12-2026", "1-3", "north"),
        }.items()
        for day in days
    ),
    ("many", [f"{i}x" for i in range(1_001)] * 2, "holds more than 1,000 different texts"),
    (
        "dose",
        [f"{i % 20} mg" for i in range(60)],
        "holds what may be numbers but is not read as such, like '0 mg': write",
    ),
    ("pay", [f"£{i % 20}k" for i in range(60)], "holds what may be numbers but is not read as such, like '£0k': write"),
    ("fee", [f"{i}.5k" for i in range(60)], "holds what may be numbers but is not read as such, like '0.5k': write"),
    ("fee", [f"{7 * i % 60}.5-" for i in range(60)], ""),
    ("euros", [f"€ {7 * i}" for i in range(60)], ""),
    ("band", [f"{i % 20}-{i % 20 + 9}" for i in range(60)], ""),
]


@pytest.mark.parametrize(("name", "cells", "reason"), UNUSUAL)
def test_a_column_that_is_hardly_a_feature_is_left_out_with_a_reason(name, cells, reason):
    found = facts({name: cells, "sick": [i % 2 for i in range(len(cells))]}, data.Question("sick", "")).columns[0]
    assert found.reason == reason or (reason and found.reason.startswith(reason)), found.reason
    assert found.use == (not reason)


AGE = [20 + 7 * i % 61 for i in range(100)]
RARE = ["yes" if i % 9 == 4 else "no" for i in range(100)]


@pytest.mark.parametrize(
    ("columns", "question"),
    [
        ({"y": RARE, "age": AGE, "sex": ["f", "m"] * 50}, ("y", "yes")),
        ({"Target": [1, 0, 0, 1, 0] * 20, "age": AGE, "smokes": [0, 1] * 50}, ("Target", "1")),
        ({"age": AGE, "sex": ["f", "m"] * 50, "ill": RARE}, ("ill", "yes")),
        ({"age": AGE, "risk": ["low", "mid", "mid", "high", "high"] * 20, "dose": AGE[::-1]}, ("risk", "low")),
        ({"Churn": RARE, "age": AGE, "active": [1, 0] * 50}, ("Churn", "yes")),
        ({"age": AGE, "ill": [0, 1] * 50, "same": [1] * 100, "day": ["2026-01-02", "2026-01-03"] * 50}, ("ill", "1")),
        ({"age": AGE, "income": [1_000 + i * i for i in range(100)]}, ("age", "")),
        ({"code": [1, 2, 3, 2] * 25, "age": AGE}, ("age", "")),
        ({"code": [1, 2, 3, 2] * 25, "ill": RARE, "town": ["a", "b", "c", "b"] * 25, "age": AGE}, ("ill", "yes")),
        ({"age": AGE, "outcome": ["yes", "no", ".", "\\N", "#DIV/0!"] * 20}, ("outcome", "yes")),
    ],
)
def test_the_question_is_guessed_from_names_and_the_rarer_value(columns, question):
    assert data.guess_question(table_of(columns)) == data.Question(*question)


def test_a_label_that_is_picked_stays():
    table = table_of({"y": RARE, "sex": ["f", "m", "m", "m"] * 25})
    assert data.guess_question(table.with_label("sex")) == data.Question("sex", "f")


def copied(wrong: int, rows: int = 1_000, yes: int = 300, as_text: bool = False) -> data.TableFacts:
    """Facts on a copy of a label that is wrong in so many rows, which are spread over both classes."""
    label = np.arange(rows) < yes
    copy = label.copy()
    flipped = [*range(wrong // 2), *range(rows - wrong + wrong // 2, rows)]
    copy[flipped] = ~copy[flipped]
    cells = np.where(copy, "left", "stayed") if as_text else copy * 3.5 + np.random.default_rng(0).random(rows)
    order = np.random.default_rng(1).permutation(rows)
    age = np.random.default_rng(2).integers(18, 90, rows)
    return facts({"age": age, "copy": cells[order], "label": label[order].astype(int)})


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize(
    ("wrong", "yes", "left"), [(0, 300, True), (9, 300, True), (11, 300, False), (3, 10, True), (9, 9, False)]
)
def test_a_column_that_alone_tells_the_label_is_asked_about(wrong, yes, left, as_text):
    age, copy = copied(wrong, yes=yes, as_text=as_text).columns
    assert age.use and copy.reason.startswith("alone tells the label in more than 99%") == left


def test_a_gap_can_be_a_copy_and_chance_is_none():
    label = [int(i % 9 == 4) for i in range(500)]
    draw = np.random.default_rng(0)
    left = facts(
        {
            "days until death": [i % 7 + 1 if sick else "" for i, sick in enumerate(label)],
            **{f"noise {i}": draw.random(500) for i in range(30)},
            **{f"code {i}": draw.integers(0, 40, 500) for i in range(30)},
            **{f"word {i}": [f"w{k}" for k in draw.integers(0, 49, 500)] for i in range(30)},
            "label": label,
        }
    )
    assert [column.name for column in left.columns if not column.use] == ["days until death"]


def test_a_threshold_is_a_question_too():
    income = np.random.default_rng(0).permutation(1_000) / 10
    table = table_of({"age": np.arange(1_000) * 7 % 61, "band": (income >= 50).astype(int), "income": income})
    found = data.facts_of(table, data.Question("income", ">= 50"))
    assert [column.use for column in found.columns] == [True, False]
    answers, labelled = table.with_label("income").answers(">= 49,95")
    assert labelled.all() and answers.sum() == 500
    with pytest.raises(ValueError, match="a number must have one meaning"):
        table.with_label("income").answers(">= 1,000")


def test_each_column_has_its_kind_gaps_and_cells_that_are_no_numbers():
    found = facts(
        {
            "age": AGE,
            "married": ["Yes", "No"] * 50,
            "smokes": [0, 1] * 50,
            "job": ["clerk", "nurse", "unknown", "?"] * 25,
            "net": [0, 1, "0 internet service", 1] * 25,
            "bmi": ["N/A", 21.5, 30, "31 kg", ""] * 20,
            "rate": ["5%", "7.5 %", "0", "0.5"] * 25,
            "sick": RARE,
        }
    )
    married, smokes, job, net, bmi, rate = found.columns[1:]
    kinds = [(column.kind, column.numeric) for column in found.columns]
    assert kinds == [
        *(("number", True), ("yes/no", False), ("yes/no", True)),
        *(("category", False), ("category", True), ("number", True), ("number", True)),
    ]
    assert married.notes == smokes.notes == () and all(column.use for column in found.columns)
    assert job.notes == ("25 gaps: '?'",)
    assert (net.others, net.other_words) == (25, ("0 internet service",))
    assert net.notes[0].startswith("25 cells are not numbers, such as '0 internet service'; ")
    assert bmi.notes[0].startswith("20 cells are not numbers, such as '31 kg'; ")
    assert bmi.notes[1] == "40 gaps: empty cells and 'N/A'"
    assert (rate.unit, rate.other_words) == ("%", ("0.5",)), "a share and a number without a sign are not compared"
    assert rate.notes[1] == "numbers in %: '5 %' is read as 5"


def test_numbers_that_may_mean_two_are_asked_about():
    rows = [f"{i % 7 + 1},{i % 5}50\t{1 + i % 4},250\t{i % 2}" for i in range(60)]
    first, second = data.facts_of(data.read_table("\n".join(["a\tb\ty", *rows]).encode(), "people.tsv")).columns
    assert first.reason.startswith("has numbers that may mean two, such as '1,050': say what separates groups of three")
    assert (
        first.numeric and first.others == 60 and "1,050" in first.notes[0] and second.reason.startswith("has numbers")
    )
