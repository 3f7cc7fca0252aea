"""What the papers claim, done again: shapes that must be there, the records that are told, and every verdict both ways.

Seeds are fixed. Shapes are asserted with margins of several standard errors, so that other seeds fail rarely: talwar
exponents have errors below 0.01 in 10 runs, and the others are ratios far from their limits.
"""

import dataclasses as dc
import os
from contextlib import contextmanager

import numpy as np
import pytest

from dpcore import Problem
from dpcore.figures.papers.reproductions import reproduction_figure
from dpcore.studies.papers import pathak_raj
from dpcore.studies.papers.reproductions import REPRODUCTIONS, get_reproduction
from dpcore.studies.papers.reproductions import bassily_transition as bassily
from dpcore.studies.papers.reproductions import kamath_three_ways as kamath
from dpcore.studies.papers.reproductions import pathak_raj_accuracy as pathak
from dpcore.studies.papers.reproductions import talwar_rate as talwar
from tests.cli.test_cli import call
from tests.harness import ROOT
from tests.studies.test_jain_thakurta_file import real_file


def quiet(words):
    pass


def verdicts(claims):
    return [claim.verdict for claim in claims]


@contextmanager
def smaller(module, **facts):
    """The module with other facts of its protocol."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in facts.items():
            patch.setattr(module, name, value)
        yield


@pytest.fixture(scope="module")
def rates():
    ns = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    with smaller(talwar, NS=ns, PS=(16, 256, 4_096), P=64, N=5_000):
        return talwar.rates(3, 0, quiet)


@pytest.fixture(scope="module")
def ways():
    with smaller(kamath, EPSILONS=(0.1, 0.3, 1.0, 3.0)):
        return kamath.three_ways("synthetic", 2_000, 10, 20, 0)


@pytest.fixture(scope="module")
def classified():
    with smaller(pathak, SOURCES=("iris",), EPSILONS=(0.3, 3.0, 100.0), CLASSES=(2, 4, 8)):
        return pathak.measured(6, 0, quiet)[0]


@pytest.fixture(scope="module")
def transition():
    with smaller(bassily, COLUMNS=(300, 1_000, 10_000, 100_000), FEW_COLUMNS=(4, 16)):
        return bassily.measured(4, 0, quiet)[0]


def test_private_lasso_falls_as_claimed_and_the_logarithm_of_columns_is_not_a_power(rates):
    hard, bound = rates.of(talwar.HARD), rates.of(talwar.BOUND)
    assert -0.95 < hard.mean < -0.6 and hard.se < 0.05
    assert bound.mean == pytest.approx(-2 / 3, abs=0.08) and bound.se < 1e-12
    assert rates.bounded and rates.growth < 3.4
    assert rates.of(talwar.FEW).mean < hard.mean
    claims = talwar.claims_of(rates)
    assert (claims[0].verdict, claims[2].verdict) == ("agrees", "agrees")
    # The published formula, logarithms and all, not -2/3 itself.
    assert -0.62 < bound.claimed < -0.55 and -0.8 < hard.claimed < -0.7
    # ln 2p grows 2.60 times and log(np) 1.49 times: a power of about ln 1.49 / ln 2.60.
    assert rates.of(talwar.COLUMNS).claimed == pytest.approx(0.42, abs=0.03)


def test_verdicts_of_private_lasso_turn(rates):
    def told(**changed):
        return verdicts(talwar.claims_of(dc.replace(rates, **changed)))

    def with_mean(curve, mean, se=0.0):
        made = [dc.replace(e, mean=mean, se=se) if e.curve == curve else e for e in rates.exponents]
        return told(exponents=tuple(made))

    assert told(bounded=False)[0] == "differs"
    assert with_mean(talwar.HARD, -0.4)[0] == "differs"
    assert with_mean(talwar.HARD, -0.4, se=0.2)[0] == "agrees"
    # Theorem 1.1 has logarithms, so that a fall slower than the lower bound's is no contradiction.
    assert with_mean(talwar.HARD, -0.62)[0] == "agrees"
    assert told(growth=16.0, growth_se=0.1)[2] == "differs"
    # ln 2p grows 2.60 times from p = 16 to 4,096, and the published log(np) with n = 5,000 only 1.49 times.
    assert [told(growth=growth, growth_se=0.0)[2] for growth in (2.59, 2.61)] == ["agrees", "differs"]
    assert "log(np), which grows 1.5 times" in talwar.claims_of(rates)[2].published
    near = [
        dc.replace(e, mean=e.claimed, se=0.01) if e.curve in (talwar.HARD, talwar.HARD_BOUND) else e
        for e in rates.exponents
    ]
    assert told(exponents=tuple(near))[1] == "agrees" and with_mean(talwar.HARD_BOUND, -0.9)[1] == "unexplained"


def test_lemma_1_asks_for_n_times_the_noise_which_learns_nothing(ways):
    rows = {way: ways[ways.way == way].reset_index() for way in (kamath.OUTPUT, kamath.LEMMA_1)}
    lemma, output = rows[kamath.LEMMA_1], rows[kamath.OUTPUT]
    assert (lemma.scale / output.scale).to_numpy() == pytest.approx(np.full(4, 2_000.0), rel=1e-9)
    assert (lemma.excess > 100 * lemma.nothing_learned).all()
    assert (lemma.spent_epsilon < 0.01 * lemma.epsilon).all()
    assert (output.excess[1:] < output.nothing_learned[1:]).all()


def test_who_wins_where(ways):
    means, looked = kamath.wide(ways), kamath.wide(ways, kamath.LOOKED)[kamath.OBJECTIVE]
    assert (means[[kamath.OBJECTIVE, kamath.GRADIENT]].lt(means[kamath.OUTPUT], axis=0)).all(axis=None)
    # Neither is ahead at the largest epsilon: the default lam comes as near as the best of a grid.
    assert kamath.winners(ways).iloc[3] == "a tie"
    assert means[kamath.OBJECTIVE].to_numpy() == pytest.approx(looked.to_numpy(), rel=0.05)
    assert not (means[kamath.GRADIENT] > kamath.wide(ways, "published")[kamath.GRADIENT]).any()
    assert verdicts(kamath.claims_of(ways)) == ["differs", "differs", "agrees"]


def test_one_record_a_step_keeps_theorem_2_with_a_nth_of_the_gradients():
    problem = Problem("synthetic", 300, 4, 1e-6)
    single, full, bound = kamath.without_noise(problem)
    assert 0.0 < full < single < bound == pytest.approx(20.0 * (2.1 + 1.5 * np.log(300)) / 300)
    claim = kamath.counts_claim(300, single, full, bound)
    assert claim.verdict == "agrees" and "less with all records in n steps" in claim.found
    assert "n^3 = 27,000,000 gradients with all records in each step and n^2 = 90,000 with one" in claim.found
    assert kamath.counts_claim(300, 1.01 * bound, full, bound).verdict == "differs"
    assert "more with all records" in kamath.counts_claim(300, single, bound, bound).found


def test_verdicts_of_the_three_ways_turn(ways):
    def changed(way, **columns):
        return ways.assign(**{name: ways[name].where(ways.way != way, value) for name, value in columns.items()})

    assert verdicts(kamath.claims_of(changed(kamath.OBJECTIVE, excess=1e-9, se=0.0)))[0] == "agrees"
    assert verdicts(kamath.claims_of(ways.assign(scale=1.0)))[1] == "agrees"
    assert verdicts(kamath.claims_of(changed(kamath.GRADIENT, published=1e-9)))[2] == "differs"
    # The errors of both count.
    none = "ahead of output perturbation at 0 of 4 points"
    assert none not in kamath.claims_of(ways)[0].found
    assert none in kamath.claims_of(changed(kamath.OUTPUT, se=1e9))[0].found
    # Equal means with errors are a tie.
    same = ways[ways.way == kamath.OBJECTIVE].set_index("epsilon").excess
    assert kamath.winners(changed(kamath.GRADIENT, excess=ways.epsilon.map(same))).iloc[0] == "a tie"


@pytest.fixture(scope="module")
def theorems():
    return pathak_raj.existence(4, 1.0, 1.0), pathak_raj.theorem_2_violations()


def test_many_classes_gain_from_epsilon_and_lose_with_their_number(classified, theorems):
    joint = classified[classified.learner == "ellipsoids"]
    iris, counted = joint[joint.source == "iris"], joint[joint.axis == "classes"]
    assert iris.accuracy.iloc[-1] > 0.93 and iris.accuracy.iloc[0] < 0.6
    lost = counted.not_private - counted.accuracy
    assert lost.iloc[0] < 0.06 and lost.iloc[-1] > 0.15
    claims = pathak.claims_of(classified, *theorems)
    assert verdicts(claims) == ["differs", "differs", "agrees", "agrees", "unexplained"]


def test_verdicts_of_many_classes_turn(classified, theorems):
    exist, proved = theorems

    def told(table=classified, exists=exist, theorem=proved):
        return verdicts(pathak.claims_of(table, exists, theorem))

    turned = classified.copy()
    for column in ("accuracy", "not_private"):
        turned[column] = turned.groupby(["axis", "learner"])[column].transform(lambda found: found.to_numpy()[::-1])
    assert told(turned)[2:4] == ["differs", "differs"]
    swapped = {"ellipsoids": "split", "split": "ellipsoids"}
    assert told(classified.assign(learner=classified.learner.replace(swapped)))[4] == "differs"
    assert told(exists=exist._replace(low=1.0))[0] == "agrees"
    assert told(theorem=dc.replace(proved, low=np.zeros((4, 9))))[1] == "agrees"


def test_columns_cost_a_logarithm_at_p_1_and_a_root_beyond(transition):
    hard, fresh = (bassily.wide(transition, records) for records in (bassily.HARDEST, bassily.FRESH))
    d = hard.index
    assert bassily.growth_of(hard[1.0]) < np.log(2 * d[-1]) / np.log(2 * d[0])
    for p_norm in (1.25, 1.5, 2.0):
        assert bassily.growth_of(hard[p_norm]) == pytest.approx(np.sqrt(d[-1] / d[0]), rel=0.2)
    # Continuous in p: just beyond 1 the corner still serves.
    last = hard.iloc[-1]
    assert last[1.001] < 3 * last[1.0] and last[1.0] < 0.02 * last[1.25]
    assert (np.diff(fresh.iloc[-1]) > 0).all()
    assert (fresh <= bassily.wide(transition, bassily.FRESH, "bound")).all(axis=None)
    claims = bassily.claims_of(transition)
    assert verdicts(claims) == ["agrees"] * 4 and "own exponent is 0.49" in claims[1].why
    # A model that learned nothing grows alike beyond p = 1, which is said, and unlike at p = 1.
    nothing = transition.assign(excess=transition.nothing_learned.fillna(transition.excess))
    assert verdicts(bassily.claims_of(nothing))[:3] == ["differs", "agrees", "differs"]


def test_verdicts_of_the_transition_turn(transition):
    hard = transition.records == bassily.HARDEST
    along = transition.groupby(["records", "d"]).excess

    def told(excess):
        return verdicts(bassily.claims_of(transition.assign(excess=excess)))

    root = transition.excess.copy()
    root[hard & (transition.p_norm == 1.0)] = root[hard & (transition.p_norm == 2.0)].to_numpy()
    assert told(root)[:3] == ["differs", "agrees", "differs"]
    assert told(along.transform("first").where(hard, transition.excess))[1:3] == ["differs", "differs"]
    assert told(transition.excess.where(hard, 10.0 * transition.bound))[3] == "differs"
    backwards = along.transform(lambda excess: excess.to_numpy()[::-1])
    assert told(transition.excess.where(hard, backwards))[3] == "differs"


def test_a_missing_file_and_too_few_runs_are_one_sentence(tmp_path, capsys):
    for name, *arguments in (
        ("talwar-rate", "--runs", 1),
        ("pathak-raj-accuracy", "--runs", 3),
        ("bassily-transition", "--runs", 1),
        ("talwar-rate", "--data", tmp_path),
    ):
        code, _, error = call(capsys, "reproduce", name, *arguments, "-o", tmp_path / "out")
        assert code == 2 and "must" in error and "Traceback" not in error, name


@pytest.mark.nightly
@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_the_document_has_the_verdicts_of_the_full_protocol(name):
    """With another seed than the document's, on the real file where there is one; most of ten minutes is panel (a)."""
    chosen, document = get_reproduction(name), (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    file = real_file() if chosen.file and os.environ.get("DPCORE_DATA") else None
    outcome = chosen.run(file, runs=None, seed=1, told=quiet)
    for k, claim in enumerate(outcome.claims):
        # The level of the stand-in on the simplex is not the published one.
        if not (name == "jain-thakurta-1d" and file is None and k == 0):
            assert f"- **{claim.verdict.title()}**: {claim.words} " in document
        assert claim.why or claim.verdict == "agrees"
    assert len(outcome.table) and reproduction_figure(outcome.chart, theme="light").plotly.data
    assert ("stand-in" in outcome.records) == (name == "jain-thakurta-1a" or (bool(chosen.file) and file is None))
