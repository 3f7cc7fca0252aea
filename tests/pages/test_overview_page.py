"""The start page without a browser: every state speaks the table's numbers, and its code redraws its chart."""

import base64
import random
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import data
from dpcore.experiments.tuning_gap import regret_at
from dpcore.figures.figure import Figure
from pages.overview import words
from pages.ui import sidebar
from pages.ui.cards import readout
from pages.ui.html import emphasised, plain
from pages.ui.icon_array import icon_array
from pages.ui.numbers import points
from tests.nights import each
from tests.page_driver import headline, open_app, texts

from ..flat_fields import experiment_of

SHOWN = ["breast_cancer", "digits", "wine", "iris", "synthetic", "synthetic_correlated"]


def open_page(**state) -> AppTest:
    return open_app(**state)


def table_of(**changes):
    fields = {"delta": 1e-6, "repetitions": 100, "seed": 7} | changes
    return dpcore.run(experiment_of(**fields))


def odds_at_cursor(epsilon: float = 1.0, proof: str = "tight", seed: int = 7, **changes) -> dpcore.AttackSuccess:
    """Of the default state, or of a changed one."""
    mechanism = dpcore.make_mechanism("output_gaussian", accounting=proof)
    fields = {"source": "breast_cancer", "delta": 1e-6, "seed": seed} | changes
    cell = next(experiment_of(mechanisms=(mechanism,), **fields).cells())
    return dpcore.attack_success(cell.problem.plan(mechanism, epsilon), seed=seed)


def test_the_default_state_teaches_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    row = table_of().query("metric == 'accuracy' and x == 1.0").iloc[0]
    found = odds_at_cursor()
    said = re.sub(r"<[^>]+>", "", headline(page))
    source = data.get_source("breast_cancer")
    lost = plain(words.takeaway(row, source, by_hand=False) + words.larger_class(row, source))
    assert said == lost + plain(words.answer(found)), "what is lost, and how often an attacker could be right"
    cost = 100 * (row.reference - row["mean"])
    assert f"{cost:.1f} points" in said and "398 patients" in said
    assert words.odds(found) in texts(page)
    assert (found.cap, found.limit) == (row.attack_cap, row.attack_limit)
    (dots,) = re.findall(r"base64,([^\"]+)", "".join(e.proto.body for e in page.get("html")))
    svg = base64.b64decode(dots).decode()
    solid, pale, ringed = (svg.count(look) for look in ('fill="#CB7513"/>', 'fill-opacity="0.4"', 'fill="none"'))
    certified, limit, cap = found.of_100
    assert (solid, solid + pale, solid + pale + ringed) == (certified, limit, cap)
    assert certified <= 100 * found.certified and limit >= 100 * row.attack_limit and cap >= 100 * row.attack_cap
    assert 50 < certified <= limit < cap and f"at most {limit} times of 100" in said
    assert any("‖θ‖ ≤ 30" in caption.value for caption in page.caption), "the reference's radius is in sight"
    for value, label in words.readouts(row, data.SOURCES["breast_cancer"]):
        assert readout(value, label) in texts(page)


def test_controls_without_use_are_disabled_and_one_line_says_why():
    page = open_page()
    sliders = {slider.label: slider for slider in page.sidebar.select_slider}
    assert list(sliders)[:5] == [
        "ε privacy budget",
        "δ failure probability",
        "n records",
        "p dimension",
        "λ regularisation",
    ]
    (line,) = [each.proto.body for each in page.sidebar.get("html") if "not-used" in each.proto.body]
    assert sliders["m draws"].disabled and 'data-meaning="Output perturbation draws no samples."' in line
    assert sliders["p dimension"].disabled and 'data-meaning="This data set has 31 columns."' in line
    assert all(f".st-key-block_{key}" in line for key in ("m", "p")) and ".st-key-block_n" not in line
    assert not sliders["λ regularisation"].disabled


@pytest.mark.parametrize("case", each(3, range(25)))
def test_random_states_show_no_error_and_true_numbers(case):
    rng = random.Random(case)
    source = rng.choice(SHOWN)
    chosen = {
        "source": source,
        "proof": rng.choice(["tight", "published", "classical"]),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "n": rng.choice([n for n in sidebar.PEOPLE if n <= 3000]),
        "lam": rng.choice(sidebar.LAMBDAS),
        "seed": rng.randrange(100),
        "at_most": rng.choice([0.5, 5.0, 20.0]),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data", None]),
    }
    page = open_page(**chosen)
    assert not page.exception and not page.error, chosen
    mechanism = dpcore.make_mechanism("output_gaussian", accounting=chosen["proof"])
    table = table_of(mechanisms=(mechanism,), **{k: chosen[k] for k in ("source", "delta", "n", "lam", "seed")})
    here = table[(table.x == chosen["epsilon"])].iloc[0]
    by_hand = not isinstance(chosen["lam"], str)
    refused = here.status != "ok"
    if refused:
        expected = [words.refusal(here, data.SOURCES[source])]
    else:
        found = odds_at_cursor(**{k: chosen[k] for k in ("epsilon", "proof", "seed", "source", "delta", "n", "lam")})
        larger = [sentence for sentence in [words.larger_class(here, data.SOURCES[source])] if sentence]
        expected = [words.takeaway(here, data.SOURCES[source], by_hand=by_hand), *larger, words.answer(found)]
    assert headline(page) == "".join(emphasised(sentence, "#CB7513") for sentence in expected)
    assert not re.search(r"\bnan\b", texts(page).lower())


def test_what_is_hardly_better_than_the_larger_class_says_so():
    """Almost two thirds of the tumours are benign: an accuracy of 60 of 100 is worth nothing, though a coin has 50."""
    page = open_page(epsilon=0.1)
    row = table_of().query("metric == 'accuracy' and x == 0.1").iloc[0]
    assert row["mean"] < row.nothing_learned < row.reference and row.nothing_learned > 0.6
    larger = f"no better than always predicting the larger class ({100 * row.nothing_learned:.1f}%)"
    assert larger in re.sub(r"<[^>]+>", "", headline(page))
    there = 100 * (row.reference - row.nothing_learned)
    assert f"; all of the {there:.1f} points above the larger class" in texts(page)
    assert "coin: 50" not in texts(page)


def test_another_data_set_starts_with_its_own_people():
    page = open_page()
    page.selectbox(key="source").set_value("synthetic").run()
    assert page.session_state["n"] == 5000
    assert "With 5,000 people" in headline(page)
    page.selectbox(key="source").set_value("breast_cancer").run()
    assert page.session_state["n"] == 398


def test_chips_set_the_controls():
    page = open_page()
    next(b for b in page.button if b.label == "5,000 patients").click().run()
    assert page.session_state["n"] == 5000
    assert "With 5,000 patients drawn with replacement from 398 (a what-if)" in headline(page)
    next(b for b in page.button if b.label == "ε = 0.1").click().run()
    assert "ε = 0.1" in headline(page)


def test_a_refusal_is_a_sentence_and_the_rest_of_the_page_stays():
    page = open_page(proof="classical")
    assert "<b" in headline(page) and "proved for ε &lt; 1 only" in headline(page)
    assert not page.exception and "to regularisation" not in texts(page)
    assert "Smallest good ε" in texts(page) or "Not reachable" in texts(page)


def test_the_code_redraws_the_chart(monkeypatch):
    page = open_page(behind="Code", source="synthetic", n=500, epsilon=0.1)
    drawn = []
    monkeypatch.setattr(Figure, "show", lambda self: drawn.append(self))
    exec(page.code[0].value, {})
    table = table_of(source="synthetic", n=500)
    accuracy = table[table.metric == "accuracy"]
    private = next(t for t in drawn[0].data if t.name == "private, on average")
    assert np.array_equal(private.y, 100 * accuracy["mean"])


def test_re_roll_changes_the_seed_and_the_numbers():
    page = open_page(source="synthetic", n=500)
    before = headline(page)
    next(b for b in page.button if b.label == "New seed").click().run()
    assert page.session_state["seed"] == 8 and headline(page) != before


@pytest.mark.parametrize("delta, n, expected", [(1e-6, 398, None), (1e-4, 398, "above 1/n²"), (1e-3, 5000, "δ ≥ 1/n")])
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
    row = table_of(source="synthetic", n=300).iloc[0].copy()
    row["mean"], row["reference"] = 0.8, 0.79
    assert "privacy is **free** here" in words.takeaway(row, source, by_hand=False)
    row["mean"] = 0.78
    row["noiseless"] = 0.79
    assert "privacy costs **1.0 point**" in words.takeaway(row, source, by_hand=True)
    row["noiseless"], row["lam"] = 0.7801, 0.5
    said = words.takeaway(row, source, by_hand=True)
    assert "of the **1.0 point** lost nearly all go to the λ set by hand, not to noise" in said
    assert "privacy costs **1.0 point**" in words.takeaway(row, source, by_hand=False), "a rule sets λ for the noise"
    assert words.readouts(row, source)[0] == (
        "1.0 point",
        "lost: 0.0 to noise, 1.0 to regularisation; "
        f"{1 / (0.79 - row.nothing_learned):.0f}% of the {100 * (0.79 - row.nothing_learned):.1f} points there are to "
        "points above the larger class",
    )


@pytest.mark.parametrize("lam", ["auto", "population", 0.5])
def test_the_assumptions_say_what_the_best_lam_would_win(lam):
    page = open_page(behind="Assumptions", lam=lam, source="iris", n=200, epsilon=3.0)
    assert not page.exception and not page.error
    lost = regret_at(
        dpcore.Experiment(dpcore.Problem("iris", n=200, delta=1e-6, lam=lam, seed=7), repetitions=100), 3.0
    )
    said = f"would win {points(lost)}" if lost >= 0.05 else "no λ of a grid does better"
    assert said in texts(page)
    name = {"auto": "λ = auto", "population": "λ = theory"}.get(lam, "set by hand")
    assert name in texts(page)


def test_a_refused_release_has_no_lam_to_judge():
    page = open_page(behind="Assumptions", proof="classical", epsilon=0.5)
    assert "of a grid" in texts(page)
    refused = open_page(behind="Assumptions", proof="classical", epsilon=2.0)
    assert not refused.exception and "of a grid" not in texts(refused)
