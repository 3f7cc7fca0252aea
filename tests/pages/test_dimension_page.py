"""The dimension page without a browser: every state speaks its table's numbers, and its code redraws its charts."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import data
from dpcore.core.power_law import PowerLaw, power_law
from dpcore.studies.dimension import noise_growth, orthant
from pages.dimension import words
from pages.dimension.exponents import exponent, exponents_of
from pages.ui import sidebar
from pages.ui.details import readout
from pages.ui.html import plain
from tests.page_driver import headline, shown, spaced, tells, texts

from ..flat_fields import experiment_of

SOURCE = data.get_source("synthetic_padded")
PS = (8, 32, 128, 512, 2048, 8192, 32_768, 131_072, 2**20)


def open_page(**state) -> AppTest:
    return shown("dimension/page.py", **state)


def experiment_at(noise_in="output", ps=PS, **changes) -> dpcore.Experiment:
    fields = {"n": 1000, "epsilon": 1.0, "delta": 1e-6, "lam": 0.05, "seed": 7} | changes
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
    for card in words.readouts(table, grown, 2**20, SOURCE):
        assert spaced(readout(*card)) in texts(page)
    assert words.orthant_takeaway(example, 2**20) in texts(page)
    assert (
        "no guarantee is proved" in texts(page)
        and "post-processing" in texts(page)
        and "Not the same guarantee:" in texts(page)
    )
    behind = texts(open_page(behind="Assumptions"))
    for name, (measured, *_) in exponents_of(table, grown, example).items():
        assert f"| {name} | {exponent(measured)} |" in behind


def test_gamma_noise_is_called_the_cheaper_one_only_where_the_table_says_so():
    _, table, grown, _ = computed()
    rows = table[(table.metric == "accuracy") & (table.x == 8)].set_index("mechanism")["mean"]
    assert rows["output_gamma"] > rows["output_gaussian"]
    assert "stronger guarantee even costs less" in words.takeaway(table, grown, 8, SOURCE)
    swapped = table.assign(mean=-table["mean"] + 1.5)
    assert "costs less" not in words.takeaway(swapped, grown, 8, SOURCE)


def test_less_epsilon_is_more_noise():
    """λ is a public constant: a rule would keep the noise, and pay in bias."""
    moved = [computed(epsilon=epsilon)[2]["output_gaussian"].distance[-1] for epsilon in (0.1, 1.0)]
    assert moved[0] > 5.0 * moved[1]


@pytest.mark.parametrize("rule", ["auto", "population", 0.05])
def test_one_lam_is_that_of_gaussian_noise_in_the_answer_at_every_p(rule):
    lam = words.one_lam(sidebar.Controls(1.0, 1e-6, n=1000, p=8, lam=rule, m="auto", seed=7))
    for p in (8, 2**20):
        public = {"n": 1000, "p": p, "epsilon": 1.0, "delta": 1e-6}
        assert dpcore.calibrate("output_gaussian", lam=rule, **public).spec.lam == lam


def test_a_refusal_is_told_once_with_its_rule():
    alone = open_page(noise_in="objective", lam=1e-4, epsilon=0.1)
    refusal = "Objective perturbation gives <b>no guarantee</b> here: it needs λ", "Raise λ or ε"
    assert tells(re.sub(r"<b [^>]*>", "<b>", headline(alone)), *refusal)
    assert not alone.exception and headline(alone).count("no guarantee") == 1
    assert "Objective perturbation gives no guarantee at this λ and ε" in texts(alone)


def test_distances_in_the_question_are_called_bounds():
    _, table, grown, _ = computed(noise_in="objective")
    assert "moves the model by up to **" in words.takeaway(table, grown, 1 << 20, SOURCE)
    assert "at most" in words.readouts(table, grown, 1 << 20, SOURCE)[1][2]
    _, table, grown, _ = computed()
    assert "up to" not in words.takeaway(table, grown, 1 << 20, SOURCE)


def test_changes_are_told_as_they_are():
    _, table, grown, _ = computed()
    gained = table.copy()
    gained.loc[(gained.mechanism == "output_gaussian") & (gained.x == 2**20), "mean"] += 0.02
    assert "2.0 points more than at p" in words.takeaway(gained, grown, 2**20, SOURCE)
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


def test_the_exponents_are_those_of_the_damage_and_of_the_plans_theory():
    _, table, grown, example = computed()
    measured, bound, earlier = exponents_of(table, grown, example)["excess, Gamma noise"]
    excess = table[(table.metric == "excess_empirical_risk") & (table.mechanism == "output_gamma")]
    logs = np.log(excess.x.astype(float)), np.log(excess["mean"] - excess.noiseless)
    assert measured.slope == pytest.approx(np.polyfit(*logs, 1)[0])
    gamma = grown["output_gamma"]
    assert bound.slope == pytest.approx(np.polyfit(np.log(gamma.p), np.log(gamma.damage_bound), 1)[0])
    assert earlier.slope == pytest.approx(np.polyfit(np.log(gamma.p), np.log(gamma.p * np.log(gamma.p)), 1)[0])
    assert exponent(power_law([8, 16, 32, 64], [1, 2, 4, 8])) == "–" and exponent(PowerLaw(-0.001, 1.0)) == "0.00"
