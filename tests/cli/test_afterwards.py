"""Answers of a released model to a file, and the ledger as it is told."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpcore import Problem, make_mechanism
from dpcore.cli.signed import KEY_VARIABLE
from dpcore.data import Category, Declared, UploadedRecords, read_table
from dpcore.mechanisms.signed import SignedPlan, keyed_digest
from tests.briefings import KEY, PERSON, to_sign
from tests.cli.test_cli import call

WARDS = ("north", "south", "7")


def table(rows: int = 80, seed: int = 3) -> bytes:
    rng = np.random.default_rng(seed)
    age, ward = rng.uniform(0, 100, rows).round(1), rng.choice(WARDS, rows)
    sick = np.where(age + 30 * (ward == "7") + rng.normal(0, 10, rows) > 60, "yes", "no")
    lines = [f"{a},{w},{s}" for a, w, s in zip(age, ward, sick, strict=True)]
    return "\n".join(["age,ward,sick", *lines, ""]).encode()


@pytest.fixture(params=["logistic", "huber_hinge"])
def model(request, capsys, tmp_path, monkeypatch):
    """Released model in its folder: its loss and its document."""
    declared = Declared(("age",), (0.0,), (100.0,), "yes", categories=(Category("ward", WARDS),))
    held = UploadedRecords(read_table(table(), "people.csv", "sick"), declared, "people.csv")
    problem, mechanism = Problem(held.key, n=56, loss=request.param), make_mechanism("output_gaussian")
    plan = SignedPlan.of(problem, mechanism, 8.0, held, keyed_digest(table(), KEY), **PERSON)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    (tmp_path / "people.csv").write_bytes(table())
    (tmp_path / "b.json").write_text(to_sign(plan).to_json(), encoding="utf-8")
    assert call(capsys, "solve", "--plan", "b.json", "--data", "people.csv")[0] == 0
    return request.param, json.loads((tmp_path / "b.released.json").read_text())


def by_hand(document: dict, age: float, ward: str) -> float:
    """<x, theta> from nothing but the file's own words."""
    (number,) = [c for c in document["declared"]["columns"] if c["kind"] == "number"]
    theta = dict(zip(document["columns"], document["theta"], strict=True))
    low, high = number["smallest"], number["largest"]
    mapped = 2.0 * (min(max(age, low), high) - low) / (high - low) - 1.0
    return (mapped * theta["age"] + theta[f"ward = {ward}"] + theta["constant 1"]) / document["divisor"]


def test_answers_and_probabilities_are_those_that_the_file_describes(capsys, model, tmp_path):
    loss, document = model
    rows = [(20.0, "north"), (90.5, "7"), (130.0, "south"), (-5.0, "7"), (100.0, "7")]
    lines = [f"x{i};{ward};{str(age).replace('.', ',')}" for i, (age, ward) in enumerate(rows)]
    (tmp_path / "new.csv").write_text("\n".join(["name;ward;age", *lines, "x;west;5,0", "x;north;", ""]))
    code, out, err = call(capsys, "predict", "b.released.json", "new.csv", "--json")
    facts = json.loads(out)
    scores = [by_hand(document, *row) for row in rows]
    assert (code, err) == (0, "") and facts["answer"] == "sick = yes"
    assert facts["answers"] == [*(int(score > 0) for score in scores), None, None]
    assert facts["clipped"] == {"age": 2} and facts["lacking"] == {"age": 1, "ward": 1}
    if loss == "logistic":
        expected = [1.0 / (1.0 + math.exp(-score)) for score in scores]
        assert np.allclose(facts["probabilities"][:-2], expected, rtol=1e-12)
        assert facts["probabilities"][-2:] == [None, None]
    else:
        assert facts["probabilities"] is None
    code, out, err = call(capsys, "predict", "b.released.json", "new.csv")
    head, *lines = out.splitlines()
    assert code == 0 and head == "sick = yes" + ",probability" * (loss == "logistic") and len(lines) == 7
    assert [line.split(",")[0].strip('"') for line in lines] == [*(str(int(score > 0)) for score in scores), "", ""]
    assert err.splitlines() == [
        "Warning: 2 of the values of age are beyond its bounds and were clipped",
        "Warning: 1 of 7 rows have no declared value of age, and no answer",
        "Warning: 1 of 7 rows have no declared value of ward, and no answer",
    ]


def test_the_people_learned_from_are_mostly_answered_rightly(capsys, model):
    _, out, _ = call(capsys, "predict", "b.released.json", "people.csv", "--json")
    truth = [line.endswith(b"yes") for line in table().splitlines()[1:]]
    assert np.mean(np.array(json.loads(out)["answers"]) == truth) > 0.6


def test_one_row_is_answered(capsys, model, tmp_path):
    (tmp_path / "new.csv").write_text("age,ward\n20,north\n")
    code, out, _ = call(capsys, "predict", "b.released.json", "new.csv", "--json")
    assert code == 0 and len(json.loads(out)["answers"]) == 1


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("new.csv", "ward,sick\nnorth,yes\nsouth,no\n", "the file has no column 'age'"),
        ("new.csv", "age,ward\nold,north\nyoung,7\n", "column 'age' holds no numbers"),
        ("b.released.json", '{"plan": "x", "theta": null}', "begun and not finished; treat it as made"),
        ("b.released.json", "[1]", "must be a model that `solve --plan` has released"),
        ("b.released.json", "\x00", "must be a model that `solve --plan` has released"),
        ("b.released.json", {"theta": [1.0]}, "theta must have a number for each of 5 columns, got 1"),
        ("b.released.json", {"theta": [1.0] * 4 + ["1"]}, "theta must be"),
        ("b.released.json", {"divisor": 2.0}, "divisor must be sqrt(3)"),
        ("b.released.json", {"columns": ["a"] * 5}, "theta must have"),
        ("b.released.json", {"declared": {}}, "must be a column dictionary"),
        ("b.released.json", {"loss": "none"}, "loss must be"),
        ("b.released.json", {"spent": {"epsilon": 0.0}}, "epsilon must be"),
    ],
    ids=range(12),
)
def test_another_table_or_model_is_refused_in_one_sentence(capsys, model, tmp_path, file, content, said):
    (tmp_path / "new.csv").write_text("age,ward\n20,north\n30,7\n")
    text = content if isinstance(content, str) else json.dumps(model[1] | content)
    (tmp_path / file).write_text(text)
    code, out, err = call(capsys, "predict", "b.released.json", "new.csv")
    assert (code, out, err.count("\n")) == (2, "", 1) and said in err and file in err


def test_the_ledger_is_told_with_its_total(capsys, model):
    code, out, err = call(capsys, "ledger", "people.csv")
    first, last = out.splitlines()
    assert (code, err) == (0, "") and "epsilon = 8, delta = 1e-06, 80 rows, plan " + model[1]["plan"] in first
    assert last == "1 release from people.csv begun so far, in total epsilon = 8, delta = 1e-06 for one person"
    facts = json.loads(call(capsys, "ledger", "people.csv", "--json")[1])
    assert facts["total"]["delta"] == 1e-6 and facts["releases"][0]["mechanism"] == "output_gaussian"
    code, out, _ = call(capsys, "ledger", "other.csv")
    assert (code, out) == (0, "no release from other.csv was made here\n")
