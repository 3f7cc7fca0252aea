"""Papers, certified by runs: its chart, its words and its code are those of the findings."""

import dataclasses as dc
import html
import json
import math
import re

import numpy as np
import pytest

import dpcore
from dpcore.figures.named_bars import corrections_figure, exhibits_figure
from dpcore.figures.style import MUTED
from dpcore.studies.papers.exhibits import EXHIBITS, rounded_down
from pages.papers import exhibits as words
from pages.ui.html import readable
from tests.page_driver import charts, headline, open_app, texts


def open_page(**state):
    return open_app("papers/page.py", evidence="runs", **state)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bars_reach_from_what_is_claimed_to_what_is_certified(theme):
    figure = exhibits_figure(["a<br>b", "c"], [1.3, 0.9], [1.5, 1.2], [1.6, math.nan], theme=theme, height=430)
    sure, likely, exact = figure.data
    assert list(sure.base) == [1.0, 1.0] and np.allclose(np.add(sure.base, sure.x), [1.3, 1.0])
    assert np.allclose(np.add(likely.base, likely.x), [1.5, 1.2]) and exact.x[0] == 1.6
    assert list(sure.y) == [1, 0], "the first on top"
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (1, 1)
    narrow = figure.layout.meta["narrow"]["annotations"]
    assert [label["text"] for label in narrow] == ["a b", "c"]


def test_the_view_shows_the_findings_and_claims_nothing():
    page = open_page(behind="Assumptions")
    assert not page.exception and not page.error
    found = [dpcore.run_exhibit(key, seed=7) for key in EXHIBITS]
    worst = max(each.certified_999 / each.claimed for each in found)
    said = re.sub(r"<[^>]+>", "", headline(page))
    assert said.startswith(f"{len(EXHIBITS)} of {len(EXHIBITS)} mechanisms")
    assert f"at least {float(rounded_down(worst)):.3g} times the δ that it claims" in said
    shown = html.unescape(texts(page))
    for each in found:
        assert readable(each.sentence) in shown and readable(each.pair) in shown
    (chart,) = [json.loads(chart["figure"]) for chart in charts(page).values()]
    assert len(chart["data"]) == 3 and chart["layout"]["meta"]["narrow"]
    assert not re.search(r"ε\s*=|private", said + json.dumps(chart)), "no label of what is not kept"
    assert all(re.match(r".{0,80}is (published|claimed by)", after) for after in re.split(r"ε\s*=", shown)[1:])
    assert not {"epsilon", "delta", "n", "p", "lam", "m"} & {slider.key for slider in page.select_slider}


def test_nothing_is_said_to_be_broken_where_nothing_is():
    found = [dpcore.run_exhibit(key, seed=7) for key in EXHIBITS]
    kept = [dc.replace(each, certified_95=0.5 * each.claimed, certified_999=0.4 * each.claimed) for each in found]
    assert f"**none of {len(kept)}**" in words.takeaway(kept) and "proves nothing" in words.takeaway(kept)
    assert words.takeaway([*kept[:-1], found[-1]]).startswith(f"**1 of {len(kept)}**")


def test_the_code_repeats_the_exhibits(capsys):
    page = open_page(behind="Code")
    exec(page.code[0].value, {})
    told = capsys.readouterr().out.strip().split("\n")
    assert told == [dpcore.run_exhibit(key, seed=7).sentence for key in EXHIBITS]


def test_corrections_stand_below_the_heading_of_their_kind_and_harmless_ones_are_muted():
    kinds = ["wrong", "wrong", "loose"]
    figure = corrections_figure(
        ["a", "b", "c"], [3.0, 1.2, 90.0], kinds, {"wrong": "is wrong", "loose": "is loose"}, theme="light", height=300
    )
    wrong, loose = figure.data
    places = {note.text: note.y for note in figure.layout.annotations}
    assert places == {"<b>is wrong</b>": 4, "a": 3, "b": 2, "<b>is loose</b>": 1, "c": 0}
    assert [*wrong.y, *loose.y] == [3, 2, 0] and [*wrong.customdata, *loose.customdata] == [3.0, 1.2, 90.0]
    assert [*wrong.text, *loose.text] == ["3", "1.2", "90"] and {wrong.textposition, loose.textposition} == {"outside"}
    assert loose.marker.line.color == MUTED["light"] != wrong.marker.line.color
    assert not (wrong.showlegend or loose.showlegend)
