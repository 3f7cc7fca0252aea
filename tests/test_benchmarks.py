"""`python -m benchmarks`: every comparison runs at small sizes and leaves whole rows; nothing here asks how fast."""

from __future__ import annotations

import dataclasses as dc
import json
import math
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from benchmarks import __main__ as suite
from benchmarks import frank_wolfe, noise, report, runner
from benchmarks.guests import Invitation, guest
from benchmarks.runner import Rival, Row, Work, compete, met
from tests.harness import ROOT

ROW = Row("noise", "w", {}, "numpy", 1.0, 2.0, 3.2, {"peak / output": 2.0}, "ratio >= 3", True, "")


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
    names = {field.name for field in dc.fields(Row)}
    assert {row["benchmark"] for row in results["rows"]} == set(suite.NAMES)
    for row in results["rows"]:
        assert set(row) == names and row["work"] and row["who"] and row["sizes"]
        assert None not in row["sizes"].values()
        if row["cpu"] is None:
            assert row["wall"] is None and row["ratio"] is None and row["note"].startswith("not run: ")
        else:
            assert row["cpu"] >= 0.0 and row["wall"] > 0.0
            assert all(value is not None for value in row["accuracy"].values())
        assert row["met"] is None, "targets are for other sizes"


def test_every_work_is_done_by_ours_first_and_ratios_are_over_it(results):
    works: dict[tuple, list[dict]] = {}
    for row in results["rows"]:
        works.setdefault((row["benchmark"], row["work"], *row["sizes"].values()), []).append(row)
    for ours, *peers in works.values():
        assert ours["who"].startswith("ours") and ours["ratio"] is None
        for row in peers:
            assert row["cpu"] is None or row["ratio"] == pytest.approx(row["cpu"] / ours["cpu"])


def test_every_target_names_a_figure_that_its_row_has(results):
    figures = {"cpu", "wall", "ratio"}
    for row in results["rows"]:
        if row["target"]:
            figure, sign, bound = row["target"].rsplit(" ", 2)
            assert sign in ("<=", ">=") and float(bound) > 0.0 and figure in figures | set(row["accuracy"])
    assert len({row["target"] for row in results["rows"]}) > 12


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
    rows = [Row(**row) for row in results["rows"]]
    drawn = report.chart(rows)
    dots = {y for trace in drawn.data if trace.name != "target" for y in trace.y}
    peers = [row for row in rows if row.ratio is not None]
    assert len(dots) == len(peers) > 20 and drawn.layout.xaxis.type == "log"
    marks = next(trace for trace in drawn.data if trace.name == "target")
    wanted = [float(row.target.split()[-1]) for row in peers if row.target.startswith("ratio")]
    assert list(marks.x) == wanted and set(marks.y) <= dots
    for row in peers:
        assert row.who in page


def test_the_table_has_a_line_for_each_row(folder, results):
    lines = (folder / "results.md").read_text().splitlines()
    assert len(lines) == len(results["rows"]) + 2 and len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "NAME must be one of solvers"),
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
    suite.main(["noise", "--quick", "--size", "noise.p=4321"])
    assert "p 4,321" in capsys.readouterr().out
    sizes = frank_wolfe.Sizes()
    assert suite.changed(sizes, "columns", ["5", "6"]).columns == (5, 6)
    assert suite.changed(sizes, "epsilon", ["2"]).epsilon == 2.0


def test_rivals_take_turns_and_the_warm_up_is_not_timed(monkeypatch):
    calls: list[str] = []
    rivals = [Rival(who, lambda who=who: calls.append(who) or 7.0, lambda a: {"answer": a}) for who in "ab"]
    once = Rival("c", lambda: calls.append("c"), once=True, times=10.0)
    work = Work("words", {"p": 3}, [*rivals, once, Rival("d", "for a reason")])
    rows = compete("noise", work, 3, judged=True, interpreters={})
    assert calls == list("ab" + "abc" + "abab")
    assert [row.who for row in rows] == list("abcd") and rows[1].accuracy == {"answer": 7.0}
    assert rows[3].cpu is None and rows[3].note == "not run: for a reason"
    seconds = iter([100.0, 1.0, 2.0, 9.0])
    monkeypatch.setattr(runner, "timed", lambda run: (next(seconds), 1.0, run()))
    (row,) = compete("noise", dc.replace(work, rivals=rivals[:1]), 3, judged=True, interpreters={})
    assert row.cpu == 2.0, "the median of the turns after the first"


def test_targets_are_judged_by_the_figure_they_name():
    assert met(ROW) is True and met(dc.replace(ROW, ratio=2.9)) is False and met(dc.replace(ROW, target="")) is None
    assert met(dc.replace(ROW, target="peak / output <= 1.01")) is False
    assert met(dc.replace(ROW, target="peak / output <= 1.01", accuracy={"peak / output": 1.0})) is True
    judged = compete("noise", Work("w", {}, [Rival("ours", int, target="cpu <= 9")]), 1, judged=True, interpreters={})
    others = compete("noise", Work("w", {}, [Rival("ours", int, target="cpu <= 9")]), 1, judged=False, interpreters={})
    assert judged[0].met is True and others[0].met is None
    absent = dc.replace(ROW, cpu=None, wall=None, ratio=None, met=None)
    words = report.summary([ROW, dc.replace(ROW, met=False), absent])
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
    """With a package of that name that knows nothing and, asked for a negative C, breaks."""
    (tmp_path / "diffprivlib").mkdir()
    (tmp_path / "diffprivlib" / "models.py").write_text(
        "class LogisticRegression:\n"
        "    def __init__(self, C, **settings):\n        assert C > 0.0\n        self.C = C\n"
        "    def fit(self, X, y):\n        return self\n"
        "    def score(self, X, y):\n        return self.C * X.sum() * y.sum()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    asked = {"X": [[1.0, 2.0]], "y": [1.0], "C": 2.0, "epsilons": [1.0, 2.0], "repetitions": 3}
    with guest(sys.executable, Invitation("diffprivlib", asked)) as turn:
        for _ in range(2):
            cpu, wall, answer = turn()
            assert answer == 6.0 and cpu >= 0.0 and wall > 0.0
    broken = Invitation("diffprivlib", asked | {"C": -1.0})
    with guest(sys.executable, broken) as turn, pytest.raises(RuntimeError, match="ended with code 1"):
        turn()
    theirs = Rival("diffprivlib", Invitation("diffprivlib", asked), lambda answer: {"answer": answer})
    work = Work("w", {}, [Rival("ours", int), theirs])
    rows = compete("noise", work, 1, judged=False, interpreters={"diffprivlib": sys.executable})
    assert rows[1].accuracy == {"answer": 6.0} and rows[1].ratio is not None


def test_each_file_names_the_command_that_runs_it():
    for name in suite.NAMES:
        assert f"python -m benchmarks {name}" in (ROOT / "benchmarks" / f"{name}.py").read_text()
