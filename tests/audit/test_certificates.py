"""What scores prove: certificates against exact laws, sharp data and one another."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting.gaussian import gaussian_epsilon
from dpcore.accounting.tradeoff import GaussianCurve, PureCurve
from dpcore.audit import certificates
from dpcore.audit.certificates import Scores


def table(right_ones: int, ones: int, wrong_zeros: int, zeros: int, high: float = 1.0, low: float = -1.0) -> Scores:
    """Scores at two values: `right_ones` of D1's and `wrong_zeros` of D0's runs are at the high one."""
    return Scores(
        np.repeat([high, low], [wrong_zeros, zeros - wrong_zeros]),
        np.repeat([high, low], [right_ones, ones - right_ones]),
    )


def clopper_pearson(k: int, n: int, error: float) -> tuple[float, float]:
    interval = stats.binomtest(k, n).proportion_ci(1 - 2 * error, method="exact")
    return interval.low, interval.high


@pytest.mark.parametrize("level, error", [("shown", 0.05), ("flagged", 0.001)])
def test_certificates_follow_from_clopper_and_pearson_with_the_error_split(level, error):
    """Against scipy's intervals: a third of the error for each certificate, half of that for each of two rates."""
    scores, delta = table(400, 500, 50, 520), 0.01
    true, false = clopper_pearson(400, 500, error / 6)[0], clopper_pearson(50, 520, error / 6)[1]
    share = clopper_pearson(400 + 470, 1020, error / 3)[0]
    mu = stats.norm.ppf(true) - stats.norm.ppf(false)
    value = {
        "attacker": share,
        "curve": mu,
        "pure": math.log(share / (1 - share)),
        "point": math.log((true - delta) / false),
    }
    found = (
        certificates.attacker(scores, 0.6, delta, GaussianCurve(0.5)),
        certificates.curve(scores, scores, GaussianCurve(0.5), delta),
        certificates.pure(scores, scores, 1.0),
        certificates.point(scores, scores, 1.0, delta),
    )
    for certificate in found:
        assert getattr(certificate, level) == pytest.approx(value[certificate.name], rel=1e-9), certificate.name
    as_epsilon = {"shown": "epsilon", "flagged": "epsilon_flagged"}[level]
    by_name = {c.name: getattr(c, as_epsilon) for c in found}
    assert by_name["attacker"] == pytest.approx(gaussian_epsilon(2 * stats.norm.ppf(share), delta), rel=1e-9)
    assert by_name["curve"] == pytest.approx(gaussian_epsilon(mu, delta), rel=1e-9)
    for name in ("pure", "point"):
        assert by_name[name] == pytest.approx(value[name], rel=1e-9)
    other = certificates.attacker(scores, 0.6, 0.0, PureCurve(0.5))
    assert getattr(other, as_epsilon) == pytest.approx(math.log(share / (1 - share)), rel=1e-9)


@pytest.mark.parametrize("n, probability", [(50, 0.1), (1_000, 0.6), (1_000, 0.999)])
def test_the_lower_bound_on_a_rate_errs_no_more_often_than_it_says(n, probability):
    """Exact enumeration over all outcomes, and not wasteful: without its last outcome the error would exceed a half."""
    k = np.arange(n + 1)
    mass = stats.binom.pmf(k, n, probability)
    for error in (0.05, 0.001):
        wrong = certificates.lower_bound(k, n, error) > probability
        assert mass[wrong].sum() <= error
        assert mass[wrong].sum() + mass[~wrong][-1] > error


def test_several_comparisons_share_the_error():
    """Bonferroni: each of ten audits that are shown together errs a tenth as often."""
    scores = table(400, 500, 50, 520)
    found = certificates.attacker(scores, 0.6, 0.01, GaussianCurve(0.5), comparisons=10)
    assert found.flagged == pytest.approx(clopper_pearson(870, 1020, 0.001 / 30)[0], rel=1e-9)
    for certificate in (
        lambda many: certificates.curve(scores, scores, GaussianCurve(1.0), 1e-5, many),
        lambda many: certificates.pure(scores, scores, 1.0, many),
        lambda many: certificates.point(scores, scores, 1.0, 1e-5, many),
    ):
        assert 0.0 < certificate(10).flagged < certificate(1).flagged


def test_thresholds_are_chosen_on_the_first_half_and_used_on_the_second():
    clear, moved = table(500, 500, 0, 500), table(500, 500, 0, 500, high=11.0, low=9.0)
    unclear = table(250, 500, 250, 500)
    for certificate in (
        lambda a, b: certificates.curve(a, b, GaussianCurve(1.0), 1e-5),
        lambda a, b: certificates.pure(a, b, 1.0),
        lambda a, b: certificates.point(a, b, 1.0, 1e-5),
    ):
        assert certificate(clear, clear).flagged > 3.0
        assert certificate(clear, unclear).shown == 0.0
        assert certificate(clear, moved).shown == 0.0, "chosen on the second half"


def test_a_leak_in_one_tail_is_found_in_either_orientation():
    """A fifth of one data set's runs has a score that the other never has."""
    ones, zeros = np.zeros(1_000), np.repeat([-5.0, 0.0], [200, 800])
    tail = Scores(zeros, ones)
    for scores in (tail, tail.mirrored()):
        assert certificates.point(scores, scores, 1.0, 0.0).flagged > 2.0
        assert certificates.pure(scores, scores, 1.0).flagged > 2.0
