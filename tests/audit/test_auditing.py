"""What an audit is: its pair and score, its game, its report, and the command that prints it."""

import dataclasses as dc
import json
import math

import numpy as np
import pytest

import dpcore
from dpcore import Audit, Budget, Domain, Spec
from dpcore.__main__ import main
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.audit import certificates, game
from dpcore.audit.certificates import Certificate
from dpcore.audit.game import worst_plan
from dpcore.audit.target import correct_target
from dpcore.mechanisms.noise.rounding import on_grid
from tests.audits import KEYS, OBJECTIVE, REASONS, plan_for
from tests.problems import ADDING, LINEAR

every_mechanism = pytest.mark.parametrize("key", KEYS)


# The pair and the score


@pytest.mark.pairwise
@pytest.mark.parametrize("p", [1, 7])
@pytest.mark.parametrize("R, y_max", [(1.0, 1.0), (0.5, 3.0)])
@pytest.mark.parametrize(
    "key, loss", [(k, name) for k in ADDING for name in LINEAR if k not in OBJECTIVE or name not in REASONS]
)
def test_the_worst_pair_is_one_replaced_record_and_moves_the_model_as_far_as_is_said(key, loss, R, y_max, p):
    lam = 1e4
    spec = Spec(loss, 10, p, lam, Domain(R=R, y_max=y_max))
    plan = dpcore.make_mechanism(key).calibrate(spec, Budget(1.0, 1e-5))
    zero, one = plan.mechanism.worst_pair(plan)
    for data in (zero, one):
        data.check_domain(spec.domain)
        assert data.n == 10 and data.p == p
    differs = np.any(zero.X != one.X, axis=1) | (zero.y != one.y)
    assert differs.sum() == 1
    attained = Audit(plan).sensitivity_share
    # Hinges and Huber loss stay on a linear part; logistic loss has slope 1/2; squared loss is nearly at its steepest,
    # except at the start of a descent, from where it grows up to the end of the ball.
    n_lam = 10 * lam
    squared = n_lam / (n_lam + 2 * R**2) / (1 + R * math.sqrt(2 / lam))
    if key.startswith("noisy"):
        squared = y_max / (y_max + spec.theta_norm * R)
    expected = {"logistic": 0.5, "squared": squared}.get(loss, 1.0)
    assert attained == pytest.approx(expected, rel=3e-3) and attained <= 1.0


# The game


def test_every_run_is_one_release_of_the_real_code_with_fresh_noise(monkeypatch):
    """Shares of heads and of changes miss half by over 4.9 standard deviations with probability 1e-6 each."""
    plan, calls = plan_for("output_gaussian"), []
    real = type(plan.mechanism).release_many

    def watched(self, used, prepared, rngs):
        found = real(self, used, prepared, rngs)
        calls.append((used, prepared.theta[0] > 0, found[:, 0] - prepared.theta[0]))
        return found

    monkeypatch.setattr(type(plan.mechanism), "release_many", watched)
    audit = Audit(plan)
    audit.play(1_500)
    audit.play(500)
    bits, noise = np.concatenate(audit._bits), np.concatenate([each for *_, each in calls])
    assert audit.runs == len(noise) == len(set(noise)) == 2_000 and {used for used, *_ in calls} == {plan}
    assert sum(len(each) for _, one, each in calls if one) == bits.sum() == len(audit.scores.ones), "heads run on D1"
    for share in (np.mean(bits), np.mean(np.diff(bits.astype(int)) != 0)):
        assert abs(share - 0.5) < 4.9 * 0.5 / math.sqrt(1_999)


def test_what_is_scored_lies_on_the_grid_of_its_noise():
    """Of every mechanism that adds noise to what is seen."""
    for key in dpcore.list_mechanisms():
        plan = worst_plan(key)
        target = correct_target(plan, plan, plan.mechanism.worst_pair(plan))
        seen = target.release(target.sides[0], [np.random.default_rng(k) for k in range(3)])
        resolution = plan.mechanism.seen_resolution(plan)
        assert np.array_equal(seen, on_grid(seen, resolution))
        if resolution:
            assert not np.array_equal(seen, on_grid(seen, 2.0 * resolution)), "a grid twice as wide"


@every_mechanism
def test_the_runs_that_choose_a_threshold_are_not_those_that_certify(key, monkeypatch):
    halves = []

    def certify(*given):
        halves[:] = given[:2]
        return Certificate("any", "any", 0.0, 0.0, 1.0)

    for name in ("attacker", "pure", "curve", "point"):
        monkeypatch.setattr(certificates, name, certify)
    dpcore.run_audit(key, runs=1_001)
    first, second = (np.concatenate([half.zeros, half.ones]) for half in halves)
    assert (len(first), len(second)) == (500, 501)
    # Draws have few scores, so that the halves share values without sharing runs.
    assert len(set(first) & set(second)) < (10 if key in ADDING else 40)


@every_mechanism
def test_an_audit_repeats_by_seed_in_any_batch_and_differs_between_seeds(key, monkeypatch):
    first, batched, other = (Audit(key, seed=seed) for seed in (3, 3, 4))
    for audit in (first, other):
        audit.play(401)
    assert not np.array_equal(first.scores.ones, other.scores.ones)
    monkeypatch.setattr(game, "_BATCH_NUMBERS", 100 * first.plan.steps)
    batched.play(401)
    assert np.array_equal(first.scores.ones, batched.scores.ones)
    assert np.array_equal(first.scores.zeros, batched.scores.zeros)


# Reports, arguments, the command line


def test_the_report_says_what_was_tested_and_no_more():
    report = dpcore.run_audit("output_gaussian", runs=2_000)
    assert report.sentence.startswith("No contradiction found; certified lower bound epsilon = ")
    assert "claimed 1" in report.sentence and "never evidence" in report.sentence
    assert report.claim == "(epsilon = 1, delta = 1e-05)-private by 0.268051-GDP"
    assert [c.name for c in report.certificates] == ["sensitivity", "attacker", "curve", "point"]
    assert report.certificates[2].limit == gaussian_mu(Budget(1.0, 1e-5))
    gamma = dpcore.run_audit("output_gamma", runs=2_000)
    assert gamma.claim == "(epsilon = 1, delta = 0)-private by randomised response at epsilon = 1"
    assert [c.name for c in gamma.certificates] == ["sensitivity", "attacker", "pure", "point"]
    assert [c.limit for c in gamma.certificates[2:]] == [1.0, 1.0]
    half = dpcore.run_audit(plan_for("output_gaussian", "logistic"), runs=2_000)
    assert "50%" in half.sentence and "%" not in report.sentence.replace("(95%)", "")
    broken = dpcore.run_audit("output_gamma", runs=20_000, bug="halved_noise")
    for part in ("99.9% confidence", broken.claim, "refuted by attacker and pure and point"):
        assert part in broken.sentence
    assert "pass" not in broken.sentence


def test_the_verdict_is_suspicious_between_the_two_confidences():
    report = dpcore.run_audit("output_gaussian", runs=100)
    between = Certificate("curve", "1-GDP", 1.2, 0.9, 1.0, 3.0, 2.5)
    report = dc.replace(report, certificates=(between,))
    assert report.verdict == "suspicious" and all(word in report.sentence for word in ("curve", "95%", "99.9%"))
    assert "never evidence" in report.sentence
    assert (report.certified_epsilon_95, report.certified_epsilon_999) == (3.0, 2.5)
    for certificate, verdict in (
        (dc.replace(between, shown=1.0), "no contradiction found"),
        (dc.replace(between, flagged=1.1), "contradicted"),
    ):
        assert dc.replace(report, certificates=(certificate,)).verdict == verdict


def test_the_report_is_plain_json():
    report = dpcore.run_audit("output_gamma", runs=1_000, seed=7, bug="fixed_seed")
    facts = json.loads(report.to_json())
    for name in ("claim", "runs", "seed", "bug", "sensitivity_share"):
        assert facts[name] == getattr(report, name)
    assert facts["attack"] == report.term == "sensitivity"
    assert facts["mechanism"] == report.plan.mechanism.key == "output_gamma"
    for name in ("certified_epsilon_95", "certified_epsilon_999", "verdict", "sentence"):
        assert facts[name] == getattr(report, name)
    assert facts["spec"]["loss"] == "huber_hinge" and facts["scale"] == report.plan.scale
    assert facts["requested"] == {"epsilon": 1.0, "delta": 1e-5} and facts["spent"] == {"epsilon": 1.0, "delta": 0.0}
    assert facts["knobs"] == {"accounting": "tight"} and facts["comparisons"] == 1
    assert [c["name"] for c in facts["certificates"]] == [c.name for c in report.certificates]


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    code = 0
    try:
        main(["audit", *map(str, arguments)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_command_prints_the_report_and_its_exit_code_is_the_verdict(capsys):
    report = dpcore.run_audit("output_gamma", runs=3_000, seed=2)
    code, out, _ = call(capsys, "output_gamma", "--runs", 3_000, "--seed", 2)
    assert code == 0 and out.startswith(report.sentence)
    for c in report.certificates:
        assert f"{c.name:12s} {c.shown:10.4f} {c.flagged:10.4f} {c.limit:10.4f}  {c.tests}" in out
    code, out, _ = call(capsys, "output_gamma", "--runs", 3_000, "--seed", 2, "--json")
    assert code == 0 and json.loads(out) == json.loads(report.to_json())
    code, out, _ = call(capsys, "output_gamma", "--bug", "halved_noise", "--json")
    assert code == 1 and json.loads(out)["verdict"] == "contradicted"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["oracle"], "mechanism must be one of"),
        (["output_gamma", "--runs", 5], "runs must be an integer >= 100, got 5"),
        (["output_gamma", "--bug", "x"], "one of halved_noise"),
        (["output_gamma", "--bug", "variance_as_deviation"], "needs noise with a standard deviation, got gamma"),
    ],
)
def test_bad_input_ends_in_one_sentence_and_code_2(capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert code == 2 and out == "" and message in err and err.count("\n") == 1
