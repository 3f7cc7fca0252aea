"""The page Dimension, view Useless columns: every state speaks its table's numbers."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import data
from dpcore.core.power_law import PowerLaw, power_law
from dpcore.studies.dimension import noise_growth, orthant
from pages.dimension import idle_words as words
from pages.dimension.exponents import exponent, exponents_of
from pages.ui import sidebar
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
    assert said == spaced(plain(words.takeaway(table, 2**20, SOURCE)))
    accuracy = table[(table.metric == "accuracy") & (table.x == 2**20)].set_index("mechanism")["mean"]
    right = f"Gaussian noise (ε, δ) {100 * accuracy['output_gaussian']:.1f}% of people"
    assert tells(said, "Not with Gaussian noise: beside 1,048,568 columns of zeros", right, "as at p = 8")
    assert tells(said, "Gamma noise (pure ε)", f"{100 * accuracy['output_gamma']:.1f}%", "nothing is learned")
    assert words.orthant_takeaway(example, 2**20) in texts(page)
    assert "Not the same guarantee:" in texts(page)
    behind = texts(open_page(behind="Assumptions"))
    assert "no guarantee is proved" in behind and "post-processing" in behind
    for name, (measured, *_) in exponents_of(table, grown, example).items():
        assert f"| {name} | {exponent(measured)} |" in behind


def test_gamma_noise_is_called_the_cheaper_one_only_where_the_table_says_so():
    _, table, _, _ = computed()
    rows = table[(table.metric == "accuracy") & (table.x == 8)].set_index("mechanism")["mean"]
    assert rows["output_gamma"] > rows["output_gaussian"]
    assert "stronger guarantee even costs less" in words.takeaway(table, 8, SOURCE)
    swapped = table.assign(mean=-table["mean"] + 1.5)
    assert "costs less" not in words.takeaway(swapped, 8, SOURCE)


def test_a_coin_is_not_praised():
    """At ε = 0.01 either noise leaves about half, a percent more than a constant guess."""
    _, table, _, _ = computed(epsilon=0.01)
    for p in (8, 2**20):
        told = words.takeaway(table, p, SOURCE)
        larger = table[table.metric == "accuracy"].nothing_learned.max()
        assert told.startswith("**Next to nothing is learned:**") and f"guess has {100 * larger:.1f}%" in told
        assert "as at p" not in told and "costs less" not in told


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
    assert "Objective perturbation has no guarantee in this example" in texts(alone)


def test_changes_are_told_as_they_are():
    _, table, _, _ = computed()
    gained = table.copy()
    gained.loc[(gained.mechanism == "output_gaussian") & (gained.x == 2**20), "mean"] += 0.02
    assert "2.0 points more than at p" in words.takeaway(gained, 2**20, SOURCE)
    lost = table.copy()
    lost.loc[(lost.mechanism == "output_gaussian") & (lost.x == 2**20), "mean"] -= 0.02
    assert ", 2.0 points less than at p" in words.takeaway(lost, 2**20, SOURCE)
    larger, best = (table[table.metric == "accuracy"][name].max() for name in ("nothing_learned", "reference"))
    for share, learned in ((0.09, False), (0.11, True)):
        near = table.copy()
        near.loc[near.mechanism == "output_gamma", "mean"] = larger + share * (best - larger)
        assert ("nothing is learned" in words.takeaway(near, 2**20, SOURCE)) is not learned


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
