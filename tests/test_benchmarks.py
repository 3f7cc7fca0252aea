"""`python -m benchmarks`: every comparison runs at small sizes and leaves whole rows; nothing here asks how fast."""

from __future__ import annotations

import dataclasses as dc
import importlib
import json
import math
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from benchmarks import __main__ as suite
from benchmarks import noise, report
from benchmarks.guests import Guest, Interpreters
from benchmarks.rows import Rival, Row, Work, compete
from benchmarks.sizes import changed
from benchmarks.suite import SUITE
from benchmarks.targets import TARGETS
from tests.harness import ROOT

WORK = Work("noise", "words", {"p": 3}, rounds=3, judged=True)


class Tags(HTMLParser):
    """The elements of a page and the addresses that they load."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.sources: list[str | None] = []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What one quick run of everything writes."""
    place = tmp_path_factory.mktemp("benchmarks")
    suite.main(["--quick", "-o", str(place)])
    return place


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "results.json").read_text())


def test_every_benchmark_leaves_whole_rows(results):
    names = {field.name for field in dc.fields(Row)} | {"met"}
    assert {row["benchmark"] for row in results["rows"]} == set(SUITE)
    for row in results["rows"]:
        assert set(row) == names and row["work"] and row["who"] and row["sizes"]
        assert None not in row["sizes"].values()
        if row["cpu"] is None:
            assert row["wall"] is None and row["ratio"] is None and row["note"].startswith("not run: ")
        else:
            assert row["cpu"] >= 0.0 and row["wall"] > 0.0
            assert all(value is not None for value in row["accuracy"].values())
        assert row["met"] is None, "targets are for other sizes"


def test_every_work_is_done_by_ours_and_ratios_are_over_it(results):
    works: dict[tuple, dict] = {}
    for row in results["rows"]:
        works.setdefault((row["benchmark"], row["work"], *row["sizes"].values(), row["against"]), {})[row["who"]] = row
    for (*_, against), rivals in works.items():
        assert against.startswith("ours") and rivals[against]["ratio"] == 1.0
        for row in rivals.values():
            if row["cpu"] is not None and rivals[against]["cpu"]:
                assert row["ratio"] == pytest.approx(row["cpu"] / rivals[against]["cpu"])


def test_every_target_is_covered_by_a_benchmark_and_no_other_is_named(results):
    assert {key for row in results["rows"] for key in row["targets"]} == set(TARGETS)


def test_who_needs_another_interpreter_is_not_run_and_says_which_option_names_it(results):
    absent = {row["who"]: row["note"] for row in results["rows"] if row["cpu"] is None}
    assert "--diffprivlib PYTHON" in absent["diffprivlib"] and "--dp-accounting PYTHON" in absent["dp-accounting"]


def test_the_machine_is_described(results):
    machine = results["machine"]
    assert machine["numpy"] == np.__version__ and machine["cores"] >= machine["usable_cores"] >= 1
    assert machine["processor"] and machine["blas"] and {"numba", "scipy", "scikit-learn", "python"} <= set(machine)


def test_the_chart_has_all_peers_and_targets_and_loads_nothing(folder, results):
    page = (folder / "chart.html").read_text()
    tags = Tags()
    tags.feed(page)
    assert "script" in tags.seen and not tags.sources
    rows = [Row(**{k: v for k, v in row.items() if k != "met"} | {"targets": tuple(row["targets"])})
            for row in results["rows"]]  # fmt: skip
    drawn = report.chart(rows)
    dots = {y for trace in drawn.data if trace.name != "target" for y in trace.y}
    peers = [row for row in rows if row.ratio is not None and row.who != row.against]
    assert len(dots) == len(peers) > 20 and drawn.layout.xaxis.type == "log"
    marks = next(trace for trace in drawn.data if trace.name == "target")
    wanted = [TARGETS[k].bound for row in peers for k in row.targets if TARGETS[k].figure == "ratio"]
    assert list(marks.x) == wanted and set(marks.y) <= dots
    for row in peers:
        assert row.who in page


def test_the_table_has_a_line_for_each_row(folder, results):
    lines = (folder / "results.md").read_text().splitlines()
    assert len(lines) == len(results["rows"]) + 2 and len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nosuch"], "invalid choice: 'nosuch'"),
        (["--size", "nosuch.p=3"], "NAME one of solvers"),
        (["--size", "noise.q=3"], "size must be one of p, rounds, got q"),
        (["--size", "noise.p=many"], "p must be int, got many"),
        (["--size", "noise.p=1,2"], "p must be one number, got 1 2"),
        (["--size", "noise.p"], "NAME.FIELD=VALUE"),
    ],
)
def test_unknown_names_and_sizes_are_refused_in_a_sentence(arguments, said, capsys):
    with pytest.raises(SystemExit) as error:
        suite.main(arguments)
    assert error.value.code == 2 and said in capsys.readouterr().err


def test_sizes_come_from_the_command_line(capsys):
    suite.main(["--only", "noise", "--quick", "--size", "noise.p=4321"])
    assert "p 4,321" in capsys.readouterr().out
    sizes = importlib.import_module("benchmarks.frank_wolfe").Sizes()
    assert changed(sizes, "columns", ["5", "6"]).columns == (5, 6) and changed(sizes, "epsilon", ["2"]).epsilon == 2.0


def test_rivals_take_turns_and_the_warm_up_is_not_timed(monkeypatch):
    calls: list[str] = []
    rivals = [Rival(who, lambda who=who: calls.append(who) or 7.0, lambda a: {"answer": a}) for who in "ab"]
    once = Rival("c", lambda: calls.append("c"), once=True, times=10.0)
    rows = compete(WORK, rivals[0], [rivals[1], once, Rival("d", "for a reason")])
    assert calls == list("ab" + "abc" + "abab")
    assert [row.who for row in rows] == list("abcd") and rows[1].accuracy == {"answer": 7.0}
    assert rows[3].cpu is None and rows[3].note == "not run: for a reason"
    seconds = iter([100.0, 1.0, 2.0, 9.0])
    monkeypatch.setattr(
        importlib.import_module("benchmarks.rows"), "timed", lambda run: (run(), (next(seconds), 1.0))[1]
    )
    assert compete(WORK, rivals[0])[0].cpu == 2.0, "the median of the turns after the first"


def test_targets_are_judged_by_the_figure_they_name():
    row = Row("noise", "w", {}, "numpy", "ours", 1.0, 2.0, 3.2, {"peak / output": 2.0}, ("noise vector",), True, "")
    assert row.met is True and dc.replace(row, ratio=2.9).met is False
    assert dc.replace(row, targets=("noise vector, memory",)).met is False
    assert dc.replace(row, targets=("noise vector, memory", "noise vector"), accuracy={"peak / output": 1.0}).met
    assert dc.replace(row, judged=False).met is None and dc.replace(row, cpu=None).met is None
    words = suite.summary([row, dc.replace(row, ratio=2.9), dc.replace(row, cpu=None, wall=None, ratio=None)])
    assert words.startswith("1 of 2 rows with a target meet it\nmissed:") and "not run:" in words


def test_noise_takes_the_memory_of_the_output_only():
    """numpy as one writes it takes twice that, which the measure sees."""
    noise.ours(300_000)  # what is loaded at a first call is no memory of the noise
    assert noise.peak(lambda: noise.ours(300_000)) <= 1.01 < 1.9 < noise.peak(lambda: noise.plain(300_000))


@pytest.mark.parametrize("law", ["gaussian", "gamma"])
def test_compiled_noise_is_numpy_s_own(law):
    """The same numbers on both sides of the size from which draws are compiled, and the generator goes on alike."""
    from dpcore.mechanisms.noise.spherical import NOISES

    for p in (999, 1_000, 5_000):
        rng, again = np.random.default_rng(p), np.random.default_rng(p)
        found = NOISES[law].direction(p, p, rng)
        scale = math.sqrt(again.chisquare(p + 1)) if law == "gamma" else 1.0
        np.testing.assert_allclose(found, scale * again.standard_normal(p), rtol=1e-14)
        assert rng.random() == again.random()


def test_a_guest_answers_each_turn_and_its_end_is_noticed(tmp_path, monkeypatch):
    """A guest is any script; this one stands in for a peer."""
    script = tmp_path / "peer.py"
    script.write_text(
        "import json, sys\nimport numpy as np\nfacts = json.loads(str(np.load(sys.argv[1])['facts']))\n"
        "for _ in range(2):\n    sys.stdin.readline()\n    print(json.dumps([1.0, 2.0, facts['answer']]), flush=True)\n"
    )
    with Guest(sys.executable, str(script), {"answer": 5}) as guest:
        assert [guest.turn(), guest.turn()] == [(1.0, 2.0, 5)] * 2
        with pytest.raises(RuntimeError, match="ended with code 0"):
            guest.turn()


def test_each_file_names_the_command_that_runs_it():
    for name in SUITE:
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        assert f"python -m benchmarks.{name}" in text and "run_alone(sys.modules[__name__])" in text
    assert Interpreters() == Interpreters(None, None)
