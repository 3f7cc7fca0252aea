"""Audits: correct mechanisms pass, every built-in fault is found, and the numbers are what they are said to be.

A correct mechanism is contradicted in at most one audit of a thousand, so 20 repeats fail with probability at most 2%
over the choice of seeds; the seeds are fixed. Audits of one mechanism share coins and noise by seed.
"""

import dataclasses as dc
import json
import math

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Budget, Domain, NotApplicable, Plan, Spec, auditing, certificates
from dpcore.__main__ import main
from dpcore.accounting import gaussian_mu
from dpcore.certificates import Certificate
from dpcore.losses import LOSSES
from dpcore.mechanisms import base, mechanism_class
from dpcore.mechanisms.base import Prepared
from dpcore.sabotages import SABOTAGES, get_sabotage
from tests.problems import ADDING, BALL, CHOOSING, LINEAR, LOCATION

KEYS = dpcore.list_mechanisms()
REPEATS = 20
# What objective perturbation does not promise anything for, with words of the reason.
OBJECTIVE = [key for key in KEYS if key.startswith("objective")]
REASONS = {"hinge": "needs a loss without kinks", "squared": "needs a loss with bounded slope"}
# What no mechanism does or is audited on, except descent on all records.
OF_POINTS = dict.fromkeys(LOCATION, "linear prediction")
NO_POINTS = [key for key in KEYS if key not in ("noisy_gd", "ftrl")]
# What claims no whole trade-off curve yet.
NO_CURVE = ("noisy_sgd", "ftrl", "frank_wolfe_polytope")
# Draws from weights, of columns or of vertices: their scores take few values.
DRAWING = [key for key in KEYS if mechanism_class(key)().noise == "gumbel"]
every_mechanism = pytest.mark.parametrize("key", KEYS)


def plan_for(
    key: str, loss: str = "huber_hinge", *, p: int = 3, lam: float = 1e4, epsilon: float = 0.9, **knobs
) -> Plan:
    """A plan under which most losses attain the sensitivity; classical accounting needs epsilon < 1."""
    mechanism = dpcore.make_mechanism(key, **knobs)
    facts = {"lam": 0.0, "radius": 0.4} if key in CHOOSING else {"lam": lam}
    spec = Spec(loss, 10, p, domain=Domain(mechanism.q), set=mechanism.set, **facts)
    return mechanism.calibrate(spec, Budget(epsilon, 1e-5))


def verdicts(plan: Plan, *, runs: int = 20_000, repeats: int = REPEATS, sabotage: str | None = None) -> list[str]:
    return [dpcore.run_audit(plan, runs=runs, seed=seed, sabotage=sabotage).verdict for seed in range(repeats)]


# Few steps, for speed; batches that are smaller than these small data; the lecture's proof is for single records.
KNOBS = {
    ("noisy_gd", "tight"): {"steps": 10},
    ("noisy_sgd", "tight"): {"steps": 10, "batch": 2},
    ("noisy_sgd", "published"): {"batches": "single"},
} | {(key, accounting): {"T": 4} for key in CHOOSING for accounting in ("tight", "published", "published_safe")}


def accountings(key: str) -> tuple[str, ...]:
    (field,) = [f for f in dc.fields(mechanism_class(key)) if f.name == "accounting"]
    return field.metadata["choices"]


# What correct and broken mechanisms get


@pytest.mark.parametrize(
    "key, knobs",
    [("output_gaussian", {"accounting": a}) for a in ("tight", "published", "classical")]
    + [(key, {"p": 1}) for key in ("objective_gaussian", "objective_gamma")]
    + [pytest.param(key, {"p": 3}, marks=pytest.mark.nightly) for key in ("objective_gaussian", "objective_gamma")]
    + [("output_gamma", {"p": 1}), ("output_gamma", {"p": 5}), ("output_gamma", {"p": 5, "accounting": "published"})],
    ids=str,
)
def test_correct_mechanisms_are_never_contradicted_and_halved_noise_always_is(key, knobs):
    """20 seeds each. Halved noise escapes an audit with probability below 1e-6 at these settings."""
    plan = plan_for(key, **knobs)
    assert "contradicted" not in verdicts(plan)
    assert verdicts(plan.weakened(0.5)) == ["contradicted"] * REPEATS


def conformance(runs: int, repeats: int) -> tuple[set[tuple[str, str, str]], dict[tuple[str, str, str], str]]:
    """Every (mechanism, loss, accounting) that was audited, and the reason for every one that was not."""
    audited, excluded = set(), {}
    for key in dpcore.list_mechanisms():
        for loss in LOSSES:
            for accounting in accountings(key):
                case = key, loss, accounting
                try:
                    plan = plan_for(key, loss, accounting=accounting, **KNOBS.get((key, accounting), {}))
                    found = verdicts(plan, runs=runs, repeats=repeats)
                except NotApplicable as error:
                    excluded[case] = str(error)
                    continue
                assert found.count("contradicted") <= stats.binom.isf(1e-7, repeats, 0.001), case
                audited.add(case)
    return audited, excluded


EXCLUDED = {(key, loss, accounting) for key in OBJECTIVE for loss in REASONS for accounting in ("tight", "published")}
EXCLUDED |= {(key, loss, accounting) for key in NO_POINTS for loss in LOCATION for accounting in accountings(key)}
EXCLUDED |= {(key, "linear", accounting) for key in ADDING for accounting in accountings(key)}
EXCLUDED |= {("simplex_sampling", "hinge", accounting) for accounting in accountings("simplex_sampling")}
EXCLUDED |= {("ftrl", loss, accounting) for loss in BALL for accounting in accountings("ftrl")}
EXCLUDED |= {
    (key, loss, accounting) for key in CHOOSING for loss in ("hinge", "linear") for accounting in accountings(key)
}


@pytest.mark.parametrize("repeats", [5, pytest.param(REPEATS, marks=pytest.mark.nightly)])
def test_the_whole_registry_is_audited_and_nothing_is_left_out_silently(repeats):
    """1,000 runs and several seeds for each mechanism, loss and accounting; false alarm below 1e-5 over all of them."""
    audited, excluded = conformance(1_000, repeats)
    assert set(excluded) == EXCLUDED
    for (key, loss, _), reason in excluded.items():
        said = "linear cost" if "linear" in (loss, "linear" if key == "ftrl" else "") else (REASONS | OF_POINTS)[loss]
        assert said in reason or (key == "simplex_sampling" and "bounded second derivative" in reason)
    assert len(audited) + len(excluded) == sum(len(accountings(key)) for key in KEYS) * len(LOSSES)


def test_a_registered_mechanism_without_a_worst_pair_is_noticed(monkeypatch):
    gaussian = mechanism_class("output_gaussian")
    monkeypatch.setattr(gaussian, "worst_pair", base.Mechanism.worst_pair)
    audited, excluded = conformance(100, 1)
    assert not any(key == "output_gaussian" for key, *_ in audited)
    reasons = {reason for (key, loss, _), reason in excluded.items() if key == "output_gaussian" and loss in LINEAR}
    assert reasons == {"output_gaussian has no worst pair and cannot be audited"}
    monkeypatch.undo()
    monkeypatch.setattr(gaussian, "log_ratio", base.Mechanism.log_ratio)
    with pytest.raises(NotApplicable, match="output_gaussian has no log-likelihood ratio and cannot be audited"):
        dpcore.run_audit("output_gaussian", runs=100)


NOT_APPLICABLE = {(f"{family}_gaussian", "wrong_gamma_shape") for family in ("output", "objective")}
NOT_APPLICABLE |= {(f"{family}_gamma", "variance_as_deviation") for family in ("output", "objective")}
NOT_APPLICABLE |= {("noisy_gd", "wrong_gamma_shape"), ("noisy_sgd", "wrong_gamma_shape")}
NOT_APPLICABLE |= {("noisy_gd", "variance_as_deviation")}  # its noise is above 1
NOT_APPLICABLE |= {("frank_wolfe_general", sabotage) for sabotage in ("wrong_gamma_shape", "variance_as_deviation")}
NOT_APPLICABLE |= {(key, sabotage) for key in DRAWING for sabotage in ("wrong_gamma_shape", "variance_as_deviation")}
# Renyi accounting leaves the attacker more room than a fifth of the noise hides: 57.2% where 55.4% is what he gets.
# So do inequalities for the arms of a stream: 56.0% and 55.9%.
UNSEEN = {(key, "noise_at_80_percent") for key in NO_CURVE}
# One seed draws the same columns from both of two laws that are so near one another, and so tells nothing.
UNSEEN |= {(key, "fixed_seed") for key in DRAWING}


@every_mechanism
@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_every_sabotage_is_caught_at_the_default_plan(key, sabotage):
    """Missed with probability below 1e-6; a fifth of the noise takes more runs to be missed.

    Random batches have no curve, whose bound on epsilon is the sharpest.
    """
    if (key, sabotage) in NOT_APPLICABLE:
        with pytest.raises(NotApplicable, match=f"{sabotage} (needs|takes noise away only from a scale below 1)"):
            dpcore.run_audit(key, sabotage=sabotage)
        return
    runs = 20_000
    if sabotage == "noise_at_80_percent" or (key == "objective_gaussian" and sabotage == "variance_as_deviation"):
        # About a fifth is missing; objective perturbation's bound on the attacker is loose.
        runs = 400_000 if key in OBJECTIVE else 130_000
    if (key, sabotage) in UNSEEN:
        assert dpcore.run_audit(key, runs=5_000, sabotage=sabotage).verdict == "no contradiction"
        return
    report = dpcore.run_audit(key, runs=runs, sabotage=sabotage)
    assert report.verdict == "contradicted" and report.sabotage == sabotage
    assert report.certified_epsilon > (0.5 if key in NO_CURVE else 0.9) * report.claimed_epsilon


def test_sabotages_are_what_their_sentences_say():
    """Kolmogorov-Smirnov on 4,000 lengths, false alarm 1e-6; the others change one number."""
    zero = Prepared(np.zeros(4), 0.0)

    def draws(plan: Plan, name: str) -> np.ndarray:
        rng = np.random.default_rng(5)
        release = get_sabotage(name).spoil(plan)
        return release(zero, [rng] * 4_000)

    gamma, gaussian = plan_for("output_gamma", p=4), plan_for("output_gaussian", p=4)
    honest = np.random.default_rng(5).standard_normal((4_000, 4)) * gaussian.scale
    for name, factor in (("halved_noise", 0.5), ("noise_at_80_percent", 0.8), ("lam_of_the_sum", 0.1)):
        assert np.allclose(draws(gaussian, name), factor * honest, rtol=1e-12)
    assert np.allclose(draws(gaussian, "variance_as_deviation"), gaussian.scale * honest, rtol=1e-12)
    assert np.ptp(draws(gamma, "fixed_seed"), axis=0).max() == 0.0
    lengths = np.linalg.norm(draws(gamma, "wrong_gamma_shape"), axis=1) / gamma.scale
    assert stats.kstest(lengths, "expon").pvalue > 1e-6
    assert stats.kstest(lengths, stats.gamma(4).cdf).pvalue < 1e-6
    with pytest.raises(NotApplicable, match="from a scale below 1, got"):
        get_sabotage("variance_as_deviation").spoil(plan_for("output_gaussian", lam=0.1))
    with pytest.raises(NotApplicable, match="p >= 2, got gamma and p = 1"):
        get_sabotage("wrong_gamma_shape").spoil(plan_for("output_gamma", p=1))


def test_the_claim_is_what_was_spent_not_what_the_plan_says_of_its_noise():
    """A fault in calibration shows in the scale and in the ledger alike."""
    for key in KEYS:
        mechanism = dpcore.make_mechanism(key).audited()
        drawing = key in DRAWING  # few draws at a moderate temperature
        plan = mechanism.calibrate(mechanism.worst_spec(), Budget(0.9, 1e-5)) if drawing else plan_for(key)
        event, *others = plan.ledger
        broken = dc.replace(plan.weakened(0.5), ledger=(dc.replace(event, scale=event.scale / 2), *others))
        found = {c.name: c.flagged > c.limit for c in dpcore.run_audit(broken).certificates}
        assert found.pop("sensitivity") is False and found.pop("point") is key.endswith("gamma")
        assert len(found) == (1 if key in NO_CURVE else 2) and all(found.values())
        understated = dc.replace(plan, ledger=(dc.replace(event, sensitivity=event.sensitivity * 0.999), *others))
        refuted = [c.name for c in dpcore.run_audit(understated, runs=1_000).certificates if c.flagged > c.limit]
        assert refuted == ["sensitivity"]


@every_mechanism
@pytest.mark.parametrize("audits", [30, pytest.param(100, marks=pytest.mark.nightly)])
def test_certified_epsilon_is_close_to_the_claim_and_rarely_above_it(key, audits):
    """Audits of correct code. At most 5% are suspicious; more than the limit has probability 1e-6 at 5%."""
    reports = [dpcore.run_audit(key, runs=1_000, seed=seed) for seed in range(audits)]
    limit = stats.binom.isf(1e-6, audits, 0.05)
    assert sum(r.verdict != "no contradiction" for r in reports) <= limit
    assert sum(r.certified_epsilon > r.claimed_epsilon for r in reports) <= limit
    # The attackers that objective perturbation's curve and Renyi accounting allow are stronger than those met here.
    least = {"objective_gaussian": 0.5, "noisy_sgd": 0.25, "ftrl": 0.25, "frank_wolfe_polytope": 0.25}.get(key, 0.7)
    assert dpcore.run_audit(key, runs=50_000).certified_epsilon > least


def test_a_loose_accounting_is_held_to_what_it_spends_not_to_what_was_asked_for():
    for key in ("output_gaussian", "output_gamma"):
        plan = plan_for(key, accounting="published")
        assert plan.spent.epsilon < 0.6 * plan.requested.epsilon
        claims = {c.name: c.limit for c in dpcore.run_audit(plan, runs=100).certificates}
        assert claims["point"] == plan.spent.epsilon
        assert claims["attacker"] == pytest.approx(plan.mechanism.attack_limit(plan), rel=1e-6)
        if key == "output_gaussian":
            assert claims["curve"] == pytest.approx(plan.ledger[0].sensitivity / plan.scale, rel=1e-6)
        else:
            assert claims["guesses"] == plan.spent.epsilon


@pytest.mark.nightly
@pytest.mark.parametrize("key", ["output_gaussian", "output_gamma"])
def test_many_runs_certify_most_of_the_claim_and_see_a_fifth_of_the_noise_missing(key):
    """20 seeds, 130,000 runs; the certified epsilon is 0.88 on average here, 0.03 to 0.05 to either side."""
    reports = [dpcore.run_audit(key, runs=130_000, seed=seed) for seed in range(REPEATS)]
    assert all(r.verdict != "contradicted" and r.certified_epsilon > 0.7 for r in reports)
    assert np.mean([r.certified_epsilon for r in reports]) > 0.85
    plan = dpcore.run_audit(key, runs=100).plan
    assert verdicts(plan, runs=130_000, sabotage="noise_at_80_percent") == ["contradicted"] * REPEATS


def test_the_last_bits_of_a_saturated_score_would_tell_the_data_sets_apart(monkeypatch):
    """Why scores are rounded: unrounded, floating-point error refutes correct Gamma noise in one dimension."""
    plan = plan_for("output_gamma", p=1, epsilon=1.0)
    assert "contradicted" not in verdicts(plan, repeats=5)
    monkeypatch.setattr(auditing, "_SCORE_DECIMALS", 20)
    assert verdicts(plan, repeats=5) == ["contradicted"] * 5


# The pair and the score


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
    report = dpcore.run_audit(plan, runs=100)
    # Hinges and Huber loss stay on a linear part; logistic loss has slope 1/2; squared loss is nearly at its steepest,
    # except at the start of a descent, from where it grows up to the end of the ball.
    n_lam = 10 * lam
    squared = n_lam / (n_lam + 2 * R**2) / (1 + R * math.sqrt(2 / lam))
    if key.startswith("noisy"):
        squared = y_max / (y_max + spec.theta_norm * R)
    expected = {"logistic": 0.5, "squared": squared}.get(loss, 1.0)
    assert report.attained == pytest.approx(expected, rel=3e-3) and report.attained <= 1.0


def test_scores_are_differences_of_log_densities():
    rng = np.random.default_rng(1)
    zero, one = (Prepared(rng.standard_normal(3), 0.0) for _ in range(2))
    outputs = rng.standard_normal((50, 3))
    plan = dc.replace(plan_for("output_gaussian"), scale=0.7)
    density = [stats.multivariate_normal(p.theta, 0.7**2 * np.eye(3)).logpdf(outputs) for p in (zero, one)]
    assert np.allclose(plan.mechanism.log_ratio(plan, zero, one, outputs), density[1] - density[0], atol=1e-12)
    plan = dc.replace(plan_for("output_gamma"), scale=0.7)
    density = [-np.sqrt(((outputs - p.theta) ** 2).sum(axis=1)) / 0.7 for p in (zero, one)]
    assert np.allclose(plan.mechanism.log_ratio(plan, zero, one, outputs), density[1] - density[0], atol=1e-12)


# The game


def test_every_run_is_one_release_of_the_real_code_with_fresh_noise(monkeypatch):
    """Shares of heads and of changes miss half by over 4.9 standard deviations with probability 1e-6 each."""
    plan, calls, tossed = plan_for("output_gaussian"), [], []
    real, play = type(plan.mechanism).release, auditing._play

    def watched(self, used, prepared, rng):
        theta = real(self, used, prepared, rng)
        calls.append((used, prepared.theta[0] > 0, theta[0] - prepared.theta[0]))
        return theta

    def watched_play(*args):
        scores, bits = play(*args)
        tossed.append(bits)
        return scores, bits

    monkeypatch.setattr(type(plan.mechanism), "release", watched)
    monkeypatch.setattr(auditing, "_play", watched_play)
    dpcore.run_audit(plan, runs=2_000)
    used, sides, noise = zip(*calls, strict=True)
    (bits,) = tossed
    assert len(calls) == 2_000 and set(used) == {plan} and len(set(noise)) == 2_000
    assert sum(sides) == bits.sum(), "heads are the runs on D1"
    for share in (np.mean(bits), np.mean(np.diff(bits.astype(int)) != 0)):
        assert abs(share - 0.5) < 4.9 * 0.5 / math.sqrt(1_999)


def test_mechanisms_do_not_share_their_coins(monkeypatch):
    on_one = []
    real = certificates.attacker
    monkeypatch.setattr(certificates, "attacker", lambda s, *a, **k: on_one.append(len(s.ones)) or real(s, *a, **k))
    for key in KEYS:
        dpcore.run_audit(key, runs=5_000)
    assert len(set(on_one)) == len(KEYS)


@every_mechanism
def test_the_runs_that_choose_a_threshold_are_not_those_that_certify(key, monkeypatch):
    halves = []
    real = certificates.point
    monkeypatch.setattr(certificates, "point", lambda a, b, *claim: halves.extend([a, b]) or real(a, b, *claim))
    dpcore.run_audit(key, runs=1_001)
    first, second = (np.concatenate([half.zeros, half.ones]) for half in halves)
    assert (len(first), len(second)) == (500, 501)
    # Draws have few scores, so that the halves share values without sharing runs.
    assert len(set(first) & set(second)) < (10 if key in ADDING else 40)


@every_mechanism
def test_an_audit_repeats_by_seed_in_any_batch_and_differs_between_seeds(key, monkeypatch):
    report = dpcore.run_audit(key, runs=1_001, seed=3)
    assert report == dpcore.run_audit(key, runs=1_001, seed=3)
    assert report.certificates != dpcore.run_audit(key, runs=1_001, seed=4).certificates
    monkeypatch.setattr(auditing, "_BATCH_NUMBERS", 100 * report.plan.steps)
    batched = dpcore.run_audit(key, runs=1_001, seed=3)
    for c, b in zip(report.certificates, batched.certificates, strict=True):
        assert dc.astuple(c) == dc.astuple(b)


# Reports, arguments, the command line


def test_the_report_says_what_was_tested_and_no_more():
    report = dpcore.run_audit("output_gaussian", runs=2_000)
    assert report.sentence.startswith("No contradiction found; certified lower bound epsilon = ")
    assert report.sentence.endswith("claimed 1. A pass is never evidence of privacy.")
    assert report.claim == "(epsilon = 1, delta = 1e-05)-private by 0.268051-GDP"
    assert [c.name for c in report.certificates] == ["sensitivity", "attacker", "curve", "point"]
    assert report.certificates[2].limit == gaussian_mu(Budget(1.0, 1e-5))
    gamma = dpcore.run_audit("output_gamma", runs=2_000)
    assert gamma.claim == "(epsilon = 1, delta = 0)-private"
    assert [c.name for c in gamma.certificates] == ["sensitivity", "attacker", "guesses", "point"]
    assert [c.limit for c in gamma.certificates[2:]] == [1.0, 1.0]
    half = dpcore.run_audit(plan_for("output_gaussian", "logistic"), runs=2_000)
    assert "The pair reaches only 50% of the sensitivity, so that a pass says less." in half.sentence
    broken = dpcore.run_audit("output_gamma", runs=20_000, sabotage="halved_noise")
    assert broken.sentence.startswith(
        "With confidence 99.9% (over our runs) this implementation is not what it claims, "
        "(epsilon = 1, delta = 0)-private: refuted by attacker and guesses"
    )
    assert "pass" not in broken.sentence


def test_the_verdict_is_suspicious_between_the_two_confidences():
    report = dpcore.run_audit("output_gaussian", runs=100)
    between = Certificate("curve", "1-GDP", 1.2, 0.9, 1.0, 3.0, 2.5)
    report = dc.replace(report, certificates=(between,))
    assert report.verdict == "suspicious" and "refuted by curve with confidence 95% but not 99.9%" in report.sentence
    assert report.sentence.endswith("A pass is never evidence of privacy.")
    assert (report.certified_epsilon, report.certified_epsilon_strict) == (3.0, 2.5)
    for certificate, verdict in (
        (dc.replace(between, shown=1.0), "no contradiction"),
        (dc.replace(between, flagged=1.1), "contradicted"),
    ):
        assert dc.replace(report, certificates=(certificate,)).verdict == verdict


def test_the_report_is_plain_json():
    report = dpcore.run_audit("output_gamma", runs=1_000, seed=7, sabotage="fixed_seed")
    facts = json.loads(report.to_json())
    for name in ("mechanism", "claim", "claimed_epsilon", "runs", "seed", "sabotage", "attained"):
        assert facts[name] == getattr(report, name)
    for name in ("certified_epsilon", "certified_epsilon_strict", "verdict", "sentence"):
        assert facts[name] == getattr(report, name)
    assert facts["spec"]["loss"] == "huber_hinge" and facts["delta"] == 0.0 and facts["scale"] == report.plan.scale
    assert [c["name"] for c in facts["certificates"]] == [c.name for c in report.certificates]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"key_or_plan": "oracle"}, "mechanism must be one of output_gaussian, .*, got 'oracle'"),
        ({"key_or_plan": 3}, "mechanism must be one of output_gaussian, .*, got 3"),
        ({"runs": 99}, "runs must be an integer >= 100, got 99"),
        ({"runs": 1e3}, "runs must be an integer >= 100, got 1000.0"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"sabotage": "laziness"}, "sabotage must be None or one of halved_noise, .*, got 'laziness'"),
        ({"sabotage": 3}, "sabotage must be None or one of halved_noise, .*, got 3"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        dpcore.run_audit(**{"key_or_plan": "output_gaussian", **arguments})


def test_tables_that_do_not_fit_are_refused():
    plan = dpcore.calibrate("output_gaussian", n=100_000, p=101, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="n p must be <= 10000000 in an audit, got 10100000"):
        dpcore.run_audit(plan)


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
    code, out, _ = call(capsys, "output_gamma", "--sabotage", "halved_noise", "--json")
    assert code == 1 and json.loads(out)["verdict"] == "contradicted"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["oracle"], "mechanism must be one of"),
        (["output_gamma", "--runs", 5], "runs must be an integer >= 100, got 5"),
        (["output_gamma", "--sabotage", "x"], "one of halved_noise"),
        (["output_gamma", "--sabotage", "variance_as_deviation"], "needs noise with a standard deviation, got gamma"),
    ],
)
def test_bad_input_ends_in_one_sentence_and_code_2(capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert code == 2 and out == "" and message in err and err.count("\n") == 1
