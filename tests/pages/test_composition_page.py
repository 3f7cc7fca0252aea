"""The page Composition: sentence, read-outs, controls and code, in the default state and in random ones."""

import json
import math

import pytest
from streamlit.testing.v1 import AppTest

from dpcore import Budget
from dpcore.accounting import gaussian, kamath, subsampled_rdp
from pages.ui.numbers import rounded
from tests.harness import ROOT
from tests.page_driver import charts, said, shown, tells, texts

MAIN, GREEN = ROOT / "pages" / "main.py", "#1A7060"


def open_page(**state) -> AppTest:
    return shown("composition/page.py", **{"repeated": "sgd"} | state)


def spent(z, rate, times, delta=1e-6):
    return subsampled_rdp.subsampled_epsilon(z, rate, times, delta, "poisson")


def test_ten_releases_cost_less_than_basic_composition_says():
    page = shown("composition/page.py")
    assert not page.exception and not page.error
    mu = gaussian.gaussian_mu(Budget(0.1, 1e-6))
    exact, basic = gaussian.gaussian_epsilon(math.sqrt(10) * mu, 1e-6), 10 * gaussian.gaussian_epsilon(mu, 1e-7)
    beside = f"not the {rounded(basic)} of basic composition: Gaussian releases add up like √k"
    assert said(page) == f"10 releases at ε = 0.1 cost ε = {rounded(exact)}, {beside}."
    assert f"gives each δ/k, where it costs ε = {rounded(basic / 10)}, and grows like k" in texts(page)
    (chart,) = charts(page).values()
    named = [trace["name"] for trace in json.loads(chart["figure"])["data"] if trace.get("showlegend")]
    assert named == ["basic composition", "advanced composition", "exact", "one release, ε = 0.1"]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_advanced_composition_is_not_drawn_where_it_is_never_below_basic(noise):
    page = shown("composition/page.py", repeated=noise, epsilon=1.0, times=100)
    (chart,) = charts(page).values()
    assert "advanced composition" not in [trace.get("name") for trace in json.loads(chart["figure"])["data"]]
    assert "Advanced composition is not drawn" in texts(page)


@pytest.mark.parametrize("state", [{"repeated": "laplace"}, {"epsilon": 8.0, "times": 100}])
def test_what_does_not_add_up_like_its_root_is_not_said_to(state):
    assert said(shown("composition/page.py", **state)).endswith("of basic composition.")


def test_one_axis_serves_every_epsilon_and_mechanism():
    states = [{}, {"epsilon": 10.0}, {"repeated": "laplace", "times": 1_000, "delta": 1e-9}]
    found = [json.loads(next(iter(charts(shown("composition/page.py", **each)).values()))["figure"]) for each in states]
    ranges = {tuple(figure["layout"][axis]["range"]) for figure in found for axis in ("xaxis", "yaxis")}
    assert len(ranges) == 2


def test_kamath_s_run_costs_a_part_of_what_it_claims():
    """2,000 people, n^2 steps on one record each, epsilon 1."""
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
