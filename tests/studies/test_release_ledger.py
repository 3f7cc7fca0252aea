"""The ledger of releases: totals that no pair of data sets contradicts and no sum understates, and what is refused."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore import calibrate
from dpcore.accounting.gaussian import gaussian_epsilon, hockey_stick
from dpcore.accounting.tradeoff import GaussianCurve, PureCurve
from dpcore.core.privacy import Budget, added_up, composed, told_up
from dpcore.studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from dpcore.studies.decide.repeated_releases import guarantee_alone, repeated_releases

WHEN = "2026-01-31T12:00:00+00:00"


def entry(key: str, epsilon: float, delta: float = 0.0, records: int = 1) -> LedgerEntry:
    return LedgerEntry.of(calibrate(key, n=500, p=3, epsilon=epsilon, delta=delta), "", records)


def total(*entries: LedgerEntry) -> Budget:
    found = ReleaseLedger("people.csv", entries).total()
    assert found is not None
    return found


def test_sums_of_costs_are_never_below_the_exact_sum():
    rng = np.random.default_rng(0)
    cases = [[0.1] * 10, [1e4] + [5e-13] * 20, [1e-6] * 7, *(rng.uniform(0, 1, 9).tolist() for _ in range(200))]
    for costs in cases:
        found = added_up(costs)
        assert sum(map(Fraction, costs)) <= Fraction(found) <= Fraction(math.fsum(costs)) * (1 + Fraction(1, 2**51))
    assert sum([0.1] * 10) < 1.0 <= added_up([0.1] * 10) and added_up([1e4] + [5e-13] * 20) > 1e4
    for cost in rng.uniform(0, 10, 200).tolist():
        assert cost <= float(told_up(cost)) <= cost * (1 + 1e-5)
    for k, g, epsilon in ((10, 1, 0.1), (3, 7, 0.3), (1_000, 100, 0.7)):
        assert Fraction(guarantee_alone(Budget(epsilon), k, g).epsilon) >= k * g * Fraction(epsilon)
    with pytest.raises(ValueError, match=r"total delta must be below 1, got 1\.2"):
        composed([Budget(1.0, 0.4)] * 3)
    with pytest.raises(ValueError, match="total epsilon must be between 1e-100 and 1e100, got 3"):
        composed([Budget(1e100)] * 3)


def test_ten_pure_releases_cost_their_sum_rounded_up():
    found = total(*[entry("output_gamma", 0.1)] * 10)
    assert found.delta == 0.0 and 1.0 <= found.epsilon <= 1.0 + 1e-15


def test_gaussian_releases_of_any_sizes_compose_exactly():
    budgets = [(0.3, 1e-6), (1.0, 2e-6), (0.5, 1e-7), (2.0, 1e-8)]
    entries = [entry("output_gaussian", *each) for each in budgets]
    found, mu = total(*entries), math.sqrt(sum(each.gdp**2 for each in entries))
    assert found.delta == pytest.approx(sum(delta for _, delta in budgets), rel=1e-12)
    assert found.epsilon == pytest.approx(gaussian_epsilon(mu, found.delta), rel=1e-9)
    assert hockey_stick(found.epsilon, mu) <= found.delta and hockey_stick(found.epsilon * 0.999, mu) > found.delta
    # Several releases of one plan, and people with several records, as the accountant of one plan has them.
    plan = calibrate("noisy_gd", n=500, p=3, epsilon=0.7, delta=1e-6)
    several = total(*[LedgerEntry.of(plan, "", 3)] * 4)
    assert several.epsilon == pytest.approx(repeated_releases(plan, 4, 3, several.delta).exact, rel=1e-6)


def coins(entries: list[LedgerEntry], g: int, epsilon: float, seed: int) -> float:
    """Smallest delta at epsilon of the worst known pair, by Monte Carlo: randomised responses for pure releases, normal
    variables for Gaussian ones, and (epsilon, delta) attained for the others."""
    rng, runs = np.random.default_rng(seed), 400_000
    loss = np.zeros(runs)
    for each in entries:
        if each.gdp is not None and each.delta > 0.0:
            mu = g * each.gdp
            loss += rng.normal(0.5 * mu**2, mu, runs)
        elif each.delta == 0.0:
            e = g * each.epsilon
            loss += np.where(rng.random(runs) < 1.0 / (1.0 + math.exp(-e)), e, -e)
        else:
            assert g == 1
            e, told = each.epsilon, rng.random(runs) < each.delta
            loss += np.where(told, np.inf, np.where(rng.random(runs) < 1.0 / (1.0 + math.exp(-e)), e, -e))
    return float(np.mean(np.maximum(-np.expm1(epsilon - loss), 0.0)))


def test_more_rows_of_a_person_than_any_page_accounts_for_are_refused():
    entry("output_gamma", 0.1, records=100)
    with pytest.raises(ValueError, match="records_per_person must be at most 100, got 101"):
        entry("output_gamma", 0.1, records=101)


@pytest.mark.parametrize("seed", range(12))
def test_no_known_pair_of_data_sets_contradicts_a_total(seed):
    rng = np.random.default_rng(seed)
    entries = [
        entry(
            str(rng.choice(["output_gaussian", "output_gamma", "objective_gaussian", "noisy_gd"])),
            float(np.exp(rng.uniform(-2.5, 0.5))),
            0.001,
        )
        for _ in range(rng.integers(2, 9))
    ]
    found = total(*entries)
    assert found.epsilon <= added_up(each.epsilon for each in entries)
    shown = coins(entries, 1, found.epsilon, seed)
    assert shown <= found.delta + 4.0 * math.sqrt(found.delta / 400_000) + 1e-12


def test_the_gaussian_guarantee_of_a_pure_release_holds_and_is_attained():
    grid = np.linspace(1e-6, 1.0 - 1e-6, 20_001)
    for epsilon in (0.01, 0.3, 1.0, 4.0, 30.0, 900.0):
        mu = PureCurve(epsilon).gdp
        pure = np.maximum.reduce(
            [0 * grid, 1.0 - np.exp(min(epsilon, 600.0)) * grid, np.exp(-min(epsilon, 600.0)) * (1.0 - grid)]
        )
        assert (GaussianCurve(mu).missed(grid) <= pure + 1e-12).all()
        if epsilon <= 4.0:
            corner = np.array([1.0 / (1.0 + math.exp(epsilon))])
            assert GaussianCurve(0.999 * mu).missed(corner) > corner
    assert PureCurve(1.0, failure=0.1).gdp == PureCurve(1.0, failure=0.1).rho == math.inf


def test_many_small_releases_of_several_kinds_cost_less_than_their_sum():
    pure, gaussian = [entry("output_gamma", 0.1)] * 60, [entry("output_gaussian", 0.5, 1e-6)] * 10
    choices = [entry("frank_wolfe_polytope", 0.2, 1e-6)] * 20
    both, alone = total(*pure, *gaussian), total(*gaussian)
    assert both.epsilon < 6.0 + alone.epsilon and both.delta == alone.delta
    assert total(*choices).epsilon < 0.5 * 4.0 and choices[0].gdp is None
    assert total(*choices, *gaussian).epsilon < total(*choices).epsilon + alone.epsilon
    # One pure release beside a Gaussian one adds its epsilon at most.
    assert total(gaussian[0], entry("output_gamma", 3.0)).epsilon <= 3.5 * (1 + 1e-8)


def test_releases_of_other_kinds_take_their_share_of_delta():
    gaussian, other = [entry("output_gaussian", 0.5, 1e-7)] * 8, entry("objective_gaussian", 0.3, 1e-4)
    found, mu = total(*gaussian, other), math.sqrt(8) * gaussian[0].gdp
    assert found.epsilon == pytest.approx(0.3 + gaussian_epsilon(mu, 8e-7), rel=1e-9)
    assert found.epsilon > 0.3 + gaussian_epsilon(mu, found.delta)


def test_a_person_has_as_many_records_as_the_release_that_allows_most():
    one, three = entry("output_gamma", 0.2), entry("output_gamma", 0.2, records=3)
    assert total(one, three).epsilon == pytest.approx(1.2) and total(one, one).epsilon == pytest.approx(0.4)
    sgd = entry("noisy_sgd", 1.0, 1e-6, records=40)
    assert ReleaseLedger("a.csv", (sgd,)).total() is None, "no guarantee is left"
    assert ReleaseLedger("a.csv").total() is None


def test_a_ledger_is_read_as_it_was_written():
    entries = entry("output_gamma", 0.2), entry("output_gaussian", 1.0, 1e-6), entry("noisy_sgd", 1.0, 1e-6)
    ledger = ReleaseLedger('it\'s "mine" 年.csv', entries)
    assert ReleaseLedger.read(ledger.to_json().encode(), "l.json") == ledger
    assert len(ledger.to_json().splitlines()) == len(entries) + 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: [], "must be a ledger"),
        (lambda found: found | {"more": 1}, "must be a ledger"),
        (lambda found: found | {"releases": {}}, "must list its releases"),
        (lambda found: found | {"releases": [7]}, "release 1 in l.json"),
        *(
            (lambda found, field=field, value=value: altered(found, field, value), f"release 2 in l.json .*{field}")
            for field, value in {
                "epsilon": -1.0,
                "delta": "0",
                "gdp": 0.01,  # cheaper than its epsilon
                "rho": 1e-5,
                "rows": 0,
                "plan": None,
                "records_per_person": True,
                "more": 1,
            }.items()
        ),
        (lambda found: altered(found, "when", "yesterday"), "release 2 in l.json"),
    ],
)
def test_what_is_no_ledger_is_refused_with_the_place(change, said):
    ledger = ReleaseLedger("people.csv", (entry("output_gaussian", 1.0, 1e-6),) * 2)
    content = json.dumps(change(json.loads(ledger.to_json()))).encode()
    with pytest.raises(ValueError, match=said):
        ReleaseLedger.read(content, "l.json")
    with pytest.raises(ValueError, match="must be a ledger"):
        ReleaseLedger.read(ledger.to_json().encode()[:-40], "l.json")


def altered(found: dict, field: str, value: object) -> dict:
    first, second = found["releases"]
    return found | {"releases": [first, second | {field: value}]}


def test_an_entry_holds_nothing_of_a_record():
    plan = calibrate("output_gaussian", n=500, p=3, epsilon=1.0, delta=1e-6)
    assert set(dc.asdict(LedgerEntry.of(plan))) == {
        *("when", "plan", "mechanism", "rows", "records_per_person", "epsilon", "delta", "gdp", "rho")
    }
