"""Files are read exactly, or refused in one sentence that names the place and the rule."""

import dataclasses as dc
import gzip
import itertools
import os
import random
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from dpcore import data
from dpcore.data import Format
from dpcore.data.encodings import ENCODINGS
from dpcore.data.tables import line_of
from tests.nights import each


def written(tmp_path: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def numbers_of(table: data.RawTable) -> list[list[float]]:
    return np.column_stack([table.columns[column].numbers for column in table.features]).tolist()


def test_every_float_survives_a_csv_file(tmp_path):
    X = np.random.default_rng(0).standard_normal((500, 3)) * 10.0 ** np.arange(-200, 300, 1)[:, None]
    lines = ["a,b,c,y", *(",".join(map(repr, [*map(float, row), 1])) for row in X)]
    assert np.array_equal(data.read_file(written(tmp_path, "\n".join(lines)), "y").data.X, X)


BAD = [
    ("", "people.csv must be a CSV table with a header line and at least 2 records, got an empty file"),
    (" \n\n", "people.csv must be a CSV table with a header line and at least 2 records, got an empty file"),
    ("a,sick\n1,1\n", "people.csv must hold at least 2 records, got 1"),
    ("a,sick\n1,1\n  \n2\n", "people.csv must be a CSV table with 2 fields in each line, got 1 in line 4"),
    ("a,sick\n1,1\n2,1,\n", "people.csv must be a CSV table with 2 fields in each line, got 3 in line 3"),
    (
        "a\n1,1\n2,1\n",
        "people.csv must have a label and at least one feature, separated by commas, .*, got one column; .*",
    ),
    (
        "# from the ward\na,sick\n1,1\n2,1\n",
        "people.csv must have .*; delete the lines above the names, if there are any",
    ),
    ("a,b\n1,1\n2,1\n", r"label must be a column of people.csv \(a, b\), got 'sick'"),
    ("a,sick\n1,\0\n2,1\n", "people.csv must be a text file, got binary content in line 2"),
    ("a,sick\n1,2\n".encode("utf-16")[:-1], "people.csv must be a text file in UTF-16, got .*"),
    ("a" * 2**19 + ",sick\n1,2\n", "people.csv must have at most 524,288 characters in a line, got more in line 1; .*"),
    (
        "a,sick\n1,2\n\n1," + "x" * 131_073,
        "people.csv must have at most 131,072 characters in a cell, got more in line 4; .*",
    ),
    (gzip.compress(b"a,sick\n", mtime=0), "people.csv must be a plain CSV file, got a compressed one"),
]
NO_NUMBERS = [
    ("a,sick\n\n1,1\n \t \nx,1\n", "column 'a' of people.csv must hold a number in every row, got 'x' in line 5"),
    ('a,sick\n"1\n",1\n,-1\n', "column 'a' of people.csv must hold a number in every row, got '' in line 4"),
    ("a,sick\n1,1\nnan,-1\n", "column 'a' of people.csv must hold a number in every row, got 'nan' in line 3"),
    ("a,sick\n1,1\n-inf,-1\n", "column 'a' of people.csv must hold a number in every row, got '-inf' in line 3"),
    ("a,sick\nTrue,1\nFalse,-1\n", "column 'a' of people.csv must hold a number in every row, got 'True' in line 2"),
    ("a,sick\n1_0,1\n2,-1\n", "column 'a' of people.csv must hold a number in every row, got '1_0' in line 2"),
    ("a,sick\n١,1\n2,-1\n", "column 'a' of people.csv must hold a number in every row, got '١' in line 2"),
    ("a\tsick\n1,234\t1\n2\t-1\n", "column 'a' of people.csv must .*, got '1,234' in line 2; write .* thousands .*"),
    (
        "a,sick\n1,malignant\n2,benign\n",
        "column 'sick' of people.csv must hold a number in every row, got 'malignant' in line 2; "
        r'np.where\(y == "malignant", 1, -1\) makes a text label a number',
    ),
]


WESTERN = "Müller né Mañana São Ødegård PÈRE niño"
OTHERS = {
    "cp1250": "Łódź,Kłodzko",
    "cp1251": "Москва,нет",
    "cp1253": "Αθήνα,όχι",
    "cp1254": "İstanbul,kadın",
    "cp1255": "שלום,לא",
    "cp1256": "مرحبا,نعم",
    "cp1257": "Šiauliai,Kauņas",
    "cp932": "東京,女",
    "gb18030": "北京,女",
    "cp950": "台北,女",
    "cp949": "서울,여",
}


@pytest.mark.parametrize(
    "encoding, words",
    [
        *((encoding, WESTERN) for encoding in ("cp1252", "latin-1", "iso8859-15", "mac_roman", "cp850")),
        ("cp1252", "maši Škoda žena née né"),
        *(("cp1252", words) for words in ("‘quoted’ “words”", "don’t", "€", "°C", "•••")),
        ("mac_roman", "niño años nación María"),
    ],
)
def test_letters_tell_which_western_encoding_a_file_has(encoding, words):
    lines = ["name,sick", "x,0", *(f"{word},1" for word in words.split())]
    table = data.read_table("\n".join(lines).encode(encoding), "people.csv")
    assert table.columns["name"].words == ("x", *words.split())


@pytest.mark.parametrize("encoding, words", OTHERS.items())
def test_other_encodings_are_asked_for_and_read_after_one_choice(encoding, words):
    city, answer = words.split(",")
    content = f"{city},sick\n{answer},1\n{city},0\n".encode(encoding)
    offered = re.escape(", ".join(ENCODINGS.values()))
    with pytest.raises(ValueError, match=rf"^people.csv must be a text file in UTF-8, got .* line 1; .*: {offered}; "):
        data.read_table(content, "people.csv")
    form = dc.replace(data.sniff(content, "people.csv"), encoding=encoding)
    assert data.read_table(content, "people.csv", form=form).columns[city].words == (answer, city)
    assert set(OTHERS) < set(ENCODINGS)


@pytest.mark.parametrize("unlike", [0, 199])
def test_lines_in_two_encodings_are_told(unlike):
    """Wherever the one line is, and whichever of the two encodings it has."""
    for one, most in (("utf-8", "cp1252"), ("cp1252", "utf-8")):
        lines = [f"Müller{place},{place % 2}\n".encode(one if place == unlike else most) for place in range(200)]
        told = {one: unlike + 2, most: 2 if unlike else 3}
        with pytest.raises(
            ValueError, match=f"lines that are, such as line {told['utf-8']}, and .* line {told['cp1252']};"
        ):
            data.read_table(b"name,sick\n" + b"".join(lines), "people.csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_a_byte_order_mark_is_no_part_of_a_name(encoding):
    content = "\ufeffage,sick\n50,1\n20,0\n".encode(
        {"utf-8-sig": "utf-8", "utf-16": "utf-16-be", "cp1252": "utf-8"}.get(encoding, encoding)
    )
    table = data.read_table(content, "people.csv", form=Format(encoding, ",", ".", True))
    assert [*table.columns] == ["age", "sick"] and line_of(content, "people.csv", table.form, 0) == (2, ["50", "1"])


def test_bytes_of_another_encoding_are_told_what_to_choose():
    """By the names that the page offers; the last choice reads any bytes."""
    content = "name,sick\nSmi\x90th,1\nBarrière,0\n".encode("latin-1")
    for form in (None, Format("cp1252", ",", ".", True)):
        with pytest.raises(ValueError, match=r"got .* another encoding in line 2; .* choose .*; Latin-1 reads any"):
            data.read_table(content, "people.csv", "sick", form)
    table = data.read_table(content, "people.csv", "sick", Format("latin-1", ",", ".", True))
    assert set(table.columns["name"].words) == {"Smi\x90th", "Barrière"}


ALWAYS = [
    "?",
    ".",
    "..",
    "#N/D",
    "#N/A",
    "\\N",
    "(null)",
    "-nan(ind)",
    "#DIV/0!",
    "#¡DIV/0!",
    "-",
    "---",
    "n/a",
    "k.A.",
]
BESIDE_NUMBERS = [".a", ".Z", ":", ": c", "*", "**", "/", "nil", "None", "missing", "(blank)", "unbekannt", "unknown"]


@pytest.mark.parametrize("word", ["NULL", "<NA>", *ALWAYS, *BESIDE_NUMBERS])
def test_marks_of_other_programs_stand_for_no_value(word):
    table = data.read_table(f"a,sick\n1,1\n{word},0\n".encode(), "people.csv", "sick")
    assert table.columns["a"].missing.tolist() == [False, True]
    assert data.sniff(f"a,b\n1,2\n{word},4\n".encode(), "a.csv").header


def test_words_that_may_be_values_are_none_of_a_column_of_numbers_only():
    rows = [f"{word},{place}" for place, word in enumerate([*BESIDE_NUMBERS, *BESIDE_NUMBERS, "high", "low", "5"])]
    column = data.read_table("\n".join(["a,sick", *rows]).encode(), "people.csv").columns["a"]
    assert not column.missing.any() and set(column.values[0]) == {*BESIDE_NUMBERS, "high", "low", "5"}


@pytest.mark.parametrize(
    "cells, read",
    [
        (["5-", "5.25-", "5 -", "5\u2212", "1,234.50-"], [-5.0, -5.25, -5.0, -5.0, -1234.5]),
        (["5%-", "5 %", "(5%)"], [-5.0, 5.0, -5.0]),
        (["5-€", "€ 5-", "5 €"], [-5.0, -5.0, 5.0]),
        (["(5)", "+5", "\u22125", "1\u2009234", "1\u200a234"], [-5.0, 5.0, -5.0, 1234.0, 1234.0]),
        (["1`234", "1´234", "1\u2019234-"], [1234.0, 1234.0, -1234.0]),
        (["5.-", "5.--", "5,-"], [5.0, 5.0, 5.0]),
        (["-5-", "(5)-", "1-3", "5--", "7"], [np.nan, np.nan, np.nan, np.nan, 7.0]),
        (["3+", "2-", "2"], [np.nan, np.nan, 2.0]),  # grades
    ],
)
def test_numbers_in_other_dress_are_read(cells, read):
    table = data.read_table("\n".join(["a\ty", *(f"{cell}\t1" for cell in cells)]).encode(), "people.tsv")
    assert np.array_equal(table.columns["a"].numbers, read, equal_nan=True)


@pytest.mark.parametrize("content, message", BAD)
def test_a_bad_table_ends_in_one_sentence(content, message):
    content = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.read_table(content, "people.csv", "sick")


@pytest.mark.parametrize("content, message", [BAD[3], *NO_NUMBERS])
def test_a_table_with_something_else_than_numbers_ends_in_one_sentence(tmp_path, content, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.read_file(written(tmp_path, content), "sick")


def test_what_is_no_file_ends_in_one_sentence(tmp_path):
    for path, sentence in ((tmp_path, "which is a folder"), (tmp_path / "nowhere.csv", "No such file")):
        with pytest.raises(ValueError, match=f"^path must be a file, got .*{sentence}"):
            data.read_file(path, "y")
    # A writer stands by, so that a reader who opens the pipe finds binary content instead of waiting for ever.
    os.mkfifo(tmp_path / "pipe.csv")
    end = os.open(tmp_path / "pipe.csv", os.O_RDWR)
    try:
        os.write(end, b"\0\n" * 9999)
        with pytest.raises(ValueError, match=r"^path must be a file, got .*pipe.csv, which is a pipe or a device$"):
            data.read_file(tmp_path / "pipe.csv", "y")
    finally:
        os.close(end)


@pytest.mark.parametrize(
    "limits, content",
    [
        ({"bytes": 29}, b"a,b,sick\n" + b"1,2,3\n" * 4),
        ({"lines": 3}, b"a,b,sick\n" + b"1,2,3\n" * 4),
        ({"columns": 2}, b"a,b,sick\n" + b"1,2,3\n" * 4),
        ({"cells": 11}, b"a,b,sick\n" + b"1,2,3\n" * 4),
        ({"lines": 3}, b"1 1:1\n" * 4),
        ({"columns": 2}, b"1 2:1\n" * 4),
        ({"cells": 11}, b"1 2:1 3:1\n" * 4),
    ],
)
def test_a_table_beyond_a_limit_is_refused(limits, content):
    most = data.Limits(**{"bytes": 100, "lines": 100, "columns": 100, "cells": 100} | limits)
    name = "a.csv" if b"," in content else "a.txt"
    ((kind, count),) = limits.items()
    with pytest.raises(ValueError, match=rf"^{name} must have at most {count} {kind}, got \d+; leave some out$"):
        data.read_table(content, name, limits=most)


# How a CSV file is written

PLAIN = "age,dose,sick\n50,0.5,1\n20,1250,-1\n30,.75,1\n"
GERMAN = PLAIN.replace(",", ";").replace(".", ",")
FORMATS = [
    (PLAIN.encode(), {}),
    (PLAIN.replace("50,0.5,1", '"50","0.5", "1"').encode("utf-8-sig"), {}),
    (PLAIN.replace("\n", "\r").replace(",", "\t").encode(), {"separator": "\t"}),
    (PLAIN.replace(",", "|").encode("utf-16"), {"separator": "|", "encoding": "utf-16"}),
    (PLAIN.replace(",", "   ").replace("\n", "  \r\n ").encode(), {"separator": " "}),
    (
        PLAIN.replace("50,0.5,1", "'50','0.5','1'").replace("age,dose,sick", "'age','dose','sick'").encode(),
        {"quote": "'"},
    ),
    (GERMAN.encode("utf-16-le"), {"separator": ";", "decimal": ",", "encoding": "utf-16-le"}),
    (GERMAN.encode("utf-16-be"), {"separator": ";", "decimal": ",", "encoding": "utf-16-be"}),
    (GERMAN.replace("age", "âge").encode("latin-1"), {"separator": ";", "decimal": ",", "encoding": "cp1252"}),
    (GERMAN.replace("age", "aè").encode("mac_roman"), {"separator": ";", "decimal": ",", "encoding": "mac_roman"}),
    (GERMAN.replace("age", "height, cm").encode(), {"separator": ";", "decimal": ","}),
    (GERMAN.replace(";", ",").replace("0,5,", '"0,5",').replace(",75", '",75"').encode(), {"decimal": ","}),
    (PLAIN.partition("\n")[2].encode(), {"header": False}),
    (GERMAN.partition("\n")[2].encode(), {"separator": ";", "decimal": ",", "header": False}),
    # The separator that a first line names for Excel.
    (b"sep=;\r\n" + GERMAN.replace("\n", "\r\n").encode(), {"separator": ";", "decimal": ","}),
    (b'"SEP=,"\r' + PLAIN.replace("\n", "\r").encode(), {}),
    (
        ("sep=\t\n" + GERMAN.replace(";", "\t")).encode("utf-16"),
        {"separator": "\t", "decimal": ",", "encoding": "utf-16"},
    ),
]


@pytest.mark.parametrize("content, more", FORMATS)
def test_files_that_are_written_differently_are_the_same_table(tmp_path, content, more):
    """By the guess and by what is said, for a page and for the command line."""
    form = Format(**{"encoding": "utf-8-sig", "separator": ",", "decimal": ".", "header": True} | more)
    assert data.sniff(content, "people.csv") == form
    label = "sick" if form.header else "column 3"
    for said in (None, form):
        table = data.read_table(content, "people.csv", label, said)
        assert numbers_of(table) == [[50.0, 0.5], [20.0, 1250.0], [30.0, 0.75]]
        assert table.labels[0] == ("-1", "1") and table.labels[1].tolist() == [1, 0, 1]
    strict = data.read_file(written(tmp_path, content), label, form=form)
    assert strict.data.X.tolist() == numbers_of(table) and strict.data.y.tolist() == [1.0, -1.0, 1.0]
    assert strict.columns == table.features


@pytest.mark.parametrize("name", ["a.tsv", "a.tab", "a.data", "a.DAT", "a.csv"])
def test_the_names_of_other_tables_mean_the_same(name):
    assert numbers_of(data.read_table(PLAIN.replace(",", "\t").encode(), name, "sick"))[0] == [50.0, 0.5]
    with pytest.raises(ValueError, match=r"^a.xlsx must be .*; open it .* Save as, CSV UTF-8 .*, and take that file$"):
        data.read_table(b"PK", "a.xlsx")
    with pytest.raises(ValueError, match=r"^a.csv must be a table as text, got a spreadsheet or an archive; open it"):
        data.read_table(b"PK\x03\x04\0\0", "a.csv")
    with pytest.raises(ValueError, match=r"^a file's name must end in one of \.csv, .*, got people$"):
        data.read_table(b"", "people")


@pytest.mark.parametrize(
    "lines, columns",
    [
        (["age,ill,", "50,yes", "20,no"], ["age", "ill"]),
        (['"age","ill"', '"1",50,yes', '"2",20,no'], ["column 1 (no name)", "age", "ill"]),
        (['"age" "ill"', '"1" 50 "yes"', '"2" 20 "no"'], ["column 1 (no name)", "age", "ill"]),
        (["age,ill", "50,yes,", "20,no,"], ["age", "ill", "column 3 (no name)"]),
        ([",ill", "50,yes", "20,no"], ["column 1 (no name)", "ill"]),
        (["age,age,ill", "50,1,yes", "20,1,no"], ["age", "age (column 2)", "ill"]),
        (["'age',' dose','ill'", "50,1,'yes'", "20,1,'no'"], ["age", "dose", "ill"]),
        (["age,'s,ill'", "50,1,1", "20,1,2"], ["age", "'s", "ill'"]),
    ],
)
def test_a_header_that_is_short_or_names_a_column_twice_is_read(lines, columns):
    table = data.read_table("\n".join(lines).encode(), "people.csv")
    assert [*table.columns] == columns
    assert table.columns["age" if "age" in columns else columns[0]].numbers.tolist() == [50.0, 20.0]
    unnamed = [column for column in columns if "no name" in column]
    assert [each.name for each in data.facts_of(table).columns if each.reason == "has no name"] == unnamed


def test_row_names_that_the_format_does_not_name_are_refused():
    form = Format("utf-8-sig", ",", ".", True)
    with pytest.raises(ValueError, match=r"^people.csv must have a name for each of its 3 columns in line 1, got 2; "):
        data.read_table(b"age,ill\n1,50,yes\n2,20,no\n", "people.csv", form=form)


def test_texts_in_single_quotes_lose_them_and_may_hold_separators():
    rows = [f"'{'car, new' if i % 2 else 'radio'}',{6 + i % 40},'{1 + i % 4}',bad" for i in range(40)]
    table = data.read_table("\n".join(['"purpose","months","rate","class"', *rows]).encode(), "credit.csv", "class")
    assert table.levels("purpose") == ("car, new", "radio") and table.levels("rate") == ("1", "2", "3", "4")
    for written in ("driver''s", r"driver\'s"):
        content = "\n".join(["age,job,ill", *(f"{i},'{written}','no'" for i in range(9))]).encode()
        assert data.read_table(content, "people.csv").levels("job") == ("driver's",)


def test_lines_keep_their_numbers_below_the_separator_that_a_file_names():
    content = b"sep=|\na,b;c,d|sick\n1|1\n2|-1\n"
    assert [*data.read_table(content, "people.csv").columns] == ["a,b;c,d", "sick"]
    with pytest.raises(ValueError, match="got 3 in line 4"):
        data.read_table(content.replace(b"2|", b"2|3|"), "people.csv")


@pytest.mark.parametrize(
    "first, rest, header",
    [
        ("39,1000,yes", "40,1001,no\n41,1002,yes", False),
        ("39,?,yes", "40,1001,no\n41,1002,yes", False),
        ("5.1,3.5,setosa", "4.9,3.0,setosa", False),
        ("0,1,2,3", "5,6,7,1\n8,9,1,0", True),
        ("yes,1,2,3", "no,5,6,7\nyes,1,2,3", False),
        ("id,2019,2020,2021", "1,5,6,7\n2,3,4,5", True),
        ("age,remark", "1,tall\n2,thin", True),
        ("blue,yes", "red,no\nblue,no", False),
        ("age,spam", "1,spam\n2,ham", True),
    ],
)
def test_a_first_line_of_numbers_or_of_values_is_a_record(first, rest, header):
    content = f"{first}\n{rest}\n".encode()
    assert data.sniff(content, "a.csv").header == header
    assert data.read_table(content, "a.csv").rows == len(rest.split("\n")) + (not header)


@pytest.mark.parametrize(
    "rows, line, what",
    [
        ({60: 'yes,80,"tall'}, 62, "does not"),
        ({60: 'yes,80,"tall" man'}, 62, "does not"),
        ({60: 'yes,80,"tall', 70: 'no,30,"'}, 62, "closes in a later one, after what look like records"),
        ({60: '"yes,80,tall', 61: 'no",30,ok'}, 62, "closes in a later one, after what look like records"),
        ({-1: 'yes,80,"tall'}, 201, "does not"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_open_quote_is_refused_in_the_record_where_it_opens(rows, line, what, end):
    lines = [f"{'yes' if i % 2 else 'no'},{20 + i % 60},ok" for i in range(200)]
    for place, row in rows.items():
        lines[place] = row
    content = end.join(["sick,age,remark", *lines, ""]).encode()
    message = rf"^people.csv must close each quote .* record that begins in line {line} and {what};"
    with pytest.raises(ValueError, match=message):
        data.read_table(content, "people.csv", "sick")


@pytest.mark.parametrize("separator", each(2, [",", ";"]))
def test_no_two_quotes_make_records_disappear(separator):
    """Wherever they are put into a file: it is refused, or every record is there."""
    rows = [f"{'yes' if i % 2 else 'no'},{20 + i},{'ok' if i % 3 else 'NA'},{i}.5" for i in range(4)]
    text = "\n".join(["sick,age,remark,dose", *rows, ""]).replace(",", separator)
    read = refused = 0
    for first, second in itertools.combinations(range(len(text) + 1), 2):
        content = f'{text[:first]}"{text[first:second]}"{text[second:]}'.encode()
        try:
            table = data.read_table(content, "people.csv")
        except ValueError:
            refused += 1
        else:
            read += 1
            assert table.rows >= len(rows), content
    assert min(read, refused) > 100


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_cell_is_in_its_row_and_column(end):
    """Random tables, some of which begin with empty cells, against the cells that were written."""
    draw, kinds = (
        random.Random(end),
        {"7": "7", '"a"': "a", " b": "b", "": "", '"x,y"': "x,y", '"p""q"': 'p"q', " ": ""},
    )
    for _ in range(100):
        rows = [[draw.choice([*kinds]) for _ in range(3)] for _ in range(draw.randint(2, 9))]
        content = end.join(["k,l,m", *map(",".join, rows), ""]).encode()
        table = data.read_table(content, "people.csv", form=Format("utf-8-sig", ",", ".", True))
        for column, cells in zip(table.columns.values(), zip(*rows, strict=True), strict=True):
            words = [(*column.words, "")[place] for place in column.places]
            assert ["7" if number == 7 else word for number, word in zip(column.numbers, words, strict=True)] == [
                kinds[cell] for cell in cells
            ]


def test_a_quoted_line_break_is_part_of_its_cell():
    content = b'"a\nb",sick,remark\n1,yes,"one, two\nthree"\n2,no,"\n\n"\n3,"y\nes",""\n4,no,"x\r\ny, z"\n'
    table = data.read_table(content, "people.csv", "sick")
    assert table.features == ("a b", "remark") and table.columns["a b"].numbers.tolist() == [1, 2, 3, 4]
    assert table.labels[0] == ("no", "y\nes", "yes")


@pytest.mark.parametrize(
    "rows, read, marks",
    [
        ("1,234\t1\n5\t-1", [np.nan, 5.0], (".", "")),
        ('"1,234",1\n5,-1', [1234.0, 5.0], (".", ",")),
        ("1.234;1\n5;-1", [1234.0, 5.0], (",", ".")),
        ("1.234,1\n5,-1", [1.234, 5.0], (".", "")),
        ('"1,234",1\n5.5,-1', [1234.0, 5.5], (".", ",")),
        ('"1,234.5",1\n5,-1', [1234.5, 5.0], (".", ",")),
        ("0,5;1\n1.234,5;-1", [0.5, 1234.5], (",", ".")),
        ("1.234.567;1\n5;-1", [1234567.0, 5.0], (",", ".")),
        ("1'234;1\n5;-1", [1234.0, 5.0], (".", "'")),
        ("1\xa0234;1\n5;-1", [1234.0, 5.0], (".", " ")),
        ('"12,34",1\n5.5,-1', [np.nan, 5.5], (".", "")),
        ("0,5;1\n1,234;-1", [0.5, 1.234], (",", "")),
        ("0,5;1\n1.234;-1", [0.5, 1234.0], (",", ".")),
    ],
)
def test_separators_of_thousands_are_read_where_they_can_mean_nothing_else(rows, read, marks):
    separator = next(mark for mark in ";\t," if mark in rows)
    table = data.read_table(f"a{separator}y\n{rows}\n".encode(), "a.csv", "y")
    assert np.array_equal(table.columns["a"].numbers, read, equal_nan=True)
    assert (table.form.decimal, table.form.thousands) == marks
    for thousands, first in ((",", 1234.0), ("'", np.nan)):
        form = dc.replace(table.form, decimal=".", thousands=thousands)
        named = data.read_table(b'a,y\n"1,234",1\n5,-1\n', "a.csv", "y", dc.replace(form, separator=","))
        assert np.array_equal(named.columns["a"].numbers, [first, 5.0], equal_nan=True)


def test_a_label_that_no_header_names_is_explained():
    with pytest.raises(ValueError, match=r"\(column 1, column 2\), got '2'; its first line counts as a record"):
        data.read_table(b"1,2\n3,1\n5,-1\n", "people.csv", "2")
    form = Format("utf-8-sig", ",", ".", True)
    assert data.read_table(b"1,2\n3,1\n5,-1\n", "people.csv", "2", form).features == ("1",)


# LIBSVM


@pytest.mark.parametrize("suffix", ["txt", "SVM.Gz"])
def test_a_libsvm_file_gives_back_every_record(tmp_path, suffix):
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X, y = csr_array(random_array((300, 40), density=0.1, rng=rng)), rng.integers(-3, 3, 300)
    path = tmp_path / f"people.{suffix}"
    with (gzip.open if suffix.endswith("Gz") else open)(path, "wb") as file:
        file.write(b"# qid: 1_0\n\n")
        dump_svmlight_file(X, y, file, zero_based=False)
    table = data.read_file(path)
    assert table.data.sparse and np.allclose(table.data.X.toarray(), X.toarray()[:, : table.data.stored], rtol=1e-15)
    assert np.array_equal(table.data.y, y) and len(table.columns) == table.data.stored == table.data.p
    assert table.columns[:2] == ("1", "2")
    wide = data.read_file(path, p=1_000)
    assert wide.data.p == 1_000 and wide.data.stored == table.data.stored
    wide.data.X.data[0] = wide.data.y[0] = 1.0  # both may be written to


@pytest.mark.parametrize(
    "line",
    [
        *("yes 1:1", "1 qid:2 1:1", "1 2", "1 2:x", "1 1.5:1", "1 0:1", "1 -1:1", "1 3:1 2:1", "1 3:1 3:1"),
        *("1 1:nan", "inf 1:1", "1 9:1", "1 1048577:1", "1 99999999999:1", "1 1:1\0", "1 1:1_0", "1 1:١"),
    ],
)
def test_a_bad_line_of_a_libsvm_file_is_named(tmp_path, line):
    path = written(tmp_path, f"1 1:1\n# nothing\n{line}\n-1 1:1\nworse\n", "people.txt")
    with pytest.raises(
        ValueError, match=r"^line 3 of people.txt must be .* from 1 to 8 at most and no qid, got '.*; a table .* \.csv$"
    ):
        data.read_file(path, p=8)


def test_what_is_no_libsvm_file_ends_in_one_sentence(tmp_path):
    for content, message in (
        ("# nothing\n1 1:1\n", "people.txt must hold at least 2 records, got 1"),
        ("1\n-1\n", "people.txt must hold at least one index:value, got labels only"),
        (b"\x89PNG\xff\xfe", "line 1 of people.txt must be .*"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            data.read_file(written(tmp_path, content, "people.txt"))
    with pytest.raises(ValueError, match="p must be an integer >= 1, got 0"):
        data.read_file(written(tmp_path, "1 1:1\n", "people.txt"), p=0)
    with pytest.raises(ValueError, match=r"p must .*1,048,576, got 1,048,577"):
        data.read_file(tmp_path / "people.txt", p=1_048_577)


def test_a_broken_archive_ends_in_one_sentence(tmp_path):
    whole = gzip.compress(b"1 1:1\n-1 1:2\n" * 1_000)
    for content in (b"1 1:1\n-1 1:2\n", whole[:-20], whole[:15] + b"\xff" * 20 + whole[35:]):
        with pytest.raises(ValueError, match=r"people.txt.gz must .*whole gzip"):
            data.read_file(written(tmp_path, content, "people.txt.gz"))


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "people.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(b"\0" * 10**6)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"^people.txt.gz must .*100 MB"):
            data.read_file(path)
        assert tracemalloc.get_traced_memory()[1] < 250e6
    finally:
        tracemalloc.stop()


# A real file

COD_RNA = "cod-rna.txt.gz"


@pytest.mark.skipif(not os.environ.get("DPCORE_DATA"), reason=f"DPCORE_DATA does not name {COD_RNA} or its folder")
def test_the_cod_rna_file_is_read():
    place = Path(os.environ["DPCORE_DATA"])
    table = data.read_file(place / COD_RNA if place.is_dir() else place)
    assert table.data.X.shape == (59_535, 8) and table.data.p == 8
    assert (table.data.y == -1).sum() == 39_690 and (table.data.y == 1).sum() == 19_845
    data.check_learnable(table, classification=True)
