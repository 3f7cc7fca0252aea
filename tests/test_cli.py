"""The command line: what it prints, and one sentence with exit code 2 for what the user can mend."""

import json

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.__main__ import main
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
    assert facts["knobs"][0]["choices"] == ["tight", "published", "classical"]


def test_solve_reads_a_csv_and_agrees_with_python(capsys, csv):
    code, out, _ = call(capsys, *SOLVE, "--data", csv, "--lam", "0.1", "--seed", 5, "--json")
    release = dpcore.solve("output_gaussian", DATA.X, DATA.y, epsilon=1.0, delta=1e-5, lam=0.1, seed=5)
    facts = json.loads(out)
    assert code == 0 and np.allclose(facts["theta"], release.theta, rtol=1e-9)
    assert facts["spent"] == {"epsilon": 1.0, "delta": 1e-5} and facts["seeded"] is True
    assert facts["columns"] == list("abcdef") and facts["scale"] == release.plan.scale
    code, out, _ = call(capsys, *SOLVE, "--data", csv)
    assert code == 0 and "spent epsilon = 1, delta = 1e-05 (replace-one)" in out


@pytest.mark.parametrize(
    "change, message",
    [
        (["--epsilon", "0"], "epsilon must be a finite number > 0, got 0.0"),
        (["--epsilon", "many"], "'many' is not a valid float"),
        (["--delta", "1"], "delta must be in [0, 1), got 1.0"),
        (["--lam", "small"], "lam must be a finite number > 0 or \"auto\", got 'small'"),
        (["--R", "0.01"], "rows beyond it"),
        (["--label", "ill"], "label must be a column of people.csv"),
        (["--data", "nowhere.csv"], "No such file or directory"),
        (["--accounting", "classical"], "epsilon < 1 only"),
        (["--colour", "red"], "No such option"),
    ],
)
def test_bad_arguments_end_in_one_sentence_and_code_2(capsys, csv, change, message):
    code, out, err = call(capsys, *SOLVE, "--data", csv, *change)
    assert code == 2 and out == "" and message in err and "Traceback" not in err


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "must be a CSV table"),
        ("a,sick\n1,1\n1,2,3,4\n", "must be a CSV table"),
        ("a,sick\nx,1\ny,-1\n", "column 'a' of people.csv must hold a number in every row"),
        ("a,sick\n0.5,1\n,-1\n", "column 'a' of people.csv must hold a number in every row"),
        ("a,sick\n0.5,yes\n0.2,no\n", "column 'sick' of people.csv must hold a number in every row"),
        ("a,sick\n0.5,1\n", "people.csv must hold at least 2 records, got 1"),
        ("sick\n1\n-1\n", "people.csv must have a label and at least one feature, separated by commas, got one column"),
        ("a,sick\n0.5,0\n0.2,1\n", "y must be -1 or +1 for logistic loss, got 0"),
    ],
)
def test_bad_files_end_in_one_sentence_and_code_2(capsys, csv, content, message):
    csv.write_text(content)
    code, _, err = call(capsys, *SOLVE, "--data", csv)
    assert code == 2 and message in err and err.count("\n") == 1


def test_run_writes_the_table(capsys, tmp_path):
    chosen = dpcore.Experiment(source="synthetic", n=100, sweep=dpcore.Axis("epsilon", (0.5, 1.0)), repetitions=2)
    (tmp_path / "e.json").write_text(chosen.to_json())
    code, out, _ = call(capsys, "run", tmp_path / "e.json", "-o", tmp_path / "out.csv", "--json")
    assert code == 0 and json.loads(out)["rows"] == 4 and json.loads(out)["digest"] == chosen.digest()
    written, table = pd.read_csv(tmp_path / "out.csv"), dpcore.run(chosen)
    assert np.allclose(written["mean"], table["mean"], rtol=1e-12)
    (tmp_path / "e.json").write_text('{"source": "moon"}')
    code, _, err = call(capsys, "run", tmp_path / "e.json", "-o", tmp_path / "out.csv")
    assert code == 2 and "source must be one of" in err


@pytest.mark.parametrize("text", ['{"sweep": {"name": "epsilon"}}', '{"sweep": 3}', '{"mechanisms": 3}', '{"n": "x"}'])
def test_malformed_experiments_end_in_one_sentence(capsys, tmp_path, text):
    (tmp_path / "e.json").write_text(text)
    code, _, err = call(capsys, "run", tmp_path / "e.json", "-o", tmp_path / "out.csv")
    assert code == 2 and err.startswith("Error: ") and "must be" in err


def test_warm_names_what_it_compiled(capsys):
    facts = json.loads(call(capsys, "warm", "--json")[1])
    assert {f"{key} with logistic" for key in dpcore.list_mechanisms()} <= set(facts["pieces"])
