"""Parquet files: the same table as from a CSV file, memory that no few bytes can fill, else one sentence."""

import contextlib
import datetime
import decimal
import io
import random
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from dpcore import data
from dpcore.data import Declared, UploadedRecords, parquet

from ..nights import each

NAME = "people.parquet"
SICK = ["yes", "no"] * 30
POOLS: list[pa.MemoryPool] = []  # kept for good: what is allocated in one may be freed later


def written(table: dict | pa.Table, **how) -> bytes:
    content = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), content, **how)
    return content.getvalue()


def read(content: bytes, label: str = "sick", **more) -> data.RawTable:
    return data.read_sheet(content, NAME, label, **more)


def sixty(of) -> list:
    return [of(i) for i in range(60)]


@contextlib.contextmanager
def at_most(most: int):
    """Expect that pyarrow takes at most so many bytes."""
    before = pa.default_memory_pool()
    watched = pa.proxy_memory_pool(before)
    POOLS.append(watched)
    pa.set_memory_pool(watched)
    try:
        yield watched
    finally:
        pa.set_memory_pool(before)
    assert watched.max_memory() <= most


def people(rows: int = 200) -> pd.DataFrame:
    """Columns of each kind that a CSV file can hold as well, with gaps."""
    draw = np.random.default_rng(0)
    age = draw.integers(0, 90, rows).astype(float)
    age[::7] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "visits": draw.integers(0, 9, rows),
            "sex": [None if i % 9 == 4 else "fm"[i % 2] for i in range(rows)],
            "stage": pd.Categorical([str(i % 4) for i in range(rows)]),
            "note": [("NA", " x ", "1,234", "7", "")[i % 5] for i in range(rows)],
            "day": [f"2026-01-{i % 28 + 1:02}" for i in range(rows)],
            "name": [f"person {i}" for i in range(rows)],
            "sick": draw.choice(["yes", "no", None], rows),
        }
    )


def assert_same(a: data.RawTable, b: data.RawTable) -> None:
    assert (a.columns, a.values, a.suspects) == (b.columns, b.values, b.suspects)
    assert np.array_equal(a.numbers, b.numbers, equal_nan=True) and np.array_equal(a.labels, b.labels)
    assert a.texts.keys() == b.texts.keys()
    for column, texts in a.texts.items():
        others = b.texts[column]
        assert [texts.words[p] if p >= 0 else None for p in texts.places] == [
            others.words[p] if p >= 0 else None for p in others.places
        ]


@pytest.mark.parametrize(
    "how", [{}, {"row_group_size": 37, "compression": "zstd"}, {"use_dictionary": False, "data_page_version": "2.0"}]
)
def test_a_table_is_the_same_as_from_a_csv_file(how, monkeypatch):
    monkeypatch.setattr(parquet, "_BATCH", 16)
    table = people() if how.get("use_dictionary", True) else people().astype({"stage": str})
    content = written(pa.Table.from_pandas(table, preserve_index=False), **how)
    assert data.sheet_columns(content, NAME) == tuple(table.columns)
    assert_same(read(content), data.read_sheet(table.to_csv(index=False).encode(), "people.csv", "sick"))
    assert len(read(content).texts) == 4 and read(content).label == "sick" and read(content).form is None


def test_every_type_of_number_is_a_number_and_what_is_none_is_left_out_with_its_reason():
    whole = [None if i % 6 == 5 else i % 6 for i in range(60)]
    numbers = {f"{kind}": pa.array(whole, kind) for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.float32())}
    numbers["decimal"] = pa.array([None if i is None else decimal.Decimal(i) / 2 for i in whole], pa.decimal128(9, 1))
    numbers["codes"] = pa.array(whole, pa.int64()).dictionary_encode()
    left = {
        "day": pa.array(sixty(lambda i: datetime.date(2026, 1, i % 28 + 1))),
        "at": pa.array(sixty(lambda i: datetime.datetime(2026, 1, 1, i % 24))),
        "clock": pa.array(sixty(lambda i: datetime.time(i % 24))),
        "wait": pa.array(sixty(lambda i: datetime.timedelta(i))),
        "list": pa.array(sixty(lambda i: [i])),
        "record": pa.array(sixty(lambda i: {"age": i})),
        "bytes": pa.array(sixty(lambda i: b"x")),
        "nothing": pa.nulls(60),
    }
    sheet = read(written({**numbers, "free": pa.array([i % 3 == 0 for i in range(60)]), **left, "sick": SICK}))
    asked = np.array([np.nan if i is None else i for i in whole])
    for column in numbers:
        found = sheet.numbers[:, sheet.columns.index(column)]
        assert np.array_equal(found, asked / 2 if column == "decimal" else asked, equal_nan=True), column
    assert sheet.texts.keys() == {"free"} and sheet.levels("free") == ("false", "true")
    dates = dict.fromkeys(("day", "at", "clock", "wait"), "holds dates or times")
    rest = dict.fromkeys(("list", "record", "bytes"), "holds neither numbers nor texts")
    assert sheet.suspects == dates | rest | {"nothing": "has no value"}
    assert all(np.isnan(sheet.numbers[:, sheet.columns.index(column)]).all() for column in left)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([1, 0] * 30, ("0", "1")),
        ([1.0, 0.5] * 30, ("0.5", "1")),
        ([True, False] * 30, ("false", "true")),
        (["01", "1", "no", None, "NA", " no "] * 10, ("1", "no")),
        ([12345678901234567, 12345678901234568] * 30, ("12345678901234567", "12345678901234568")),
        (pa.array(SICK).dictionary_encode(), ("no", "yes")),
    ],
)
def test_labels_are_numbers_texts_or_truths(cells, values):
    sheet = read(written({"age": sixty(float), "sick": cells}))
    assert sheet.values == values and (sheet.labels < 0).sum() == (20 if "NA" in list(cells) else 0)


def test_a_file_becomes_records_as_its_holder_declares():
    content = written(pa.Table.from_pandas(people(), preserve_index=False))
    said = Declared(
        ("age", "visits"), (0.0, 0.0), (50.0, 9.0), "yes", "drop", None, (data.Category("sex", ("f", "m")),)
    )
    records = UploadedRecords(read(content), said, NAME)
    report = records.report
    age = people()["age"]
    assert (report.gaps["age"], report.gaps["sex"]) == (age.isna().sum(), people()["sex"].isna().sum())
    assert 0 < report.clipped["age"] <= (age > 50).sum() and records.source.p == 5


# Few bytes


def test_a_text_that_occurs_in_every_row_takes_no_room_for_each():
    rows = 200_000
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), ["x" * 500])
    content = written({"note": text, "sick": pa.array(np.arange(rows) % 2)}, store_schema=False)
    assert len(content) < 10**6
    with at_most(4_000_000) as pool:  # not 100 MB
        sheet = read(content)
        assert pool.max_memory() > 100_000, "it counts"
    assert sheet.texts["note"].words == ("x" * 500,) and (sheet.texts["note"].places == 0).all()


def test_a_text_that_would_fill_more_than_the_memory_if_it_were_written_out_is_refused():
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(9_000, np.int32)), ["x" * 100_000])
    with pytest.raises(
        ValueError, match=r"^people.parquet must hold at most 500 MB of text if each cell is written out"
    ):
        read(written({"note": text, "sick": SICK * 150}))


@pytest.mark.parametrize("how", [{}, {"dictionary_pagesize_limit": 1_000}, {"row_group_size": 1_500}])
def test_texts_that_are_too_many_for_levels_are_not_unpacked(how):
    table = {"name": [f"person {i}" for i in range(3_000)], "age": range(3_000), "sick": SICK * 50}
    sheet = read(written(table, **how))
    assert sheet.suspects["name"] == "holds too many or too long texts for levels"
    assert not sheet.texts and np.isnan(sheet.numbers[:, 0]).all() and sheet.numbers[7, 1] == 7
    plain = read(written(table, use_dictionary=False))
    assert plain.suspects["name"] == "holds more than 1,000 different texts"
    with pytest.raises(
        ValueError, match=r"^label must be a column of numbers or texts, got 'name', which holds too many"
    ):
        read(written(table, **how), "name")


def test_a_text_that_no_cell_may_have_is_refused():
    with pytest.raises(ValueError, match=r"^people.parquet must have at most 131,072 characters in a cell, got more$"):
        read(written({"note": ["x" * 131_073] * 60, "sick": SICK}))


@pytest.mark.parametrize(
    ("table", "how", "message"),
    [
        ({"age": np.zeros(1_000_001)}, {}, "at most 1,000,000 lines, got 1,000,001; .*"),
        ({f"c{i}": np.zeros(2) for i in range(1_001)}, {}, "at most 1,000 columns beside the label, got 1,001"),
        ({f"c{i}": np.zeros(10_000) for i in range(501)}, {}, "at most 5,000,000 cells, got more; .*"),
        ({"note": ["x" * 10**6] * 60}, {"use_dictionary": False, "compression": "zstd"}, "unpack to at most 50 MB .*"),
        ({"note": SICK}, {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}, "hold each text whole, .*"),
    ],
)
def test_what_would_unpack_to_too_much_is_refused_before_it_is_unpacked(table, how, message):
    rows = len(next(iter(table.values())))
    if how.pop("column_encoding", None):
        how["column_encoding"] = {"note": "DELTA_BYTE_ARRAY"}
    content = written({**table, "sick": np.arange(rows) % 2}, **how)
    with at_most(0), pytest.raises(ValueError, match=f"^people.parquet must (have )?{message}$"):
        read(content)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_the_headers_of_pages_tell_what_the_footer_tells(version):
    """So a footer that tells less deceives nobody."""
    content = written(
        pa.Table.from_pandas(people(5_000)), data_page_version=version, compression="gzip", data_page_size=999
    )
    table = parquet.ParquetTable(content, NAME, lambda share: None)
    found = pq.read_metadata(io.BytesIO(content))
    for k, (_, start, stop) in enumerate(table._chunks()):
        unpacked = pages = 0
        while start < stop:
            page = parquet._page(content, start)
            start, unpacked, pages = page.stop, unpacked + page.unpacked, pages + 1
            assert page.encoding in (None, 0, 3, 8)
        assert start == stop and pages > 1
        headers = found.row_group(0).column(k).total_uncompressed_size - unpacked
        assert 0 < headers < 100 * pages


# Damaged


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be a whole Parquet file, got one that is damaged, .*"),
        (b"age,sick\n1,yes\n", "must be a whole Parquet file, got one that is damaged, .*"),
        (b"PAR1" + b"\xff" * 8 + b"PAR1", "must have a footer of at most 2,097,152 bytes, got 4,294,967,295"),
        (written({"sick": SICK}), "must have a label and at least one feature, got 1 columns"),
        (written({"age": [1], "sick": ["yes"]}), "must hold at least 2 records, got 1"),
        (written({"age": sixty(int), "ill": SICK}), r"\(age, ill\), got 'sick'"),
        (
            written({"age": sixty(int), "sick": [[1]] * 60}),
            "label must be a column of numbers or texts, got 'sick', .*",
        ),
        (
            written(pa.Table.from_arrays([pa.array(SICK)] * 3, ["age", "age", "sick"])),
            "columns of people.parquet must have different names, got 'age' twice",
        ),
    ],
)
def test_a_bad_file_ends_in_one_sentence(content, message):
    with pytest.raises(ValueError, match=message):
        read(content)


@pytest.mark.parametrize("seed", each(20, range(40)))
def test_a_damaged_file_is_read_or_refused_in_one_sentence(seed):
    draw, refused = random.Random(seed), 0
    whole = written(
        pa.Table.from_pandas(people(60)),
        compression=draw.choice(["none", "snappy", "zstd"]),
        use_dictionary=bool(seed % 2),
    )
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 3))):
            content[draw.randrange(len(content))] = draw.choice((0, 1, 127, 255, draw.randrange(256)))
        cut = draw.randrange(len(content)) if draw.random() < 0.2 else None
        try:
            sheet = read(bytes(content[:cut]))
        except ValueError as error:
            refused += 1
            assert " must " in str(error) and "\n" not in str(error) and error.__cause__ is None
        else:
            assert sheet.numbers.shape == (len(sheet.labels), len(sheet.columns))
    assert 0 < refused < 60


def test_without_pyarrow_a_file_is_refused_with_the_remedy(monkeypatch):
    content = written({"age": sixty(int), "sick": SICK})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pyarrow is missing.*; install pyarrow or save the table as CSV$"):
        read(content)


def test_progress_is_told_column_by_column():
    told: list[float] = []
    read(written({"age": sixty(int), "dose": sixty(float), "sick": SICK}), progress=told.append)
    assert told == [0.0, 0.5]


def test_a_table_without_a_name_for_a_column_is_read():
    sheet = read(written(pa.table([pa.array(sixty(lambda i: i % 5)), pa.array(SICK)], ["", "sick"])))
    assert sheet.columns == ("column 1 (no name)",) and sheet.suspects == {"column 1 (no name)": "has no name"}
    assert sheet.numbers[:, 0].tolist() == sixty(lambda i: i % 5)
