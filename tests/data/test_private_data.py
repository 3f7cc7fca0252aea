"""Private records: read exactly or refused in one sentence, scaled as declared, and gone with the last reference."""

import copy
import dataclasses as dc
import gc
import json
import logging
import math
import pickle
import time
import tracemalloc
import weakref

import numpy as np
import pytest

import dpcore
from dpcore import Problem, data
from dpcore.core.cache import SharedCache
from dpcore.data import SOURCES, Declared, UploadedRecords, bundled
from dpcore.data.sources import declared
from dpcore.studies.decide.equivalent_sample_size import EquivalentSampleSizeQuestion
from dpcore.studies.decide.loss_curve import Setting
from pages.background import tables
from pages.background.jobs import Job
from pages.background.tables import TableQuestion
from tests.decisions import last
from tests.upload_page import people

from ..flat_fields import experiment_of

SAID = Declared(("age", "dose"), (0.0, 0.0), (100.0, 1.0), "yes")


def hold(content: bytes = b"", declared: Declared = SAID) -> UploadedRecords:
    return UploadedRecords(data.read_table(content or people(), "people.csv", "sick"), declared, "people.csv")


def asked(records: UploadedRecords, **changed) -> dpcore.Experiment:
    axis = dpcore.Axis("epsilon", (0.5, 1.0))
    return experiment_of(**({"source": records.key, "n": 42, "sweep": axis, "repetitions": 2} | changed))


# Reading


def column(name: str, cells, label: str = "sick") -> data.RawTable:
    """Table of this column and a label."""
    rows = (f'"{cell}",{i % 2}' for i, cell in enumerate(cells))
    return data.read_table("\n".join([f"{name},{label}", *rows]).encode(), "people.csv", label)


def test_a_table_is_the_file_s_cells_with_their_gaps_counted():
    text = '\ufeffname,age,sick\r\n"Doe, J",5,yes\r\n\r\nX,,no\r\nY,1e400, yes \r\n,nan,\r\n,,\r\n'
    table = data.read_table(text.encode(), "people.csv", "sick")
    assert table.features == ("name", "age") and table.labels[0] == ("no", "yes")
    assert table.labels[1].tolist() == [1, 0, 1, -1, -1], "a line of empty cells is a row with gaps"
    age = table.columns["age"]
    assert np.isnan(age.numbers).sum() == 4 and age.missing.tolist() == [False, True, False, True, True]
    assert age.numbers[0] == 5.0


def test_a_libsvm_table_holds_what_is_not_written_as_0():
    table = data.read_table(b"-1 1:0.5 3:2 # one\n1234567 2:1\n1234568 1:1\n", "people.txt")
    assert table.features == ("1", "2", "3") and table.columns["3"].numbers.tolist() == [2, 0, 0]
    assert table.labels[0] == ("-1", "1234567", "1234568"), "labels of many digits stay apart"


@pytest.mark.parametrize(
    "labels, message",
    [
        (["", "NA"], "the label of people.csv must have a value in some row, got none"),
        (range(101), "the label of people.csv must take at most 100 different values, got more"),
        ([f"person {i}" for i in range(2_000)], "the label of people.csv must take at most 100 different values, .*"),
    ],
)
def test_labels_that_are_none_end_in_one_sentence(labels, message):
    table = data.read_table("\n".join(["a,sick", *(f"1,{label}" for label in labels)]).encode(), "people.csv", "sick")
    with pytest.raises(ValueError, match=f"^{message}$"):
        UploadedRecords(table, Declared(("a",), (0.0,), (1.0,), "1"), "people.csv")


@pytest.mark.parametrize("word", ["NA", "NaN", "?", "null", "n/a", "", "-", "None", "#N/A", "<NA>", " nan "])
def test_a_word_for_a_missing_label_or_number_is_a_gap(word):
    rows = [f"{word if i % 4 == 1 else 20 + i % 9},{word if i % 4 == 0 else i % 2}" for i in range(200)]
    table = data.read_table("\n".join(["age,sick", *rows]).encode(), "people.csv", "sick")
    values, places = table.labels
    assert values == ("0", "1") and table.columns["age"].missing.sum() == 50
    assert np.array_equal(places < 0, np.arange(200) % 4 == 0)
    said = Declared(("age",), (0.0,), (100.0,), "1")
    with pytest.raises(ValueError, match=r"^every row must have .*, got 100 of 200 rows"):
        UploadedRecords(table, said, "people.csv")
    records = UploadedRecords(table, dc.replace(said, gaps="drop"), "people.csv")
    assert (records.report.read, records.report.dropped) == (200, 100) and (records._y < 0).sum() == 50


def test_a_dash_is_a_label_where_another_is_a_plus():
    values, places = data.read_table(b"age,sick\n1,+\n2,-\n3,?\n", "people.csv", "sick").labels
    assert values == ("+", "-") and places.tolist() == [0, 1, -1]


@pytest.mark.parametrize("form", [",.", ";,"])
def test_labels_that_are_equal_as_numbers_are_one(form):
    labels = ["1", "1.0", "+1", '"1"', "1e0", "-0", "0", "0.0", "0.50", ".5", "01", "yes"]
    text = "\n".join(["age,sick", *(f"{i}.5,{label}" for i, label in enumerate(labels))])
    content = text.replace(",", form[0]).replace(".", form[1]).encode()
    values, places = data.read_table(content, "people.csv", "sick").labels
    assert values == ("0", "0.5", "1", "yes")
    assert [values[place] for place in places] == [*"11111000", "0.5", "0.5", "1", "yes"]


def test_a_column_of_too_many_texts_keeps_none():
    table = column("many", [f"{i}x" for i in range(1_001)])
    assert table.columns["many"].words == () and (table.columns["many"].places == -1).all()
    assert len(column("few", [f"{i}x" for i in range(1_000)]).levels("few")) == 1_000
    with pytest.raises(ValueError, match=r"^'both' must have at most 1,000 different values, got more$"):
        column("both", [*(f"{i}x" for i in range(990)), *range(11)]).levels("both")


def test_a_table_costs_little_more_than_its_numbers():
    """A table, and what is made of it: nothing is kept for each cell but its number and its place among the texts."""
    rows = 1_000
    line = b",".join(b"%d" % (j % 10) for j in range(400))
    content = b",".join([*(b"c%d" % j for j in range(400)), b"y\n"]) + b"".join(
        b"%b,%d\n" % (line, i % 2) for i in range(rows)
    )
    size = 8 * 400 * rows
    data.read_table(people(), "people.csv")  # what is loaded once
    tracemalloc.start()
    try:
        table = data.read_table(content, "people.csv", "y")
        features = table.features
        records = UploadedRecords(table, Declared(features, (0.0,) * 400, (9.0,) * 400, "1"), "people.csv")
        assert tracemalloc.get_traced_memory()[1] < 6 * size
        del table
        assert tracemalloc.get_traced_memory()[0] < 1.2 * size
        del records
        assert tracemalloc.get_traced_memory()[0] < 0.1 * size
    finally:
        tracemalloc.stop()


# What is declared


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"columns": ()}, "columns must be at least one, each once, got .*"),
        ({"columns": ("age", "age")}, "columns must be at least one, each once, got .*"),
        ({"columns": ("age", "sex")}, "columns must be one of name, age, dose, got 'sex'"),
        ({"low": (0.0,)}, "low and high must have 2 bounds each, got 1 and 2"),
        ({"low": (0.0, 1.0)}, "bounds of column 'dose' must be numbers up to 1e\\+100, low below high, got 1 and 1"),
        ({"low": (0.0, math.nan)}, "bounds of column 'dose' must be .*, got nan and 1"),
        ({"high": (math.inf, 1.0)}, "bounds of column 'age' must be .*, got 0 and inf"),
        ({"positive": "maybe"}, "positive must be one of no, yes, got 'maybe'"),
        ({"gaps": "guess"}, "gaps must be one of refuse, drop, got 'guess'"),
        (
            {"columns": ("age", "name")},
            "every row must have a label and a number in every column .*, got 60 of 60 rows without, 'name' in 60; .*",
        ),
        ({"columns": ("age", "name"), "gaps": "drop"}, "a table must hold at least 10 complete records, got 0"),
    ],
)
def test_a_declaration_that_does_not_fit_ends_in_one_sentence(changed, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        hold(declared=dc.replace(SAID, **changed))


def test_one_class_only_is_refused():
    with pytest.raises(ValueError, match=r"^complete rows must .*both answers"):
        hold(people().replace(b",yes", b",").replace(b",no", b",yes"), dc.replace(SAID, gaps="drop"))


def test_the_scaling_is_the_bundled_sets_own():
    """The iris uploaded with its declared ranges is the bundled iris, split by another stream."""
    raw, positive = bundled._raw("iris")
    lines = [",".join(map(repr, [*row.tolist(), int(y)])) for row, y in zip(raw, positive, strict=True)]
    content = "\n".join(["a,b,c,d,y", *lines]).encode()
    low, high = (tuple(declared("iris", end)) for end in ("low", "high"))
    said = Declared(("a", "b", "c", "d"), low, high, "1")
    records = UploadedRecords(data.read_table(content, "iris.csv", "y"), said, "iris.csv")
    X, y = bundled.bundled_records("iris")
    assert np.array_equal(records._X, X) and np.array_equal(records._y, y)
    assert (records.source.size, records.source.p) == (SOURCES["iris"].size, SOURCES["iris"].p)
    assert records.source.theta_norm == 11.0  # 5 sqrt(5), rounded
    split = data.load(records.key, records.source.size, records.source.p, 0)
    rows = np.concatenate([split.train.X, split.test.X])
    assert np.array_equal(rows[np.lexsort(rows.T)], X[np.lexsort(X.T)]), "every record on one side of the split"


def test_whatever_the_records_are_they_keep_the_bound_and_what_was_done_is_counted():
    content = people().replace(b"sick\n", b'sick\n"far, off",1e300,-1e300,yes\nnobody,,0.5,yes\nnobody,5,0.5,\n', 1)
    records = hold(content, dc.replace(SAID, gaps="drop"))
    assert records.report == data.Report(63, 2, {"age": 1, "dose": 1}, {"age": 1, "dose": 0}, {}, unlabelled=1)
    assert np.linalg.norm(records._X, axis=1).max() <= 1.0 + 1e-15
    assert records._X[0] == pytest.approx(np.array([1.0, -1.0, 1.0]) / math.sqrt(3))
    split = data.load(records.key, 500, 3, 0)
    assert split.train.n == 500 and split.test.n == 61 - data.load(records.key, records.source.size, 3, 0).train.n


def clinic(rows: int = 240, seed: int = 0) -> bytes:
    """Ages, sexes and stages with gaps and misprints; who is sick follows the stage."""
    draw = np.random.default_rng(seed)
    sex = draw.choice(["f", "m", "", "NA", "F"], rows, p=[0.44, 0.44, 0.04, 0.04, 0.04])
    stage = draw.choice(["1", "2.0", "+3", "IV", "9"], rows, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    sick = np.where(np.isin(stage, ["+3", "IV"]), "yes", "no")
    lines = [f"{a},{b},{c},{d}" for a, b, c, d in zip(draw.integers(18, 90, rows), sex, stage, sick, strict=True)]
    return "\n".join(["age,sex,stage,sick", *lines, ""]).encode()


SEX, STAGE = data.Category("sex", ("m", "f")), data.Category("stage", ("IV", "3", "1.0", "2"))


@pytest.mark.parametrize("categories", [(SEX,), (STAGE, SEX)])
@pytest.mark.parametrize("numbers", [("age",), ()])
def test_a_category_adds_a_column_for_each_level_and_one_to_the_squared_length(categories, numbers):
    bounds = (18.0,) * len(numbers), (65.0,) * len(numbers)
    records = hold(clinic(), Declared(numbers, *bounds, "yes", "drop", categories=categories))
    rows = [line.split(",") for line in clinic().decode().splitlines()[1:]]
    known = {"m": "m", "f": "f", "IV": "IV", "+3": "3", "1": "1.0", "2.0": "2"}
    places = {"sex": 1, "stage": 2}
    whole = [row for row in rows if all(known.get(row[places[each.column]]) in each.levels for each in categories)]
    blocks = len(numbers) + len(categories) + 1
    expected = [
        [
            *(2 * (min(float(row[0]), 65.0) - 18.0) / 47.0 - 1.0 for _ in numbers),
            *(float(known[row[places[each.column]]] == level) for each in categories for level in each.levels),
            1.0,
        ]
        for row in whole
    ]
    dense = len(expected[0]) <= 2 * blocks  # else mostly zeros, which are not stored
    assert isinstance(records._X, np.ndarray) is dense
    rows_made = records._X if dense else records._X.toarray()
    assert rows_made == pytest.approx(np.array(expected) / math.sqrt(blocks))
    assert records.source.p == records._X.shape[1] == len(numbers) + sum(len(c.levels) for c in categories) + 1
    assert records.source.stored * len(whole) == (rows_made.size if dense else records._X.nnz)
    norms = np.linalg.norm(rows_made, axis=1)
    assert norms.max() <= 1.0 + 1e-15 and (numbers or norms == pytest.approx(1.0))
    assert (records._y > 0).tolist() == [row[3] == "yes" for row in whole]
    for each in categories:
        values = [row[places[each.column]] for row in rows]
        assert records.report.gaps[each.column] == sum(value in ("", "NA") for value in values)
        assert records.report.unknown[each.column] == sum(value in ("F", "9") for value in values) > 0
    assert records.report.dropped == len(rows) - len(whole)


def test_an_undeclared_level_is_refused_unless_its_row_may_be_left_out():
    declared = Declared((), (), (), "yes", categories=(SEX, STAGE))
    with pytest.raises(
        ValueError, match=r"^every row must have .* declared level .*, 'sex' in \d+, 'stage' in \d+; leave"
    ):
        hold(clinic(), declared)
    # The columns come from the declaration: a level that no record has is there all the same.
    wider = dc.replace(SEX, levels=("m", "f", "x"))
    records = hold(clinic(), dc.replace(declared, gaps="drop", categories=(wider,)))
    assert records.source.p == 4 and not records._X[:, 2].any()


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ((data.Category("sex", ("f",)),), "levels of column 'sex' must be at least two, .*"),
        ((data.Category("sex", ("f", "")),), "levels of column 'sex' must be .* none empty, got .*"),
        ((data.Category("stage", ("1", "1.0")),), "levels of column 'stage' must be .* each once .*"),
        ((data.Category("set", ("f", "m")),), "columns must be one of age, sex, stage, got 'set'"),
        ((SEX, SEX), "columns must be at least one, each once, got .*"),
        ((data.Category("age", tuple(map(str, range(1_001)))),), "features must be at most 1,000, .*, got 1,001"),
    ],
)
def test_categories_that_do_not_fit_end_in_one_sentence(categories, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        hold(clinic(), Declared((), (), (), "yes", "drop", categories=categories))


def test_levels_of_a_file_with_decimal_commas_are_numbers_too():
    content = "dose;sick\n" + "".join(f"{('0,5', '1,50', '2')[i % 3]};{i % 2}\n" for i in range(30))
    table = data.read_table(content.encode(), "people.csv", "sick")
    assert table.levels("dose") == ("0,5", "1,5", "2")
    said = Declared((), (), (), "1", categories=(data.Category("dose", table.levels("dose")),))
    assert UploadedRecords(table, said, "people.csv").report.unknown == {"dose": 0}


def test_a_dictionary_holds_a_declaration_and_nothing_else():
    said = Declared(("age",), (-0.1,), (1e-7,), "yes", "drop", (SEX, STAGE), ("sex",))
    for unit in ((), ("patient", 3)):
        written = data.write_dictionary("sick", said, *unit).encode()
        assert data.read_dictionary(written, "x.json") == ("sick", said)
        assert data.read_unit(written, "x.json") == (unit or ("person", 1))


@pytest.mark.parametrize(
    "wrong",
    [{"unit": "<b>"}, {"unit": "a" * 21}, {"unit": 3}, {"records": 0}, {"records": "2"}, {"records": 101}],
)
def test_what_a_row_is_must_be_a_short_word_and_its_number_from_1_to_100(wrong):
    with pytest.raises(ValueError, match=r"^x.json must be a column dictionary: (unit|records) must be"):
        data.read_unit(json.dumps(wrong).encode(), "x.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.pop("positive"), "positive must be a text, got None"),
        (lambda found: found.update(label=3), "label must be a text, got 3"),
        (lambda found: found.update(gaps="guess"), "gaps must be one of refuse, drop, got 'guess'"),
        (lambda found: found.update(columns=[]), "columns must be at least one, each once, got .*"),
        (lambda found: found["columns"].append("age"), "columns must be a list of objects, got 'age'"),
        (lambda found: found["columns"].append(found["columns"][0]), "columns must be at least one, each once, got .*"),
        (lambda found: found["columns"][0].update(kind="text"), "kind of 'age' must be one of number, category, .*"),
        (lambda found: found["columns"][0].update(smallest=math.nan), "smallest of 'age' must be a number, got nan"),
        (lambda found: found["columns"][0].update(largest=0), "smallest of 'age' must be below its largest, .*"),
        (lambda found: found["columns"][1].update(levels=[1, 2]), "levels must be a list of texts, got .*"),
    ],
)
def test_a_spoilt_dictionary_is_refused_by_its_part(change, message):
    found = json.loads(data.write_dictionary("sick", Declared(("age",), (0.0,), (1.0,), "yes", categories=(SEX,))))
    change(found)
    with pytest.raises(ValueError, match=f"^x.json must be a column dictionary: {message}$"):
        data.read_dictionary(json.dumps(found).encode(), "x.json")


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b"{", b"[" * 200_000])
def test_what_is_no_dictionary_is_refused(content):
    with pytest.raises(ValueError, match=r"^x.json must be a JSON object .*, got another file$"):
        data.read_dictionary(content, "x.json")


def test_the_same_file_and_seed_give_the_same_results_under_another_key():
    first, second = hold(), hold()
    assert first.key != second.key
    tables = [dpcore.run(asked(records)).drop(columns="seconds") for records in (first, second)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(dpcore.run(asked(first, seed=1)).drop(columns="seconds"))


# Gone


def caches_of_modules() -> list[SharedCache]:
    """Every cache but those inside of private records."""
    gc.unfreeze()  # or those from before the first test are left out
    known = [found for found in gc.get_objects() if isinstance(found, SharedCache)]
    inside = {
        id(cache)
        for found in gc.get_objects()
        if isinstance(found, UploadedRecords)
        for cache in found._caches.values()
    }
    return [cache for cache in known if id(cache) not in inside]


def test_nothing_that_is_computed_from_the_records_outlives_them():
    """Results of every kind are there, in caches of the records' own; dropping the one reference drops all of it."""
    records = hold()
    key, experiment = records.key, asked(records, mechanisms=("output_gaussian", "noisy_gd"))
    table = dpcore.run(experiment)
    assert (table.status == "ok").all()
    cell = next(experiment.cells())
    job = Job(TableQuestion(dc.replace(experiment, repetitions=4)))
    job.show("me", first=True)
    job.wait(60, lambda table: False)
    assert job.answer.snapshot is not None
    made = [
        data.load(key, 42, 3, 7),
        data.load(key, 100, 3, 7),
        cell.problem.reference(),
        last(EquivalentSampleSizeQuestion(Setting(Problem(key, 42, 3, seed=7), splits=2, epsilons=(1.0,)))),
    ]
    held = [weakref.ref(thing) for thing in (records._X, records._y, records, *made)]
    held += [weakref.ref(part.X) for split in made[:2] for part in (split.train, split.test)]
    assert len(records._caches) == 7, "records, cells, minimisers, references, penalties, learners and learning curves"
    assert not any(key in repr(known) for cache in caches_of_modules() for known in cache._futures)
    del records, made, job
    gc.collect()
    assert not any(ref() for ref in held)
    assert data.is_gone(key)
    for ask in (data.get_source, lambda key: data.load(key, 42, 3, 7), lambda key: dpcore.run(experiment)):
        with pytest.raises(ValueError, match=r"^source must .* gone; upload it again$"):
            ask(key)


def until(done) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_records_are_neither_copied_nor_pickled_nor_printed():
    records = hold()
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private records must stay in the memory of this process"):
            take(records)
    table = data.read_table(people(), "people.csv", "sick")
    assert "array" not in repr(records) + repr(table) + repr(table.columns["age"])


@pytest.mark.parametrize("still_there", [True, False])
def test_the_log_has_no_words_that_may_quote_a_record(monkeypatch, caplog, still_there):
    def fail(*args, **kwargs):
        raise ValueError("y must lie in [-1, 1], got 0.123456")

    records = hold()
    experiment = asked(records)
    monkeypatch.setattr(tables, "run", fail)
    if not still_there:
        del records
        gc.collect()
    with caplog.at_level(logging.DEBUG):
        job = Job(TableQuestion(experiment))
        job.show("me", first=True)
        until(lambda: job.answer.finished)
    assert job.answer.failed and "0.123456" not in caplog.text
    assert ("no answer about private records: ValueError" in caplog.text) == still_there


def test_a_threshold_is_a_positive_label_from_declaration_to_dictionary():
    rows = "\n".join(f"{i % 7},{'' if i == 3 else i / 2}" for i in range(60))
    table = data.read_table(f"age,dose\n{rows}".encode(), "people.csv", "dose")
    said = data.Declared(("age",), (0.0,), (6.0,), ">= 12,5", "drop")
    records = data.UploadedRecords(table, said, "people.csv")
    assert records.report.unlabelled == 1 and (records._y == 1).sum() == 60 - 25
    again = data.read_dictionary(data.write_dictionary("dose", said).encode(), "people.json")
    assert again == ("dose", said) and data.mismatches(said, ("age",), ("age",), ("0", "0.5")) == []
    for wrong in (">= 1,000", ">= many", "> 5"):
        with pytest.raises(ValueError, match="must"):
            data.UploadedRecords(table, dc.replace(said, positive=wrong), "people.csv")


def test_a_label_that_looks_like_a_threshold_is_one_if_it_occurs():
    rows = "\n".join(f"{i % 7},{'>=50K' if i % 3 else '<50K'}" for i in range(60))
    table = data.read_table(f"age,income\n{rows}".encode(), "people.csv", "income")
    records = data.UploadedRecords(table, data.Declared(("age",), (0.0,), (6.0,), ">=50K"), "people.csv")
    assert (records._y == 1).sum() == 40
    assert data.mismatches(data.Declared(("age",), (0.0,), (6.0,), ">=50K"), ("age",), ("age",), (">=50K",)) == []
