"""Errata: the recomputed numbers are those of the formula sheet."""

import itertools
import json
import shlex

import numpy as np
import pytest

from dpcore import Data, __main__
from dpcore.core.losses import get_loss
from dpcore.solvers.simplex.entropic import minimise_entropic
from dpcore.studies.papers import errata


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    __main__.main(shlex.split(command))
    return capsys.readouterr().out


# Ratios of the correct number to the published one, or their inverse.
FIGURES = {
    "objective_gaussian": 23.6,
    "objective_gamma": 1.4055,
    "simplex_draws": 15.865,
    "stream_condition": 3.14,
    "equation_12": np.sqrt(8.0) * np.log(1_000.0),
    "lasso_noise": 1.797,
    "classifier_minimiser": 1.0 / 0.1852,
    "kamath_lemma": 1.0 / 0.000237,
    "kamath_descent": 1.0 / 0.0804,
    "minibatch_noise": 1.0 / 0.208,
    "gaussian_multiplier": 7.075 / 3.731,
    "gamma_noise": 2.0,
    "quoted_kappa": 2.541,
    "textbook_gaussian": 1.359,
    "lasso_laplace": 1.95,
    "entropy_weight": 10.467,
    "classifier_gradient": 3.0 * np.sqrt(2.0),
}


@pytest.mark.parametrize("name", errata.ERRATA)
def test_the_recomputed_numbers_are_those_of_the_document(name):
    """1% for the rounding of what is published; the share of draws has a standard error of 1% of itself."""
    found = errata.recompute(name)
    assert found.times == pytest.approx(FIGURES[name], rel=0.04 if name == "classifier_minimiser" else 0.01)
    # What costs more is larger, what wastes is smaller; noise and constants that are too large come down.
    down = found.corrected < found.published
    assert down == (found.erratum.kind == "wasteful" or name == "classifier_minimiser")


def test_the_table_is_complete_and_in_its_order():
    found = errata.recomputed()
    assert {each.name for each in found} == set(errata.ERRATA) == set(FIGURES)
    kinds = [list(errata.KINDS).index(each.erratum.kind) for each in found]
    assert kinds == sorted(kinds)
    for one, other in itertools.pairwise(found):
        assert one.erratum.kind != other.erratum.kind or one.times >= other.times
    for each in found:
        published, right = f"{each.published:.3g}", f"{each.corrected:.3g}"
        assert f"is {right} where {published} is {each.erratum.word}" in each.sentence
        assert each.erratum.setting in each.sentence


@pytest.mark.parametrize("p", [10, 1_000])
def test_entropy_of_the_published_weight_forces_almost_ln_p_times_the_rate(p):
    """The solver's minimiser on records (-a, 0, ..., 0); no a on a grid leaves more than Lambert's."""
    n = 5_000
    rate = np.sqrt(np.log(p) / n)
    lam = np.sqrt(n * np.log(p)) / n
    most = errata.entropy_excess(lam, p)

    def excess(a: float) -> float:
        records = Data(np.tile(-a * np.eye(1, p), (2, 1)), np.ones(2))
        found = minimise_entropic(get_loss("linear"), records, lam, tol=1e-10)
        return a * (1.0 - float(np.exp(found.log_weights[0])))

    assert excess(lam + most) == pytest.approx(most, rel=1e-9)
    assert max(map(excess, lam * np.linspace(0.5, 20.0, 14))) < most
    assert most / rate == pytest.approx({10: 1.101, 1_000: 4.4205}[p], rel=5e-3) and lam + most < 1.0
    tuned = np.sqrt(2.0 / (n * np.log(p)))
    assert tuned * np.log(p) + 2.0 / (n * tuned) == pytest.approx(2.0 * np.sqrt(2.0) * rate)
    assert errata.entropy_excess(tuned, p) < np.sqrt(2.0) * rate


def test_the_command_prints_all_or_one_in_words(capsys):
    assert all(name in run("errata", capsys) for name in ("objective_gamma", "kamath_descent"))
    assert f"{errata.recompute('objective_gamma').sentence}.\nas published: " in run("errata objective_gamma", capsys)


def test_json_says_the_same_and_a_wrong_name_is_refused(capsys):
    facts = json.loads(run("errata --json", capsys))
    assert [fact["name"] for fact in facts] == [each.name for each in errata.recomputed()]
    one = json.loads(run("errata objective_gamma --json", capsys))
    assert one["corrected"] == errata.recompute("objective_gamma").corrected and one["kind"] == "broken"
    with pytest.raises(SystemExit):
        run("errata nothing", capsys)
    assert "objective_gaussian" in capsys.readouterr().err


def test_only_what_is_drawn_depends_on_the_seed():
    pairs = zip(*(sorted(errata.recomputed(seed), key=lambda each: each.name) for seed in (0, 1)), strict=True)
    assert [one.name for one, other in pairs if one.corrected != other.corrected] == ["classifier_minimiser"]
