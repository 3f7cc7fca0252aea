"""Gaussian accounting against the formula sheet's figures, an independent integral and itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dpcore import Budget, NotApplicable
from dpcore.accounting import attack_limits, gaussian

# delta, epsilon, published, classical (None where refused), analytic: noise multipliers to the digits published.
TABLE = [
    (1e-3, 0.1, 52.944, 37.765, 17.404),
    (1e-3, 1, 5.624, None, 2.575),
    (1e-3, 5, 1.380, None, 0.690),
    (1e-5, 0.1, 68.156, 48.448, 30.750),
    (1e-5, 0.5, 13.864, 9.690, 7.032),
    (1e-5, 1, 7.075, None, 3.731),
    (1e-5, 5, 1.625, None, 0.892),
    (1e-5, 10, 0.928, None, 0.500),
]
epsilons = st.floats(1e-3, 30.0)
deltas = st.floats(-30.0, -0.31).map(lambda power: 10.0**power)


@pytest.mark.parametrize("delta, epsilon, published, classical, analytic", TABLE)
def test_multipliers_of_the_table(delta, epsilon, published, classical, analytic):
    budget = Budget(epsilon, delta)
    assert gaussian.published_multiplier(budget) == pytest.approx(published, abs=6e-4)
    assert 1 / gaussian.gaussian_mu(budget) == pytest.approx(analytic, abs=6e-4)
    if classical is None:
        with pytest.raises(NotApplicable, match="epsilon < 1"):
            gaussian.classical_multiplier(budget)
    else:
        assert gaussian.classical_multiplier(budget) == pytest.approx(classical, abs=6e-4)


@pytest.mark.parametrize("epsilon, mu", [(0.1, 0.05), (1.0, 0.3), (1.0, 2.0), (5.0, 3.0), (-0.5, 0.7)])
def test_hockey_stick_is_the_integral_it_stands_for(epsilon, mu):
    """The integral of (density at mu - e^epsilon density at 0) over the half line where it is positive."""
    start = mu / 2 + epsilon / mu
    density = stats.norm.pdf
    area, _ = integrate.quad(
        lambda x: density(x, mu) - math.exp(epsilon) * density(x), start, start + 40, epsabs=1e-15, epsrel=1e-12
    )
    assert gaussian.hockey_stick(epsilon, mu) == pytest.approx(area, rel=1e-9, abs=1e-15)


# (epsilon, mu, delta) from 450-digit arithmetic: tiny budgets, tiny deltas and both ways to compute them.
FROZEN = [
    (1e-100, 3.622797182106067e-100, 9.999999986087393e-101),
    (1e-12, 1e-08, 3.988922823963435e-09),
    (1e-09, 1e-10, 7.474560258326589e-35),
    (1e-06, 1e-05, 3.509355066707848e-06),
    (0.001, 3e-05, 5.709655241399114e-250),
    (0.1, 0.0031, 1.3670785242731845e-232),
    (1.0, 0.03, 9.407867856139858e-247),
    (1.0, 0.268, 9.968375178403246e-06),
    (30.0, 1.01, 3.4324195636236454e-189),
    (100.0, 9.0, 1.085170696933721e-11),
    (-0.5, 0.7, 0.46689991233118067),
]


@pytest.mark.parametrize("epsilon, mu, delta", FROZEN)
def test_hockey_stick_keeps_its_digits_where_its_terms_cancel(epsilon, mu, delta):
    assert gaussian.hockey_stick(epsilon, mu) == pytest.approx(delta, rel=1e-11, abs=0)
    if epsilon > 0:
        calibrated = gaussian.gaussian_mu(Budget(epsilon, delta))
        assert calibrated < mu and calibrated == pytest.approx(mu, rel=3e-9)


@given(epsilons, deltas)
def test_calibration_is_private_and_not_wasteful(epsilon, delta):
    mu = gaussian.gaussian_mu(Budget(epsilon, delta))
    assert gaussian.hockey_stick(epsilon, mu) <= delta
    assert gaussian.hockey_stick(epsilon, mu * (1 + 1e-6)) > delta


@given(epsilons, deltas)
def test_epsilon_inverts_mu(epsilon, delta):
    mu = gaussian.gaussian_mu(Budget(epsilon, delta))
    back = gaussian.gaussian_epsilon(mu, delta)
    assert gaussian.hockey_stick(back, mu) <= delta
    # Where epsilon hardly matters for delta the inverse is loose, but never beyond what was asked.
    assert back <= epsilon + 1e-6 * (1 + epsilon)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-5, 0.1, 0.99])
def test_epsilon_is_rounded_to_the_private_side_at_any_size(mu, delta):
    assert gaussian.hockey_stick(gaussian.gaussian_epsilon(mu, delta), mu) <= delta


@given(epsilons, deltas)
def test_published_and_classical_multipliers_are_valid_where_they_are_proved(epsilon, delta):
    published = gaussian.published_multiplier(Budget(epsilon, delta))
    assert gaussian.hockey_stick(epsilon, 1 / published) <= delta
    if epsilon < 1:
        classical = gaussian.classical_multiplier(Budget(epsilon, delta))
        assert gaussian.hockey_stick(epsilon, 1 / classical) <= delta


def test_golden_attack_success():
    caps = [100 * attack_limits.attack_cap(Budget(e)) for e in (0.1, 0.5, 1, 2, 4, 8)]
    assert np.allclose(caps, [52.5, 62.2, 73.1, 88.1, 98.2, 99.97], atol=0.05)
    limits = [100 * attack_limits.gaussian_attack_limit(gaussian.gaussian_mu(Budget(e, 1e-5))) for e in (0.5, 1, 2)]
    assert np.allclose(limits, [52.8, 55.3, 59.9], atol=0.05)


@given(epsilons, deltas)
def test_a_mechanism_never_allows_more_than_its_guarantee(epsilon, delta):
    budget = Budget(epsilon, delta)
    limit = attack_limits.gaussian_attack_limit(gaussian.gaussian_mu(budget))
    assert 0.5 <= limit <= attack_limits.attack_cap(budget) + 1e-12 <= 1 + 1e-12


def test_deltas_below_the_normal_numbers_are_refused():
    with pytest.raises(NotApplicable, match="delta >= 1e-300, got delta = 1e-305"):
        gaussian.gaussian_mu(Budget(1.0, 1e-305))


def test_where_delta_covers_the_noise_epsilon_is_next_to_nothing():
    assert gaussian.gaussian_epsilon(0.1, 0.5) == 1e-9


def test_the_joint_limit_holds_for_releases_that_are_chosen_by_what_came_before():
    rng = np.random.default_rng(0)
    for _ in range(200):
        first = rng.dirichlet(np.full(3, 0.5), 2)  # of two data sets, over 3 outputs
        then = rng.dirichlet(np.full(4, 0.5), (2, 3))  # after each of these
        limits = (
            (1.0 + 0.5 * np.abs(first[0] - first[1]).sum()) / 2,
            (1.0 + 0.5 * np.abs(then[0] - then[1]).sum(-1)) / 2,
        )
        both = first[:, :, None] * then
        assert (1.0 + 0.5 * np.abs(both[0] - both[1]).sum()) / 2 <= attack_limits.joint_attack_limit(
            limits[0], limits[1].max()
        ) + 1e-12
