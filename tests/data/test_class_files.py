"""Files with a column of classes are read exactly, or refused in one sentence."""

from pathlib import Path

import numpy as np
import pytest
from sklearn import datasets

from dpcore import data


def written(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "flowers.csv"
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "names, cells",
    [
        (("b", "a", "c"), ("a", "b", " c ", '"a"')),
        ((2, 1, 3), ("1.0", "2", "3", "1e0")),
        (("2", "1", "none"), ("1", "2.0", '"none"', '"1"')),
        ((0.5, -1, "nan"), ("-1", ".5", "nan", "-1.0")),
        ((1, 0, "a, b"), ("-0", "+1", '"a, b"', '"0.0"')),
    ],
)
def test_a_file_s_classes_are_numbered_as_declared(tmp_path, names, cells):
    path = written(tmp_path, "width,kind,length\n" + "".join(f"{i},{cell},-{i}.5\n" for i, cell in enumerate(cells)))
    table = data.read_file(path, "kind", names=names)
    assert table.data.y.tolist() == [1.0, 0.0, 2.0, 1.0] and table.columns == ("width", "length")
    assert table.data.X.tolist() == [[0, -0.5], [1, -1.5], [2, -2.5], [3, -3.5]]
    assert table.names == tuple(map(str, names))
    data.check_learnable(table, classification=True)


def test_a_file_gives_back_the_wines(tmp_path):
    raw, target = datasets.load_wine(return_X_y=True)
    names = ("one", "two", "three")
    lines = [",".join([names[t], *map(repr, map(float, x))]) for x, t in zip(raw, target, strict=True)]
    path = written(tmp_path, "\n".join([",".join(["grower", *map(str, range(13))]), *lines]))
    table = data.read_file(path, "grower", names=list(names))
    assert np.array_equal(table.data.X, raw) and np.array_equal(table.data.y, target)


CLASSES = "column 'kind' of flowers.csv must hold one of the 2 declared classes in every row, got "
BAD_FILES = [
    (("a", "b"), "x,kind\n1,a\n\n2,c\n", f"{CLASSES}'c' in line 4"),
    (("a", "b"), "x,kind\n1,a\n2,\n", f"{CLASSES}'' in line 3"),
    ((1, 2), "x,kind\n1,1\n2,1.5\n", f"{CLASSES}'1.5' in line 3"),
    (("a", "b"), "x,kind\n1,a\nu,b\n", "column 'x' of flowers.csv must hold a number in every row, got 'u' in line 3"),
    ("ab", "", "names must be a list of at least two classes, got 'ab'"),
    (("a",), "", r"names must be a list of at least two classes, got \('a',\)"),
    (("a", "b", " a"), "", "names must differ from each other, got ' a' twice"),
    (("1", 1.0), "", "names must differ from each other, got 1.0 twice"),
]


@pytest.mark.parametrize("names, content, message", BAD_FILES)
def test_a_bad_file_of_classes_ends_in_one_sentence(tmp_path, names, content, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.read_file(written(tmp_path, content), "kind", names=names)
