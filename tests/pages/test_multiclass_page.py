"""The page Multiclass: sentences, read-outs and code, in the default state and in random ones."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore.studies.multiclass import curves, decision_regions
from dpcore.studies.multiclass.curves import AccuracyQuestion
from pages.background import asking
from pages.background.jobs import Job
from pages.multiclass import words
from pages.ui.numbers import points, rounded, tenths
from pages.ui.proof import PROOF
from pages.ui.verdict import NO_LOWER
from tests.page_driver import captions, charts, finished, open_script, said, shown, tells, texts

PAGE = "multiclass/page.py"
BUDGET = {"epsilon": 1.0, "delta": 1e-7}
FIRST = curves.Records("gaussian_classes", 2_000, 7, d=2, classes=5)


def open_page(**state) -> AppTest:
    """Once all its curves are there; not to be moved."""
    return shown(PAGE, **state)


@pytest.fixture
def gate(monkeypatch) -> Iterator[threading.Semaphore]:
    """Each curve of a draw of the records waits until it is let through."""
    passes, compute = threading.Semaphore(0), AccuracyQuestion._of_draw

    def held(question, table, cancelled):
        passes.acquire()
        return compute(question, table, cancelled)

    monkeypatch.setattr(AccuracyQuestion, "_of_draw", held)
    yield passes
    passes.release(1_000)


def job_of(page: AppTest) -> Job:
    ((job, _),) = page.session_state[asking.SHOWN].values()
    return job


def test_the_default_state_answers_the_question_without_a_click():
    """Ten classes cost ellipsoids a quarter of what can be learned, and one-vs-rest twice as much."""
    page = open_page()
    assert not page.exception and not page.error
    values, repetitions = (2, 3, 4, 5, 6, 8, 10), {"repetitions": 6, "datasets": 2}
    found = curves.accuracy_against("classes", values, FIRST, learners=words.LEARNERS, **repetitions, **BUDGET)
    whole, split = (100 * (found.plain - found.learners[key].mean) for key in ("ellipsoids", "split"))
    assert split[-1] > whole[-1] + 10.0 > whole[3] + 20.0, "points of accuracy"
    assert said(page).startswith("Yes, but less than with a model for each class: with 5 classes privacy costs ")
    assert said(page).endswith(f" privacy costs {points(whole[3])} of accuracy, with one-vs-rest {tenths(split[3])}.")
    picture = decision_regions.picture(FIRST, **BUDGET)
    assert f"{picture.agree:.1%}" in texts(page)
    assert "noise in 24 dimensions" in texts(page)
    assert f"One release at ε = 1: accuracy {picture.right:.1%} on fresh records" in captions(page)
    assert "Same guarantee for each private curve: ε and δ = 10⁻⁷ in total" in captions(page) and len(charts(page)) == 2


def test_the_first_view_shows_an_excess_below_its_bound_and_where_the_bound_loses():
    page = open_page(beside_classes=PROOF)
    values = (2, 3, 4, 5, 6, 8, 10)
    found = curves.accuracy_against("classes", values, FIRST, learners=words.LEARNERS, excess=True, **BUDGET).excess
    assert (found.mean < found.bound).all() and (found.bound < found.nothing).all()
    factor = rounded(found.bound[3] / found.mean[3], 2)
    assert "it is below “nothing learned” all along this axis." in texts(page)
    assert f"At C = 5 the upper bound is {factor} times the measurement" in texts(page) and NO_LOWER in texts(page)
    assert "The proof loses" in captions(page) and len(charts(page)) == 2
    assert "One release" not in captions(page)
    wide = open_page(columns=6, n=100)
    assert "Excess risk is drawn up to d = 3" in captions(wide) and NO_LOWER not in texts(wide)


def test_the_first_draw_of_the_records_is_shown_while_others_are_computed(gate, monkeypatch):
    """And a slider that moves along the axis asks for nothing new."""
    monkeypatch.setattr(asking, "FIRST_SECONDS", 60.0)  # on a busy machine, too
    gate.release(1)
    page = open_script(PAGE, seed=21)
    assert "6 of 12 releases" in captions(page) and "1 of 2 draws, about" in captions(page) and len(charts(page)) == 2
    first, held = charts(page), job_of(page)
    page.select_slider(key="C").set_value(8).run()
    assert job_of(page) is held and said(page) == "Computing the curves …", "nothing is named before it is complete"
    page.select_slider(key="C").set_value(5).run()
    gate.release(1)
    assert "means of 12 releases" in captions(finished(page)) and "5 classes privacy costs" in said(page)
    assert charts(page) != first and not page.exception


def test_where_the_first_curves_take_long_the_page_says_so_and_stays_of_use(gate, monkeypatch):
    monkeypatch.setattr(asking, "FIRST_SECONDS", 0.2)
    page = open_script(PAGE, seed=22)
    assert said(page) == "Computing the curves …" and len(charts(page)) == 1 and not page.exception
    page.select_slider(key="epsilon").set_value(2.0).run()  # the reader moves on
    gate.release(4)  # what was asked for before comes to the end of its step
    assert "means of 12 releases" in captions(finished(page))


def test_an_error_is_said_and_the_page_stays(monkeypatch, caplog):
    def broken(question, table, cancelled):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(AccuracyQuestion, "_of_draw", broken)
    page = open_script(PAGE, seed=24)
    assert said(page) == "An error, noted in the server's log, stops the curves." and not page.exception
    assert "broken on purpose" in caplog.text


def test_digits_are_told_apart_where_ten_shares_of_the_budget_would_not_do(few_runs, monkeypatch):
    monkeypatch.setattr(words, "EPSILON_GRID", grid := (0.5, 1.0, 2.0))
    page = finished(open_script(PAGE, price_against="epsilon", class_records="digits"))
    assert not page.error
    records = curves.Records("digits", 1_258, 7)
    learners = words.LEARNERS
    found = curves.accuracy_against("epsilon", grid, records, learners=learners, repetitions=2, datasets=2, **BUDGET)
    k = grid.index(1.0)
    right, alone = (100 * found.learners[key].mean[k] for key in ("ellipsoids", "split"))
    assert right > 65.0 > 50.0 > alone
    assert tells(said(page), f"{rounded(right, 2)}% of digits", f"{rounded(alone, 2)}%")
    assert "declared public" in captions(page)
    assert f"{found.logistic[k]:.1%}" in texts(page) and "multinomial and not private" in texts(page)


def test_against_epsilon_the_excess_stands_below_its_bound():
    page = open_page(price_against="epsilon", n=300, C=3, epsilon=10.0)
    records = curves.Records("gaussian_classes", 300, 7, d=2, classes=3)
    effort = {"repetitions": 10, "datasets": 4, "excess": True}
    asked = BUDGET | {"learners": words.LEARNERS}
    found = curves.accuracy_against("epsilon", dpcore.EPSILON_GRID, records, **asked, **effort).excess
    k = dpcore.EPSILON_GRID.index(10.0)
    assert not page.exception and np.all(found.mean <= found.bound)
    factor = rounded(found.bound[k] / found.mean[k], 2)
    assert f"At ε = 10 the upper bound is {factor} times the measurement" in texts(page) and NO_LOWER in texts(page)


def test_where_lam_is_too_small_nothing_is_released_and_the_reason_is_said():
    page = open_page(price_against="epsilon", lam=1e-4, epsilon=0.1)
    assert not page.exception and not page.error
    assert said(page).startswith("Nothing is released at ε = 0.1: large-margin Gaussian classifier needs λ > ")
    assert "Nothing is released: large-margin Gaussian classifier needs λ > " in captions(page)
    assert "curvature of one record" in said(page)
    assert "λ is the Gaussian classifier's" in captions(page) and "Left out: " in captions(page)
