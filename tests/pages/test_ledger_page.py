"""The page Audit, accounting: sentence, read-outs, controls and code, in the default state and in random ones."""

import html
import math
import random
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import Budget, NotApplicable
from dpcore.accounting import kamath, ledger, subsampled_rdp
from dpcore.figures.figure import Figure
from pages.audit import ledger as words
from pages.ui import sidebar
from pages.ui.html import emphasised
from pages.ui.numbers import rounded
from tests.harness import ROOT
from tests.nights import each
from tests.page_driver import headline, open_script, said, shown, spaced, tells, texts

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
    for kind in ("uniform", "poisson"):
        needed = subsampled_rdp.subsampled_multiplier(budget, 1 / 2000, 2000**2, kind)
        assert f"**{rounded(published / needed)} times**" in texts(page)
    assert tells(texts(page), "Kamath's claim (dotted)", "4,000,000 steps")
    assert words.NOT_COUNTED in texts(page) and words.NOISE_QUESTION in texts(page)
    assert f"z = {rounded(published)}" in texts(page) and f"ε = {rounded(proved)}" in texts(page)


def test_the_published_noise_wastes_what_the_issue_names():
    """6 to 13 times for a random index, 9 to 13 for Poisson batches, over the table's n and epsilon."""
    for n in (500, 2000, 10_000):
        for epsilon in (0.1, 1.0, 5.0):
            budget = Budget(epsilon, 1 / n**2)
            here = {"published": kamath.kamath_multiplier(n, budget)}
            for kind in ("uniform", "poisson"):
                here[kind] = subsampled_rdp.subsampled_multiplier(budget, 1 / n, n**2, kind)
            told = words.noise_takeaway(here, n, epsilon, "")
            uniform, poisson = (float(ratio) for ratio in re.findall(r"\*\*([\d.]+) times\*\*", told))
            assert 6 <= uniform <= 13.05 and 8.6 < poisson <= 13.05 and uniform < poisson


@pytest.mark.parametrize("case", each(4, range(12)))
def test_random_states_show_no_error_and_true_numbers(case):
    rng = random.Random(case)
    chosen = {
        "noise_of": rng.choice(list(words.NOISES)),
        "steps": rng.choice([words.SQUARE, 1, 20, 500, 10_000, 10**6, 10**10]),
        "batch": rng.choice([1, 10, 500, 50_000, words.ALL]),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "n": rng.choice(sidebar.SAMPLE_SIZES),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data", None]),
    }
    page = open_page(**chosen)
    assert not page.exception and not page.error, chosen
    n, budget = chosen["n"], Budget(chosen["epsilon"], chosen["delta"])
    steps = n**2 if chosen["steps"] == words.SQUARE else chosen["steps"]
    batch = n if chosen["batch"] == words.ALL else min(chosen["batch"], n)
    refused = ""
    z = needed = ledger.tight_multiplier(budget, n, batch, steps)
    if chosen["noise_of"] == "published":
        try:
            z = kamath.kamath_multiplier(n, budget)
        except NotApplicable as error:
            refused = str(error)
    run = ledger.Run(n, batch, z, budget.delta)
    curves = ledger.ledger_of(run, (steps,))
    expected = words.takeaway(run, curves, steps, 0, budget.epsilon, refused)
    assert headline(page) == spaced(emphasised(expected, GREEN)), chosen
    for card in words.readouts(run, curves, 0, budget.epsilon, needed):
        assert all(html.escape(part) in texts(page) for part in card)
    if z == needed:
        best = curves[-1].epsilon[0]
        assert best == pytest.approx(budget.epsilon, rel=1e-6)
    assert not re.search(r"\bnan\b|\binf\b", texts(page).lower())


def test_a_claim_above_kamath_s_reach_is_refused_and_the_proved_noise_drawn():
    page = open_page(epsilon=10.0)
    largest = 2 * math.sqrt(math.log(1e6))
    assert f"No published noise here: Kamath's noise needs ε < 2 √(ln(1/δ)) = {largest:.4g}" in said(page)
    assert "cost ε = 10 with the proved noise" in said(page) and "Lemma 3" in texts(page)
    assert "At ε = 10 no noise is published" in texts(page)


def test_a_run_longer_than_kamath_s_costs_more_than_it_claims():
    page = open_page(steps=10**10)
    z = kamath.kamath_multiplier(2000, Budget(1.0, 1e-6))
    cost = spent(z, 1 / 2000, 10**10)
    assert cost > 1 and f"{rounded(cost, 2)} times the target" in said(page)


def test_batches_above_n_are_full_and_say_so():
    page = open_page(batch=5_000, n=200, steps=10)
    assert "n is 200: a full batch" in texts(page) and "all 200 records" in said(page)
    assert "accounting: exact;" in texts(page)


def test_unused_controls_are_left_out():
    page = open_page()
    assert [slider.label.split()[0] for slider in page.sidebar.select_slider] == ["ε", "δ", "n"]
    assert not page.sidebar.number_input
    seeded = open_page(seed=11).sidebar
    assert seeded.number_input[0].disabled and seeded.button[0].disabled
    assert not {s.label.split()[0] for s in page.main.select_slider if s.disabled}


def test_chips_set_the_controls():
    page = open_script("audit/page.py", check="ledger")
    next(b for b in page.button if b.label == "full batches").click().run()
    assert page.session_state["batch"] == words.ALL and "all 2,000 records" in said(page)
    next(b for b in page.button if b.label == "ε too large for Kamath's proof").click().run()
    assert "No published noise here" in said(page)
    next(b for b in page.button if b.label == "Kamath's run").click().run()
    assert headline(page) == headline(open_page())


def test_the_code_redraws_the_chart(monkeypatch):
    page = open_page(behind="Code", batch=100, steps=1_000, epsilon=0.5)
    drawn = []
    monkeypatch.setattr(Figure, "show", lambda self: drawn.append(self))
    exec(page.code[0].value, {})
    marks = drawn[0].data[-1]
    assert set(marks.x) == {1_000.0}
    z = kamath.kamath_multiplier(2000, Budget(0.5, 1e-6))
    assert marks.y[-1] == pytest.approx(spent(z, 0.05, 1_000))


def test_the_table_holds_every_curve():
    run, steps = ledger.Run(2000, 50, 100.0, 1e-6), (1, 10, 100)
    table = words.ledger_table(ledger.ledger_of(run, steps), steps, full=False)
    assert len(table) == 15 and table[~table.proved].accounting.unique().tolist() == ["Kamath's claim"]
    poisson = table[table.accounting == "Rényi, Poisson batch"]
    assert np.array_equal(poisson.epsilon, [spent(100.0, 0.025, t) for t in steps])
