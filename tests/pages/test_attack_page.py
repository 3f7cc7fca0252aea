"""The page Audit: its sentence, bars, controls and code, in the default state and in random ones."""

from __future__ import annotations

import base64
import dataclasses as dc
import json
import re
import threading

import numpy as np
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import Budget, NotApplicable
from dpcore.audit import all_versions
from dpcore.audit.attacks import attacks_of, get_attack
from dpcore.audit.bugs import BUGS
from dpcore.audit.game import Audit, worst_plan
from pages.audit import words
from pages.background.asking import SHOWN
from pages.background.jobs import Job
from pages.ui.numbers import rounded
from tests.chunks import fixed
from tests.page_driver import charts, finished, open_script, said, shown, tells, texts

CLAIM = Budget(1.0, 1e-6)
PAGE = "audit/page.py"


def job_of(page: AppTest) -> Job:
    ((job, _),) = page.session_state[SHOWN].values()
    return job


def open_page(**state) -> AppTest:
    """Once its last run is in; not to be moved."""
    return shown(PAGE, **state)


def figure(page: AppTest, titled: str) -> dict:
    """The chart whose axis has this title."""
    found = [json.loads(chart["figure"]) for chart in charts(page).values()]
    return next(f for f in found if f["layout"]["xaxis"].get("title", {}).get("text", "").startswith(titled))


def numbers(array) -> np.ndarray:
    """As plotly packs them."""
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
    return np.array(array, float)


def report_of(version: str | None, *, key="output_gaussian", runs=20_000, seed=7, budget=CLAIM, shown=None, term=None):
    term = term or attacks_of(key)[0].term
    plan = worst_plan(key, version, budget, attack=term)
    shown = shown or len(next(all_versions.TrialsQuestion(key, budget, runs, seed).snapshots()).versions)
    return dpcore.run_audit(plan, runs=runs, seed=seed, bug=version, comparisons=2 * shown, attack=term)


def test_the_default_state_teaches_without_a_click():
    page = open_page()
    assert not page.error
    broken, correct = report_of("missing_factor_2"), report_of(None)
    assert tells(said(page), "Contradicted with 99.9% confidence", "bug “a factor 2 is missing” leaks")
    assert tells(said(page), f"ε = {rounded(broken.certified_epsilon_999)}; ", "claims ε = 1.")
    assert tells(said(page), f"right {100 * broken.attack_success:.1f} ± ", " times in 100")
    assert f"the claimed noise allows {100 * broken.attack.limit:.1f}." in said(page)
    pale, dark = figure(page, "certified")["data"]
    bars = dict(zip(job_of(page).answer.snapshot.versions, numbers(pale["x"]), strict=True))
    assert bars["missing_factor_2"] == broken.certified_epsilon_95 > 1.5
    assert bars[None] == correct.certified_epsilon_95 < 1.0
    assert numbers(dark["x"])[0] == correct.certified_epsilon_999
    assert BUGS["missing_factor_2"].sentence in texts(page)
    limit, _, before, now, mark = figure(page, "false alarms")["data"]
    curve, standings = job_of(page).answer.snapshot.curves[None], job_of(page).answer.snapshot.standings
    assert np.array_equal(numbers(limit["y"]), curve.missed(np.array(numbers(limit["x"]))))
    assert np.array_equal(numbers(now["y"]), standings["missing_factor_2"].missed)
    assert np.array_equal(numbers(before["y"]), standings[None].missed)
    x, y = numbers(mark["x"])[0], numbers(mark["y"])[0]
    assert y < curve.missed(np.array([x]))[0], "what is certified lies in the forbidden region"


def test_a_bug_shows_to_the_attack_that_reaches_its_term_and_the_page_says_to_which():
    unseen = open_page(mechanism="phased_sgd", version="noise_falls_by_8", runs=1_000)
    assert "No contradiction found" in said(unseen)
    reaches = get_attack("phased_sgd", "first_phase").reaches
    assert f"This attack tests {reaches}; the bug shows to the attack “last phase”." in texts(unseen)
    seen = open_page(mechanism="phased_sgd", version="noise_falls_by_8", runs=1_000, attack_phased_sgd="last_phase")
    assert said(seen).startswith("Contradicted with 99.9% confidence")
    assert "this bug shows to" not in texts(seen)
    shown = len(job_of(seen).answer.snapshot.versions)
    found = report_of("noise_falls_by_8", key="phased_sgd", runs=1_000, shown=shown, term="last_phase")
    assert job_of(seen).answer.snapshot.standings["noise_falls_by_8"].report.facts() == found.facts()


def test_a_pass_is_never_called_a_proof():
    page = open_page(version=words.CORRECT)
    assert said(page).startswith("No contradiction found in 20,000 runs of the correct code: ")
    assert tells(said(page), "claims ε = 1,", "at least ε = ")
    assert "no proof" in said(page)
    assert not re.search(r"\bis private\b|\bproves\b|\bsafe\b|\bsecure\b", said(page) + texts(page).lower())


def test_fewer_runs_leave_a_small_fault_unseen_and_more_see_it():
    """One fixed seed."""
    few = open_page(version="noise_at_80_percent", runs=1_000)
    assert "No contradiction found" in said(few)
    many = open_page(version="noise_at_80_percent", runs=20_000)
    assert said(many).startswith("Contradicted with 99.9% confidence")


def test_a_bug_that_does_not_apply_says_why_and_the_correct_code_is_shown():
    page = open_page(version="wrong_gamma_shape", behind="Assumptions")
    assert tells(said(page), "does not apply to this mechanism (it needs", "20,000 runs of the correct code")
    assert "wrong Gamma shape: wrong gamma shape needs" in texts(page)


def test_a_mechanism_without_an_audit_says_why(monkeypatch):
    def refuse(*arguments, **asked):
        raise NotApplicable("no pair is known for lam = 0")

    monkeypatch.setattr(all_versions, "worst_plan", refuse)
    page = open_script(PAGE, seed=13)
    assert not page.exception and said(page) == "No audit here: no pair is known for λ = 0."


def test_while_runs_are_coming_only_the_bet_speaks(monkeypatch):
    passes, play = threading.Semaphore(1), Audit.play

    def held(audit, runs):
        assert passes.acquire(timeout=60)
        play(audit, runs)

    monkeypatch.setattr(Audit, "play", held)
    monkeypatch.setattr(all_versions, "ChunkSizer", fixed(500))
    page = open_script(PAGE, seed=11, version=words.CORRECT)
    try:
        assert tells(said(page), "No contradiction", "so far", "correct code", "proves nothing", " 500 of 20,000 runs")
        assert np.isnan(numbers(figure(page, "certified")["data"][0]["x"])).all()
        assert "500 of 20,000 are done" in texts(page) and "ε ≥" not in texts(page)
        old = job_of(page)
        page.select_slider(key="runs").set_value(10_000).run()
        assert job_of(page) is not old and old.rests
    finally:
        passes.release(10_000)
    finished(page)
    assert "10,000 runs of the correct code" in said(page)


def test_an_error_is_said(monkeypatch):
    def fail(audit, runs):
        raise RuntimeError("no memory for this")

    monkeypatch.setattr(Audit, "play", fail)
    page = finished(open_script(PAGE, seed=12))
    assert "An error" in texts(page)
    job = job_of(page)
    page.run()
    assert job_of(page) is job, "it is not tried again and again"


def here(**changes) -> words.AttackState:
    """The default state with another standing of the picked version."""
    asked, made = job_of(open_page()).answer.question, job_of(open_page()).answer.snapshot
    now = dc.replace(made.standings["missing_factor_2"], **changes)
    shown = dc.replace(made, standings=made.standings | {"missing_factor_2": now})
    return words.AttackState(asked, shown, "missing_factor_2")


def test_the_sentence_has_three_states_whatever_it_rests_on():
    calm = np.full(4, -2.0)
    pairs = np.array([0, 10, 100, 500])
    running = {"report": None, "pairs": pairs, "runs": 1_000}
    assert words.takeaway(here(logs=calm, **running)).startswith("**No contradiction found so far**")
    assert words.takeaway(here(logs=calm + np.array([0, 0, 6, 0]), **running)).startswith(
        "**Suspicious** after 200 runs"
    )
    assert "99.9% confidence after 1,000 runs" in words.takeaway(here(logs=calm + np.array([0, 0, 0, 10]), **running))
    passed = report_of(None)
    assert words.takeaway(here(report=passed, logs=calm)).startswith("**No contradiction found**")
    suspicious = words.takeaway(here(report=passed, logs=calm + np.array([0, 6, 0, 0])))
    assert suspicious.startswith("**Suspicious**") and "refuted by the betting test" in suspicious
    # Gamma noise: what is certified lies below the claim, and how often the attacker is right refutes it.
    short = report_of("noise_at_80_percent", key="output_gamma")
    assert short.certified_epsilon_999 < 1.0 and short.verdict == "contradicted"
    told = words.takeaway(here(report=short, logs=calm))
    assert "breaks its guarantee of **ε = 1**, refuted by its attack success" in told


def test_the_code_repeats_the_audit(capsys):
    page = open_page(behind="Code", version="halved_noise", runs=5_000, epsilon=0.5)
    exec(page.code[0].value, {})
    told, text = capsys.readouterr().out.strip().rsplit("\n", 1)
    facts, report = json.loads(text), job_of(page).answer.snapshot.standings["halved_noise"].report
    assert told == report.sentence and facts == json.loads(report.to_json())
    assert (facts["runs"], facts["seed"], facts["bug"]) == (5_000, 7, "halved_noise")
    assert facts["comparisons"] == job_of(page).answer.snapshot.tests == 2 * len(job_of(page).answer.snapshot.versions)


def test_the_table_holds_every_version_and_why_others_are_missing():
    page = open_page(behind="Data")
    held = job_of(page).answer.snapshot
    made = words.table(words.AttackState(job_of(page).answer.question, held, None)).set_index("version")
    assert set(made.index) == {words.CORRECT, *BUGS}
    assert made.loc["missing_factor_2"].at_least_999 == held.standings["missing_factor_2"].report.certified_epsilon_999
    assert made.not_applicable.notna().sum() == len(held.refused)
