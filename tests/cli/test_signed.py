"""The release of a briefing: that of the plan signed, once, and from no other file, key or plan."""

from __future__ import annotations

import dataclasses as dc
import json
import re
import subprocess
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpcore
from dpcore import Problem, make_mechanism
from dpcore.cli.signed import KEY_VARIABLE
from dpcore.data import Category, Declared, UploadedRecords, load, read_table
from dpcore.mechanisms import api
from dpcore.mechanisms.signed import EarlierReleases, SignedPlan, keyed_digest
from tests.briefings import KEY, PEOPLE, PERSON, ledger, own_records, signed, specimen, to_sign
from tests.cli.test_cli import call
from tests.upload_page import people


@pytest.fixture()
def given(tmp_path, monkeypatch):
    """Words of a run from a folder with the file, the briefing and the key."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    (tmp_path / "of next month.csv").write_bytes(PEOPLE)
    (tmp_path / "briefing.json").write_text(to_sign(signed()).to_json(), encoding="utf-8")
    (tmp_path / "briefing.key").write_text(f"{KEY}\n")
    monkeypatch.chdir(tmp_path)
    return ["solve", "--plan", "briefing.json", "--data", "of next month.csv", "--key-file", "briefing.key"]


@pytest.fixture()
def entropy(monkeypatch):
    """Replaces the operating system's random bits by known ones; a call rewinds them and returns how many were read."""
    read, bits = 0, np.random.default_rng(5)

    def known(size: int) -> bytes:
        nonlocal read
        read += size
        return bits.bytes(size)

    def rewind() -> int:
        nonlocal read, bits
        before, read, bits = read, 0, np.random.default_rng(5)
        return before

    monkeypatch.setattr("dpcore.mechanisms.output.gaussian.os", SimpleNamespace(urandom=known))
    return rewind


LEDGER = "of next month.csv.ledger.json"


def beside(folder, name: str = "briefing.released.json") -> dict[str, Any]:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_the_release_is_that_of_the_plan_on_the_page_and_learns_from_all_rows(capsys, given, entropy, tmp_path):
    code, out, err = call(capsys, *given, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and entropy() > 0 and facts["seeded"] is False
    held, plan = own_records(), signed().plan()
    train, everything = load(held.key, 70, 3, 7).train, held.first(100, 7)
    assert np.array_equal(everything.X[:70], train.X) and np.array_equal(everything.y[:70], train.y)
    assert plan.spec.n == everything.n == facts["n"] == 100
    same = api.release_once(plan, everything)
    assert facts["theta"] == same.theta.tolist() and facts["spent"] == {"epsilon": 1.0, "delta": 1e-6}
    assert facts["plan"] == signed().fingerprint and facts["columns"] == ["age", "dose", "constant 1"]
    model = beside(tmp_path)
    assert model.items() <= facts.items() and model["divisor"] == np.sqrt(3.0) and "sqrt(3)" in model["scaling"]
    assert model["declared"]["label"] == "sick" and model["declared"]["positive"] == "yes"
    assert [(c["name"], c["smallest"], c["largest"]) for c in model["declared"]["columns"]] == [
        ("age", 0.0, 101.0),
        ("dose", 0.0, 1.0),
    ]
    assert model["mechanism"] == "output_gaussian" and model["version"] == dpcore.__version__
    assert datetime.fromisoformat(model["made"]).tzinfo is UTC
    (entry,) = beside(tmp_path, LEDGER)["releases"]
    assert entry["plan"] == model["plan"] and (entry["epsilon"], entry["delta"], entry["rows"]) == (1.0, 1e-6, 100)
    assert facts["total"] == facts["spent"]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".json", ".json", ".key"]


def test_a_smaller_n_is_kept():
    held, mechanism = own_records(), make_mechanism("output_gaussian")
    problem = Problem(held.key, n=60, seed=7)
    plan = SignedPlan.of(problem, mechanism, 1.0, held, signed().digest, **PERSON)
    assert plan.release(PEOPLE, KEY).plan.spec.n == 60


def test_the_scaling_told_is_the_one_of_the_records(capsys, tmp_path, monkeypatch):
    content = re.sub(rb'"Doe, \d*(\d)"', rb"ward \1", PEOPLE)
    declared = Declared(
        ("age",), (0.0,), (101.0,), "yes", categories=(Category("name", tuple(f"ward {i}" for i in range(10))),)
    )
    held = UploadedRecords(read_table(content, "people.csv", "sick"), declared, "people.csv")
    assert np.allclose(np.linalg.norm(held.first(100, 0).X.toarray()[:, 1:], axis=1), np.sqrt(2 / 3))
    mechanism, digest = make_mechanism("output_gaussian"), keyed_digest(content, KEY)
    plan = SignedPlan.of(Problem(held.key, n=70, p=12), mechanism, 1.0, held, digest, **PERSON)
    (tmp_path / "people.csv").write_bytes(content)
    (tmp_path / "briefing.json").write_text(to_sign(plan).to_json(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    code, out, _ = call(capsys, "solve", "--plan", "briefing.json", "--data", "people.csv")
    assert code == 0 and "all over sqrt(3)" in out and "sqrt(p)" not in out and len(out.splitlines()) == 4 + 12


def test_a_second_run_needs_again_and_adds_up_what_is_spent(capsys, given, tmp_path):
    code, out, _ = call(capsys, *given)
    assert code == 0 and signed().fingerprint in out and "spent epsilon = 1" in out
    first = beside(tmp_path)
    code, out, err = call(capsys, *given)
    assert (code, out) == (2, "") and "--again" in err and "it was made" in err and beside(tmp_path) == first
    code, out, err = call(capsys, *given, "--again", "--json")
    assert code == 0 and err.startswith("Warning: 1 planned")
    second = beside(tmp_path, "briefing.released-2.json")
    assert beside(tmp_path) == first and second["theta"] != first["theta"]
    assert 1.0 < json.loads(out)["total"]["epsilon"] < 2.0 and json.loads(out)["total"]["delta"] == 2e-6


@pytest.mark.parametrize(("known", "told"), [(None, "0 earlier"), (1, "1 earlier"), (2, ""), (3, "")])
def test_releases_that_the_plan_does_not_count_are_told_before_another_one(capsys, given, tmp_path, known, told):
    beside = dc.replace(ledger(2), file="of next month.csv")
    (tmp_path / LEDGER).write_text(beside.to_json())
    earlier = None if known is None else EarlierReleases(known, None)
    text = to_sign(dc.replace(signed(), earlier=earlier)).to_json()
    (tmp_path / "briefing.json").write_text(text, encoding="utf-8")
    code, _, err = call(capsys, *given)
    assert code == 0 and err.count("\n") == bool(told)
    assert not told or (err.startswith("Warning: the plan was signed with " + told) and f"{LEDGER} has 2" in err)


def test_a_copy_of_the_plan_in_another_folder_is_no_second_plan(capsys, given, tmp_path):
    assert call(capsys, *given)[0] == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "copy.json").write_bytes((tmp_path / "briefing.json").read_bytes())
    words = [*given[:2], str(other / "copy.json"), *given[3:]]
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "") and LEDGER in err and "--again" in err and [*other.iterdir()] == [other / "copy.json"]


@pytest.mark.parametrize("content", ["", '{"plan": "x", "theta": nu', '{"plan": "x", "theta": null}', "[]"])
def test_a_file_that_is_not_whole_counts_as_made(capsys, given, tmp_path, content):
    (tmp_path / "briefing.released.json").write_text(content)
    code, out, err = call(capsys, *given)
    assert (code, out) == (2, "") and "a release was begun and not finished; treat it as made" in err
    assert not (tmp_path / LEDGER).exists()


def test_a_fingerprint_of_128_bits_covers_everything():
    plan = signed()
    assert re.fullmatch("([0-9a-f]{4}-){7}[0-9a-f]{4}", plan.fingerprint)
    document = plan.document()
    others = {"seed": 8, "file": "b", "label": "b", "form": None, "digest": "b", "version": "9.9.9"}
    others |= {"releases": 9, "records_per_person": 2, "unit": "b", "arguments": {}, "calibrated": {}}
    others |= {"earlier": {"number": 1, "total": {"epsilon": 1.0, "delta": 0.0}}}
    others["declared"] = document["declared"] | {"after_looking": ["age"]}
    assert set(others) == set(document)
    prints = set()
    for name, value in others.items():
        read = SignedPlan.read(document | {name: value})
        prints.add(read.fingerprint)
    assert len(prints | {plan.fingerprint}) == len(others) + 1


def changed(**what: object) -> str:
    document = to_sign(signed()).document()
    for path, value in what.items():
        place = document["release"]
        *outer, last = path.split("__")
        for name in outer:
            place = place[name]
        place[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("of next month.csv", PEOPLE.replace(b"yes", b"no", 1), "another file or another key"),
        ("of next month.csv", PEOPLE + b"\n", "another file or another key"),
        ("briefing.key", b"a0" * 32, "another file or another key"),
        ("briefing.key", b"short", "key must be 64"),
        ("briefing.json", changed(arguments__epsilon=8.0).encode(), "changed since"),
        ("briefing.json", changed(declared__high=[200.0, 1.0]).encode(), "changed since"),
        ("briefing.json", changed(releases=9).encode(), "changed since"),
        ("briefing.json", changed(records_per_person=2).encode(), "changed since"),
        ("briefing.json", changed(seed=-1).encode(), "seed must be"),
        ("briefing.json", changed(releases=True).encode(), "releases must be"),
        ("briefing.json", changed(form={"encoding": "utf-8-sig"}).encode(), "as a briefing writes it"),
        ("briefing.json", changed(unit="visit").encode(), "changed since"),
        ("briefing.json", changed(earlier={"number": 0, "total": None}).encode(), "changed since"),
        ("briefing.json", changed(earlier={"number": -1, "total": None}).encode(), "number must be"),
        ("briefing.json", changed(earlier={"total": None}).encode(), "as a briefing writes it"),
        ("briefing.json", changed(more=1).encode(), "release must have"),
        ("briefing.json", specimen().to_json().encode(), "without a file"),
        ("briefing.json", b"[]", "must be a briefing's JSON"),
        ("briefing.json", b"no JSON", "must be JSON"),
    ],
    ids=range(19),
)
def test_another_file_key_or_plan_is_refused_and_nothing_is_spent(capsys, given, tmp_path, file, content, said):
    (tmp_path / file).write_bytes(content)
    code, out, err = call(capsys, *given)
    assert (code, out, err.count("\n")) == (2, "", 1) and said in err
    assert KEY not in err and len([*tmp_path.iterdir()]) == 3


def test_a_version_that_finds_another_plan_is_refused(capsys, given, tmp_path):
    plan = signed()
    other = dc.replace(plan, calibrated=plan.calibrated | {"scale": 0.999 * plan.calibrated["scale"]})
    document = to_sign(plan).document() | {"release": other.document(), "signing": {"fingerprint": other.fingerprint}}
    (tmp_path / "briefing.json").write_text(json.dumps(document))
    code, _, err = call(capsys, *given)
    assert code == 2 and "scale must be" in err and "as signed" in err


def test_a_release_that_is_refused_is_not_counted(capsys, given, tmp_path, monkeypatch):
    claims = []

    def refuse(*_: object, **__: object) -> None:
        claims.append((beside(tmp_path), beside(tmp_path, LEDGER)["releases"]))  # before any noise is drawn
        raise ValueError("no such records")

    with monkeypatch.context() as patch:
        patch.setattr(api, "release_once", refuse)
        assert call(capsys, *given)[0] == 2 and not (tmp_path / "briefing.released.json").exists()
        assert "treat it as made" in claims[0][0]["state"] and len(claims[0][1]) == 1
    assert beside(tmp_path, LEDGER)["releases"] == []
    call(capsys, *given)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(api, "release_once", refuse)
        assert call(capsys, *given, "--again")[0] == 2 and len(claims[1][1]) == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_release_that_ends_by_chance_is_counted_and_is_not_tried_again(capsys, given, tmp_path, monkeypatch):
    """Whether a minimiser is certified may depend on the noise."""

    def fail(*_: object, **__: object) -> None:
        raise dpcore.Unconverged("no certificate")

    with monkeypatch.context() as patch:
        patch.setattr(api, "release_once", fail)
        assert call(capsys, *given)[0] == 2
    assert len(beside(tmp_path, LEDGER)["releases"]) == 1 and "treat it as made" in beside(tmp_path)["state"]
    assert call(capsys, *given)[0] == 2 and len(beside(tmp_path, LEDGER)["releases"]) == 1


def test_the_key_comes_from_the_environment_and_is_asked_for(capsys, given, monkeypatch):
    words = given[:-2]
    code, _, err = call(capsys, *words)
    assert code == 2 and KEY_VARIABLE in err and "--key-file" in err
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    assert call(capsys, *words)[0] == 0
    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda text, hide_input, err: KEY if hide_input else "")
    assert call(capsys, *words, "--again")[0] == 0


def test_what_belongs_to_a_plan_needs_one(capsys, given):
    needed = {"KEY": ["output_gaussian"], "--epsilon": ["--epsilon", "1"], "--R": ["--R", "1"]}
    words = ["solve", *given[3:5], "--label", "sick"]
    for name in needed:
        others = [word for other, two in needed.items() if other != name for word in two]
        code, _, err = call(capsys, *words, *others)
        assert code == 2 and "Missing" in err and name in err
    code, _, err = call(capsys, *words, "output_gaussian", "--epsilon", 1, "--R", 1, "--again")
    assert code == 2 and "--again" in err and "without --plan" in err


def test_no_release_from_copies_of_records_can_be_signed():
    held, mechanism = own_records(), make_mechanism("output_gaussian")
    with pytest.raises(ValueError, match="n must be at most the file's 70 training records, got 71"):
        SignedPlan.of(Problem(held.key, n=71), mechanism, 1.0, held, signed().digest, **PERSON)


@pytest.mark.parametrize("key", ["objective_gamma", "noisy_gd", "noisy_sgd"])
def test_every_way_gives_the_problem_s_plan(key):
    held, mechanism = own_records(), make_mechanism(key)
    problem = Problem(held.key, n=60, delta=0.0 if key == "objective_gamma" else 1e-6)
    plan = SignedPlan.of(problem, mechanism, 2.0, held, signed().digest, **PERSON)
    assert SignedPlan.read(json.loads(json.dumps(plan.document()))).plan() == problem.plan(mechanism, 2.0)


def test_the_digest_is_openssl_s_and_changes_with_key_and_file(tmp_path):
    (tmp_path / "people.csv").write_bytes(PEOPLE)
    digests = {signed().digest, signed("a0" * 32).digest, signed(content=people(100, seed=1)).digest}
    assert len(digests) == 3
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{KEY}", "people.csv"]
    try:
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert said.split()[-1] == signed().digest
