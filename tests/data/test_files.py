"""Files are read exactly, or refused in one sentence that names the place and the rule."""

import gzip
import itertools
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from dpcore import Data, Spec, data
from dpcore.data import Format
from tests.nights import each

# CSV


def written(tmp_path: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_csv_file_gives_back_its_numbers(tmp_path):
    path = written(tmp_path, '\ufeff"last, first", sick ,b\r\n0.5,1,-2e3\r\n\r\n 7 ,-1,0x\r\n'.replace("0x", "0.1"))
    table = data.read_csv(path, "sick")
    assert table.columns == ("last, first", "b")
    assert table.data.X.tolist() == [[0.5, -2000.0], [7.0, 0.1]] and table.data.y.tolist() == [1.0, -1.0]


def test_every_float_survives_a_csv_file(tmp_path):
    X = np.random.default_rng(0).standard_normal((500, 3)) * 10.0 ** np.arange(-200, 300, 1)[:, None]
    lines = ["a,b,c,y", *(",".join(map(repr, [*map(float, row), 1])) for row in X)]
    read = data.read_csv(written(tmp_path, "\n".join(lines)), "y").data.X
    assert np.array_equal(read, X)


BAD_CSV = [
    ("", "people.csv must be a CSV table with a header line and at least 2 records, got an empty file"),
    (" \n\n", "people.csv must be a CSV table with a header line and at least 2 records, got an empty file"),
    ("a,sick\n", "people.csv must hold at least 2 records, got 0"),
    ("a,sick\n1,1\n", "people.csv must hold at least 2 records, got 1"),
    ("a,sick\n1,1\n2\n", "people.csv must be a CSV table with 2 fields in each line, got 1 in line 3"),
    ("a,sick\n1,1,\n2,1\n", "people.csv must be a CSV table with 2 fields in each line, got 3 in line 2"),
    ("a,sick\n\n1,1\nx,1\n", "column 'a' of people.csv must hold a number in every row, got 'x' in line 4"),
    ("a,sick\n1,1\n,-1\n", "column 'a' of people.csv must hold a number in every row, got '' in line 3"),
    ("a,sick\n1,\n2,-1\n", "column 'sick' of people.csv must hold a number in every row, got '' in line 2"),
    ("a,sick\n1,1\nnan,-1\n", "column 'a' of people.csv must hold a number in every row, got 'nan' in line 3"),
    ("a,sick\n1,1\n-inf,-1\n", "column 'a' of people.csv must hold a number in every row, got '-inf' in line 3"),
    ("a,sick\nTrue,1\nFalse,-1\n", "column 'a' of people.csv must hold a number in every row, got 'True' in line 2"),
    ("a,b\n1,1\n2,1\n", r"label must be a column of people.csv \(a, b\), got 'sick'"),
    ("a,a,sick\n1,1,1\n2,1,1\n", "columns of people.csv must have different names, got 'a' twice"),
    (
        "sick\n1\n2\n",
        "people.csv must have a label and at least one feature, separated by commas, semicolons, .*, got one column",
    ),
    ("a,sick\n1,\0\n2,1\n", "people.csv must be a text file, got binary content in line 2"),
    (b"\x89PNG\r\n\x1a\n\0\0\xfe", "people.csv must be a text file in UTF-8, got binary content or another encoding"),
    (b"a,sick\n1,1\n2,\xe9\n", "column 'sick' of people.csv must hold a number in every row, got 'é' in line 3; .*"),
    (
        "a,sick\n1,malignant\n2,benign\n",
        "column 'sick' of people.csv must hold a number in every row, got 'malignant' in line 2; "
        r'np.where\(y == "malignant", 1, -1\) makes a text label a number',
    ),
    (
        ",".join(f"c{i}" for i in range(30)) + "\n",
        r"label must be a column of people.csv \(c0, .*, c19, ...\), got 'sick'",
    ),
]


@pytest.mark.parametrize("content, message", BAD_CSV)
def test_a_bad_csv_file_ends_in_one_sentence(tmp_path, content, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.read_csv(written(tmp_path, content), "sick")


@pytest.mark.parametrize("read", [lambda path: data.read_csv(path, "y"), data.read_libsvm])
def test_what_is_no_file_ends_in_one_sentence(tmp_path, read):
    with pytest.raises(ValueError, match=r"^path must .*file, got .*folder$"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"^path must .*file, got .*nowhere.txt"):
        read(tmp_path / "nowhere.txt")


def test_a_table_too_large_to_be_dense_is_refused_before_it_is_loaded(tmp_path):
    """The files continue with bytes that any reader would stumble over."""
    long = written(tmp_path, "a,sick\n1,1\n", "long.csv")
    os.truncate(long, 100_000_001)
    with pytest.raises(ValueError, match=r"long.csv must .*100 MB.*LIBSVM"):
        data.read_csv(long, "sick")
    wide = written(tmp_path, ",".join(map(str, range(10_001))) + "\n\0\0", "wide.csv")
    with pytest.raises(ValueError, match=r"wide.csv must .*10,000 columns.*, got 10,001; .*LIBSVM"):
        data.read_csv(wide, "0")
    with pytest.raises(ValueError, match=r"a.csv.gz must .*CSV.*compressed"):
        data.read_csv(written(tmp_path, gzip.compress(b"a,sick\n"), "a.csv.gz"), "sick")


# How a CSV file is written

PLAIN = "age,dose,sick\n50,0.5,1\n20,1250,-1\n30,.75,1\n"
GERMAN = PLAIN.replace(",", ";").replace(".", ",")


@pytest.mark.parametrize(
    "content, form",
    [
        (PLAIN.encode(), Format("utf-8-sig", ",", ".", True)),
        (PLAIN.replace("50,0.5,1", '"50","0.5","1"').encode("utf-8-sig"), Format("utf-8-sig", ",", ".", True)),
        (PLAIN.replace("\n", "\r").replace(",", "\t").encode(), Format("utf-8-sig", "\t", ".", True)),
        (PLAIN.replace(",", "|").encode("utf-16"), Format("utf-16", "|", ".", True)),
        (GERMAN.encode("utf-16-le"), Format("utf-16-le", ";", ",", True)),
        (GERMAN.encode("utf-16-be"), Format("utf-16-be", ";", ",", True)),
        (GERMAN.replace("age", "âge").encode("latin-1"), Format("cp1252", ";", ",", True)),
        (GERMAN.replace("age", "height, cm").encode(), Format("utf-8-sig", ";", ",", True)),
        (GERMAN.replace(";", ",").replace("0,5,", '"0,5",').replace(",75", '",75"').encode(), None),
        (PLAIN.partition("\n")[2].encode(), Format("utf-8-sig", ",", ".", False)),
        (GERMAN.partition("\n")[2].encode(), Format("utf-8-sig", ";", ",", False)),
        # The separator that a first line names for Excel.
        (b"sep=;\r\n" + GERMAN.replace("\n", "\r\n").encode(), Format("utf-8-sig", ";", ",", True)),
        (b'"SEP=,"\r' + PLAIN.replace("\n", "\r").encode(), Format("utf-8-sig", ",", ".", True)),
        (("sep=\t\n" + GERMAN.replace(";", "\t")).encode("utf-16"), Format("utf-16", "\t", ",", True)),
        (b"\xef\xbb\xbfsep=|\n" + PLAIN.replace(",", "|").encode(), Format("utf-8-sig", "|", ".", True)),
    ],
)
def test_files_that_are_written_differently_are_the_same_table(tmp_path, content, form):
    """Both readers, by the guess and by what is said."""
    form = form or Format("utf-8-sig", ",", ",", True)
    assert data.sniff(content, "people.csv") == form
    names = data.sheet_columns(content, "people.csv")
    label = "sick" if form.header else "column 3"
    assert len(names) == 3 and names[2] == label
    expected = [[50.0, 0.5], [20.0, 1250.0], [30.0, 0.75]]
    for said in (None, form):
        sheet = data.read_sheet(content, "people.csv", label, said)
        assert sheet.numbers.tolist() == expected and sheet.columns == names[:2]
        assert sheet.values == ("-1", "1") and sheet.labels.tolist() == [1, 0, 1]
        table = data.read_csv(written(tmp_path, content), label, said)
        assert table.data.X.tolist() == expected and table.data.y.tolist() == [1.0, -1.0, 1.0]
        assert table.columns == names[:2]


def test_the_separator_that_a_file_names_decides_and_lines_keep_their_numbers(tmp_path):
    content = b"sep=|\na,b;c,d|sick\n1|1\n2|-1\n"
    assert data.sheet_columns(content, "people.csv") == ("a,b;c,d", "sick")
    table = data.read_csv(written(tmp_path, content), "sick")
    assert table.data.X.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="got 3 in line 4"):
        data.read_csv(written(tmp_path, content.replace(b"2|", b"2|3|")), "sick")
    # Not a line of its own, or not the first.
    assert data.sheet_columns(b"sep=;,sick\n1,1\n2,-1\n", "people.csv") == ("sep=;", "sick")
    with pytest.raises(ValueError, match=r"2 fields in each line, got 1 in line 2|one column"):
        data.read_csv(written(tmp_path, b"age,sick\nsep=|\n1,1\n2,-1\n"), "sick", Format("utf-8-sig", ",", ".", True))


@pytest.mark.parametrize(
    "first, rest, header",
    [
        ("39,1000,yes", "40,1001,no\n41,1002,yes", False),
        ("39,?,yes", "40,1001,no\n41,1002,yes", False),
        ("5.1,3.5,setosa", "4.9,3.0,setosa", False),
        ("1,2,yes", "3,4,no\n5,6,yes", False),
        ("0,1,2,3", "5,6,7,1\n8,9,1,0", True),
        ("grower,1,2,3", "one,5,6,7\ntwo,1,2,3", True),
        ("yes,1,2,3", "no,5,6,7\nyes,1,2,3", False),
        ("id,2019,2020,2021", "1,5,6,7\n2,3,4,5", True),
        ("id,age,2021", "1,5,6\n2,3,4", True),
        ('no,2"0,0.5', "yes,21,1.5\nno,22,2.5", False),
        ("age,remark", "1,tall\n2,thin", True),
        ("blue,yes", "red,no\nblue,no", False),
        ("age,spam", "1,spam\n2,ham", True),
    ],
)
def test_a_first_line_of_numbers_or_of_values_is_a_record(first, rest, header):
    content = f"{first}\n{rest}\n".encode()
    assert data.sniff(content, "a.csv").header == header
    names = data.sheet_columns(content, "a.csv")
    rows = len(rest.split("\n")) + (not header)
    assert len(data.read_sheet(content, "a.csv", names[-1]).labels) == rows


OPEN_QUOTES = [
    ({60: 'yes,80,"tall'}, 62, "does not"),
    ({60: 'yes,80,"tall', 70: '"no",30,ok'}, 62, "does not"),
    ({60: 'yes,80,"tall', 70: 'no,30,"'}, 62, "closes in line 72, after what look like records"),
    ({60: 'yes,80,"tall', 61: 'no,NA,"'}, 62, "closes in line 63, after what look like records"),
    ({60: '"yes,80,tall', 70: 'no",30,ok'}, 62, "closes in line 72, after what look like records"),
    ({60: 'yes,80,"all\nright"', 90: 'yes,"80,tall'}, 93, "does not"),
    ({60: 'yes,80,"a ""long"", one', 0: 'yes,20,"a, b"'}, 62, "does not"),
    ({60: 'yes,80,"tall" man'}, 62, "does not"),
    ({-1: 'yes,80,"tall'}, 201, "does not"),
]


@pytest.mark.parametrize("rows, line, what", OPEN_QUOTES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_open_quote_is_refused_where_it_opens(rows, line, what, end):
    lines = [f"{'yes' if i % 2 else 'no'},{20 + i % 60},ok" for i in range(200)]
    for place, row in rows.items():
        lines[place] = row
    content = end.join(["sick,age,remark", *lines, ""]).encode()
    message = (
        rf"^people.csv must close each quote at the end of its cell, got one that opens in line {line} and {what};"
    )
    with pytest.raises(ValueError, match=message):
        data.read_sheet(content, "people.csv", "sick")


def test_an_open_quote_in_a_file_of_numbers(tmp_path):
    with pytest.raises(
        ValueError, match=r"^people.csv must close each quote .* opens in line 2 and closes in line 3, af"
    ):
        data.read_csv(written(tmp_path, 'a,sick\n"1,1\n2",-1\n3,-1\n4,1\n'), "sick")


@pytest.mark.parametrize("separator", each(2, [",", ";"]))
def test_no_two_quotes_make_records_disappear(separator):
    """Wherever they are put into a file: it is refused, or every record is there."""
    rows = [f"{'yes' if i % 2 else 'no'},{20 + i},{'ok' if i % 3 else 'NA'},{i}.5" for i in range(4)]
    text = "\n".join(["sick,age,remark,dose", *rows, ""]).replace(",", separator)
    read = refused = 0
    for first, second in itertools.combinations(range(len(text) + 1), 2):
        content = f'{text[:first]}"{text[first:second]}"{text[second:]}'.encode()
        try:
            sheet = data.read_sheet(content, "people.csv", data.sheet_columns(content, "people.csv")[0])
        except ValueError:
            refused += 1
        else:
            read += 1
            assert len(sheet.labels) >= len(rows), content
    assert min(read, refused) > 100


@pytest.mark.parametrize(
    ("header", "names"), [("'age',' dose','sick'", ("age", "dose", "sick")), ("age,'s,sick'", ("age", "'s", "sick'"))]
)
def test_single_quotes_are_no_part_of_names_if_all_stand_in_them(header, names):
    assert data.sheet_columns(f"{header}\n50,1,1\n60,2,-1\n".encode(), "people.csv") == names


def test_a_quoted_line_break_is_part_of_its_cell():
    content = b'"a\nb",sick,remark\n1,yes,"one, two\nthree"\n2,no,"\n\n"\n3,"y\nes",""\n4,no,"x\r\ny, z"\n'
    sheet = data.read_sheet(content, "people.csv", "sick")
    assert sheet.columns == ("a b", "remark") and sheet.numbers[:, 0].tolist() == [1, 2, 3, 4]
    assert sheet.values == ("no", "y\nes", "yes")


@pytest.mark.parametrize("content", [b'a,"%s"\n1,2\n', b"%s,sick\n1,2\n", b"a,sick\n1,2\n\n1,%s\n"])
def test_a_cell_of_too_many_characters_is_refused(tmp_path, content):
    line = content.count(b"\n", 0, content.index(b"%s")) + 1
    content = content % (b"x" * 131_073)
    message = rf"^people.csv must have at most 131,072 characters in a cell, got more in line {line}$"
    for read in (
        lambda: data.sheet_columns(content, "people.csv") and data.read_sheet(content, "people.csv", "sick"),
        lambda: data.read_csv(written(tmp_path, content), "sick"),
    ):
        with pytest.raises(ValueError, match=message):
            read()


@pytest.mark.parametrize(
    "rows, read",
    [
        ('"1,234",1\n5,-1', [np.nan, 5.0]),
        ('"1,234.5",1\n5,-1', [np.nan, 5.0]),
        ("1,234;1\n5;-1", [np.nan, 5.0]),
        ("0,5;1\n1.234;-1", [0.5, np.nan]),
        ("0,5;1\n1.234,5;-1", [0.5, np.nan]),
        ("0,5;1\n1,234;-1", [0.5, 1.234]),
        ("1.234.567;1\n5;-1", [np.nan, 5.0]),
    ],
)
def test_separators_of_thousands_are_never_read_as_decimals(tmp_path, rows, read):
    content = f"a{';' if ';' in rows else ','}y\n{rows}\n".encode()
    sheet = data.read_sheet(content, "a.csv", "y")
    assert np.array_equal(sheet.numbers[:, 0], read, equal_nan=True)
    path = written(tmp_path, content)
    if np.isnan(read).any():
        assert sheet.suspects == {"a": "has thousands separators"}
        with pytest.raises(ValueError, match=r"^column 'a' .* got '1.*' in line .; write numbers without thousands"):
            data.read_csv(path, "y")
    else:
        assert data.read_csv(path, "y").data.X[:, 0].tolist() == read


def test_a_label_that_no_header_names_is_explained(tmp_path):
    with pytest.raises(ValueError, match=r"\(column 1, column 2\), got '2'; its first line counts as a record"):
        data.read_csv(written(tmp_path, "1,2\n3,1\n5,-1\n"), "2")
    form = Format("utf-8-sig", ",", ".", True)
    assert data.read_csv(written(tmp_path, "1,2\n3,1\n5,-1\n"), "2", form).columns == ("1",)


# LIBSVM


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
def test_a_libsvm_file_reads_like_scikit_learn_reads_it(tmp_path, suffix):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(0)
    X = csr_array(random_array((300, 40), density=0.1, rng=rng))
    path = tmp_path / f"people.{suffix}"
    with (gzip.open if suffix.endswith("gz") else open)(path, "wb") as file:
        dump_svmlight_file(X, rng.integers(-3, 3, 300), file, zero_based=False, comment="from a test")
    table = data.read_libsvm(path)
    expected, y = load_svmlight_file(str(path), zero_based=False)
    assert table.data.sparse and np.array_equal(table.data.X.toarray(), expected.toarray())
    assert np.array_equal(table.data.y, y) and len(table.columns) == table.data.stored == table.data.p
    assert table.columns[:2] == ("1", "2")
    wide = data.read_libsvm(path, p=1_000)
    assert wide.data.p == 1_000 and wide.data.stored == table.data.stored
    wide.data.X.data[0] = 1.0
    wide.data.y[0] = 1.0


@given(
    st.lists(
        st.tuples(
            st.integers(-5, 5),
            st.dictionaries(st.integers(1, 50), st.floats(-1e300, 1e300), max_size=5),
        ),
        min_size=2,
        max_size=8,
    )
)
def test_a_libsvm_file_gives_back_every_record(tmp_path_factory, records):
    lines = [f"{label} " + " ".join(f"{i}:{v!r}" for i, v in sorted(row.items())) + " # 9:9" for label, row in records]
    path = written(tmp_path_factory.mktemp("libsvm"), "\n\n".join(["# a comment", *lines]), "people.txt")
    if not any(row for _, row in records):
        with pytest.raises(ValueError, match=r"people.txt must .*index:value"):
            data.read_libsvm(path)
        return
    read = data.read_libsvm(path, p=50).data
    X = np.zeros((len(records), 50))
    for i, (_, row) in enumerate(records):
        for j, value in row.items():
            X[i, j - 1] = value
    assert read.y.tolist() == [label for label, _ in records]
    assert np.array_equal(read.X.toarray(), X[:, : read.stored]) and not X[:, read.stored :].any()


BAD_LIBSVM = [
    ("", "people.txt must hold at least 2 records, got 0"),
    ("# nothing\n", "people.txt must hold at least 2 records, got 0"),
    ("1 1:1\n", "people.txt must hold at least 2 records, got 1"),
    ("1\n-1\n", "people.txt must .*index:value, got labels only"),
    ("1 1:1\n\nyes 1:1\n", r"line 3 of people.txt must begin with a number as its label, got 'yes'; np.where\(y == .*"),
    ("1 1:1\n1 qid:2 1:1\n", "line 2 of people.txt must hold no query ids, got 'qid:2'"),
    ("1 1:1\n1 2\n", "line 2 of people.txt must hold index:value pairs of numbers, got '2'"),
    ("1 1:1\n1 1:1 2:x\n", "line 2 of people.txt must hold index:value pairs of numbers, got '2:x'"),
    ("1 1:1\n1 a:1\n", "line 2 of people.txt must hold index:value pairs of numbers, got 'a:1'"),
    ("1 1:1\n1 1.5:1\n", "line 2 of people.txt must hold index:value pairs of numbers, got '1.5:1'"),
    ("1 1:1\n1 0:1\n", "line 2 of people.txt must have increasing indices from 1 on, got 0"),
    ("1 1:1\n1 -1:1\n", "line 2 of people.txt must have increasing indices from 1 on, got -1"),
    ("1 1:1\n1 3:1 2:1\n", "line 2 of people.txt must have increasing indices from 1 on, got 2"),
    ("1 1:1\n1 3:1 3:1\n", "line 2 of people.txt must have increasing indices from 1 on, got 3"),
    ("1 1:1\n1 1:nan\n", "line 2 of people.txt must hold finite numbers, got nan"),
    ("1 1:1\ninf 1:1\n", "line 2 of people.txt must hold finite numbers, got inf"),
    ("1 1:1\n1 1048577:1\n", "line 2 of people.txt must have indices up to 1,048,576, got 1,048,577"),
    ("1 1:1\n1 1:1\0\n", "people.txt must be a text file, got binary content in line 2"),
    (b"\x89PNG\xff\xfe", "people.txt must be a text file in UTF-8, got binary content or another encoding"),
]


@pytest.mark.parametrize("content, message", BAD_LIBSVM)
def test_a_bad_libsvm_file_ends_in_one_sentence(tmp_path, content, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.read_libsvm(written(tmp_path, content, "people.txt"))


def test_indices_and_columns_must_agree(tmp_path):
    path = written(tmp_path, "1 1:1\n1 9:1\n", "people.txt")
    assert data.read_libsvm(path, p=9).data.p == 9
    with pytest.raises(ValueError, match=r"line 2 of people.txt must .*8, got 9"):
        data.read_libsvm(path, p=8)
    with pytest.raises(ValueError, match="p must be an integer >= 1, got 0"):
        data.read_libsvm(path, p=0)
    with pytest.raises(ValueError, match=r"p must .*1,048,576, got 1,048,577"):
        data.read_libsvm(path, p=1_048_577)


def test_a_broken_archive_ends_in_one_sentence(tmp_path):
    whole = gzip.compress(b"1 1:1\n-1 1:2\n" * 1_000)
    for content in (b"1 1:1\n-1 1:2\n", whole[:-20], whole[:15] + b"\xff" * 20 + whole[35:]):
        with pytest.raises(ValueError, match=r"people.txt.gz must .*whole gzip"):
            data.read_libsvm(written(tmp_path, content, "people.txt.gz"))


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_fills_the_memory(tmp_path):
    for line in (b"\0" * 2**20, b"1 1:1\n" * 2**17):
        path = tmp_path / "people.txt.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(300_000_000 // len(line)):
                file.write(line)
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"^people.txt.gz must .*100 MB"):
                data.read_libsvm(path)
            assert tracemalloc.get_traced_memory()[1] < 250e6
        finally:
            tracemalloc.stop()


# A real file

COD_RNA = "cod-rna.txt.gz"
# Free energy, length and six nucleotide frequencies: declared, not measured.
COD_RNA_LOW = np.array([-2500.0, 50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
COD_RNA_HIGH = np.array([0.0, 150.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.mark.skipif(not os.environ.get("DPCORE_DATA"), reason=f"DPCORE_DATA does not name {COD_RNA} or its folder")
def test_the_cod_rna_file_is_read_and_can_be_learned():
    from sklearn.linear_model import LogisticRegression

    place = Path(os.environ["DPCORE_DATA"])
    table = data.read_libsvm(place / COD_RNA if place.is_dir() else place)
    assert table.data.X.shape == (59_535, 8) and table.data.p == 8
    assert (table.data.y == -1).sum() == 39_690 and (table.data.y == 1).sum() == 19_845
    data.check_learnable(table, classification=True)
    features = data.scale(table.data.X.toarray(), COD_RNA_LOW, COD_RNA_HIGH)
    records = Data(np.column_stack([features, np.ones(table.data.n)]) / 3.0, table.data.y)
    data.check_records(records, Spec("logistic", 59_535, 9))
    model = LogisticRegression(C=100.0, fit_intercept=False, max_iter=2000).fit(records.X[::2], records.y[::2])
    right = np.mean(records.y[1::2] * (records.X[1::2] @ model.coef_[0]) > 0)
    assert right > 2 / 3 + 0.1


# Names, kinds of files and spellings of numbers


def test_suffixes_in_capitals_mean_the_same(tmp_path):
    text = b"1 1:1\n-1 2:0.5\n"
    for name in ("x.SVM.GZ", "X.TXT.Gz"):
        table = data.read_libsvm(written(tmp_path, gzip.compress(text), name))
        assert table.data.X.toarray().tolist() == [[1.0, 0.0], [0.0, 0.5]]
    assert data.read_csv(written(tmp_path, "a,y\n1,1\n2,-1\n", "X.CSV"), "y").columns == ("a",)
    with pytest.raises(ValueError, match=r"^X.CSV.GZ must .*CSV.*compressed"):
        data.read_csv(written(tmp_path, gzip.compress(b"a,y\n1,1\n2,-1\n"), "X.CSV.GZ"), "y")


@pytest.mark.parametrize("read", [lambda path: data.read_csv(path, "y"), data.read_libsvm])
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.txt.gz"])
def test_a_pipe_is_refused_before_it_is_opened(tmp_path, read, name):
    """A writer stands by, so that a reader who opens the pipe finds binary content instead of waiting for ever."""
    os.mkfifo(tmp_path / name)
    end = os.open(tmp_path / name, os.O_RDWR)
    try:
        os.write(end, b"\0\n" * 9999)
        with pytest.raises(ValueError, match=rf"^path must be a file, got .*{name}, which is a pipe or a device$"):
            read(tmp_path / name)
    finally:
        os.close(end)


@pytest.mark.parametrize("number", ["1_0", "1_0.5", "1e1_0", "١", "１", "1٠"])
def test_what_only_python_reads_as_a_number_is_none(tmp_path, number):
    assert np.isfinite(float(number))
    with pytest.raises(ValueError, match=f"^column 'a' of people.csv must hold a number in every row, got '{number}'"):
        data.read_csv(written(tmp_path, f"a,y\n{number},1\n2,-1\n"), "y")
    pair = "line 2 of people.txt must hold index:value pairs of numbers, got '{}'"
    label = f"line 2 of people.txt must begin with a number as its label, got '{number}'"
    cases = [(f"1 1:{number}", pair.format(f"1:{number}")), (f"{number} 1:1", label)]
    if number.replace("_", "").isdigit():
        cases.append((f"1 {number}:1", pair.format(f"{number}:1")))
    for line, message in cases:
        with pytest.raises(ValueError, match=f"^{message}"):
            data.read_libsvm(written(tmp_path, f"1 1:1\n{line}\n", "people.txt"))


def test_white_space_around_a_number_is_no_matter(tmp_path):
    table = data.read_csv(written(tmp_path, "a,y\n 1 ,1\n\t2,-1\n"), "y")
    assert table.data.X.tolist() == [[1.0], [2.0]]
