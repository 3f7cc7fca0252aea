"""The page Geometry: sentences, read-outs and code, in the default state and in random ones."""

import json
import random
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore.figures.figure import Figure
from dpcore.studies.geometry import excess_by_n, excess_by_norm, table_1
from pages.geometry import words
from pages.ui import sidebar
from pages.ui.numbers import rate, rounded, worded
from tests.page_driver import captions, charts, said, shown, tells, texts

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "seed": 7}


def open_page(**state) -> AppTest:
    return shown("geometry/page.py", **state)


def test_the_default_state_shows_each_ball_on_records_that_are_hard_for_it():
    page = open_page()
    assert not page.exception and not page.error
    found = excess_by_norm.against_order(65_536, 2_000, repetitions=10, records="each", **BUDGET)
    l2 = found.p_norm.tolist().index(2.0)
    ratio = found.mean[l2] / found.mean[0]
    assert 3.5 < ratio < 4.5 and (found.records[0], found.records[l2]) == ("l1", "l2")
    assert tells(said(page), "d = 65,536", f" {rounded(found.mean[0])} ", "L1 ball", f" {rounded(found.mean[l2])} ")
    assert tells(said(page), "L2 ball", "hard for it", f" {rounded(ratio, 2)} times", "no better than learning nothing")
    assert "Exponential mechanism" in texts(page)
    assert tells(texts(page), f" {rounded(found.gaussian.mean[0])}", f"nothing learned {rounded(found.signal[0])}")
    both = f"it would be {rounded(found.gaussian.mean[0])} and {rounded(found.gaussian.mean[l2])}: "
    steps = np.diff(found.gaussian.mean[[0, l2]])[0], np.diff(found.mean[[0, l2]])[0]
    part = f"the choice of mechanism accounts for {rounded(100 * (1 - steps[0] / steps[1]), 2)}% of the difference"
    assert f"With Gaussian noise on both balls {both}{part}" in texts(page)
    row = table_1.table_row(1.0, 65_536, 2_000, 1.0, 1e-6)
    assert f"n ≥ {worded(row.free)}" in texts(page)
    assert tells(captions(page), f"{found.rows['l1']} are equal", f"{found.rows['l2']} are fingerprints")
    assert tells(captions(page), "**Not the same guarantee**", "(1, 0)", "(1, 10⁻⁶)")
    assert len(charts(page)) == 2


def test_on_records_hard_for_l2_no_private_answer_learns_that_ball_and_the_bound_says_why():
    page = open_page(geometry_data="l2", p_norm="2", p=1_024)
    found = excess_by_norm.against_order(1_024, 2_000, repetitions=10, records="l2", **BUDGET)
    k = found.p_norm.tolist().index(2.0)
    assert (found.least < found.mean)[1:].all() and found.mean[k] < 2.0 * found.least[k]
    assert found.mean[k] > 0.9 * found.signal[k] and f"{found.rows['l2']} are fingerprints" in captions(page)
    assert f"the measurement is {rounded(found.mean[k] / found.least[k], 2)} times as" in texts(page)
    assert found.gaussian.mean[0] < found.gaussian.mean[k] or "accounts for all of the difference" in texts(page)
    easy = texts(open_page(p_norm="2", p=1_024, geometry_data="fingerprints"))
    assert tells(easy, "Gaussian noise from p = 1.02 to 2", "Lower bound")


def test_records_that_are_hard_for_l1_cost_every_ball_as_much_and_leave_no_step():
    page = open_page(geometry_data="l1")
    found = excess_by_norm.against_order(65_536, 2_000, repetitions=10, records="l1", **BUDGET)
    assert found.mean == pytest.approx(np.full(len(found.mean), found.mean[0]), rel=0.15)
    assert "times as much" not in said(page) and "on both balls" not in texts(page)


def test_the_cost_of_roundness_grows_with_the_columns():
    """Where a corner costs the same at every d, noise in the gradient costs the root of d: means of 20 draws."""
    ratios = []
    for d in (1_000, 10_000, 100_000):
        found = excess_by_norm.against_order(d, 2_000, repetitions=20, p_norms=(1.0, 2.0), records="l2", **BUDGET)
        ratios.append(found.gaussian.mean[1] / found.vertices.mean[0])
    assert ratios == pytest.approx([9.7, 31.3, 100.6], rel=0.05)


@pytest.mark.parametrize("name", ["1.5", "2", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("1", "∞"))])
def test_against_n_one_pass_beside_its_bound(name):
    page = open_page(view="n", p_norm=name, p=16, n=10_000)
    assert not page.exception and not page.error
    here = words.GeometryState(n=10_000, p=16, lam="auto", m="auto", name=name, **BUDGET)
    knobs = {"1": {"variant": "minibatch"}, "1.5": {"noise": "gaussian", "scales": "displacement"}}.get(name, {})
    found = excess_by_n.excess_against_n(here.p_norm, d=16, runs=words.RUNS, **BUDGET, **knobs)
    k = found.n.tolist().index(10_000.0)
    assert tells(said(page), f"At {here.words} and n = 10,000 ")
    assert f"leaves an excess risk of {rounded(found.private.mean[k])}" in said(page)
    assert f"{rounded(found.bound[k] / found.private.mean[k], 2)} times" in texts(page)
    assert found.private.mean[k] < found.bound[k]
    measured, _, work = found.exponents
    falls = "It follows no single power of n here" if measured is None else f"It falls like {rate(measured)}"
    assert falls in said(page) and found.private.mean[-1] < 0.1 * found.nothing
    assert work == pytest.approx(1.0, abs=0.15) and f"{rate(work)}: linear time" in texts(page)
    assert "the best model is known exactly" in captions(page)


@pytest.mark.nightly
def test_the_published_walk_learns_nothing_at_this_size():
    page = open_page(view="n", p_norm="1", p=16, n=10_000, variant="published")
    found = excess_by_n.excess_against_n(
        1.0,
        d=16,
        ns=excess_by_n.SAMPLE_SIZES[:-2],
        runs=4,
        variant="published",
        accounting="published",
        **BUDGET,
    )
    assert not page.exception and found.private.mean[-1] > 0.9 * found.nothing
    assert np.all(found.spent < 0.6) and "Drawn up to n" not in captions(page)
    assert "Drawn up to n = 10,000" in captions(open_page(view="n", p_norm="1", p=16, n=50_000, variant="published"))
    assert f"spends ε = {rounded(found.spent.min())} to {rounded(found.spent.max())} of 1." in captions(page)
    assert f"leaves an excess risk of {rounded(found.private.mean[-1])}" in said(page)


def test_where_a_vertex_is_the_choice_on_the_l2_ball_too_the_sentence_says_so():
    few, many = (open_page(p=p, geometry_data="fingerprints") for p in (1_024, 65_536))
    assert "noise in all d columns reaches the L2 ball" in said(few)
    found = excess_by_norm.against_order(65_536, 2_000, repetitions=10, records="fingerprints", **BUDGET)
    assert found.chosen[found.p_norm.tolist().index(2.0)] == "vertices"
    assert "none of them is near the best model of the L2 ball" in said(many)


def test_wide_tables_are_drawn_narrower_and_the_caption_says_so():
    page = open_page(view="n", p_norm="2", p=8_192)
    assert re.search("8,192 .*scale.* 64", captions(page))
    assert "page's scale" not in captions(open_page(view="n", p_norm="2", p=32))
    assert "page's scale" not in captions(open_page(view="order", p_norm="2", p=8_192))


@pytest.mark.parametrize(
    "side, phrase",
    [
        ("Ball", "different models. Vertices hide noise."),
        ("Rates", "Rates without constants"),
        ("Noise length", "times as long at p = "),
        ("Tracing", "An attacker ranks a member above a non-member"),
    ],
)
def test_every_side_says_what_it_shows(side, phrase):
    page = open_page(beside_geometry=side)
    assert not page.exception and not page.error and phrase in captions(page)
    alt = [chart for chart in charts(page) if phrase in chart]
    assert len(alt) == 1, "the picture's sentence for screen readers"


def test_a_round_ball_shows_every_bit_of_noise():
    assert "all of the noise reaches the model" in captions(open_page(p_norm="2"))


@pytest.mark.nightly
@pytest.mark.parametrize("case", range(12))
def test_random_states_show_no_error(case):
    rng = random.Random(case)
    view = rng.choice(list(words.VIEWS))
    state = {
        "view": view,
        "p_norm": rng.choice([words.JUST_ABOVE, *words.ORDERS]),
        "n": rng.choice(excess_by_n.SAMPLE_SIZES),
        "p": rng.choice([d for d in sidebar.DIMENSIONS if d <= (65_536 if view == "order" else 64)]),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "geometry_data": rng.choice(list(words.RECORDS)),
        "beside_geometry": rng.choice(words.SIDES),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data"]),
    }
    if view == "n":
        state |= {"variant": rng.choice(["minibatch", "tree"])}
        state |= {"noise": rng.choice(list(words.LAWS)), "scales": rng.choice(list(words.SCALES))}
    page = open_page(**state)
    assert not page.exception and not page.error, state
    assert "nan" not in said(page) and "nan" not in captions(page), state


@pytest.mark.parametrize("state", [{}, {"view": "n", "p_norm": "1.5", "p": 8}, {"view": "n", "p_norm": "∞", "p": 8}])
def test_the_code_makes_the_picture_that_is_shown(state):
    page = open_page(behind="Code", **state)
    shown: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "show", lambda self: shown.append(self.to_json()))
        exec(page.code[0].value, {})
    data = json.loads(shown[0])["data"]
    assert len(shown) == 1 and json.loads(charts(page)[said(page)]["figure"])["data"] == data
