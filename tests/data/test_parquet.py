"""Parquet files: the same table as from a CSV file, memory that no few bytes can fill, else one sentence."""

import datetime
import decimal
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from dpcore import data
from dpcore.data import parquet, parquet_child

NAME = "people.parquet"
SICK = ["yes", "no"] * 30


def written(table: dict | pa.Table, **how) -> bytes:
    content = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), content, **how)
    return content.getvalue()


def sixty(of) -> list:
    return [of(i) for i in range(60)]


def people(rows: int = 200) -> pd.DataFrame:
    """Columns of each kind that a CSV file can hold as well, with gaps."""
    draw = np.random.default_rng(0)
    age = draw.integers(0, 90, rows).astype(float)
    age[::7] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "dose": draw.standard_normal(rows),
            "visits": draw.integers(0, 9, rows),
            "sex": [None if i % 9 == 4 else "fm"[i % 2] for i in range(rows)],
            "stage": pd.Categorical([str(i % 4) for i in range(rows)]),
            "note": [("NA", " x ", '1,"234', "7", "a\nb")[i % 5] for i in range(rows)],
            "day": [f"2026-01-{i % 28 + 1:02}" for i in range(rows)],
            "name": [f"person {i}" for i in range(rows)],
            "sick": draw.choice(["yes", "no", None], rows),
        }
    )


def reasons(table: data.RawTable) -> dict[str, str]:
    found = data.facts_of(table, data.Question(table.label, ""))
    return {column.name: column.reason for column in found.columns if not column.use}


@pytest.mark.parametrize(
    "how", [{}, {"row_group_size": 37, "compression": "zstd"}, {"use_dictionary": False, "data_page_version": "2.0"}]
)
def test_a_table_is_the_same_as_from_a_csv_file(how):
    content = written(pa.Table.from_pandas(people(), preserve_index=False), **how)
    table = data.read_table(content, NAME, "sick")
    same = data.read_table(people().to_csv(index=False).encode(), "people.csv", "sick")
    assert (table.features, data.facts_of(table), table.form) == (same.features, data.facts_of(same), None)
    for column, other in same.columns.items():
        assert np.array_equal(table.columns[column].numbers, other.numbers, equal_nan=True)
        assert table.columns[column].words == other.words
        assert np.array_equal(table.columns[column].places, other.places)


def test_every_type_of_number_is_a_number_and_what_is_none_is_left_out_with_its_reason():
    whole = [None if i % 6 == 5 else i % 6 for i in range(60)]
    numbers = {f"{kind}": pa.array(whole, kind) for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.float32())}
    numbers["decimal"] = pa.array([None if i is None else decimal.Decimal(i) / 2 for i in whole], pa.decimal128(9, 1))
    numbers["codes"] = pa.array(whole, pa.int64()).dictionary_encode()
    left = {
        "day": pa.array(sixty(lambda i: datetime.date(2026, 1, i % 28 + 1))),
        "at": pa.array(sixty(lambda i: datetime.datetime(2026, 1, 1, i % 24))),
        "clock": pa.array(sixty(lambda i: datetime.time(i % 24))),
        "list": pa.array(sixty(lambda i: [i])),
        "record": pa.array(sixty(lambda i: {"age": i})),
        "bytes": pa.array(sixty(lambda i: b"\xff")),
    }
    truths = pa.array([i % 3 == 0 for i in range(60)])
    table = data.read_table(written({**numbers, "free": truths, **left, "sick": SICK}), NAME, "sick")
    asked = np.array([np.nan if i is None else i for i in whole])
    for column in numbers:
        found = table.columns[column].numbers
        assert np.array_equal(found, asked / 2 if column == "decimal" else asked, equal_nan=True), column
    assert table.levels("free") == ("false", "true")
    dates = dict.fromkeys(("day", "at", "clock"), "holds dates or times")
    assert reasons(table) == dates | dict.fromkeys(("list", "record", "bytes"), "holds neither numbers nor texts")


def test_an_index_is_a_column_that_is_hardly_a_feature(tmp_path):
    frame = people().drop(columns="name").set_index(np.random.default_rng(0).permutation(200) // 2)
    table = data.read_table(frame.to_parquet(), NAME, "sick")
    assert reasons(table)["__index_level_0__"] == "counts rows, and begins again"
    path = tmp_path / NAME
    path.write_bytes(pd.DataFrame({"dose": [1.0, 2.5], "y": [1, -1]}).to_parquet(index=False))
    assert data.read_file(path, "y").data.X.tolist() == [[1.0], [2.5]]
    path.write_bytes(pd.DataFrame({"dose": ["1", "x"], "y": [1, -1]}).to_parquet(index=False))
    with pytest.raises(ValueError, match=r"^column 'dose' of people.parquet must .*, got 'x' in row 2$"):
        data.read_file(path, "y")


# Few bytes


LONG = pa.DictionaryArray.from_arrays(pa.array(np.zeros(9_000, np.int32)), ["x" * 100_000])


@pytest.mark.parametrize(
    ("table", "how", "message"),
    [
        ({"age": np.zeros(1_000_001)}, {}, "have at most 1,000,000 lines, got 1,000,001; .*"),
        ({f"c{i}": np.zeros(2) for i in range(1_001)}, {}, "have at most 1,001 columns, got 1,002; .*"),
        ({f"c{i}": np.zeros(10_000) for i in range(501)}, {}, "have at most 5,000,000 cells, got 5,020,000; .*"),
        ({"note": ["x" * 10**6] * 60}, {"use_dictionary": False, "compression": "zstd"}, "unpack to at most 50 MB, .*"),
        ({"note": LONG}, {"store_schema": False}, "hold at most 100 MB of text, got more; .*"),
        ({"note": ["x" * 131_073] * 2}, {}, "have at most 131,072 characters in a cell, .*"),
    ],
)
def test_what_would_take_too_much_memory_is_refused(table, how, message):
    rows = len(next(iter(table.values())))
    content = written({**table, "sick": np.arange(rows) % 2}, **how)
    assert len(content) < 10**6
    with pytest.raises(ValueError, match=f"^people.parquet must {message}$"):
        data.read_table(content, NAME, "sick")


# Prints the most memory, in kB, that a process had which this one started to read a file.
MEMORY = """
import resource, sys
from pathlib import Path
from dpcore import data
try:
    data.read_table(Path(sys.argv[1]).read_bytes(), "people.parquet", "sick")
except ValueError as error:
    assert "unpack to at most 50 MB" in str(error)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_what_unpacks_to_much_is_read_in_little_memory(tmp_path):
    """Measured by a process of its own: a child inherits the peak of its parent."""
    content = written({"note": ["x" * 10**6] * 60, "sick": np.arange(60) % 2}, use_dictionary=False, compression="zstd")
    path = tmp_path / NAME
    path.write_bytes(content)
    told = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, check=True, text=True)
    assert 0 < int(told.stdout) <= parquet_child._MEMORY / 1_024


def test_a_file_beyond_a_limit_is_not_unpacked():
    _, table = parquet.read_parquet(WHOLE, NAME, rows=60, columns=9, cells=540)
    assert table.count(b"\n") >= 60
    for most in ({"rows": 59}, {"columns": 8}, {"cells": 539}):
        facts, table = parquet.read_parquet(WHOLE, NAME, **{"rows": 60, "columns": 9, "cells": 540} | most)
        assert (facts.rows, len(facts.columns), table) == (60, 9, b"")


# Damaged


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (written({"sick": SICK}), "must have a label and at least one feature, separated by .*, got one column"),
        (written({"age": [1], "sick": ["yes"]}), "must hold at least 2 records, got 1"),
        (written({"age": [], "sick": []}), "must .* at least 2 records, got .*"),
        (written({"age": sixty(int), "ill": SICK}), r"\(age, ill\), got 'sick'"),
    ],
)
def test_a_file_that_is_no_table_ends_in_one_sentence(content, message):
    with pytest.raises(ValueError, match=message):
        data.read_table(content, NAME, "sick")


WHOLE = written(pa.Table.from_pandas(people(60)), compression="zstd")
FOOTER = len(WHOLE) - 8 - int.from_bytes(WHOLE[-8:-4], "little")
DAMAGES = {
    "nothing": b"",
    "another format": b"age,sick\n1,yes\n",
    "cut short": WHOLE[:-9],
    "the end of another file": WHOLE[:FOOTER],
    "a footer of 4 GB": b"PAR1" + b"\xff" * 8 + b"PAR1",
    "a footer of zeros": WHOLE[:FOOTER] + bytes(len(WHOLE) - FOOTER - 8) + WHOLE[-8:],
    "a footer of ones": WHOLE[:FOOTER] + b"\xff" * (len(WHOLE) - FOOTER - 8) + WHOLE[-8:],
    "half a footer": WHOLE[:FOOTER] + WHOLE[FOOTER : FOOTER + 200] * 9 + WHOLE[-8:],
    "pages of zeros": WHOLE[:4] + bytes(FOOTER - 4) + WHOLE[FOOTER:],
    "pages of ones": WHOLE[:4] + b"\xff" * (FOOTER - 4) + WHOLE[FOOTER:],
    "encrypted": WHOLE[:-4] + b"PARE",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_said_to_be_one(damage):
    with pytest.raises(
        ValueError, match=r"^people.parquet must be a whole Parquet file, got one that is damaged, "
    ) as e:
        data.read_table(DAMAGES[damage], NAME, "sick")
    assert e.value.__cause__ is None


@pytest.mark.parametrize("end", ["import os; os.abort()", "import os; os.kill(os.getpid(), 9)", "raise ValueError"])
def test_the_death_of_the_program_that_reads_is_no_death_of_ours(end, monkeypatch, tmp_path):
    (tmp_path / "child.py").write_text(f"import sys; sys.stdin.buffer.read(); {end}")
    monkeypatch.setattr(parquet, "_CHILD", tmp_path / "child.py")
    with pytest.raises(ValueError, match="got one that is damaged"):
        data.read_table(WHOLE, NAME, "sick")


def test_the_program_that_reads_may_not_take_more_memory_than_it_says():
    limit = f"import runpy, sys; sys.argv[1:] = ['[0, 0, 0, 0, 0]']; m = runpy.run_path({parquet_child.__file__!r}); "
    limit += "m['main']([0, 0, 0, 0, 0]); bytearray(m['_MEMORY'])"
    done = subprocess.run([sys.executable, "-c", limit], input=WHOLE, capture_output=True)
    assert done.returncode and b"MemoryError" in done.stderr


def test_without_pyarrow_a_file_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pyarrow is missing.*; install it with pip install pyarrow, or save the "):
        data.read_table(WHOLE, NAME, "sick")


def test_texts_that_are_amounts_are_read_as_in_a_csv_file():
    pay = [f"€ {i % 9 + 1},{i % 7}50.00" for i in range(60)]
    frame = pd.DataFrame(
        {"pay": pay, "minus": [f"\u2212{i % 5}" for i in range(60)], "dose": [i / 8 for i in range(60)]}
    )
    columns = data.read_table(frame.to_parquet(index=False), NAME).columns
    assert columns["pay"].numbers[:2].tolist() == [1050.0, 2150.0] and columns["pay"].unit == "€"
    assert columns["minus"].numbers.tolist() == [-(i % 5) for i in range(60)]
    assert columns["dose"].numbers.tolist() == [i / 8 for i in range(60)]
