"""The page Audit, accounting: sentence, read-outs, controls and code, in the default state and in random ones."""

import math

from streamlit.testing.v1 import AppTest

from dpcore import Budget
from dpcore.accounting import kamath, subsampled_rdp
from pages.audit import ledger as words
from pages.ui.numbers import rounded
from tests.harness import ROOT
from tests.page_driver import said, shown, tells, texts

MAIN, GREEN = ROOT / "pages" / "main.py", "#1A7060"


def open_page(**state) -> AppTest:
    return shown("audit/page.py", check="ledger", **state)


def spent(z, rate, times, delta=1e-6):
    return subsampled_rdp.subsampled_epsilon(z, rate, times, delta, "poisson")


def test_the_default_state_teaches_without_a_click():
    """Kamath's own run: 2,000 people, n^2 steps on one record each, epsilon 1."""
    page = open_page()
    assert not page.exception and not page.error
    budget = Budget(1.0, 1e-6)
    published = kamath.kamath_multiplier(2000, budget)
    proved = spent(published, 1 / 2000, 2000**2)
    assert f"4,000,000 steps, each on one of 2,000 records, cost ε = {rounded(proved)}, " in said(page)
    assert f"{rounded(100 * proved, 2)}% of the target" in said(page)
    needed = subsampled_rdp.subsampled_multiplier(budget, 1 / 2000, 2000**2, "poisson")
    assert f"the target needs {rounded(needed)}" in texts(page)
    assert tells(texts(page), "Kamath's claim (dotted)", "4,000,000 steps")
    assert words.NOT_COUNTED in texts(page)
    assert f"z = {rounded(published)}" in texts(page) and f"ε = {rounded(proved)}" in texts(page)


def test_a_claim_above_kamath_s_reach_is_refused_and_the_proved_noise_drawn():
    page = open_page(epsilon=10.0)
    largest = 2 * math.sqrt(math.log(1e6))
    assert f"No published noise here: Kamath's noise needs ε < 2 √(ln(1/δ)) = {largest:.4g}" in said(page)
    assert "cost ε = 10 with the proved noise" in said(page) and "Lemma 3" in texts(page)


def test_a_run_longer_than_kamath_s_costs_more_than_it_claims():
    page = open_page(steps=10**10)
    z = kamath.kamath_multiplier(2000, Budget(1.0, 1e-6))
    cost = spent(z, 1 / 2000, 10**10)
    assert cost > 1 and f"{rounded(cost, 2)} times the target" in said(page)


def test_batches_above_n_are_full_and_say_so():
    page = open_page(batch=5_000, n=200, steps=10)
    assert "n is 200: a full batch" in texts(page) and "all 200 records" in said(page)
    assert "accounting: exact;" in texts(page)
