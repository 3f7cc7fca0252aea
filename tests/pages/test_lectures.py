"""Lectures: what every step keeps to, that no question has a wrong answer, and how a step is entered and left."""

from __future__ import annotations

import html
import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import Budget, Problem
from dpcore.accounting.kamath import kamath_multiplier
from dpcore.accounting.ledger import Run, ledger_of, releases_of
from dpcore.data import get_source
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon, usual_setting
from dpcore.studies.dimension import orthant
from dpcore.studies.dimension.lasso import curves as l1_curves
from dpcore.studies.dimension.lasso.data import Setting
from dpcore.studies.geometry import excess_by_norm, hardest_data
from dpcore.studies.multiclass.curves import Records, accuracy_against
from dpcore.studies.selection.simplex import excess_by_draws
from dpcore.studies.selection.streaming.regret import play
from pages.dimension.sparse_words import RADIUS
from pages.lectures.lecture import asked_for, whitelist
from pages.lectures.reader import Step, Story
from pages.lectures.stories import STORIES
from pages.ui import share_link
from pages.ui.pickers import defaults_of, norm_of
from tests.harness import ROOT
from tests.page_driver import SCRIPTS, finished, said, texts, turn_to

from ..flat_fields import experiment_of

# Where a lecture's words stand.
WORDS = 'class="lecture-words"'
EVERY_STORY = pytest.mark.parametrize("story", STORIES.values(), ids=lambda story: story.name)


def open_step(name: str, step: str, **more: Any) -> AppTest:
    """The app at an address with a lecture, a page's script in `script` if it is not the lecture's own."""
    page = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60)
    script = more.pop("script", None) or SCRIPTS[name]
    turn_to(page, script)
    page.query_params["lecture"], page.query_params["step"] = name, step
    page.run()
    assert not page.exception
    return page


def controls(page: AppTest) -> dict[str, Any]:
    """The controls that a page has drawn and keeps in the address, with their values."""
    drawn = [*page.main, *page.sidebar]
    keys = [
        each.proto.query_param_key for each in drawn if getattr(getattr(each, "proto", None), "query_param_key", "")
    ]
    return {key: page.session_state[key] for key in keys if key != share_link.HIDE}


# What every step keeps to.


@EVERY_STORY
def test_a_story_has_five_to_ten_steps_on_its_own_page_and_ends_with_a_picture(story: Story):
    assert 5 <= len(story.steps) <= 10
    assert story.name in SCRIPTS
    assert story.steps[-1].question is None
    assert any(step.question for step in story.steps)


@EVERY_STORY
def test_a_question_over_a_picture_does_not_show_its_answer(story: Story):
    """The reader checks all that a file can break; this only who writes the story can."""
    for number, step in enumerate(story.steps, 1):
        if step.question and step.shows:
            assert story.state(number + 1) != story.state(number)


def test_where_the_right_answer_stands_is_no_hint():
    places = {step.question.answer for story in STORIES.values() for step in story.steps if step.question}
    assert places - {None} == {0, 1, 2}


@EVERY_STORY
def test_the_teachers_guide_asks_each_question_where_it_stands_and_cuts_no_answer_off(story: Story):
    guide = (ROOT / "docs" / "teachers_guide.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {story.page}: (.*?)(?=^## |\Z)", guide, re.M | re.S)
    assert section
    questions = [k for k, step in enumerate(story.steps, 1) if step.question]
    asked = re.search(r"\*\*Ask:\*\*(.*?)\n- ", section[1], re.S)
    assert asked and [int(k) for k in re.findall(r"\(step\s+(\d+)\)", asked[1])] == questions
    assert all(int(k) <= len(story.steps) for k in re.findall(r"step (\d+)", section[1]))
    cut = re.search(r"\*\*Ten minutes:\*\* steps ([\d, ]+)", section[1])
    assert cut
    steps = [int(k) for k in cut[1].split(",")]
    assert steps == sorted(steps) and set(steps) & set(questions)
    assert all(k + 1 in steps for k in steps if k in questions)


# The stories cannot lie: answers from the same tables that the pages draw.


def answer(name: str, step: int) -> str:
    question = STORIES[name].steps[step - 1].question
    assert question and question.answer is not None
    return question.options[question.answer]


def state(name: str, step: int) -> dict[str, Any]:
    return STORIES[name].state(step)


def release(name: str, step: int, *mechanisms: str, **more: Any) -> Any:
    """Rows of the page's experiment at a step's cursor."""
    s = state(name, step)
    setting = {key: s[key] for key in ("n", "p", "delta", "lam", "seed")} | {"repetitions": 20}
    setting["sweep"] = dpcore.Axis("epsilon", (s["epsilon"],))
    return dpcore.run(experiment_of(mechanisms=tuple(map(dpcore.make_mechanism, mechanisms)), **(setting | more)))


def test_overview_five_times_the_people_lower_what_noise_adds_to_a_twenty_fifth():
    def added(step: int) -> float:
        source = get_source("synthetic")
        more = {"source": source.key, "theta_norm": norm_of(source)} | defaults_of(source)
        rows = release("overview", step, "objective_gaussian", **more)
        row = rows[rows.metric == "excess_empirical_risk"].iloc[0]
        return float(row["mean"] - row.noiseless)

    fewer, many = state("overview", 4), state("overview", 5)
    assert many["n"] == 5 * fewer["n"] and many["epsilon"] == fewer["epsilon"]
    assert answer("overview", 4) == "about a twenty-fifth as large" and 20 < added(4) / added(5) < 35


def test_perturbation_the_question_wins_at_one_lam_and_is_closed_at_a_smaller_one():
    mechanisms = ("output_gaussian", "objective_gaussian", "noisy_gd")
    rows = release("perturbation", 5, *mechanisms, source="synthetic")
    excess = rows[rows.metric == "excess_empirical_risk"].set_index("mechanism")["mean"]
    assert answer("perturbation", 4) == "objective perturbation"
    assert excess["objective_gaussian"] < 0.8 * excess["output_gaussian"]
    status = release("perturbation", 7, *mechanisms, source="synthetic").groupby("mechanism").status.first()
    assert answer("perturbation", 6) == "objective perturbation"
    assert [key for key in mechanisms if status[key] != "ok"] == ["objective_gaussian"]
    along = {"source": "synthetic", "epsilon": 1.0, "sweep": dpcore.Axis("lam", (1e-4, 5e-3, 1.0))}
    valley = release("perturbation", 8, *mechanisms[:2], **along)
    valley = valley[valley.metric == "excess_empirical_risk"].pivot(index="x", columns="mechanism", values="mean")
    assert (valley.loc[5e-3] < 0.5 * valley.drop(5e-3).min()).all()


def test_dimension_idle_columns_leave_predictions_alone_until_weights_are_cut():
    few, many = 8, 2**12  # a million columns would take seconds
    assert state("dimension", 2)["p"] > many
    lam = dpcore.calibrate("output_gaussian", n=1_000, p=8, epsilon=1.0, delta=1e-6, lam="auto").spec.lam
    more = {"source": "synthetic_padded", "epsilon": 1.0, "sweep": dpcore.Axis("p", (few, many)), "lam": float(lam)}
    table = release("dimension", 2, "output_gaussian", "output_gamma", **more)
    table = table[table.metric == "accuracy"].set_index(["mechanism", "x"])["mean"]
    assert answer("dimension", 1) == "no worse"
    assert table["output_gaussian", many] == pytest.approx(table["output_gaussian", few], abs=5e-4)
    assert table["output_gamma", many] < table["output_gamma", few] - 0.1
    assert state("dimension", 4)["p"] == few and table["output_gamma", few] > table["output_gaussian", few]
    p = 2**16
    assert p < state("dimension", 6)["p"]  # further out it takes seconds, and the pull grows
    corner = orthant.example((p,), n=1_000, epsilon=1.0, delta=1e-6, lam=float(lam), seed=7)
    assert answer("dimension", 5) == "over 100 times as far" and corner.projected[0] > 100 * corner.free_output[0]


def test_dimension_sparse_models_cost_little_and_steps_have_a_valley():
    s, wide, steps = (state("dimension", step) for step in (7, 8, 9))
    setting = Setting(epsilon=1.0, delta=s["delta"], radius=RADIUS, accounting="tight", seed=s["seed"])
    found = l1_curves.against_p(setting, n=s["n"], T=s["T"], ps=(s["p"], wide["p"]))
    assert answer("dimension", 7) == "learns nearly all of it"
    assert (
        found.private.measured.mean[1] < 0.05 * found.nothing[1]
        and found.whole.measured.mean[1] > 0.9 * found.nothing[1]
    )
    means = l1_curves.against_T(setting, n=steps["n"], p=steps["p"], Ts=l1_curves.TS).private.measured.mean
    assert np.nanmin(means) < 0.5 * min(means[0], means[-1])


def test_selection_draws_have_a_valley_and_one_stream_meets_the_bound():
    mixed, feared = state("selection", 1), state("selection", 6)
    valley = excess_by_draws.valley(
        n=mixed["n"], p=mixed["p"], epsilon=1.0, delta=mixed["delta"], loss="huber", seed=mixed["seed"], lam="auto",
        ms=(1, 20, 5_000), repetitions=20,
    )  # fmt: skip
    first, middle, last = valley.training.mean
    assert answer("selection", 2) == "some number in between" and middle < 0.5 * min(first, last)
    public = {"epsilon": feared["epsilon"], "delta": feared["delta"], "seed": feared["seed"]}
    played = play(feared["adversary"], feared["p"], feared["steps_of_stream"], **public)
    assert answer("selection", 5) == "nearly all" and 0.8 * played.bound < played.expected[-1] <= played.bound


def test_geometry_the_round_ball_the_slope_and_traceable_answers():
    def excess(d: int) -> dict[float, float]:
        found = excess_by_norm.against_order(d, 10_000, epsilon=1.0, delta=1e-8, seed=7, repetitions=10, records="all")
        return dict(zip(found.p_norm.tolist(), (found.mean / found.mean[0]).tolist(), strict=True))

    d, fewer = state("geometry", 4)["p"], state("geometry", 6)["p"]
    assert answer("geometry", 3) == "more than 50 times as large" and excess(d)[2.0] > 100.0
    assert 1.0 < excess(fewer)[2.0] < 6.0
    assert excess(d)[1 + 1 / np.log(d)] > excess(d)[2.0], "no vertex is near"
    traced = hardest_data.hardest_tracing(p_norm=1.5, d=1_000, delta=1e-6, seed=7)
    accurate = traced.excess < 0.2 * traced.signal
    assert answer("geometry", 7) == "no: accurate means traceable"
    assert accurate.any() and traced.auc[accurate].min() > 0.65
    hidden = traced.auc < 0.55
    assert hidden.any() and traced.excess[hidden].min() > 0.5 * traced.signal


def test_multiclass_one_model_for_all_and_a_cost_that_more_than_triples():
    records = Records("gaussian_classes", 2_000, 7, d=2, classes=5)
    found = accuracy_against(
        "classes", (5, 10), records, epsilon=1.0, delta=1e-6, learners=("ellipsoids", "split"), repetitions=6
    )
    joint, each = (found.plain - found.learners[key].mean for key in ("ellipsoids", "split"))
    assert answer("multiclass", 2) == "the Gaussian classifier" and joint[0] < 0.7 * each[0]
    assert answer("multiclass", 4) == "more than triples" and joint[1] > 3 * joint[0]


def signed(step: int) -> SmallestEpsilon:
    """The answer of a step of the lecture on Decide."""
    s = state("decide", step)
    problem = Problem(s["at_hand"], n=s["n"], p=s["p"], delta=s["delta"], seed=s["seed"])
    return SmallestEpsilon(loss_curve.lost_curve(usual_setting(problem)), s["keep"])


def test_decide_keeping_more_more_people_and_more_releases():
    found, more, many = map(signed, (1, 3, 6))
    assert answer("decide", 2) == "triples" and 2.5 < more.epsilon / found.epsilon < 3.5
    assert state("decide", 6)["n"] == 5 * state("decide", 1)["n"]
    assert answer("decide", 5) == "falls to less than a fifth" and many.epsilon < more.epsilon / 5
    releases = state("decide", 7)["releases"]
    assert found.spent(releases).epsilon > 4 * found.epsilon and found.spent(releases).of_100 > 75


def settled(page: AppTest) -> str:
    """The headline once all runs are in."""
    return said(finished(page))


def test_audit_outputs_reveal_a_missing_factor():
    assert settled(open_step("audit", "1")).startswith("No contradiction found")
    assert answer("audit", 2) == "yes: the error rates are forbidden"
    assert settled(open_step("audit", "3")).startswith("Contradicted")
    assert settled(open_step("audit", "6")).startswith("No contradiction found")


def test_composition_ten_times_the_releases_cost_three_times_and_kamath_wastes_noise():
    exact = releases_of("gaussian", Budget(0.1, 1e-6), (10, 100))[-1].epsilon
    assert answer("composition", 2) == "3: the square root of 10" and 3.0 < exact[1] / exact[0] < 4.0
    n, budget = 2_000, Budget(1.0, 1e-6)
    curves = ledger_of(Run(n, 1, kamath_multiplier(n, budget), budget.delta), (1, n**2))
    spent = min(curve.epsilon[-1] for curve in curves)
    assert answer("composition", 5) == "too much: noise is wasted" and spent < 0.5 * budget.epsilon


# How a step is entered and left.

# Steps whose controls are all that their pages have; those that take seconds come by night.
ALL_DRAWN = [
    *(("overview", "1"), ("perturbation", "1"), ("dimension", "8"), ("selection", "4"), ("geometry", "1")),
    *(("multiclass", "6"), ("survey", "3"), ("audit", "1"), ("composition", "6"), ("decide", "1"), ("decide", "7")),
    *(
        pytest.param(name, step, marks=pytest.mark.nightly)
        for name, step in (
            ("dimension", "2"),
            ("selection", "1"),
            ("geometry", "9"),
            ("multiclass", "1"),
            ("multiclass", "9"),
        )
    ),
]


@pytest.mark.parametrize("name, step", ALL_DRAWN)
def test_a_step_sets_every_control_that_its_page_draws(name: str, step: str):
    drawn = controls(open_step(name, step))
    wanted = STORIES[name].state(int(step))
    assert "behind" in drawn
    assert {key: wanted[key] for key in drawn} == drawn


def test_a_step_stands_also_if_its_first_run_was_interrupted_by_a_move():
    """The run left behind that the step was entered, and the controls of the address, which Streamlit lets win."""
    page = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60)
    turn_to(page, SCRIPTS["selection"])
    page.query_params["lecture"], page.query_params["step"] = "selection", "4"
    page.session_state["lecture entered"] = "selection", 4
    page.run()
    wanted = STORIES["selection"].state(4)
    assert {key: page.session_state[key] for key in wanted} == wanted and not page.exception
    page.select_slider(key="epsilon").set_value(5.0).run()
    assert page.session_state["epsilon"] == 5.0, "a control that stays may be moved"


@pytest.mark.parametrize(
    "name, step, reason",
    [
        ("windows", "1", "There is no lecture “windows”"),
        ("<b>x</b>", "1", "There is no lecture “<b>x</b>”"),
        ("perturbation", "1", "The lecture “perturbation” belongs to the page Perturbation"),
        ("overview", "99", "has steps 1 to 5, and no “99”"),
        ("overview", "0", "and no “0”"),
        ("overview", "two", "and no “two”"),
        ("overview", "٣", "and no “٣”"),
        ("", "1", "There is no lecture “”"),
        ("x" * 1_000, "1", "“" + "x" * 40 + "”"),
    ],
)
def test_a_wrong_lecture_says_so_and_shows_the_page(name: str, step: str, reason: str):
    assert reason in str(asked_for("Overview", name, step))
    if name in ("windows", "<b>x</b>"):
        page = open_step(name, step, script="overview/page.py")
        assert html.escape(reason) in texts(page) and "what can be learned" in said(page) and WORDS not in texts(page)


def test_only_what_a_step_names_stays_on_the_screen():
    rules = whitelist(Step("", "cost", kept=("epsilon",)))
    assert ".st-key-cost" in rules and ".st-key-epsilon" in rules and ".takeaway" in rules
    assert ".takeaway" not in whitelist(Step("", "releases", aside=True)) and ".takeaway" not in whitelist(Step(""))
