"""Whatever a file or an address says, there is an answer or one sentence, and never another error.

Each case is made from its number alone. Whole pages are looked at in test_links and test_uploads.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore import data
from dpcore.data.uploads import Declared, UploadedRecords
from pages.ui import share_link

# A fifth of the cases in every run, all by night.
CASES = (2_000, pytest.param(10_000, marks=pytest.mark.nightly))
CSV = b'age,dose,sick\n50,0.5,yes\n"60",1.5,no\n41,-2,"yes, twice"\n,1e3,no\n' + b"33,0.25,yes\n44,0.75,no\n" * 5
LIBSVM = b"+1 1:0.5 3:2 # note\n-1 2:-1e-3\n+1 1:1\n-1 4:7\n" * 3
PIECES = (
    *(
        b"",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x1f\x8b",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\t",
        b"\x0c",
        b"\xe2\x80\xa8",
    ),
    *(b'"', b"'", b'""', b",", b",,,,", b";", b":", b"#", b"-", b"+", b".", b"e", b"_", b" ", b"=cmd()", b"<b>"),
    *(b"nan", b"inf", b"-inf", b"1e308", b"1e999", b"1e-400", b"0x1f", b"1_000", b"\xd9\xa3", b"9" * 400, b"x" * 300),
    *(
        b"5:1",
        b"0:1",
        b"-3:1",
        b"1048577:1",
        b"99999999999999999999:1",
        b"3:1 2:1",
        b"age",
        b"sick",
        b"yes",
        b"1 1:1\n",
    ),
)
VALUES = (
    *(
        "",
        "0",
        "-1",
        "1",
        "7",
        "0.5",
        "2,000",
        "10⁻⁵",
        "auto",
        "nan",
        "inf",
        "1e999",
        "1e-320",
        "٣",
        "½",
        "1_0",
        "0x10",
    ),
    *(
        "%00",
        "%ff%fe",
        "\x00",
        "\u202e",
        "\ud83d",
        "<script>",
        "' or 1=1",
        "../../etc",
        "__class__",
        "[]",
        "None",
        "~:,%25",
    ),
    *("9" * 5000, "a" * 5000, "upload-1", "synthetic", "Gamma", "upper bound", "λ", "v", "hide"),
)


def spoilt(content: bytes, draw: random.Random) -> bytes:
    """A file after one accident to three, often within a cell."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        at, end = sorted(draw.randint(0, len(content)) for _ in range(2))
        piece = draw.choice(PIECES)
        ways = (
            content[:at] + piece + content[at:],
            content[:at] + piece + content[at + len(piece) :],
            content[:at] + content[at + 1 :],
            content[:at] + content[min(end, at + 20) :],
            content[:end] + content[at:],
            content[:at],
        )
        content = draw.choices(ways, (6, 6, 3, 2, 2, 1))[0]
    return content


def answer(read: Callable[[], Any]) -> Any:
    """What a reader gives, or None after one sentence of its own."""
    try:
        return read()
    except ValueError as error:
        said = str(error)
        assert " must " in said and "\n" not in said and len(said) < 700, said
        assert error.__cause__ is None
        return None


def look_at(table: data.RawTable) -> None:
    assert table.rows >= 2 and table.label in table.columns
    for column in table.columns.values():
        assert len(column.numbers) == len(column.places) == table.rows and not np.isinf(column.numbers).any()
    values, labels = table.labels
    assert np.all((labels >= -1) & (labels < len(values)))


@pytest.mark.parametrize("cases", CASES)
def test_a_spoilt_sheet_is_read_or_refused_in_one_sentence(cases: int):
    read = refused = held = 0
    for case in range(cases):
        draw = random.Random(f"sheet {case}")
        if draw.random() < 0.6:
            content = spoilt(CSV, draw)
            table = answer(lambda content=content: data.read_table(content, "people.csv", "sick"))
        else:
            content = spoilt(LIBSVM, draw)
            table = answer(lambda content=content: data.read_table(content, "people.txt"))
        read, refused = read + (table is not None), refused + (table is None)
        if table is None or answer(lambda table=table: table.labels) is None:
            continue
        look_at(table)
        p = len(table.features)
        declared = Declared(table.features, (0.0,) * p, (1.0,) * p, draw.choice((*table.labels[0], "yes")), "drop")
        records = answer(functools.partial(UploadedRecords, table, declared, "people.csv"))
        if records is None:
            continue
        held += 1
        split = records.draw(20, 0)
        for part in (split.train, split.test):
            assert np.isfinite(part.X).all() and (np.linalg.norm(part.X, axis=1) <= 1.0 + 1e-12).all()
        inside = np.array([0.0, 1.0])
        beyond = [
            (column[np.isfinite(column)][:, None] != np.clip(column[np.isfinite(column)][:, None], *inside))
            for column in (table.columns[name].numbers for name in table.features)
        ]
        assert sum(records.report.clipped.values()) <= sum(int(each.sum()) for each in beyond)
    assert min(read, refused, held) > cases // 10, (read, refused, held)


def every_kind() -> None:
    """A page with a control of every kind."""
    import streamlit as st

    from pages.ui import share_link, url_controls
    from pages.ui.sidebar import sidebar

    note = st.empty()
    share_link.begin("page")
    sidebar(default_n=2_000, max_columns=64, unused=("m",))
    url_controls.select("source", "Records", {"synthetic": "made up", "iris": "Iris"}, "synthetic")
    url_controls.segments("noise", "Noise", ("Gaussian", "Gamma"), "Gaussian")
    url_controls.pill("behind", "Details", ("Link", "λ"))
    share_link.end(note)


@pytest.mark.parametrize("cases", (200, pytest.param(1_000, marks=pytest.mark.nightly)))
def test_whatever_an_address_says_controls_stand_at_legal_values_and_the_rest_is_told(cases: int):
    texts = {key: control.texts for key, (control, _) in opened({}).session_state[share_link.HELD].drawn.items()}
    names, legal, told = (*texts, "v", "hide", "lecture", "step", *VALUES[:20]), 0, 0
    for case in range(cases):
        draw = random.Random(f"address {case}")
        address: dict[str, list[str]] = {}
        for _ in range(draw.randint(1, 8)):
            name = draw.choice(names)
            said = draw.choice((*VALUES, *(2 * texts.get(name, [])[:50])))
            address.setdefault(name, []).append(said.encode(errors="replace").decode())
        app = opened(address)
        held = app.session_state[share_link.HELD]
        for key, (control, value) in held.drawn.items():
            assert value in control.options or (value is None and key == "behind")
            legal += control.written(value) == address.get(key)
        assert all(each.isprintable() and len(each) < 3 * share_link.LONGEST + 80 for each in held.ignored)
        told += bool(held.ignored)
    assert min(legal, told) > cases // 5, (legal, told)


def opened(address: dict[str, list[str]]) -> AppTest:
    """That page, opened at this address."""
    app = AppTest.from_function(every_kind, default_timeout=60)
    app.query_params.update(address)
    app.run()
    assert not app.exception, (address, app.exception)
    return app
