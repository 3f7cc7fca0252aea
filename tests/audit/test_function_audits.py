"""Audits of any function: what they certify, what they refuse, and that no run is used twice."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.special import expit

import dpcore
from dpcore import Data, audit_function, canary_pairs
from dpcore.__main__ import main
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.accounting.tradeoff import GaussianCurve
from dpcore.audit import function
from dpcore.audit.function import CANNOT_SHOW, IN_FAMILY

X, Y = np.zeros((3, 2)), np.array([0.0, 0.0, 1.0])
ONE = Data(X, Y)
ZERO = Data(X, 0.0 * Y)
PAIR = {"mine": (ZERO, ONE)}


def laplace(scale: float):
    return lambda data, rng: data.y.sum() + rng.laplace(scale=scale)


def gaussian(scale: float):
    return lambda data, rng: [data.y.sum() + scale * rng.standard_normal(), rng.standard_normal()]


# What is certified


def test_exact_noise_passes_and_half_of_it_is_contradicted():
    """Each exact audit is contradicted with probability at most 0.1%, two of five with less than 1e-5."""
    found = [audit_function(laplace(1.0), PAIR, epsilon=1.0, runs=1_500, seed=seed) for seed in range(5)]
    assert sum(report.verdict == "contradicted" for report in found) < 2
    assert all(report.certified_epsilon_95 > 0.0 for report in found)
    assert [c.name for c in found[0].certificates] == ["attacker", "pure", "point"]
    assert found[0].claim == "(epsilon = 1, delta = 0)-private" and "claimed 1" in found[0].sentence
    caught = [audit_function(laplace(0.5), PAIR, epsilon=1.0, runs=1_500, seed=seed) for seed in range(2)]
    assert [report.verdict for report in caught] == ["contradicted"] * 2


def test_a_curve_refutes_what_epsilon_and_delta_alone_do_not():
    """Half of the Gaussian noise, which escapes in 3,000 runs with probability below 1e-4 by its curve."""
    mu = gaussian_mu(dpcore.Budget(2.0, 1e-5))
    claim, train = dict(epsilon=2.0, delta=1e-5, runs=3_000), gaussian(0.5 / mu)
    by_curve = audit_function(train, PAIR, curve=GaussianCurve(mu), **claim)
    alone = audit_function(train, PAIR, **claim)
    assert (by_curve.verdict, alone.verdict) == ("contradicted", "no contradiction found")
    assert [c.name for c in by_curve.certificates] == ["attacker", "curve", "point"]
    assert [c.name for c in alone.certificates] == ["attacker", "point"]
    assert by_curve.certificates[0].limit == pytest.approx(GaussianCurve(mu).attack_limit())
    assert by_curve.cannot_show == (*CANNOT_SHOW, IN_FAMILY) and alone.cannot_show == CANNOT_SHOW
    assert by_curve.claim.endswith(f"-private by {GaussianCurve(mu).words}")
    assert np.array_equal(by_curve.scores.ones, alone.scores.ones), "the claim is no part of the game"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_learned_score_sees_kinks_that_lines_and_squares_miss(seed):
    """Half of epsilon for each of three outputs, whose likelihood ratios are flat outside [0, 1].

    The exact score is right in 65.9% of the runs, one of numbers and squares in 63.5%, with a standard error of 0.5%.
    """
    runs = dict(epsilon=1.0, runs=10_000, seed=seed)
    learned, exact = (
        audit_function(lambda data, rng: data.y.sum() + rng.laplace(scale=2.0, size=3), PAIR, score=score, **runs)
        for score in (None, lambda seen: 0.5 * (np.abs(seen) - np.abs(seen - 1.0)).sum(axis=1))
    )
    assert learned.verdict == exact.verdict == "contradicted"
    assert learned.attack_success > exact.attack_success - 0.012


# Which runs are used for what


def test_no_run_teaches_the_score_and_certifies(monkeypatch):
    """100 columns of pure noise: a score is right in half of the runs it has not seen. It misses half by 4.9 standard
    deviations with probability 1e-6, and would be right in three of four of those it was learned from."""
    taught, scored = [], []
    learn = function.learned_score

    def watched(seen, bits):
        taught.append(seen)
        score = learn(seen, bits)
        return lambda numbers: scored.append(numbers) or score(numbers)

    monkeypatch.setattr(function, "learned_score", watched)
    report = audit_function(lambda data, rng: rng.standard_normal(100), PAIR, epsilon=0.1, runs=1_000)
    certifying = len(report.scores.zeros) + len(report.scores.ones)
    assert (report.fitting_runs, certifying) == (250, 750)
    assert abs(report.attack_success - 0.5) < 4.9 * 0.5 / math.sqrt(certifying)
    ((fit,), (rest,)) = taught, scored
    assert (len(fit), len(rest)) == (250, 750) and not set(fit[:, 0]) & set(rest[:, 0])


def test_thresholds_come_from_runs_that_do_not_certify(monkeypatch):
    halves = []
    real = function.certificates.point
    monkeypatch.setattr(function.certificates, "point", lambda *given: halves.append(given[:2]) or real(*given))
    audit_function(laplace(1.0), PAIR, epsilon=1.0, runs=1_000)
    audit_function(laplace(1.0), PAIR, epsilon=1.0, runs=1_000, score=lambda seen: seen[:, 0] - 0.5)
    sizes = [[len(half.zeros) + len(half.ones) for half in pair] for pair in halves]
    assert sizes == [[250, 500], [500, 500]]
    for first, second in halves:
        assert not {*first.zeros, *first.ones} & {*second.zeros, *second.ones}


def test_every_run_has_fresh_noise_and_an_audit_repeats_by_seed():
    def score(seen):
        return seen[:, 0]

    first, again, other = (
        audit_function(lambda data, rng: rng.random(), PAIR, epsilon=1.0, runs=300, score=score, seed=seed)
        for seed in (3, 3, 4)
    )
    assert np.array_equal(first.scores.ones, again.scores.ones)
    assert len({*first.scores.ones, *first.scores.zeros, *other.scores.ones, *other.scores.zeros}) == 600


# What is refused


@pytest.mark.parametrize(
    "changed, message",
    [
        (dict(train=3), "train must be a function of .data, rng., got 3"),
        (dict(pairs=(ZERO, ONE)), "pairs must be a dictionary of two dpcore.Data each, .* got .*Data"),
        (dict(pairs={}), "pairs must be a dictionary of two dpcore.Data each, .* got {}"),
        (dict(pairs={"mine": (X, ONE)}), "pairs must be a dictionary of two dpcore.Data each, .* as 'mine'"),
        (dict(epsilon=0.0), "epsilon must be a finite number > 0, got 0.0"),
        (dict(delta=1.0), r"delta must be in \[0, 1\), got 1.0"),
        (dict(curve=1.0), "curve must be None or a curve of dpcore.accounting.tradeoff, got 1.0"),
        (
            dict(curve=GaussianCurve(3.0), delta=1e-5),
            "curve must imply the claimed epsilon = 1 at delta = 1e-05, got 3-",
        ),
        (dict(runs=99), "runs must be an integer >= 100, got 99"),
        (dict(runs=10**8), "runs must be at most 10,000,000, got 100,000,000"),
        (dict(seed=-1), "seed must be an integer >= 0, got -1"),
        (dict(comparisons=0), "comparisons must be an integer >= 1, got 0"),
        (dict(epsilon=30.0), "epsilon must be small enough to be refuted in 10,000,000 runs"),
        (dict(pairs={"mine": (ZERO, ZERO)}), "data0 and data1 must be neighbours: .* dpcore.canary_pairs builds pairs"),
        (dict(pairs={"mine": (ZERO, Data(X, 1.0 - Y))}), "which are equal or differ in more"),
        (dict(pairs={"mine": (ZERO, Data(X[:, :1], Y))}), "3 records of 2 columns and 3 of 1"),
        (dict(pairs={"mine": (ZERO, Data(X[1:], 1.0 - Y[1:]))}), "3 records of 2 columns and 2 of 2"),
        (dict(pairs={"mine": (ZERO, Data(np.vstack([X, X]), np.append(Y, Y)))}), "3 records of 2 columns and 6 of 2"),
        (
            dict(train=lambda data, rng: "model"),
            "train must return finite real numbers, got .*'model'.* in run 1, on data",
        ),
        (dict(train=lambda data, rng: 1j), "train must return finite real numbers"),
        (dict(train=lambda data, rng: []), "train must return finite real numbers"),
        (
            dict(train=lambda data, rng: math.log(rng.random()) if rng.random() < 0.5 else math.nan),
            "numbers, got .*nan",
        ),
        (dict(train=lambda data, rng: rng.random(rng.integers(1, 3))), "train must return the same shape in every run"),
        (
            dict(train=lambda data, rng: np.zeros(300_000)),
            "train must return at most 200,000 numbers in each of 100 runs",
        ),
        (dict(train=lambda data, rng: np.random.default_rng(0).random()), "train must be random, .* fixed seed"),
        (dict(train=lambda data, rng: data.y.sum()), "got the same numbers in all 100 runs on the same data"),
        (dict(score=lambda seen: seen), "score must return a finite number for each of 100 runs"),
        (dict(score=lambda seen: np.full(100, np.inf)), "score must return a finite number for each of 100 runs"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(changed, message):
    arguments = dict(train=laplace(1.0), pairs=PAIR, epsilon=1.0, runs=100) | changed
    with pytest.raises(ValueError, match=message):
        audit_function(**arguments)


def test_an_error_of_train_says_in_which_run_it_came():
    with pytest.raises(RuntimeError, match="train must return numbers, but raised KeyError") as told:
        audit_function(lambda data, rng: {}["no label"], PAIR, epsilon=1.0, runs=100)
    assert isinstance(told.value.__cause__, KeyError) and "('no label') in run 1, on data" in str(told.value)


def test_data_that_train_changes_are_no_longer_the_pair():
    def standardises(data, rng):
        data.y[:] -= data.y.mean()
        return data.y.sum() + rng.laplace()

    with pytest.raises(ValueError, match="train must leave the data as they are, got changed ones after the runs"):
        audit_function(standardises, {"mine": (ZERO, Data(X, Y.copy()))}, epsilon=1.0, runs=100)


# The pair


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("lacking", ["data0", "data1"])
def test_one_record_may_be_left_out_instead_of_replaced(at, lacking):
    whole = Data([[0.5, 0.0], [0.0, 0.25], [0.0, 1.0]], [1.0, -1.0, 0.0])
    fewer = Data(np.delete(whole.X, at, axis=0), np.delete(whole.y, at))
    pair = (whole, fewer) if lacking == "data1" else (fewer, whole)
    report = audit_function(lambda data, rng: data.n + rng.laplace(), {"mine": pair}, epsilon=1.0, runs=200)
    assert report.pair.startswith(
        f"mine: 3 records of 2 columns; {lacking} lacks record {at + 1}: x = ({whole.X[at, 0]:g}, "
    )
    assert report.pair.endswith(f", y = {whole.y[at]:g}")


@pytest.mark.parametrize("low, high, slope", [(-1.0, 1.0, lambda y: -y * expit(0.0)), (-2.0, 2.0, lambda y: -2.0 * y)])
def test_no_other_replacement_moves_the_gradient_at_zero_further(low, high, slope):
    """Of logistic and of squared loss; 200 random replacements by records within the bounds."""
    rng = np.random.default_rng(0)
    table, labels = rng.uniform(-0.5, 0.5, (30, 4)), rng.choice([low, high], 30)
    zero, one = canary_pairs(table, labels, R=1.5, labels=(low, high))["worst case"]

    def gradient(data):
        return (slope(data.y)[:, None] * data.X).mean(axis=0)

    moved = np.linalg.norm(gradient(one) - gradient(zero))
    for _ in range(200):
        x = rng.standard_normal((2, 4))
        x *= 1.5 * rng.random((2, 1)) ** 0.25 / np.linalg.norm(x, axis=1, keepdims=True)
        y = rng.choice([low, high], 2)
        others = [Data(np.vstack([table[:-1], x[k]]), np.append(labels[:-1], y[k])) for k in (0, 1)]
        assert np.linalg.norm(gradient(others[1]) - gradient(others[0])) <= moved + 1e-12
    assert moved == pytest.approx(1.5 * abs(slope(high) - slope(low)) / 30)
    assert (zero.y[-1], one.y[-1]) == (low, high) and np.array_equal(zero.X, one.X)
    assert np.array_equal(zero.X[:-1], table[:-1]) and np.array_equal(zero.y[:-1], labels[:-1])
    assert np.linalg.norm(zero.X[-1]) == pytest.approx(1.5)
    along = np.linalg.norm(table[:-1] @ (zero.X[-1] / 1.5))
    directions = rng.standard_normal((1_000, 4))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert along <= np.linalg.norm(table[:-1] @ directions.T, axis=0).min() + 1e-12


# The three pairs of a table

INSIDE = np.random.default_rng(0).uniform(-0.4, 0.4, (100, 3))  # norms up to 0.64, half of them below 0.42
SIGNS = np.where(INSIDE[:, 0] > 0.0, 1.0, -1.0)
AT_R = INSIDE / np.linalg.norm(INSIDE, axis=1, keepdims=True)
MU = gaussian_mu(dpcore.Budget(1.0, 1e-5))
CLAIM = dict(epsilon=1.0, delta=1e-5, curve=GaussianCurve(MU), runs=4_000)


def gradient(data, rng, noise=1.0):
    """Mean gradient of logistic loss at 0 with the Gaussian noise for ||x||_2 <= 1, or a share of it."""
    return data.y @ data.X / (2.0 * data.n) + noise / (data.n * MU) * rng.standard_normal(3)


def scaled_by_its_own_largest_norm(data, rng):
    return gradient(Data(data.X / np.linalg.norm(data.X, axis=1).max(), data.y), rng)


def scaled_without_outliers(data, rng):
    norms = np.linalg.norm(data.X, axis=1)
    kept = norms <= 3.0 * np.median(norms)
    return scaled_by_its_own_largest_norm(Data(data.X[kept], data.y[kept]), rng)


def half_the_noise(data, rng):
    return gradient(data, rng, noise=0.5)


def test_scaling_by_the_largest_norm_is_contradicted_and_correct_code_is_not():
    """The correct code is contradicted by chance in at most 0.1% of seeds."""
    pairs = canary_pairs(INSIDE, SIGNS, R=1.0)
    wrong, right = (audit_function(f, pairs, **CLAIM) for f in (scaled_by_its_own_largest_norm, gradient))
    assert (wrong.verdict, right.verdict) == ("contradicted", "no contradiction found")
    assert wrong.tried["ordinary record"] > 2.88 and wrong.pair.startswith("outlier: 100 records of 3 columns, 99 ")
    assert list(wrong.tried) == ["worst case", "ordinary record", "outlier"]
    assert all(f"{name} {bound:.3g}" in wrong.sentence for name, bound in wrong.tried.items())
    assert wrong.certified_epsilon_95 == max(wrong.tried.values())


@pytest.mark.parametrize(
    "train, table, name",
    [
        (half_the_noise, INSIDE, "worst case"),
        (scaled_without_outliers, INSIDE, "ordinary record"),
        (scaled_by_its_own_largest_norm, AT_R, "outlier"),
    ],
)
def test_each_pair_sees_a_bug_that_the_others_do_not(train, table, name):
    pairs = canary_pairs(table, SIGNS, R=1.0)
    found = {each: audit_function(train, {each: pair}, **CLAIM).verdict for each, pair in pairs.items()}
    assert found == dict.fromkeys(pairs, "no contradiction found") | {name: "contradicted"}


def test_pairs_share_the_probability_of_error_and_the_stake():
    """The first of two pairs, whose runs are those of a lone pair, counts as one of two audits shown together."""
    (pair,), asked = PAIR.values(), dict(epsilon=1.0, runs=1_000)
    both = audit_function(laplace(0.5), {"mine": pair, "again": pair}, **asked)
    alone = [audit_function(laplace(0.5), PAIR, comparisons=k, **asked) for k in (1, 2)]
    assert both.tried["mine"] == alone[1].certified_epsilon_95 < alone[0].certified_epsilon_95
    assert alone[1].betting_test.logs == pytest.approx(alone[0].betting_test.logs - math.log(2.0))
    assert both.betting_test.logs[0] == math.log(0.5) and both.comparisons == 1
    with pytest.raises(ValueError, match="runs must be at least 366 for this claim, got 300"):
        audit_function(laplace(0.5), {str(k): pair for k in range(200)}, epsilon=3.0, runs=300)


# The report, its pictures and the command


def test_the_report_is_plain_json_and_says_what_it_cannot_show():
    facts = json.loads((report := audit_function(laplace(0.5), PAIR, epsilon=1.0, runs=1_000, seed=2)).to_json())
    assert facts["cannot_show"] == list(CANNOT_SHOW) == list(report.cannot_show)
    assert facts["claimed"] == {"epsilon": 1.0, "delta": 0.0} and facts["fitting_runs"] == 250
    assert (facts["runs"], facts["seed"], facts["function"]) == (1_000, 2, "laplace.<locals>.<lambda>")
    assert facts["tried"] == {"mine": report.certified_epsilon_95}
    assert facts["bet"]["pairs_to_999"] == report.betting_test.reached[1] is not None
    assert facts["bet"]["log"] == report.betting_test.logs[-1] > math.log(1_000)
    assert facts["verdict"] == report.verdict == "contradicted" and facts["sentence"] == report.sentence


MODULE = """
import numpy as np
from dpcore import Data

X, y = np.zeros((2, 1)), np.zeros(2)


def exact(data, rng):
    return data.y.sum() + rng.laplace()


def asked():
    return dict(train=exact, pairs={"mine": (Data(X, y), Data(X, y + [0.0, 1.0]))}, epsilon=1.0)


def broken():
    return asked() | dict(train=lambda data, rng: data.y.sum() + rng.laplace(scale=0.3))


def with_runs():
    return asked() | dict(runs=5)


def nothing():
    return None


def without():
    return dict(epsilon=1.0)
"""


@pytest.fixture
def audit(tmp_path, monkeypatch, capsys):
    """The command on functions of a module of this name: code, stdout, stderr."""
    (tmp_path / "a_function_to_audit.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = 0
        try:
            main(["audit", *map(str, arguments)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def test_the_command_prints_the_report_and_its_exit_code_is_the_verdict(audit):
    code, out, _ = audit("a_function_to_audit:exact_is_not_there")
    assert code == 2 and out == ""
    code, out, _ = audit("a_function_to_audit:asked", "--runs", 1_000, "--seed", 2)
    report = audit_function(laplace(1.0), PAIR, epsilon=1.0, runs=1_000, seed=2)
    assert code == 0 and out.startswith("No contradiction found; ") and report.verdict == "no contradiction found"
    for c in report.certificates:
        assert f"{c.name:12s} {c.shown:10.4f} {c.flagged:10.4f} {c.limit:10.4f}  {c.tests}" in out
    assert all(f"- {sentence}\n" in out for sentence in CANNOT_SHOW)
    code, out, _ = audit("a_function_to_audit:broken", "--runs", 1_000, "--json")
    assert code == 1 and json.loads(out)["verdict"] == "contradicted"


# Peers


def test_a_module_that_ends_the_program_is_refused_in_a_sentence(audit, tmp_path):
    (tmp_path / "a_module_that_ends.py").write_text("raise SystemExit(0)", encoding="utf-8")
    code, out, err = audit("a_module_that_ends:asked")
    assert (code, out) == (2, "") and err.startswith("Error: KEY must be a mechanism or MODULE:FUNCTION that can be")
