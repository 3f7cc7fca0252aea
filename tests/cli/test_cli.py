"""The command line: what it prints, and one sentence with exit code 2 for what the user can mend."""

import dataclasses as dc
import gzip
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore import __main__ as shell
from dpcore.__main__ import main
from dpcore.cli import experiments
from dpcore.mechanisms import api
from tests.classifiers import KEY, class_data
from tests.harness import ROOT
from tests.problems import PROBLEMS

DATA = PROBLEMS["full rank"]
SOLVE = ["solve", "output_gaussian", "--label", "sick", "--epsilon", "1", "--delta", "1e-5", "--R", "1"]


@pytest.fixture()
def csv(tmp_path):
    frame = pd.DataFrame(DATA.X, columns=list("abcdef"))
    frame.insert(2, "sick", DATA.y)
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = 0
    try:
        main([str(a) for a in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_list_and_info(capsys):
    code, out, _ = call(capsys, "list")
    assert code == 0 and all(key in out for key in dpcore.list_mechanisms())
    assert [row["key"] for row in json.loads(call(capsys, "list", "--json")[1])] == dpcore.list_mechanisms()
    code, out, _ = call(capsys, "info", "output_gaussian")
    assert code == 0 and "Guarantee:" in out and "accounting = tight" in out
    facts = json.loads(call(capsys, "info", "output_gaussian", "--json")[1])
    assert facts["knobs"][0]["choices"] == ["tight", "published", "classical", "kamath"]
    assert "replacing one record" in facts["guarantee"] and facts["not_protected"].startswith("n, p, lam")


def test_solve_reads_a_csv_and_agrees_with_python(capsys, csv):
    code, out, _ = call(capsys, *SOLVE, "--data", csv, "--lam", "0.1", "--seed", 5, "--json")
    release = dpcore.solve("output_gaussian", DATA.X, DATA.y, epsilon=1.0, delta=1e-5, lam=0.1, seed=5)
    facts = json.loads(out)
    assert code == 0 and np.allclose(facts["theta"], release.theta, rtol=1e-9)
    assert facts["spent"] == {"epsilon": 1.0, "delta": 1e-5} and facts["seeded"] is True
    assert facts["columns"] == list("abcdef") and facts["scale"] == release.plan.scale
    code, out, _ = call(capsys, *SOLVE, "--data", csv)
    assert code == 0 and "spent epsilon = 1, delta = 1e-05 (replace-one)" in out


@pytest.fixture()
def libsvm(tmp_path):
    lines = [
        f"{y:g} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x.tolist())) + "\n"
        for x, y in zip(DATA.X, DATA.y, strict=True)
    ]
    (tmp_path / "people.libsvm").write_text("".join(lines))
    return tmp_path / "people.libsvm"


PRICE = ["--epsilon", "1", "--delta", "1e-5", "--R", "1", "--lam", "0.1", "--seed", "5", "--json"]


def test_every_kind_of_file_gives_the_same_release(capsys, csv, libsvm, tmp_path):
    plain = dpcore.solve("output_gaussian", DATA.X, DATA.y, epsilon=1.0, delta=1e-5, lam=0.1, seed=5)
    text = csv.read_text()
    folder = tmp_path / "Frau Müller's Daten" / "100% [x]"
    folder.mkdir(parents=True)
    (folder / "people.CSV").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    (tmp_path / "people.svm").write_text(libsvm.read_text().replace("\n", "\r\n"))
    (tmp_path / "people.txt.gz").write_bytes(gzip.compress(libsvm.read_bytes()))
    path = folder / "people.CSV"
    code, out, err = call(capsys, "solve", "output_gaussian", "--data", path, "--label", "sick", *PRICE)
    assert (code, err) == (0, "") and np.allclose(json.loads(out)["theta"], plain.theta, rtol=1e-9)
    for path in (libsvm, tmp_path / "people.svm", tmp_path / "people.txt.gz"):
        code, out, err = call(capsys, "solve", "output_gaussian", "--data", path, *PRICE)
        facts = json.loads(out)
        assert (code, err) == (0, "") and np.allclose(facts["theta"], plain.theta, atol=1e-7)
        assert facts["columns"] == list("123456") and facts["p"] == 6


FLOWERS, KINDS = class_data(40, 3, 3), ("setosa", "7.50", "virginica")
CLASSES = ["solve", KEY, "--epsilon", "100", "--delta", "1e-5", "--R", "1", "--lam", "0.1", "--seed", "5"]
CLASS_FACTS = dict(epsilon=100.0, delta=1e-5, lam=0.1, seed=5, classes=3)


@pytest.fixture()
def flowers(tmp_path):
    frame = pd.DataFrame(FLOWERS.X, columns=list("abc"))
    frame.insert(1, "kind", np.array(KINDS)[FLOWERS.y.astype(int)])
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    return tmp_path / "flowers.csv"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_named_classes_are_released_in_the_order_of_their_names(capsys, flowers, order):
    words = [*CLASSES, "--data", flowers, "--label", "kind", "--classes", " ,".join(KINDS[k] for k in order)]
    code, out, err = call(capsys, *words, "--knob", "perturbed=output", "--json")
    facts, places = json.loads(out), np.argsort(order)[FLOWERS.y.astype(int)]
    release = dpcore.solve(KEY, FLOWERS.X, places, perturbed="output", **CLASS_FACTS)
    assert (code, err) == (0, "") and facts["classes"] == [KINDS[k] for k in order]
    assert np.allclose(facts["theta"], release.theta, rtol=1e-9) and np.shape(facts["theta"]) == (3, 4, 4)
    assert facts["columns"] == list("abc") and facts["loss"] == "multiclass_hinge"


def test_classes_are_printed_as_ellipsoids(capsys, flowers):
    words = [*CLASSES, "--R", "2", "--data", flowers, "--label", "kind", "--classes", ",".join(KINDS)]
    code, out, _ = call(capsys, *words)
    assert code == 0 and "spent epsilon = 100, delta = 1e-05" in out
    head, *blocks = out.split("\n\n")
    assert [block.split(":")[0] for block in blocks] == list(KINDS) and "smallest (x - centre)' precision" in head
    release = dpcore.solve(KEY, FLOWERS.X, FLOWERS.y, R=2.0, **CLASS_FACTS)
    x = np.array([0.3, -0.2, 0.1])
    augmented = np.append(x / 2.0, 1.0) / np.sqrt(2.0)
    for block, Phi in zip(blocks, release.theta, strict=True):
        first, *lines = block.splitlines()
        offset = float(first.split("offset = ")[1].split(";")[0])
        table = np.array([line.split()[1:] for line in lines], float)
        assert [line.split()[0] for line in lines] == list("abc") and table.shape == (3, 4)
        value = (x - table[:, 0]) @ table[:, 1:] @ (x - table[:, 0]) + offset
        # Ten digits are printed of numbers that add up to the value.
        assert value == pytest.approx(augmented @ Phi @ augmented, abs=1e-7 * np.abs(Phi).max())


def test_the_labels_of_a_libsvm_file_are_the_numbers_named(capsys, tmp_path):
    path, numbers = tmp_path / "flowers.libsvm", np.array([3, -1, 20])
    rows = zip(FLOWERS.X.tolist(), numbers[FLOWERS.y.astype(int)], strict=True)
    path.write_text("".join(f"{y} 1:{x[0]!r} 2:{x[1]!r} 3:{x[2]!r}\n" for x, y in rows))
    code, out, err = call(capsys, *CLASSES, "--data", path, "--p", 4, "--classes", "3.0,-1,20", "--json")
    padded = np.column_stack([FLOWERS.X, np.zeros(FLOWERS.n)])
    release = dpcore.solve(KEY, padded, FLOWERS.y, **CLASS_FACTS)
    assert (code, err) == (0, "") and np.allclose(json.loads(out)["theta"], release.theta, atol=1e-7)
    assert json.loads(out)["classes"] == ["3.0", "-1", "20"] and json.loads(out)["columns"] == list("1234")
    code, out, err = call(capsys, *CLASSES, "--data", path, "--classes", "3,20")
    sentence = "labels must be one of the 2 declared classes in every record, got -1"
    assert (code, out, err) == (2, "", f"Error: {sentence}\n")
    code, out, err = call(capsys, *CLASSES, "--data", path, "--classes", "3,-1,twenty")
    assert (code, out, err) == (2, "", "Error: names must be numbers if labels are, got 'twenty'\n")


@pytest.mark.parametrize(
    "key, words, sentence",
    [
        (KEY, [], f"--classes must name all classes, in order and separated by commas, for {KEY}, got none"),
        (
            "output_gaussian",
            ["--classes", "a,b"],
            "--classes must be left out for output_gaussian with logistic loss, ",
        ),
        (KEY, ["--classes", "a,b", "--loss", "hinge"], f"--classes must be left out for {KEY} with hinge loss, "),
        (KEY, ["--loss", "hinge"], "gaussian_classifier learns a matrix for each class by multiclass_hinge, got hinge"),
        (KEY, ["--classes", "setosa"], "--classes must be at least two names, separated by commas, got 'setosa'"),
        (KEY, ["--classes", "a,b,"], "--classes must be at least two names, separated by commas, got 'a,b,'"),
        (KEY, ["--classes", "a, a"], "names must differ from each other, got 'a' twice"),
        (
            KEY,
            ["--classes", "setosa,virginica"],
            "column 'kind' of flowers.csv must hold one of the 2 declared classes",
        ),
        (KEY, ["--classes", "a,b", "--knob", "classes=3"], "--knob must be NAME=VALUE for a knob that has no option"),
    ],
)
def test_classes_that_do_not_fit_are_refused_in_one_sentence(capsys, flowers, key, words, sentence):
    if words[-2:] == ["--loss", "hinge"] or "--knob" in words:  # a file with which nothing else is wrong
        frame = pd.read_csv(flowers)
        frame["kind"] = np.where(FLOWERS.y > 0, 1, -1) if "--loss" in words else np.where(FLOWERS.y > 0, "a", "b")
        frame.to_csv(flowers, index=False)
    budget = ["--epsilon", "1", "--delta", "1e-5", "--R", "1"]
    code, out, err = call(capsys, "solve", key, "--data", flowers, "--label", "kind", *budget, *words)
    assert (code, out) == (2, "") and err.startswith(f"Error: {sentence}") and err.count("\n") == 1


def test_options_of_solve_reach_the_plan(capsys, csv, monkeypatch):
    plans = []
    calibrate = api.calibrate
    monkeypatch.setattr(api, "calibrate", lambda *a, **k: plans.append(calibrate(*a, **k)) or plans[-1])
    frame = pd.read_csv(csv)
    frame["sick"] *= 0.5
    frame.to_csv(csv, index=False)
    words = ["--loss", "squared", "--y-max", "0.5", "--radius", "2", "--theta-norm", "3", "--accounting", "published"]
    assert call(capsys, *SOLVE, "--data", csv, *words, "--lam", "population")[0] == 0
    facts = dict(n=DATA.n, p=DATA.p, epsilon=1.0, delta=1e-5, loss="squared", y_max=0.5, radius=2.0, theta_norm=3.0)
    assert plans == [calibrate("output_gaussian", **facts, lam="population", accounting="published")]


@pytest.mark.parametrize("knob", ["steps", "=3", "accounting=tight", "pace=3", "steps=many"])
def test_knobs_that_do_not_exist_or_have_no_value_are_refused(capsys, csv, knob):
    words = ["solve", "noisy_sgd", "--data", csv, "--label", "sick", "--epsilon", "1", "--delta", "1e-5", "--R", "1"]
    code, out, err = call(capsys, *words, "--knob", knob)
    assert (code, out) == (2, "") and err.count("\n") == 1
    reason = {"steps": "NAME=VALUE", "=3": "no knob ''", "accounting=tight": "that has no option", "pace=3": "'pace'"}
    assert reason.get(knob, "steps must be") in err


def test_only_a_run_without_a_seed_is_printed_with_its_guarantee(capsys, csv):
    words = [*SOLVE, "--data", csv, "--lam", "0.1"]
    told = [call(capsys, *words, *seed)[1].splitlines()[0] for seed in ((), ("--seed", "1"))]
    assert told[0].endswith("(replace-one)") and told[1].endswith("(a seeded run: no guarantee)")


def test_clipping_is_printed_with_its_count(capsys, csv):
    R = 0.6
    beyond = int((np.linalg.norm(DATA.X, axis=1) > R).sum())
    words = [*SOLVE, "--data", csv, "--lam", "0.1", "--R", R, "--clip", "--seed", "1"]
    facts = json.loads(call(capsys, *words, "--json")[1])
    assert facts["clipped"] == beyond
    facts = dict(epsilon=1.0, delta=1e-5, lam=0.1, R=R)
    assert np.allclose(
        json.loads(call(capsys, *words, "--json")[1])["theta"],
        dpcore.solve("output_gaussian", DATA.X, DATA.y, **facts, clip=True, seed=1).theta,
    )
    assert f"{beyond} rows were scaled down to norm R; this count is not private" in call(capsys, *words)[1]
    assert "scaled down" not in call(capsys, *SOLVE, "--data", csv, "--clip")[1]


def test_a_large_delta_is_a_line_on_stderr_and_a_field(capsys, csv):
    words = ["0.5" if word == "1e-5" else word for word in SOLVE]
    sentence = "delta = 0.5 is not below 1/n = 0.00833: even publishing a record drawn at random would satisfy"
    code, out, err = call(capsys, *words, "--data", csv)
    assert code == 0 and err.startswith(f"Warning: {sentence}") and err.count("\n") == 1 and "delta = 0.5 (" in out
    code, out, _ = call(capsys, *words, "--data", csv, "--json")
    assert [told.startswith(sentence) for told in json.loads(out)["warnings"]] == [True]
    code, out, err = call(capsys, *SOLVE, "--data", csv, "--json")
    assert err == "" and json.loads(out)["warnings"] == []


def test_run_writes_the_table(capsys, tmp_path):
    chosen = dpcore.Experiment(
        dpcore.Problem("synthetic", n=100), sweep=dpcore.Axis("epsilon", (0.5, 1.0)), repetitions=2
    )
    (tmp_path / "e.json").write_text(chosen.to_json())
    code, out, _ = call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv", "--json")
    assert code == 0 and json.loads(out)["rows"] == 4 and json.loads(out)["digest"] == chosen.digest()
    written, table = pd.read_csv(tmp_path / "out.csv"), dpcore.run(chosen)
    assert np.allclose(written["mean"], table["mean"], rtol=1e-12)
    (tmp_path / "e.json").write_text('{"problem": {"source": "moon"}}')
    code, _, err = call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv")
    assert code == 2 and "source must" in err


def files(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_run_replaces_its_output_only_when_it_is_whole(capsys, tmp_path, monkeypatch):
    chosen = dpcore.Experiment(dpcore.Problem("synthetic", n=100), sweep=dpcore.Axis("epsilon", (0.5,)), repetitions=2)
    (tmp_path / "e.json").write_bytes(b"\xef\xbb\xbf" + chosen.to_json().encode())
    out = tmp_path / "out.csv"
    out.write_text("precious")

    def fail(*arguments, **options):
        raise dpcore.Unconverged("nothing was released")

    def broken(self, path, write=pd.DataFrame.to_csv, **options):
        if path.suffix != ".part":
            return write(self, path, **options)
        path.write_text("half a ta")
        raise OSError(28, "No space left on device", str(path))

    for target, name, fault in ((dpcore.experiments.run, "run", fail), (pd.DataFrame, "to_csv", broken)):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, fault)
            code, _, err = call(capsys, "sweep", tmp_path / "e.json", "-o", out)
        assert code == 2 and err.startswith("Error: ") and err.count("\n") == 1
        assert out.read_text() == "precious"
        kept = ["out.csv.unfinished"] if target is pd.DataFrame else []  # all was computed, and is not lost
        assert files(tmp_path) == ["e.json", "out.csv", *kept]
    code, _, err = call(capsys, "sweep", tmp_path / "e.json", "-o", out)
    assert code == 2 and "--resume" in err
    with out.open() as reader:  # whoever reads the old file meanwhile reads it whole
        assert call(capsys, "sweep", tmp_path / "e.json", "-o", out, "--resume")[0] == 0
        assert reader.read() == "precious"
    assert len(pd.read_csv(out)) == 2 and files(tmp_path) == ["e.json", "out.csv"]
    assert out.stat().st_mode & 0o777 == (tmp_path / "e.json").stat().st_mode & 0o777


def test_run_follows_a_link_and_refuses_what_is_no_file_before_it_computes(capsys, tmp_path, monkeypatch):
    chosen = dpcore.Experiment(dpcore.Problem("synthetic", n=100), sweep=dpcore.Axis("epsilon", (0.5,)), repetitions=2)
    (tmp_path / "e.json").write_text(chosen.to_json())
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink() and len(pd.read_csv(tmp_path / "real.csv")) == 2
    monkeypatch.setattr(dpcore.experiments.run, "run", None)  # calling it would be another error
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "nowhere" / "out.csv", tmp_path / "e.json" / "out.csv"):
        code, _, err = call(capsys, "sweep", tmp_path / "e.json", "-o", place)
        assert code == 2 and "--output must be a file that can be written" in err
    monkeypatch.setattr(experiments, "find_spec", lambda name: None)
    for name, said in (("out.xls", "must end in .csv or .parquet"), ("out.parquet", "install pyarrow, or write CSV")):
        code, _, err = call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / name)
        assert code == 2 and said in err


def test_a_run_warns_of_a_large_delta_once_for_each_setting(capsys, tmp_path):
    keys, people = ("output_gaussian", "objective_gaussian", "output_gamma"), (50, 100, 200)
    asked = dpcore.Experiment(
        dpcore.Problem("synthetic", delta=0.01, lam=0.1), mechanisms=keys, sweep=dpcore.Axis("n", people), repetitions=4
    )
    (tmp_path / "e.json").write_text(asked.to_json())
    code, out, err = call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv", "--json")
    with pytest.warns(dpcore.LargeDelta) as found:
        for n in people:
            dpcore.calibrate("output_gaussian", n=n, p=8, epsilon=1.0, delta=0.01, lam=0.1)
    told = [str(warning.message) for warning in found]
    assert code == 0 and json.loads(out)["warnings"] == told and len(told) == 2
    assert err == "".join(f"Warning: {sentence}\n" for sentence in told)
    # Gamma noise spends no delta.
    (tmp_path / "e.json").write_text(dc.replace(asked, mechanisms=("output_gamma",)).to_json())
    assert call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv")[2] == ""


def killed(*arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pool_that_loses_a_process_is_told_in_a_sentence(capsys, tmp_path, monkeypatch):
    (tmp_path / "e.json").write_text(dpcore.Experiment(dpcore.Problem("synthetic", n=100)).to_json())
    monkeypatch.setattr(dpcore.experiments.run, "run_cell", killed)
    code, _, err = call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv", "--executor", "processes:1")
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("Error: --executor processes:1 lost a process, which was killed, mostly for want of memory")


@pytest.mark.parametrize("key, knobs", [("output_gamma", {}), ("gaussian_classifier", {"noise": "gamma"})])
def test_calibrate_tells_what_python_tells(capsys, key, knobs):
    classes = 3 if knobs else None
    words = ["calibrate", key, "--n", 1000, "--p", 3, "--epsilon", "1", "--lam", "0.1"]
    words += [*(["--classes", classes] if classes else []), *(f"--knob={name}={knobs[name]}" for name in knobs)]
    plan = dpcore.calibrate(key, n=1000, p=3, epsilon=1.0, lam=0.1, classes=classes, **knobs)
    code, out, err = call(capsys, *words, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and (facts["scale"], facts["spent"]) == (plan.scale, {"epsilon": 1.0, "delta": 0.0})
    assert [each["value"] for each in facts["bounds"]] == [bound.value for bound in dpcore.bounds_of(plan)]
    said = call(capsys, *words)[1]
    assert f"noise scale = {plan.scale:.6g}, lam = 0.1, steps = 1" in said and "spends epsilon = 1, delta = 0" in said


def test_calibrate_warns_and_refuses_as_solve_does(capsys):
    words = ["calibrate", "output_gaussian", "--n", "50", "--p", "3", "--epsilon", "1"]
    code, out, err = call(capsys, *words, "--delta", "0.1", "--json")
    assert code == 0 and json.loads(out)["warnings"] and err.startswith("Warning: delta = 0.1 is not below 1/n")
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "") and err.startswith("Error: Gaussian noise needs delta > 0")


@pytest.mark.parametrize(
    "words",
    [
        ["solve"],
        ["solve", "output_gaussian"],
        ["nothing"],
        ["info", "nothing"],
        ["predict", "none.json", "none.csv"],
        ["calibrate", "output_gaussian", "--n", "9", "--p", "1", "--epsilon", "1"],
    ],
)
def test_an_error_is_json_where_json_was_asked_for(capsys, words):
    code, out, err = call(capsys, *words, "--json")
    said = json.loads(err)["error"]
    assert (code, out) == (2, "") and said and "\n" not in said
    assert call(capsys, *words) == (2, "", f"Error: {said}\n")


def test_every_command_speaks_json():
    for command in shell.cli.commands.values():
        assert "--json" in {option for parameter in command.params for option in parameter.opts}, command.name


def test_a_process_of_its_own_fails_with_one_line_and_code_2(tmp_path):
    (tmp_path / "people.csv").write_text("a,sick\n1e300,1\n0.5,-1\n")
    command = [sys.executable, "-m", "dpcore", *SOLVE, "--data", str(tmp_path / "people.csv")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("Error: X must have") and result.stderr.count("\n") == 1


def test_warm_names_what_it_compiled(capsys):
    facts = json.loads(call(capsys, "warm", "--json")[1])
    names = facts["pieces"]
    assert all(any(name.startswith(key) for name in names) for key in dpcore.list_mechanisms())
    assert {"ftrl on a stream", "ellipsoids of classes", "objective_gaussian with logistic"} <= set(names)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_to_whoever_watches_and_to_nobody_else(capsys, tmp_path, monkeypatch):
    (tmp_path / "e.json").write_text(dpcore.Experiment(dpcore.Problem("synthetic", n=100)).to_json())
    words = ["sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv"]
    code, _, err = call(capsys, *words)
    assert (code, err) == (0, "")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", watched := Terminal())
        assert call(capsys, *words)[0] == 0
    assert "cells" in watched.getvalue()
