"""The start page without a browser: every state speaks the table's numbers, and its code redraws its chart."""

import base64
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import Budget, Problem, data
from dpcore.accounting.attack_limits import attack_cap
from dpcore.audit.attack_success import AttackSuccessQuestion
from dpcore.experiments.proof_chain import ProofQuestion, proof_chain
from dpcore.figures.proof_chain import times
from pages.overview import words
from pages.ui import sidebar
from pages.ui.details import readout
from pages.ui.html import icon_array, plain
from pages.ui.proof import PROOF, proof_caption
from tests.page_driver import captions, charts, chips, headline, open_app, spaced, tells, texts

from ..flat_fields import experiment_of
from .test_links import finished

DEFAULT: dict[str, Any] = {"source": "synthetic", "n": 2_000, "lam": 0.005, "delta": 1e-7, "theta_norm": 6.0, "seed": 7}
REAL: dict[str, Any] = {"source": "breast_cancer", "n": 398, "lam": "auto", "delta": 1e-6, "theta_norm": None}
KEYS = {"output": "output_gaussian", "objective": "objective_gaussian", "gradient": "noisy_sgd"}


def open_page(**state) -> AppTest:
    """The page once all its answers are there."""
    return finished(open_app(**state))


def table_of(place: str = "objective", proof: str = "tight", **changes):
    """Of one mechanism, as the page asks for it."""
    fields = DEFAULT | {"repetitions": 50, "mechanisms": (mechanism_of(place, proof),), "proved": KEYS[place]} | changes
    return dpcore.run(experiment_of(**fields))


def mechanism_of(place: str, proof: str = "tight"):
    knobs = {"accounting": proof} if place == "output" else {}
    return dpcore.make_mechanism(KEYS[place], **knobs)


def attack_at_cursor():
    """Of the default state."""
    question = AttackSuccessQuestion(Problem(**DEFAULT).plan(mechanism_of("objective"), 1.0), 7)
    *_, attack = question.snapshots()
    return attack.success


def at_cursor(table, epsilon: float = 1.0):
    return table[(table.metric == "accuracy") & (table.x == epsilon)].iloc[0]


def test_the_default_state_teaches_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    row, source = at_cursor(table_of()), data.get_source("synthetic")
    found = attack_at_cursor()
    headlined = re.sub(r"<[^>]+>", "", headline(page))
    lost = plain(words.takeaway(row, source, by_hand=False) + words.larger_class(row, source))
    told = spaced(lost + plain(words.answer(found)))
    assert headlined == told, "what is lost, and how often an attacker could be right"
    cost = 100 * (row.reference - row["mean"])
    assert tells(
        headlined, "2,000 people", "ε = 1", "objective perturbation", f"{100 * row['mean']:.1f}%", f"{cost:.1f}"
    )
    assert words.attack_success(found, found.runs, found.runs) in texts(page)
    mechanism = mechanism_of("objective")
    plan = Problem(**DEFAULT).plan(mechanism, 1.0)
    assert (found.cap, found.limit) == (attack_cap(Budget(1.0, 1e-7)), mechanism.attack_limit(plan))
    (dots,) = re.findall(r"base64,([^\"]+)", "".join(e.proto.body for e in page.get("html")))
    svg = base64.b64decode(dots).decode()
    solid, pale, ringed = (svg.count(look) for look in ('fill="#002B95"/>', 'fill-opacity="0.4"', 'fill="none"'))
    certified, limit, cap = found.of_100
    assert (solid, solid + pale, solid + pale + ringed) == (certified, limit, cap)
    assert certified <= 100 * found.certified and limit >= 100 * found.limit and cap >= 100 * found.cap
    assert 50 <= certified <= limit < cap and f"at most {limit} times in 100" in headlined
    assert tells(captions(page), "above F*, the smallest of all models", "‖θ‖ ≤ 6"), "what is compared is in sight"
    for noun, value, rest in words.readouts(row, source):
        assert spaced(readout(noun, value, rest)) in texts(page)


def test_perturbation_shows_the_same_number():
    """One state, one number: the same split, releases and reference."""
    for records, fields in (("synthetic", DEFAULT), ("breast_cancer", REAL)):
        page = finished(open_app("perturbation/page.py", records=records))
        assert f"{100 * at_cursor(table_of(**fields))['mean']:.1f}" in texts(page)


def test_it_says_when_no_model_attains_what_excess_is_measured_from_and_how_much_bounds_are_raised():
    problem = Problem(**REAL)
    beyond = problem.comparator().risk - problem.reference().risk
    told = captions(open_page(source="breast_cancer"))
    assert not problem.reference().attained and beyond > 0.1
    assert tells(told, "F* = 0", "none attains", "‖θ‖ ≤ 30", f"{beyond:.2f} above F*", "higher")
    told = captions(open_page(source="synthetic_hardest", n=2_000))
    assert "F*, the smallest of all models" in told and "higher" not in told


def test_one_release_is_marked_and_every_further_one_is_counted():
    page = open_page(place="output", source="iris", epsilon=2.0)
    for _ in range(2):
        page.button(key="release").click().run()
        page = finished(page)
        (chart,) = charts(page).values()
        assert "one release" in chart["figure"]
        (text,) = (spaced(m.value) for m in page.markdown if "One release" in m.value)
    assert tells(text, "2", "ε = 4", "2 × 10⁻⁶")
    page.select_slider(key="epsilon").set_value(3.0).run()
    assert "One release" not in texts(page), "it belongs to the state in which it was drawn"


def test_controls_without_use_are_left_out_unless_they_are_set():
    page = open_page()
    sliders = {slider.label: slider for slider in page.sidebar.select_slider}
    assert list(sliders) == [
        *("ε privacy budget", "δ failure probability", "n records", "p dimension (to 32)", "λ regularisation")
    ]
    assert ":has(> .st-key-block_m)" in texts(page) and ":has(> .st-key-block_n)" not in texts(page)
    assert [slider.key for slider in open_page(m=20).sidebar.select_slider if slider.disabled] == ["m"]


def test_what_is_hardly_better_than_the_larger_class_says_so():
    """Almost two thirds of the tumours are benign: an accuracy of 60 of 100 is worth nothing, though a coin has 50."""
    page = open_page(epsilon=0.1, source="breast_cancer")
    row = at_cursor(table_of(**REAL), 0.1)
    assert row["mean"] < row.nothing_learned < row.reference and row.nothing_learned > 0.6
    larger = f"no better than always predicting the larger class ({100 * row.nothing_learned:.1f}%)"
    assert larger in re.sub(r"<[^>]+>", "", headline(page))
    there = 100 * (row.reference - row.nothing_learned)
    assert f"; all of the {there:.1f} points that learning gains over the larger class" in texts(page)
    assert "coin: 50" not in texts(page)


def test_a_refusal_is_a_sentence_and_the_rest_of_the_page_stays():
    page = open_page(place="output", proof="classical")
    assert "<b" in headline(page) and "proved for ε &lt; 1 only" in headline(page)
    assert not page.exception and "from regularisation" not in texts(page) and len(charts(page)) == 1
    assert "release" not in [button.key for button in page.button], "nothing can be released"


@pytest.mark.parametrize("delta, n, expected", [(1e-6, 398, None), (1e-4, 398, "δ > 1/n²"), (1e-3, 5000, "δ ≥ 1/n")])
def test_large_deltas_are_named(delta, n, expected):
    note = sidebar.delta_note(delta, n)
    assert note is None if expected is None else expected in note


def test_the_icon_array_counts_to_its_numbers():
    picture = icon_array(52, 55, 73, colour="#123456", rest="#EEEEEE", alt='55 "of" 100')
    assert 'alt="55 &quot;of&quot; 100"' in picture
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", picture)[1]).decode()
    assert svg.count('fill="#123456"/>') == 52 and svg.count('fill-opacity="0.4"') == 3
    assert svg.count('fill="none"') == 18 and svg.count('fill="#EEEEEE"') == 27
    for counts in ((50, 60, 50), (-1, 0, 5), (5, 5, 101), (6, 5, 7)):
        with pytest.raises(ValueError, match="0 <= reached <= limit <= cap <= 100"):
            icon_array(*counts, colour="#000000", rest="#000000", alt="")


def test_words_for_costs():
    source = data.SOURCES["synthetic"]
    row = table_of(n=300, lam="auto").iloc[0].copy()
    row["mean"], row["reference"] = 0.8, 0.79
    assert "**1.0 percentage point more**" in words.takeaway(row, source, by_hand=False)
    row["mean"] = 0.7904
    assert "as many as the best model" in words.takeaway(row, source, by_hand=False)
    row["mean"] = 0.78
    row["noiseless"] = 0.79
    assert "**1.0 percentage point fewer**" in words.takeaway(row, source, by_hand=True)
    row["noiseless"], row["lam"] = 0.7801, 0.5
    by_hand = words.takeaway(row, source, by_hand=True)
    assert tells(by_hand, "**1.0 percentage point fewer**", "almost all of the loss", "λ you chose")
    assert "λ" not in words.takeaway(row, source, by_hand=False), "a rule sets λ for the noise"
    there = 100 * (0.79 - row.nothing_learned)
    noun, value, rest = words.readouts(row, source)[0]
    assert (noun, value) == ("Accuracy loss, percentage points", "1.0")
    assert tells(rest, "0.0 from noise", "1.0 from regularisation", f"{100 / there:.0f}%", f"{there:.1f}")
    row["mean"], row["noiseless"], row["reference"] = 0.6994, 0.8397, 0.87  # 17.06 = 14.03 + 3.03
    _, value, rest = words.readouts(row, source)[0]
    assert value == "17.1" and tells(rest, "14.0 from noise", "3.1 from regularisation"), "parts that make the whole"


def test_a_refused_release_has_no_lam_to_judge():
    page = open_page(behind="Assumptions", place="output", proof="classical", epsilon=0.5)
    assert "of a grid" in texts(page)
    refused = open_page(behind="Assumptions", place="output", proof="classical", epsilon=2.0)
    assert not refused.exception and "of a grid" not in texts(refused)


def test_where_gradient_perturbation_has_no_rule_the_caption_says_so():
    page = open_page(lam="population", source="iris")
    assert tells(texts(page), "Gradient perturbation is not drawn", "λ")


def test_the_slider_of_a_real_set_ends_at_its_own_records():
    """More would be copies, of which "any one patient" is in several."""
    page = open_page(source="breast_cancer")
    assert page.select_slider(key="n").options[-1] == "398"
    assert list(chips(page)) == ["ε = 0.1"]
    assert "50,000" in open_page().select_slider(key="n").options


def test_the_bound_is_taken_apart_beside_the_chart():
    page = finished(open_page(beside_cost=PROOF, epsilon=0.5))
    table = table_of()
    row = table[(table.metric == "excess_empirical_risk") & (table.x == 0.5)].iloc[0]
    found = proof_chain(ProofQuestion(mechanism_of("objective"), Problem(**DEFAULT), 0.5, 50))
    assert found.steps[0].value == pytest.approx(row["mean"], rel=1e-3)  # to the accuracy of charts
    assert found.steps[-1].value == pytest.approx(row.bound, rel=1e-9)
    said = proof_caption(found)
    assert said in captions(page) and tells(said, f"The bound is {times(row.bound / row['mean'])} times")
