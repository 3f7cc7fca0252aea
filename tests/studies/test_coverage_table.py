"""The table of how often intervals cover: a row for each kind of file, and none given that covers too rarely."""

import re
from pathlib import Path

import pytest

from tools.coverage import DOCUMENT, FILES, covered


def cells() -> list[list[str]]:
    lines = Path(DOCUMENT).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in rows if len(row) == 6][1:]


def test_each_kind_of_file_has_a_row_and_what_is_given_covers():
    rows = cells()
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (f"{100 * file.share:.0f}%", f"{file.records:,}", str(file.person)) for file in FILES
    ]
    for file, row in zip(FILES, rows, strict=True):
        share = int(re.findall(r"(\d+)%", row[5])[0])
        assert row[5].startswith("none") != file.given and row[4] == ("AUC" if file.auc else "accuracy")
        assert share >= 93 or not file.given


def test_intervals_cover_where_they_are_given_and_too_rarely_where_a_class_is_rare():
    """60 files each: the worst kinds that are given and not given, far enough apart."""
    given, rare = (covered(next(f for f in FILES if (f.share, f.records) == kind), 60).min() for kind in KINDS)
    assert given >= 0.9 and rare < 0.9


KINDS = ((0.25, 120), (0.05, 400))


@pytest.mark.nightly
def test_the_first_row_is_what_the_tool_finds():
    assert cells()[0][5] == f"{100 * covered(FILES[0], 1_000).min():.0f}%"
