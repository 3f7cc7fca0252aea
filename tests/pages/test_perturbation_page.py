"""The perturbation page without a browser: every state speaks the table's numbers, and its code redraws its chart."""

import base64
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import data
from dpcore.experiments.proof_chain import ProofQuestion, proof_chain
from dpcore.figures.style import FAMILIES
from dpcore.studies.hardest.excess import hardest
from dpcore.studies.perturbation.release_scatter import release_scatter
from pages.background import tables
from pages.background.hardest import hardest_question
from pages.perturbation import beside, words
from pages.ui.details import readout
from pages.ui.html import plain
from pages.ui.numbers import rounded
from pages.ui.pickers import PEOPLE_NORM
from pages.ui.proof import proof_caption
from pages.ui.verdict import NO_LOWER, hardest_line
from tests.page_driver import captions, charts, finished, headline, open_app, spaced, tells, texts

from ..flat_fields import experiment_of

PEOPLE = data.SOURCES["synthetic"]
BALL = PEOPLE_NORM


def open_page(**state) -> AppTest:
    return open_app("perturbation/page.py", **({"n": 300} | state))


def mechanisms_of(noise="gaussian"):
    keys = [f"output_{noise}", f"objective_{noise}", *(["noisy_gd"] if noise == "gaussian" else [])]
    return tuple(dpcore.make_mechanism(key) for key in keys)


def table_of(noise="gaussian", **changes) -> pd.DataFrame:
    fields = {
        "source": "synthetic",
        "n": 300,
        "delta": 1e-6,
        "theta_norm": BALL,
        "repetitions": 50,
        "seed": 7,
    } | changes
    return dpcore.run(experiment_of(mechanisms=mechanisms_of(noise), **fields))


def rows(answer, question, *step, se=0.001, noise="gaussian", **more) -> pd.DataFrame:
    """The rows at the cursor as `dpcore.run` gives them, with chosen excess risks; None: not applicable."""
    made = []
    found = [(f"output_{noise}", answer, 0.0), (f"objective_{noise}", question, se)]
    for key, value, error in [*found, *(("noisy_gd", value, se) for value in step)]:
        about = {"mechanism": key, "epsilon": 0.5, "n": 1000, "repetitions": 50, "lam": 0.01, "nothing_learned": 0.5}
        if value is None:
            reason = f"{key} needs lam > 0.02 for epsilon = 0.5 and n = 1000, got 0.01: below that"
            made.append(about | {"metric": None, "mean": None, "status": "not applicable", "reason": reason})
        else:
            budget = {"spent_epsilon": 0.5, "spent_delta": 1e-6 if noise == "gaussian" else 0.0}
            metric = {"metric": "excess_empirical_risk", "mean": value, "se": error, "status": "ok"}
            made.append(about | budget | metric | more)
    return pd.DataFrame(made)


def test_the_sentence_names_the_winner_and_all_numbers():
    said = words.takeaway(rows(0.02, 0.005))
    assert (
        said == "At ε = 0.5, noise in the **objective** costs least: **1%** of what can be learned, in the output 4%."
    )
    said = words.takeaway(rows(0.02, 0.005, 0.001))
    assert said.endswith(
        "**gradient** costs least: **0.2%** of what can be learned, in the objective 1%, in the output 4%."
    )
    said = words.takeaway(rows(0.02, 0.7))
    assert said.endswith("in the **output** costs least: **4%** of what can be learned, in the objective all.")
    said = words.takeaway(rows(0.7, 0.5))
    assert tells(said, "**no model learns anything**", "in the objective costs least, and more than there is to learn.")
    assert words.winner(rows(0.02, 0.05)) == "output" and words.winner(rows(0.02, 0.005)) == "objective"
    assert words.winner(rows(0.02, 0.05, 0.01)) == "gradient"


def test_what_the_draws_cannot_tell_is_no_difference():
    said = words.takeaway(rows(0.02, 0.0185, se=0.001))
    assert "costs the same within the error" in said and "**3.7%** and 4% of what can be learned, ± 0.2%" in said
    assert "costs least" in words.takeaway(rows(0.02, 0.0185, se=0.0001))
    said = words.takeaway(rows(0.5, 0.02, 0.0185, se=0.001))
    assert tells(said, "**gradient** and in the objective", "**3.7%** and 4% of", "± 0.3%, in the output all.")


def test_a_refusal_says_what_the_rule_and_what_to_do():
    said = words.takeaway(rows(0.3, None))
    assert tells(said, "Objective perturbation gives **no guarantee**", "λ > 0.02", "(here 0.01)", "Raise λ or ε")
    assert tells(said, "or use output perturbation (it costs **60%** of what can be learned)")
    assert "use" not in words.takeaway(rows(None, None)) and "use" not in words.takeaway(rows(0.6, None))
    assert tells(words.takeaway(rows(0.3, None, 0.1)), "or use gradient perturbation", "**20%**")
    assert words.winner(rows(None, None)) == "output"


def test_different_guarantees_are_never_called_the_same():
    assert words.guarantee(rows(0.1, 0.2)) == "**Same guarantee:** (0.5, 10⁻⁶)."
    assert words.guarantee(rows(0.1, 0.2, noise="gamma")) == "**Same guarantee:** ε = 0.5."
    published = rows(0.1, 0.2)
    published.loc[1, "spent_epsilon"] = 0.7
    told = "**Not the same guarantee:** output (0.5, 10⁻⁶), objective (0.7, 10⁻⁶)."
    assert words.guarantee(published) == told
    assert words.guarantee(rows(None, None)) == "**Same guarantee:** none."


@pytest.mark.parametrize(
    "value, text", [(0.0000346012, "3.46 × 10⁻⁵"), (219.7, "220"), (-0.02, "−0.02"), (0.0, "0"), (56789.0, "56,800")]
)
def test_numbers_have_no_exponent(value, text):
    assert rounded(value) == text


def test_data_have_a_column_a_curve_and_an_error_where_there_is_one():
    shown = finished(open_page(behind="Data", lam=0.01, epsilon=2.0)).dataframe[0].value
    found = table_of(lam=0.01, delta=1e-7).query("x == 2.0").reset_index()
    assert len(found) == 6
    for mechanism, metric, mean, bound in zip(found.mechanism, found.metric, found["mean"], found.bound, strict=True):
        curve = f"{mechanism} {metric}".replace("_", " ")
        assert shown[f"{curve} mean"].iloc[0] == mean
        assert shown[f"{curve} bound"].iloc[0] == bound if metric != "accuracy" else f"{curve} bound" not in shown
        assert (f"{curve} se" in shown) == (mechanism != "output_gaussian"), "one is exact"


def test_the_hardest_records_are_drawn_for_the_chosen_mechanism():
    for place, key in (("output", "output_gaussian"), ("objective", "objective_gaussian")):
        page = finished(open_page(n=300, lam=0.02, place=place))
        assert not page.exception
        problem = dpcore.Problem("synthetic", 300, 8, delta=1e-7, lam=0.02, theta_norm=BALL, seed=7)
        found = hardest(hardest_question(problem, dpcore.make_mechanism(key)))
        (thin,) = _curves(page, "hardest records known")
        heights = np.frombuffer(base64.b64decode(thin["y"]["bdata"]), thin["y"]["dtype"])
        assert heights == pytest.approx(found.mean, nan_ok=True) and thin["line"]["width"] == 1
        assert thin["line"]["color"] == FAMILIES["light"][place]
        assert hardest_line(found, 1.0, 300) in spaced(texts(page))


def _curves(page: AppTest, name: str) -> list[dict[str, Any]]:
    traces = [trace for chart in charts(page).values() for trace in json.loads(chart["figure"])["data"]]
    return [trace for trace in traces if trace.get("name") == name]


def test_many_records_have_no_hardest_ones():
    assert hardest_question(dpcore.Problem("synthetic", 20_000, 8), dpcore.make_mechanism("output_gaussian")) is None


def test_the_default_state_teaches_without_a_click():
    table = table_of(n=2_000, lam=0.005, delta=1e-7, proved="objective_gaussian")
    here = table.query("x == 1.0")
    page = finished(open_app("perturbation/page.py"))
    assert not page.exception and not page.error
    said = re.sub(r"<[^>]+>", "", headline(page))
    assert said == spaced(plain(words.takeaway(here)))
    assert tells(said, "noise in the objective costs least", "of what can be learned, in the gradient 8")
    assert "**Same guarantee:** (1, 10⁻⁷)" in captions(page)
    problem = dpcore.Problem("synthetic", n=2_000, lam=0.005, delta=1e-7, theta_norm=BALL, seed=7)
    chain = proof_chain(ProofQuestion(dpcore.make_mechanism("objective_gaussian"), problem, 1.0, 50))
    assert proof_caption(chain) in captions(page)
    for card in words.readouts(here, PEOPLE):
        assert spaced(readout(*card)) in texts(page)
    for key in ("output_gaussian", "objective_gaussian"):
        proved = table_of(n=2_000, lam=0.005, delta=1e-7, proved=key).query("x == 1.0 and bound > 0")
        row = proved.set_index("mechanism").loc[key]
        assert row.bound < row.nothing_learned and row.bound < 6.0 * row["mean"]
        assert 0.0 < row.proved_low < row["mean"] < row.proved_high < 2.0 * row["mean"]
    assert_between_bounds(table)


def test_releases_of_two_numbers_stand_around_the_model_without_noise():
    page = finished(open_page(side="Releases"))
    plane = dpcore.Problem("synthetic", n=300, p=2, lam=0.005, delta=1e-7, theta_norm=BALL, seed=7)
    made = release_scatter(mechanisms_of(), plane, 1.0)
    assert beside.releases_caption(made, 300) in captions(page)
    away = [np.sqrt(((c.thetas - c.theta_hat) ** 2).sum(axis=1).mean()) for c in made.mechanisms]
    named = "; ".join(
        f"{place}: {rounded(d, 2)}" for place, d in zip(("output", "objective", "gradient"), away, strict=True)
    )
    assert f"{named}." in captions(page)


def test_the_bounds_are_those_of_the_chosen_mechanism():
    said = {place: texts(finished(open_page(place=place, lam=0.01))) for place in ("output", "gradient")}
    kept = "x == 1.0 and metric == 'excess_empirical_risk'"
    for place, key in (("output", "output_gaussian"), ("gradient", "noisy_gd")):
        row = table_of(lam=0.01, delta=1e-7, proved=key).query(kept).set_index("mechanism").loc[key]
        assert f"the upper bound is {rounded(row.bound / row['mean'], 2)} times the measurement" in said[place]


def assert_between_bounds(table):
    """Over a third of the axis, on its log scale, some upper bound is informative: below what learning nothing costs,
    and at most fifteen times the measurement. Bounds are for the worst records; on these the excess of objective
    perturbation falls faster than its bound, before output perturbation's is informative."""
    rows = table[table.metric == "excess_empirical_risk"]
    bites = (rows.bound < rows.nothing_learned) & (rows.bound <= 15.0 * rows["mean"])
    x, found = np.unique(rows.x), np.unique(rows.x[bites])
    assert np.isin(x[x >= found.min()], found).all(), "without gaps"
    assert np.log(x[-1] / found.min()) >= np.log(x[-1] / x[0]) / 3.0
    assert (rows.lower_bound < rows["mean"]).all()


def test_gamma_noise_has_no_bounds_of_gradient_perturbation():
    page = open_page(noise="gamma", place="gradient")
    assert not page.exception and page.session_state["place"] == "objective"


def test_pure_noise_has_two_places_and_says_why():
    page = open_page(noise="gamma")
    assert "Gradient perturbation is missing" in captions(page)
    assert "gradient" not in headline(page)


def test_one_lam_is_a_line_in_the_valley_and_several_are_none():
    here = rows(0.1, 0.2).assign(lam=[0.01, 0.0102])
    assert (
        beside.lam_at(here) == 0.01 and beside.lam_at(rows(None, None).drop(columns="lam").assign(lam=np.nan)) is None
    )
    assert beside.lam_at(here.assign(lam=[0.01, 0.02])) is None


def test_a_refusal_shows_on_every_part_of_the_page():
    page = open_page(lam=0.0001, epsilon=0.1)
    assert "needs λ &gt;" in headline(page) and "no guarantee" in headline(page)
    assert "There is no bound to take apart: " in captions(page)
    assert "objective: refused" in captions(open_page(lam=0.0001, epsilon=0.1, side="Releases"))
    assert readout("Gaussian objective perturbation", "refused", "no guarantee here") in texts(page)


def test_a_heavy_state_begins_with_few_draws_and_says_so(monkeypatch):
    asked = {people: experiment_of(mechanisms=mechanisms_of(), n=people, repetitions=50) for people in (300, 10_000)}
    assert [beside.first_repetitions(experiment) for experiment in asked.values()] == [50, 4]
    monkeypatch.setattr(beside, "QUICK", 3_000)  # that smaller states are heavy
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 0.0)
    said = captions(open_page(n=500, seed=91))
    assert "from 4 draws" in said and "4 of 50 releases, about" in said
    light = captions(open_page(n=300, seed=91))
    assert "from 50 draws" in light and "releases, about" not in light


def test_on_the_hardest_data_the_page_says_how_far_measurements_lie_above_the_lower_bound():
    page = open_page(records=words.HARDEST, epsilon=0.1, lam="auto", delta=1e-6)
    table = table_of(source=words.HARDEST)
    here = table[(table.metric == "excess_empirical_risk") & (table.x == 0.1)]
    assert len(here) == 3 and (here["mean"] > here.lower_bound).all()
    said = words.lower_line(here, words.HARDEST)
    factors = here["mean"] / here.lower_bound
    assert tells(
        said, rounded(here.lower_bound.max(), 2), f"{rounded(factors.min(), 2)} to {rounded(factors.max(), 2)} times"
    )
    assert said in texts(page) and "times" not in words.lower_line(here, "synthetic")
    cards = words.readouts(table[table.x == 0.1], data.SOURCES[words.HARDEST])
    assert [value for _, value, _ in cards] == [f"{rounded(factor, 2)} times" for factor in factors]
    assert all(spaced(readout(*card)) in texts(page) for card in cards)
    assert words.lower_line(here.assign(lower_bound=np.nan), words.HARDEST) == NO_LOWER


def test_another_data_set_starts_with_its_own_people():
    page = open_page()
    page.selectbox(key="records").set_value("iris").run()
    assert page.session_state["n"] == 105 and not page.exception
    page.selectbox(key="records").set_value("synthetic").run()
    assert page.session_state["n"] == 2_000, "what can be drawn at once, not all 5,000"
