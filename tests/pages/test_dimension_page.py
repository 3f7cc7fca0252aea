"""The dimension page without a browser: every state speaks its table's numbers, and its code redraws its charts."""

import random
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import data
from dpcore.core.power_law import PowerLaw, power_law
from dpcore.figures.figure import Figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.dimension import noise_growth, orthant
from pages.dimension import words
from pages.dimension.meter import Row, exponent, slope_meter, slope_rows
from pages.ui import sidebar
from pages.ui.details import readout
from pages.ui.html import emphasised, plain
from pages.ui.numbers import rounded
from pages.ui.verdict import NO_LOWER
from tests.nights import each
from tests.page_driver import headline, open_script, shown, spaced, tells, texts

from ..flat_fields import experiment_of

SOURCE = data.get_source("synthetic_padded")
PS = (8, 32, 128, 512, 2048, 8192, 32_768, 131_072, 2**20)


def open_page(**state) -> AppTest:
    return shown("dimension/page.py", **state)


def experiment_at(noise_in="output", ps=PS, **changes) -> dpcore.Experiment:
    fields = {"n": 1000, "epsilon": 1.0, "delta": 1e-6, "lam": "auto", "seed": 7} | changes
    fields["lam"] = words.one_lam(sidebar.Controls(p=8, m="auto", **fields))
    mechanisms, sweep = words.MECHANISMS[noise_in], dpcore.Axis("p", ps)
    return experiment_of(source=SOURCE.key, mechanisms=mechanisms, sweep=sweep, repetitions=20, **fields)


def computed(**changes):
    experiment = experiment_at(**changes)
    table, grown = dpcore.run(experiment), noise_growth.growth_of(experiment.cells())
    public = {name: getattr(experiment.problem, name) for name in ("n", "delta", "lam", "seed")}
    example = orthant.example(experiment.sweep.values, epsilon=experiment.epsilon, **public)
    return experiment, table, grown, example


def test_the_default_state_teaches_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    _, table, grown, example = computed()
    said = re.sub(r"<[^>]+>", "", headline(page))
    assert said == spaced(plain(words.takeaway(table, grown, 2**20, SOURCE)))
    accuracy = table[(table.metric == "accuracy") & (table.x == 2**20)].set_index("mechanism")["mean"]
    assert f"{100 * accuracy['output_gaussian']:.1f}% of people" in said and "as at p = 8" in said
    assert tells(said, "Gamma noise", f"{100 * accuracy['output_gamma']:.1f}%", "no more than")
    assert f"{grown['output_gaussian'].distance[-1]:,.0f} (" in said
    for card in words.readouts(table, grown, 2**20, SOURCE)[0]:
        assert spaced(readout(*card)) in texts(page)
    assert words.orthant_takeaway(example, 2**20) in texts(page)
    assert (
        "no guarantee is proved" in texts(page)
        and "post-processing" in texts(page)
        and "Not the same guarantee:" in texts(page)
    )
    for row in slope_rows(table, grown, example):
        assert row.name in texts(page)


def test_one_model_flies_away_and_its_predictions_stay_the_other_is_destroyed():
    """The page's lesson in its own numbers, which no seed changes."""
    for seed in (1, 2, 3):
        _, table, grown, example = computed(seed=seed)
        accuracy = table[table.metric == "accuracy"]
        gaussian, gamma = (accuracy[accuracy.mechanism == key]["mean"].to_numpy() for key in words.MECHANISMS["output"])
        assert np.ptp(gaussian) < 1e-12 and gamma[0] - gamma[-1] > 0.2 and gamma[-1] < 0.51
        slopes = {row.name: row for row in slope_rows(table, grown, example)}
        assert slopes["excess, Gaussian"].measured.slope == pytest.approx(0.0, abs=1e-9)
        assert 0.5 < slopes["excess, Gamma"].measured.slope < slopes["excess, Gamma"].earlier.slope
        assert slopes["excess, Gaussian"].earlier.slope == pytest.approx(0.5)
        assert slopes["distance, Gaussian"].measured.slope == pytest.approx(0.5)
        assert slopes["orthant, output"].measured.slope == pytest.approx(0.5)


@pytest.mark.parametrize("case", each(6, range(12)))
def test_random_states_show_no_error_and_true_numbers(case):
    rng = random.Random(case)
    chosen = {
        "noise_in": rng.choice(list(words.PLACES)),
        "below": rng.choice(list(words.PANELS)),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "n": rng.choice([n for n in sidebar.SAMPLE_SIZES if n <= 2000]),
        "p": rng.choice(sidebar.DIMENSIONS),
        "lam": rng.choice(sidebar.LAMBDAS),
        "seed": rng.randrange(100),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data", None]),
    }
    page = open_page(**chosen)
    assert not page.exception and not page.error, chosen
    ps = tuple(sorted({*PS, chosen["p"]}))
    fields = {key: chosen[key] for key in ("noise_in", "epsilon", "delta", "n", "lam", "seed")}
    _, table, grown, _ = computed(ps=ps, **fields)
    colour = FAMILIES["light"]["reference" if chosen["noise_in"] == "both" else chosen["noise_in"]]
    assert headline(page) == spaced(emphasised(words.takeaway(table, grown, chosen["p"], SOURCE), colour))
    assert not re.search(r"\bnan\b", texts(page).lower())


def test_the_view_of_excess_risk_says_where_its_bounds_are_informative():
    """Everywhere for Gaussian noise: below what learning nothing costs, and at most ten times the measurement."""
    _, table, grown, _ = computed()
    rows = table[(table.metric == "excess_empirical_risk") & (table.mechanism == "output_gaussian")]
    measured, bound = (rows["mean"] - rows.noiseless).to_numpy(float), grown["output_gaussian"].damage_bound
    assert (bound < rows.nothing_learned - rows.noiseless).all()
    assert ((measured <= bound) & (bound <= 10.0 * measured)).all()
    said = words.verdict_of(table, grown, 2**20)
    assert tells(said, "Gaussian noise all along this axis", f"{rounded(bound[-1] / measured[-1], 2)} (", NO_LOWER)
    assert said in texts(open_page(below="damage")) and said not in texts(open_page())


def test_unused_controls_are_left_out_and_p_reaches_a_million():
    page = open_page()
    sliders = {slider.label: slider for slider in page.sidebar.select_slider}
    assert "m draws" not in sliders
    assert page.session_state["p"] == 2**20 and "p dimension (to 1,048,576)" in sliders


def test_chips_set_the_controls():
    page = open_script("dimension/page.py")
    next(b for b in page.button if b.label == "p = 8").click().run()
    assert page.session_state["p"] == 8 and "no idle one" in headline(page)
    next(b for b in page.button if b.label == "p = 1,024").click().run()
    assert "With 1,016 idle columns" in headline(page)
    next(b for b in page.button if b.label == "ε = 0.1").click().run()
    assert page.session_state["epsilon"] == 0.1


def test_the_code_redraws_both_charts(monkeypatch):
    page = open_page(behind="Code", noise_in="both", below="damage", p=64)
    drawn = []
    monkeypatch.setattr(Figure, "show", lambda self: drawn.append(self))
    exec(page.code[0].value, {})
    ps = tuple(sorted({*PS, 64}))
    _, table, _, example = computed(noise_in="both", ps=ps)
    rows = table[(table.metric == "accuracy") & (table.mechanism == "objective_gamma")]
    assert np.array_equal(next(t for t in drawn[0].data if t.name == "objective, Gamma").y, 100 * rows["mean"])
    assert any(t.name == "output, Gamma: bound" for t in drawn[0].data), "the panel that the page shows"
    assert drawn[0].layout.shapes[0].x0 == drawn[1].layout.shapes[0].x0 == 64
    assert np.array_equal(next(t for t in drawn[1].data if t.name == "objective, held ≥ 0").y, example.constrained)


def test_gamma_noise_is_called_the_cheaper_one_only_where_the_table_says_so():
    _, table, grown, _ = computed()
    rows = table[(table.metric == "accuracy") & (table.x == 8)].set_index("mechanism")["mean"]
    assert rows["output_gamma"] > rows["output_gaussian"]
    assert "stronger guarantee even costs less" in words.takeaway(table, grown, 8, SOURCE)
    swapped = table.assign(mean=-table["mean"] + 1.5)
    assert "costs less" not in words.takeaway(swapped, grown, 8, SOURCE)


@pytest.mark.parametrize("rule", ["auto", "population", 0.05])
def test_one_lam_is_that_of_gaussian_noise_in_the_answer_at_every_p(rule):
    lam = words.one_lam(sidebar.Controls(1.0, 1e-6, n=1000, p=8, lam=rule, m="auto", seed=7))
    for p in (8, 2**20):
        public = {"n": 1000, "p": p, "epsilon": 1.0, "delta": 1e-6}
        assert dpcore.calibrate("output_gaussian", lam=rule, **public).spec.lam == lam


def test_a_lam_of_its_own_is_the_rule_of_gamma_noise_and_said_with_its_accuracy():
    said = words.own_lam_line(experiment_at())
    own = dpcore.Experiment(
        dpcore.Problem(SOURCE.key, n=1000, seed=7),
        mechanisms=("output_gamma",),
        sweep=dpcore.Axis("p", (2**20,)),
        repetitions=2,
    )
    row = dpcore.run(own).iloc[0]
    assert f"{row.lam:.3g}" in said and f"{100 * row['mean']:.1f}%" in said


def test_a_refusal_is_told_and_the_other_place_stays():
    page = open_page(noise_in="both", lam=1e-4, epsilon=0.1)
    refusal = "Objective perturbation gives <b>no guarantee</b> here: it needs λ", "Raise λ or ε"
    assert tells(re.sub(r"<b [^>]*>", "<b>", headline(page)), *refusal)
    assert "Gaussian output perturbation moves" in headline(page)
    alone = open_page(noise_in="objective", lam=1e-4, epsilon=0.1)
    assert not alone.exception and headline(alone).count("no guarantee") == 1
    assert "Objective perturbation gives no guarantee at this λ and ε" in texts(alone)


def test_distances_in_the_question_are_called_bounds():
    _, table, grown, _ = computed(noise_in="objective")
    assert "moves the model by up to **" in words.takeaway(table, grown, 1 << 20, SOURCE)
    assert "at most" in words.readouts(table, grown, 1 << 20, SOURCE)[0][1][2]
    _, table, grown, _ = computed()
    assert "up to" not in words.takeaway(table, grown, 1 << 20, SOURCE)


def test_changes_are_told_as_they_are():
    _, table, grown, _ = computed()
    gained = table.copy()
    gained.loc[(gained.mechanism == "output_gaussian") & (gained.x == 2**20), "mean"] += 0.02
    assert "+2.0 points against p" in words.takeaway(gained, grown, 2**20, SOURCE)
    lost = table.copy()
    lost.loc[(lost.mechanism == "output_gaussian") & (lost.x == 2**20), "mean"] -= 0.02
    assert ", 2.0 points less than at p" in words.takeaway(lost, grown, 2**20, SOURCE)
    larger = table[table.metric == "accuracy"].nothing_learned.max()
    told = f"hardly more than always predicting the larger class ({100 * larger:.1f}%)"
    for above, hardly in ((0.0099, True), (0.0101, False)):
        near = table.copy()
        near.loc[near.mechanism == "output_gamma", "mean"] = larger + above
        assert (told in words.takeaway(near, grown, 2**20, SOURCE)) is hardly
    gaussian = table.copy()
    gaussian.loc[gaussian.mechanism == "output_gaussian", "mean"] = larger + 0.005
    assert f"and **{100 * larger + 0.5:.1f}%** of" in words.takeaway(gaussian, grown, 2**20, SOURCE)


def test_a_silent_slope_is_a_dash_and_the_note_says_why():
    silent = power_law([8, 16, 32, 64], [1, 2, 4, 8])
    shown = slope_meter([Row("excess, Gamma", silent)])
    assert "–" in shown and "excess, Gamma: only 0.9 decades." in shown
    assert exponent(PowerLaw(-0.001, 1.0)) == "0.00" and exponent(None) == "" and exponent(silent) == "–"
    loud = slope_meter([Row("x", power_law(PS, PS), power_law(PS, np.sqrt(PS)))])
    assert re.findall(r">(-?\d\.\d\d)<", loud) == ["1.00", "0.50"]


def test_the_meter_reads_the_table_s_damage_and_the_plans_theory():
    _, table, grown, example = computed()
    row = next(row for row in slope_rows(table, grown, example) if row.name == "excess, Gamma")
    excess = table[(table.metric == "excess_empirical_risk") & (table.mechanism == "output_gamma")]
    logs = np.log(excess.x.astype(float)), np.log(excess["mean"] - excess.noiseless)
    assert row.measured.slope == pytest.approx(np.polyfit(*logs, 1)[0])
    gamma = grown["output_gamma"]
    assert row.bound.slope == pytest.approx(np.polyfit(np.log(gamma.p), np.log(gamma.damage_bound), 1)[0])
    assert row.earlier.slope == pytest.approx(np.polyfit(np.log(gamma.p), np.log(gamma.p * np.log(gamma.p)), 1)[0])


def test_projection_onto_the_orthant_moves_a_prediction_half_root_p_times_as_far():
    _, _, _, example = computed()
    assert "512 times as far" in words.orthant_takeaway(example, 2**20)
    assert "1.41 times as far" in words.orthant_takeaway(example, 8)


def test_the_answer_and_the_question_share_their_rows_where_exponents_are_equal():
    _, table, grown, example = computed(noise_in="both")
    names = [row.name for row in slope_rows(table, grown, example)]
    assert len(names) == len(set(names)) == 8
    assert names[:2] == ["excess, output, Gaussian", "excess, output, Gamma"]


def test_each_place_of_the_noise_has_cards_of_its_own():
    _, table, grown, _ = computed(noise_in="both")
    (output, _), (objective, _) = words.readouts(table, grown, 1 << 20, SOURCE)
    assert output[0].endswith("output perturbation") and objective[0].endswith("objective perturbation")
    now = table[(table.metric == "accuracy") & (table.x == 1 << 20)].set_index("mechanism")["mean"]
    for place, card in (("output", output), ("objective", objective)):
        assert card[1] == " · ".join(f"{100 * now[f'{place}_{law}']:.1f}%" for law in ("gaussian", "gamma"))
