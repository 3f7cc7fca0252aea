"""The store of what must not change: what it sees, and what it lets pass."""

import dataclasses as dc
import json

import numpy as np
import pytest

import dpcore
from dpcore.figures.figure import Figure
from tools import golden

NUMBERS = {"plans/0": {"scale": 2.0, "bounds": [1.0, float("nan")], "status": "ok", "seeded": True}}


@pytest.fixture
def here(monkeypatch):
    """Few plans, in this process."""
    monkeypatch.setattr(golden, "PLANS", 30)
    monkeypatch.setattr(golden, "results", lambda wanted: map(golden.computed, wanted))


def run(capsys, *arguments):
    """The exit status, and the lines that are printed."""
    status = golden.main([*map(str, arguments), "--only", "plans"])
    return status, capsys.readouterr().out.splitlines()


def larger(bounds):
    return lambda plan: tuple(dc.replace(bound, value=1.01 * bound.value) for bound in bounds(plan))


def test_the_same_code_gives_the_same_and_a_bound_that_is_larger_is_reported(here, tmp_path, capsys, monkeypatch):
    assert run(capsys, "store", tmp_path)[0] == 0
    status, lines = run(capsys, "compare", tmp_path)
    assert status == 0 and lines[-1].endswith(" values in 30 entries equal")
    monkeypatch.setattr(dpcore, "bounds_of", larger(dpcore.bounds_of))
    status, lines = run(capsys, "compare", tmp_path, "--ignore-words")
    assert status == 1 and "plan.bounds.0.value: was " in "".join(lines) and "0.0099 apart" in "".join(lines)
    assert not any("plan.plan" in line for line in lines) and lines[-1].endswith(" values and 0 texts differ")
    assert run(capsys, "compare", tmp_path, "--within", "0.02")[0] == 0


def test_words_are_reported_apart_and_may_be_ignored(here, tmp_path, capsys, monkeypatch):
    run(capsys, "store", tmp_path)
    bounds_of = dpcore.bounds_of
    monkeypatch.setattr(
        dpcore, "bounds_of", lambda plan: tuple(dc.replace(bound, assumes="nothing") for bound in bounds_of(plan))
    )
    status, lines = run(capsys, "compare", tmp_path)
    assert status == 1 and lines[1] == "words that differ:" and 'is "nothing"' in lines[2]
    status, lines = run(capsys, "compare", tmp_path, "--ignore-words")
    assert status == 0 and "equal but for" in lines[-1]


def test_a_store_that_is_not_there_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        golden.main(["compare", str(tmp_path)])
    assert "store first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        ({"scale": 2}, []),
        ({"scale": 2.0000000000000004}, [("scale", False)]),
        ({"scale": None}, [("scale", False)]),
        ({"bounds": [1.0]}, [("bounds.1", False)]),
        ({"bounds": [1.0, 0.0]}, [("bounds.1", False)]),
        ({"status": "refused"}, [("status", True)]),
        ({"status": 1.0}, [("status", False)]),
        ({"seeded": 1}, [("seeded", False)]),
        ({"more": 1.0}, [("more", False)]),
    ],
)
def test_any_change_is_a_difference(changed, found):
    (was,) = NUMBERS.values()
    assert [(each.field, each.words) for each in golden.differences(was, was | changed, 0.0, "plans/0")] == found


def test_colours_are_values_and_names_are_words():
    was = {"charts": [{"figure": {"data": [{"name": "private", "line": {"color": "#CB7513"}}]}}]}
    now = {"charts": [{"figure": {"data": [{"name": "with noise", "line": {"color": "#002B95"}}]}}]}
    found = {each.field.split(".")[-1]: each.words for each in golden.differences(was, now, 0.0, "pages/0")}
    assert found == {"name": True, "color": False}


def test_an_entry_that_is_gone_is_one_difference():
    (found,) = golden.differences(NUMBERS, {}, 0.0, "plans")
    assert found.now == golden.ABSENT and not found.words


def test_arrays_of_figures_are_read_to_twelve_digits():
    figure = Figure(
        [{"type": "scatter", "x": np.array([1.0, 1.0 / 3.0]), "y": np.array([1, 2], np.int8)}], {"template": {}}
    )
    (trace,) = golden.figure_of(figure.to_json())["data"]
    assert trace["x"] == [1.0, 0.333333333333] and trace["y"] == [1, 2]


def test_what_no_seed_decides_is_left_out():
    assert golden.plain({"seconds": 0.1, "rows": (np.float64(1.0), np.arange(2), None)}) == {
        "rows": [1.0, [0, 1], None]
    }
    assert json.loads(json.dumps(golden.plain(dpcore.Budget(1.0)))) == {"epsilon": 1.0, "delta": 0.0}


def test_each_page_is_opened_itself():
    titles = [golden._opened(script, {}).title[0].value for script in golden.PAGES[:3]]
    opened = [family for family in golden.FAMILIES if family.startswith("pages-")]
    assert len(opened) == len(golden.PAGES) > 5 and len(set(titles)) == 3
