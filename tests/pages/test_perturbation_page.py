"""The perturbation page without a browser: every state speaks the table's numbers, and its code redraws its chart."""

import random
import re

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import Budget, data
from dpcore.figures.figure import Figure
from dpcore.figures.perturbation import RULE_NAMES, excess_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.perturbation.exact_answers_leak import median_leak, polynomial_fit, support_vector_leak
from dpcore.studies.perturbation.non_private_descent import work
from dpcore.studies.perturbation.published_rates import lecture_bound
from dpcore.studies.perturbation.release_scatter import clouds
from dpcore.theory.erm import published_output_rate
from pages.background import tables
from pages.perturbation import batches, beside, words, zero
from pages.perturbation.beside import BOUND_EPSILONS, BOUND_REPETITIONS, FEWEST, SIDES, WORK_PEOPLE
from pages.ui import sidebar
from pages.ui.cards import readout
from pages.ui.html import emphasised, plain
from pages.ui.numbers import rounded
from pages.ui.pickers import SHOWN
from tests.nights import each
from tests.page_driver import captions, headline, open_app, tells, texts

from ..flat_fields import experiment_of

PEOPLE = data.SOURCES["synthetic"]


def open_page(**state) -> AppTest:
    return open_app("perturbation/page.py", **({"n": 300} | state))


def mechanisms_of(noise="gaussian"):
    laws = ("gaussian", "gamma") if noise == "both" else (noise,)
    keys = [f"{family}_{law}" for law in laws for family in ("output", "objective")]
    if "gaussian" in laws:
        keys.insert(2, "noisy_gd")
    return tuple(dpcore.make_mechanism(key) for key in keys)


def table_of(noise="gaussian", **changes) -> pd.DataFrame:
    fields = {"source": "synthetic", "n": 300, "delta": 1e-6, "repetitions": 50, "seed": 7} | changes
    return dpcore.run(experiment_of(mechanisms=mechanisms_of(noise), **fields))


def rows(answer, question, *step, se=0.001, noise="gaussian", **more) -> pd.DataFrame:
    """The rows at the cursor as `dpcore.run` gives them, with chosen excess risks; None: not applicable."""
    made = []
    found = [(f"output_{noise}", answer, 0.0), (f"objective_{noise}", question, se)]
    for key, value, error in [*found, *(("noisy_gd", value, se) for value in step)]:
        about = {"mechanism": key, "epsilon": 0.5, "n": 1000, "repetitions": 50, "lam": 0.01}
        if value is None:
            reason = f"{key} needs lam > 0.02 for epsilon = 0.5 and n = 1000, got 0.01: below that"
            made.append(about | {"metric": None, "mean": None, "status": "not applicable", "reason": reason})
        else:
            budget = {"spent_epsilon": 0.5, "spent_delta": 1e-6 if noise == "gaussian" else 0.0}
            metric = {"metric": "excess_empirical_risk", "mean": value, "se": error, "status": "ok"}
            made.append(about | budget | metric | more)
    return pd.DataFrame(made)


def test_the_sentence_names_the_winner_and_by_how_much():
    said = words.takeaway(rows(0.02, 0.005), PEOPLE)
    assert said == (
        "At ε = 0.5 with 1,000 people, **objective perturbation** leaves **4.0 times less** excess risk "
        "than output perturbation: 0.005 against 0.02."
    )
    said = words.takeaway(rows(0.02, 0.005, 0.001), PEOPLE)
    assert said.endswith(
        "**gradient perturbation** leaves **5.0 times less** excess risk than objective perturbation and 20 times less "
        "than output perturbation: 0.001 against 0.005 and 0.02."
    )
    said = words.takeaway(rows(0.02, 0.05), PEOPLE)
    assert "**output perturbation** leaves **2.5 times less**" in said and "0.02 against 0.05" in said
    assert words.winner(rows(0.02, 0.05)) == "output" and words.winner(rows(0.02, 0.005)) == "objective"
    assert words.winner(rows(0.02, 0.05, 0.01)) == "gradient"


def test_what_the_draws_cannot_tell_is_called_too_close():
    said = words.takeaway(rows(0.02, 0.0185, se=0.001), PEOPLE)
    assert "too close to call" in said and "0.0185 and 0.02, ± 0.001 from 50 draws" in said and "less" not in said
    assert "less" in words.takeaway(rows(0.02, 0.0185, se=0.0001), PEOPLE)
    said = words.takeaway(rows(0.5, 0.02, 0.0185, se=0.001), PEOPLE)
    assert tells(said, "**gradient perturbation** and objective perturbation leave", "0.0185 and 0.02, ± 0.001")
    assert said.endswith("; output perturbation leaves 0.5.")


def test_a_closed_door_is_named_with_its_reason_and_what_the_other_costs():
    said = words.takeaway(rows(0.3, None), PEOPLE)
    assert said == (
        "Objective perturbation gives **no guarantee** here: it needs λ > 0.02 for ε = 0.5 and n = 1,000 (here 0.01): "
        "below that. Output perturbation leaves **0.3**."
    )
    assert words.winner(rows(None, None)) == "output"
    both = pd.concat([rows(0.3, None), rows(0.2, 0.1, noise="gamma")])
    said = words.takeaway(both, PEOPLE)
    assert "with Gamma noise **objective perturbation** leaves" in said and "with Gaussian noise gives **no" in said


def test_different_promises_are_never_called_the_same():
    assert words.promise(rows(0.1, 0.2)) == (True, "Same guarantee: (0.5, 10⁻⁶)")
    assert words.promise(rows(0.1, 0.2, noise="gamma")) == (True, "Same guarantee: ε = 0.5")
    both = pd.concat([rows(0.1, 0.2), rows(0.1, 0.2, noise="gamma")])
    assert words.promise(both) == (False, "Not the same guarantee: Gaussian (0.5, 10⁻⁶), Gamma ε = 0.5")
    published = rows(0.1, 0.2)
    published.loc[1, "spent_epsilon"] = 0.7
    assert words.promise(published) == (False, "Not the same guarantee: output (0.5, 10⁻⁶), objective (0.7, 10⁻⁶)")
    assert words.promise(rows(None, None)) == (True, "Same guarantee: none")


@pytest.mark.parametrize(
    "value, text", [(0.0000346012, "0.0000346"), (219.7, "220"), (-0.02, "−0.02"), (0.0, "0"), (56789.0, "56.8k")]
)
def test_numbers_have_no_exponent(value, text):
    assert rounded(value) == text


def test_the_default_state_teaches_without_a_click():
    here = table_of(n=1000).query("x == 1.0")
    page = open_page(n=1000)
    assert not page.exception and not page.error
    said = re.sub(r"<[^>]+>", "", headline(page))
    assert said == plain(words.takeaway(here, PEOPLE))
    assert "gradient perturbation leaves" in said and "times less" in said
    assert "Same guarantee: (1, 10⁻⁶)" in texts(page)
    made = clouds(mechanisms_of(), dpcore.Problem("synthetic", n=1000, p=2, seed=7), 1.0)
    assert beside.cloud_caption(made, 1000) in captions(page)
    away = [np.sqrt(((c.thetas - c.theta_hat) ** 2).sum(axis=1).mean()) for c in made.clouds]
    named = "; ".join(
        f"{door}: {rounded(d, 2)}" for door, d in zip(("output", "objective", "gradient"), away, strict=True)
    )
    assert f"{named}." in captions(page)
    for value, label in words.readouts(here, PEOPLE):
        assert readout(value, label) in texts(page)


def test_controls_without_use_are_disabled_and_n_stops_early():
    page = open_page()
    sliders = {slider.label: slider for slider in page.sidebar.select_slider}
    assert sliders["m draws"].disabled
    assert not sliders["λ regularisation"].disabled
    assert sliders["n records"].options[-1] == "10,000", "every draw is a minimisation"
    assert "**n** stops at 10,000" in texts(open_page(behind="Assumptions"))


@pytest.mark.parametrize("case", each(3, range(14)))
def test_random_states_show_no_error_and_true_numbers(case):
    rng = random.Random(case)
    source = rng.choice(SHOWN)
    chosen = {
        "records": source,
        "noise": rng.choice(list(words.PICKED_NOISES)),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "n": rng.choice([200, 300, 500]),
        "lam": rng.choice(sidebar.LAMBDAS),
        "seed": rng.randrange(100),
        "side": rng.choice(SIDES),
        "leak": rng.choice(list(zero.LEAKS)),
        "layers": rng.sample(["bounds", "bias", "rates", "lemma"], rng.randrange(5)),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data", None]),
    }
    same = ("noise", "delta", "n", "lam", "seed")
    table = table_of(source=source, p=data.SOURCES[source].p or 8, **{key: chosen[key] for key in same})
    page = open_page(**chosen)
    assert not page.exception and not page.error, chosen
    here = table[table.x == chosen["epsilon"]]
    colour = FAMILIES["light"][words.winner(here)]
    assert headline(page) == emphasised(words.takeaway(here, data.SOURCES[source]), colour)
    assert not re.search(r"\bnan\b", (texts(page) + captions(page)).lower())


def test_the_valley_s_floor_is_the_table_s():
    page = open_page(side="λ", epsilon=0.5)
    swept = table_of(
        sweep=dpcore.Axis("lam", tuple(lam for lam in sidebar.LAMBDAS if not isinstance(lam, str))),
        epsilon=0.5,
        repetitions=20,
    )
    excess = swept[(swept.metric == "excess_empirical_risk") & (swept.mechanism == "output_gaussian")]
    best = excess.loc[excess["mean"].astype(float).idxmin()]
    assert f"output: {rounded(best['mean'])} at λ = {best.x:g};" in captions(page)


def test_the_path_says_how_far_noise_led_it():
    problem = dpcore.Problem("synthetic", n=300, p=2, seed=7)
    (cloud,) = clouds((dpcore.make_mechanism("noisy_gd"),), problem, 1.0, walks=True).clouds
    said = captions(open_page(side="Path"))
    assert f"{cloud.plan.steps} noisy steps from 0" in said
    assert f"lies {rounded(np.linalg.norm(cloud.path[-1] - cloud.quiet_path[-1]), 2)} from where" in said


def test_bounds_say_how_loose_they_are_and_the_lecture_s_that_it_says_nothing():
    page = open_page(side="Bounds", seed=5)
    rules = tuple(dpcore.make_mechanism("noisy_gd", rule=rule) for rule in RULE_NAMES)
    sweep = dpcore.Axis("epsilon", BOUND_EPSILONS)
    tables = [
        dpcore.run(
            dpcore.Experiment(
                dpcore.Problem("synthetic", n=300, seed=5), mechanisms=rules, sweep=sweep, repetitions=repetitions
            )
        )
        for repetitions in (FEWEST, BOUND_REPETITIONS)
    ]
    lecture = lecture_bound(next(dpcore.Experiment(dpcore.Problem("synthetic", n=300), sweep=sweep).cells()))
    said = captions(page)
    assert any(beside.bounds_caption(table, lecture, 20.0) in said for table in tables)
    assert "n² = 90,000 steps exceeds 20" in said and "it needs ε < 2√ln(1/δ)" in said
    ratios = tables[0].bound / tables[0]["mean"]
    assert ratios[tables[0].metric == "excess_empirical_risk"].astype(float).min() > 1.0


def test_work_counts_gradients():
    page = open_page(side="Work")
    done = work(dpcore.Problem("synthetic", WORK_PEOPLE, 8, seed=7))
    assert beside.work_caption(done, PEOPLE) in captions(page)
    assert f"n³ = {WORK_PEOPLE**3:,} gradients" in captions(page) and f"n² = {WORK_PEOPLE**2:,} to" in captions(page)


def test_n_fold_noise_says_what_it_costs_and_what_it_promises():
    page = open_page(layers=["lemma"], epsilon=0.5)
    wasteful = dpcore.make_mechanism("output_gaussian", accounting="lecture")
    table = dpcore.run(dpcore.Experiment(dpcore.Problem("synthetic", n=300, seed=7), mechanisms=(wasteful,)))
    row = table[(table.x == 0.5) & (table.metric == "excess_empirical_risk")].iloc[0]
    said = captions(page)
    assert tells(said, "noise is 300 times", f"leaves {rounded(row['mean'])} ")
    assert f"guarantees ε = {rounded(row.spent_epsilon, 2)}." in said and row.spent_epsilon < 0.01
    assert "n times the noise" not in headline(page), "an exhibit never wins"


def test_pure_noise_has_two_doors_and_says_why():
    page = open_page(noise="gamma")
    assert "Gradient perturbation has no pure form here" in captions(page)
    assert "gradient" not in headline(page)


def test_one_lam_is_a_line_in_the_valley_and_several_are_a_range():
    here = rows(0.1, 0.2).assign(lam=[0.01, 0.0102])
    assert (
        beside.lam_at(here) == 0.01 and beside.lam_at(rows(None, None).drop(columns="lam").assign(lam=np.nan)) is None
    )
    apart = here.assign(lam=[0.01, 0.02])
    assert beside.lam_at(apart) is None
    valley = rows(0.1, 0.2).assign(x=0.5)
    assert "Now λ is 0.01 to 0.02" in beside.valley_caption(valley, apart)
    assert "Now λ" not in beside.valley_caption(valley, here)


def test_a_closed_door_shows_on_every_part_of_the_page():
    page = open_page(lam=0.0001, epsilon=0.1)
    assert "needs λ &gt;" in headline(page) and "no guarantee" in headline(page)
    assert "objective: refused" in captions(page)
    assert readout("refused", "classified correctly, Gaussian objective perturbation") in texts(page)


@pytest.mark.parametrize("seed", [7, 8])
def test_door_zero_prints_the_records_it_names(seed):
    median, vector, fit = median_leak(seed), support_vector_leak(seed), polynomial_fit(seed)
    for leak, said in (
        ("median", zero.median_words(median)),
        ("vector", zero.vector_words(vector)),
        ("curve", zero.curve_words(fit)),
    ):
        assert said in texts(open_page(side="No noise", leak=leak, seed=seed))
    assert f"**{median.before[median.owner_before]:,.0f}**" in zero.median_words(median)
    assert f"{np.abs(vector.before).min():.3f} is |x| of person {vector.replaced + 1}" in zero.vector_words(vector)


def test_a_heavy_state_begins_with_few_draws_and_says_so(monkeypatch):
    asked = {
        people: experiment_of(mechanisms=mechanisms_of("both"), n=people, repetitions=50) for people in (300, 10_000)
    }
    assert [beside.first_repetitions(experiment) for experiment in asked.values()] == [50, 10]
    monkeypatch.setattr(beside, "QUICK", 4_000)  # that smaller states are heavy
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 0.0)
    said = captions(open_page(n=500, noise="both", seed=91))
    assert "else from 10 draws" in said and "10 of 50 releases, refining" in said
    light = captions(open_page(n=300, noise="both", seed=91))
    assert "else from 50 draws" in light and "refining" not in light


def test_chips_set_the_controls():
    page = open_page()
    next(b for b in page.button if b.label == "λ too small").click().run()
    assert page.session_state["lam"] == 0.0001 and "no guarantee" in headline(page)
    next(b for b in page.button if b.label == "pure ε").click().run()
    assert page.session_state["noise"] == "gamma" and "Same guarantee: ε =" in texts(page)


def test_another_data_set_starts_with_its_own_people():
    page = open_page()
    page.selectbox(key="records").set_value("iris").run()
    assert page.session_state["n"] == 105 and not page.exception
    page.selectbox(key="records").set_value("synthetic").run()
    assert page.session_state["n"] == 1000, "what can be drawn at once, not all 5,000"


@pytest.mark.parametrize("layers", [["plain"], ["upper", "rates"], ["lemma"]])
def test_the_code_redraws_the_chart(monkeypatch, layers):
    page = open_page(behind="Code", noise="both", epsilon=0.1, layers=layers, lam=0.01)
    drawn = []
    monkeypatch.setattr(Figure, "show", lambda self: drawn.append(self))
    exec(page.code[0].value, {})
    fields = {"source": "synthetic", "n": 300, "delta": 1e-6, "lam": 0.01, "repetitions": 50, "seed": 7}
    experiment = experiment_of(mechanisms=mechanisms_of("both"), **fields)
    table = dpcore.run(experiment)
    published = [published_output_rate(1.0, 1.0, 300, 10.0, Budget(e, 1e-6)) for e in dpcore.EPSILON_GRID]
    expected = excess_figure(
        table,
        epsilon=0.1,
        theme="light",
        height=500,
        rates={words.RATE: np.array(published)} if "rates" in layers else {},
        exhibits={words.LEMMA: dpcore.run(words.lemma(experiment))} if "lemma" in layers else {},
    )
    assert [t.name for t in drawn[0].data] == [t.name for t in expected.data]
    for one, other in zip(drawn[0].data, expected.data, strict=True):
        assert np.asarray(one.y, float) == pytest.approx(np.asarray(other.y, float))


@pytest.mark.parametrize("along", ["batch", "steps", "path"])
def test_noisy_sgd_has_a_view_with_its_batch_its_steps_and_a_path(along, monkeypatch):
    monkeypatch.setattr(batches, "REPETITIONS", 4)
    page = open_page(side="Noisy SGD", sgd_along=along, sgd_batch=20, sgd_steps=50, n=200)
    assert not page.exception
    said = next(text for text in captions(page).split("\n") if "50" in text and "20 records" in text)
    if along != "path":
        table = dpcore.run(
            dpcore.Experiment(
                dpcore.Problem("synthetic", n=200, p=8, seed=7),
                (dpcore.make_mechanism("noisy_sgd", batch=20, steps=50), dpcore.make_mechanism("noisy_gd")),
                sweep=dpcore.Axis("epsilon", (1.0,)),
                repetitions=4,
            )
        )
        excess = table[table.metric == "excess_empirical_risk"]
        own, full = excess["mean"]
        assert rounded(own) in said and rounded(full) in said and "1,000 gradients" in said
        assert f"{rounded(excess.bound.iloc[0] / own, 2)} times" in said
