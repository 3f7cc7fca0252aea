"""The start page without a browser: every state speaks the table's numbers, and its code redraws its chart."""

import base64
import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import Problem
from pages.overview import words
from pages.ui import sidebar
from pages.ui.details import readout
from pages.ui.html import icon_array
from pages.ui.numbers import cost, tenths
from tests.page_driver import captions, charts, headline, open_app, spaced, tells, texts

from ..flat_fields import experiment_of
from .test_links import finished

DEFAULT: dict[str, Any] = {"source": "synthetic", "n": 2_000, "lam": 0.005, "delta": 1e-7, "theta_norm": 6.0, "seed": 7}
REAL: dict[str, Any] = {"source": "breast_cancer", "n": 398, "lam": "auto", "delta": 1e-6, "theta_norm": None}
KEY = "objective_gaussian"


def open_page(**state) -> AppTest:
    """The page once all its answers are there."""
    return finished(open_app(**state))


def row_of(epsilon: float = 1.0, metric: str = "excess_empirical_risk", **changes):
    """A row of the table that the page asks for."""
    asked = experiment_of(**(DEFAULT | {"repetitions": 50, "mechanisms": (KEY,), "proved": KEY} | changes))
    table = dpcore.run(asked)
    return table[(table.metric == metric) & (table.x == epsilon)].iloc[0]


def plain_headline(page: AppTest) -> str:
    return re.sub(r"<[^>]+>", "", headline(page))


def test_the_default_state_teaches_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    row, mechanism = row_of(), dpcore.make_mechanism(KEY)
    parts = row["mean"], row["mean"] - row.noiseless, row.noiseless
    both, noise, floor = (100 * each / row.nothing_learned for each in parts)
    limit = mechanism.attack_limit(Problem(**DEFAULT).plan(mechanism, 1.0))
    times = words.of_100(limit)
    assert 0 < noise < both < 100 and noise + floor == pytest.approx(both) and 100 * limit <= times < 100 * limit + 1
    shares = f"privacy costs {both:.1f}% of what can be learned (noise {noise:.1f}%, floor {floor:.1f}%)"
    assert tells(plain_headline(page), "ε = 1", shares, f"{times} times in 100")
    assert len(charts(page)) == 2 and tells(
        captions(page), f"{times} times in 100, as the bells show", "guarantee 74, and"
    )
    accuracy = row_of(metric="accuracy")
    assert tells(texts(page), f"{100 * accuracy['mean']:.1f}%", f"without privacy {tenths(100 * accuracy.reference)}%")
    (shown, *_) = words.readouts(accuracy.to_frame().T.set_index("metric"), dpcore.data.get_source("synthetic"))
    assert spaced(readout(*shown)) in texts(page)


def test_perturbation_shows_the_same_number():
    """One state, one number: the same split, releases and reference."""
    row = row_of()
    page = finished(open_app("perturbation/page.py", records="synthetic"))
    assert f"least: {cost(row['mean'], row.nothing_learned)} of what" in plain_headline(page).replace("**", "")
    assert f"noise {cost(row['mean'] - row.noiseless, row.nothing_learned)}</b>" in open_figure(open_page())


def test_releases_stay_as_dots_and_spend_together():
    page = open_page(source="iris", epsilon=2.0)
    for _ in range(2):
        page.button(key="release").click().run()
        page = finished(page)
    assert tells(texts(page), "2 releases", "ε = 4", "2 × 10⁻⁶")
    assert dots_of(page) == 2
    page.select_slider(key="epsilon").set_value(3.0).run()
    page.button(key="release").click().run()
    page = finished(page)
    assert dots_of(page) == 3 and tells(texts(page), "3 releases", "ε = 7"), "dots of other budgets stay"
    page.selectbox(key="source").select("wine").run()
    assert dots_of(finished(page)) == 0, "other records, other releases"


def open_figure(page: AppTest) -> str:
    """The figure of the price."""
    (figure,) = (chart["figure"] for chart in charts(page).values() if "single releases" in chart["figure"])
    return figure


def dots_of(page: AppTest) -> int:
    drawn = json.loads(open_figure(page))
    (dots,) = (trace for trace in drawn["data"] if trace.get("name") == "single releases")
    return len(base64.b64decode(dots["x"]["bdata"])) // 8 if dots["x"] else 0


def test_the_sidebar_has_what_the_page_uses():
    page = open_page()
    assert [slider.label for slider in page.sidebar.select_slider] == ["ε privacy budget", "n records"]
    assert ":has(> .st-key-block_m)" in texts(page) and ":has(> .st-key-block_n)" not in texts(page)
    assert [slider.key for slider in open_page(m=20).sidebar.select_slider if slider.disabled] == ["m"]


def test_where_nothing_is_left_or_nothing_is_promised_the_sentence_says_so():
    row = row_of(0.1, **REAL)
    assert row.noiseless < row["mean"] < row.nothing_learned
    told = f"costs {cost(row['mean'], row.nothing_learned)} of what can be learned"
    assert told in plain_headline(open_page(epsilon=0.1, source="breast_cancer"))
    assert "the model is worse than one that learns nothing" in plain_headline(open_page(epsilon=0.05))
    refused = open_page(epsilon=0.01)
    assert not refused.exception and len(charts(refused)) == 1
    assert plain_headline(refused).endswith("no guarantee with 2,000 people: it begins at ε = 0.03.")
    assert refused.button(key="release").disabled, "nothing can be released"


@pytest.mark.parametrize("delta, n, expected", [(1e-6, 398, None), (1e-4, 398, "δ > 1/n²"), (1e-3, 5000, "δ ≥ 1/n")])
def test_large_deltas_are_named(delta, n, expected):
    note = sidebar.delta_note(delta, n)
    assert note is None if expected is None else expected in note


def test_the_icon_array_counts_to_its_numbers():
    picture = icon_array(52, 55, 73, colour="#123456", rest="#EEEEEE", alt='55 "of" 100', labels=("<a>", "b", "c"))
    assert 'alt="55 &quot;of&quot; 100"' in picture and "<ul><li>&lt;a&gt;</li><li>b</li><li>c</li></ul>" in picture
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", picture)[1]).decode()
    assert svg.count('fill="#123456"/>') == 52 and svg.count('fill-opacity="0.4"') == 3
    assert svg.count('fill="none"') == 18 and svg.count('fill="#EEEEEE"') == 27
    for counts in ((50, 60, 50), (-1, 0, 5), (5, 5, 101), (6, 5, 7)):
        with pytest.raises(ValueError, match="0 <= reached <= limit <= cap <= 100"):
            icon_array(*counts, colour="#000000", rest="#000000", alt="", labels=("", "", ""))


def test_assumptions_say_what_the_bound_compares_with_and_what_another_lam_would_gain():
    problem = Problem(**REAL)
    beyond = problem.comparator().risk - problem.reference().risk
    told = texts(open_page(source="breast_cancer", behind="Assumptions"))
    assert not problem.reference().attained and beyond > 0.1
    assert tells(told, "F* = 0", "none attains", "‖θ‖ ≤ 30", f"{beyond:.2f} above F*", "of a grid")
    refused = open_page(behind="Assumptions", epsilon=0.01)
    assert not refused.exception and "of a grid" not in texts(refused)


def test_the_slider_of_a_real_set_ends_at_its_own_records():
    """More would be copies, of which "any one patient" is in several."""
    assert open_page(source="breast_cancer").select_slider(key="n").options[-1] == "398"
    assert "50,000" in open_page().select_slider(key="n").options


def test_what_releases_have_spent_is_rounded_up():
    assert words.released([(0.3331, 0.0)] * 2, 1e-6).startswith("2 releases have together spent ε = 0.667, ")
    assert words.released([(0.1, 0.0)] * 10, 1e-6).startswith("10 releases have together spent ε = 1, ")
