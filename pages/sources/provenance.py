"""Traces: what a mechanism promises and proves, under which assumption, by which theorem, and which test checks it.

Promises and bounds come from the mechanisms themselves, at the settings below; the tests are named here, by what they
check. Where each can be seen is the dashboard's matter.
"""

from __future__ import annotations

import dataclasses as dc
import inspect
import re
from typing import Any, Literal

from dpcore.core.losses import get_loss
from dpcore.core.validation import one_of
from dpcore.mechanisms import list_mechanisms, mechanism_class
from dpcore.mechanisms.api import bounds_of, calibrate

Form = Literal["privacy", "upper", "lower", "rate"]
SETTINGS: dict[str, Any] = {"n": 2_000, "p": 50, "epsilon": 1.0, "delta": 1e-5}

_HOLDS = {"expectation": "on average", "probability": "in a single run"}
_AUDITED = "audit/test_registry_audits.py::test_the_whole_registry_is_audited_and_nothing_is_left_out_silently"
_LOWER = "theory/test_lower_bounds.py::test_no_mechanism_is_better_on_the_hardest_data"
_OUTPUT = {
    "upper": (
        "mechanisms/test_output_bounds.py::test_upper_bounds_hold_in_expectation",
        "mechanisms/test_output_bounds.py::test_the_one_run_band_holds_in_nine_runs_of_ten",
    ),
    "lower": (_LOWER,),
    "rate": ("mechanisms/test_output_bounds.py::test_rates_are_shapes_with_the_printed_exponents",),
}
_OBJECTIVE = {
    "upper": (
        "mechanisms/test_objective_bounds.py::test_upper_bounds_hold_on_average",
        "mechanisms/test_objective_bounds.py::test_the_one_run_band_holds_in_nine_runs_of_ten",
    ),
    "lower": (_LOWER,),
    "rate": ("mechanisms/test_objective_bounds.py::test_rates_are_shapes_with_the_printed_exponents",),
}
_DESCENT = {
    "lower": (_LOWER,),
    "rate": ("mechanisms/test_descent_rules.py::test_bounds_and_means_are_those_of_the_sheet",),
}
# Mechanism -> form -> tests below tests/. Every promise is also attacked by the audit of the whole registry.
TESTS: dict[str, dict[str, tuple[str, ...]]] = {
    "output_gaussian": {
        "privacy": ("mechanisms/test_output_perturbation.py::test_no_neighbour_exceeds_the_sensitivity",),
        **_OUTPUT,
    },
    "output_gamma": {
        "privacy": ("mechanisms/test_output_perturbation.py::test_no_neighbour_exceeds_the_sensitivity",),
        **_OUTPUT,
    },
    "objective_gaussian": {
        "privacy": (
            "mechanisms/test_objective_perturbation.py::test_gaussian_keeps_its_promise_exactly_in_one_dimension",
            "mechanisms/test_objective_perturbation.py::test_the_gaussian_bound_holds_at_every_angle_between_two_records",
        ),
        **_OBJECTIVE,
    },
    "objective_gamma": {
        "privacy": (
            "mechanisms/test_objective_perturbation.py::test_gamma_keeps_its_promise_exactly_in_one_dimension",
        ),
        **_OBJECTIVE,
    },
    "noisy_gd": {
        "privacy": ("mechanisms/test_noisy_gd.py::test_no_replaced_record_moves_the_gradient_beyond_the_sensitivity",),
        "upper": ("mechanisms/test_descent_rules.py::test_no_mean_excess_is_above_its_upper_bound",),
        **_DESCENT,
    },
    "noisy_sgd": {
        "privacy": (
            "mechanisms/test_noisy_sgd.py::test_an_independent_accountant_agrees_with_the_price_of_poisson_batches",
        ),
        "upper": ("mechanisms/test_noisy_sgd.py::test_measured_means_stay_under_the_bounds",),
        **_DESCENT,
    },
    "simplex_sampling": {
        "privacy": ("mechanisms/test_simplex_sampling.py::test_draws_of_three_columns_cost_at_most_what_is_spent",),
        "upper": (
            "mechanisms/test_simplex_sampling.py::test_the_exact_mean_excess_stays_below_the_bounds",
            "mechanisms/test_simplex_sampling.py::test_the_mean_excess_on_fresh_records_stays_below_its_bound",
        ),
        "rate": ("mechanisms/test_simplex_sampling.py::test_the_published_rate_is_theorem_4",),
    },
    "ftrl": {
        "privacy": ("mechanisms/test_ftrl.py::test_all_runs_on_any_neighbours_keep_the_promise",),
        "upper": (
            "mechanisms/test_ftrl.py::test_the_bound_holds_on_every_stream",
            "mechanisms/test_ftrl.py::test_one_run_stays_within_the_one_run_bound",
        ),
        "rate": (
            "mechanisms/test_ftrl.py::test_bounds_say_what_they_are",
            "studies/test_streams.py::test_equation_12_is_exceeded_by_sqrt_8_ln_p",
        ),
    },
    "frank_wolfe_polytope": {
        "privacy": (
            "mechanisms/test_frank_wolfe_polytope.py::test_the_range_of_a_choice_is_the_larger_of_the_sum_s_and_zcdp_s",
        ),
        "upper": ("mechanisms/test_frank_wolfe_polytope.py::test_the_mean_excess_of_releases_is_below_the_bound",),
        "lower": (
            "mechanisms/test_frank_wolfe_polytope.py::test_lower_bounds_of_the_l1_ball_stand_beside_the_upper_one",
            "theory/test_packing.py::test_runs_on_the_packing_lie_above_the_bound",
        ),
        "rate": (
            "mechanisms/test_frank_wolfe_polytope.py::test_published_rates_are_the_printed_formulas_and_shapes_only",
            "mechanisms/test_frank_wolfe_polytope.py::"
            "test_corollary_2_7_does_not_follow_from_theorem_2_5_but_from_the_tuned_steps",
        ),
    },
    "frank_wolfe_general": {
        "privacy": (
            "mechanisms/test_frank_wolfe_general.py::"
            "test_no_replaced_record_moves_the_gradient_beyond_the_sensitivity_and_the_worst_pair_does",
        ),
        "upper": ("mechanisms/test_frank_wolfe_general.py::test_the_mean_excess_is_below_the_bound",),
        "rate": ("mechanisms/test_frank_wolfe_general.py::test_figures_of_one_problem",),
    },
    "generalized_gaussian": {
        "privacy": (
            "mechanisms/test_generalized_gaussian.py::"
            "test_no_replaced_record_moves_the_mean_further_than_the_sensitivity_and_one_attains_it",
        ),
        "upper": (
            "mechanisms/test_generalized_gaussian.py::test_the_excess_risk_is_its_bound",
            "mechanisms/test_generalized_gaussian.py::"
            "test_the_risk_on_fresh_records_is_below_its_bound_and_not_without_the_sampling_error",
        ),
    },
    "tree_frank_wolfe": {
        "privacy": (
            "mechanisms/test_tree_frank_wolfe.py::"
            "test_no_replaced_record_moves_a_release_beyond_the_claim_whatever_was_released_before",
        ),
        "upper": ("mechanisms/test_tree_frank_wolfe.py::test_the_mean_excess_on_fresh_records_is_below_the_bound",),
        "rate": ("mechanisms/test_tree_frank_wolfe.py::test_the_published_rate_is_a_shape",),
    },
    "polyhedral_frank_wolfe": {
        "privacy": (
            "mechanisms/test_polyhedral_frank_wolfe.py::test_the_noise_is_what_the_worst_record_costs_by_the_better_proof",
        ),
        "upper": (
            "mechanisms/test_polyhedral_frank_wolfe.py::test_the_mean_excess_on_fresh_records_is_below_the_bound",
        ),
        "rate": ("mechanisms/test_polyhedral_frank_wolfe.py::test_the_tree_s_bound_falls_like_its_rate",),
    },
    "phased_sgd": {
        "privacy": ("mechanisms/test_phased_sgd.py::test_no_replaced_record_moves_a_phase_beyond_its_sensitivity",),
        "upper": ("theory/test_phased_bound.py::test_the_mean_excess_is_below_the_bound",),
        "rate": ("theory/test_phased_bound.py::test_figures_and_rates_of_one_problem",),
    },
    "gaussian_classifier": {
        "privacy": (
            "mechanisms/test_gaussian_classifier_privacy.py::test_gamma_noise_keeps_every_ratio_within_epsilon",
            "mechanisms/test_gaussian_classifier_privacy.py::test_gaussian_noise_keeps_delta",
        ),
        "upper": (
            "mechanisms/test_gaussian_classifier_bounds.py::test_bounds_hold_on_average_and_a_twentieth_of_the_noise_does_not",
            "mechanisms/test_gaussian_classifier_bounds.py::test_the_bound_on_fresh_records_holds_for_a_known_law",
        ),
    },
}


@dc.dataclass(frozen=True)
class Trace:
    """One statement about a mechanism.

    form: "privacy", or that of a `Bound`. states: what is promised or bounded. value: the size of the noise, or the
    bound, at `SETTINGS`. tests: file and name, below tests/.
    """

    mechanism: str
    label: str
    form: Form
    states: str
    assumes: str
    value: float
    theorem: str
    tests: tuple[str, ...]


def traces(key: str) -> tuple[Trace, ...]:
    """The promise of a mechanism and every bound it knows, at `SETTINGS`; ValueError names the known keys.

    >>> [trace.form for trace in traces("generalized_gaussian")]
    ['privacy', 'upper', 'upper']
    """
    cls = mechanism_class(one_of("mechanism", key, list_mechanisms()))
    classes = 3 if get_loss(cls.usual_loss).task == "classes" else None
    plan = calibrate(key, **SETTINGS, classes=classes)
    tests = TESTS[key]
    promise, conditions = guarantee(key)
    rows = [
        Trace(key, cls.label, "privacy", promise, conditions, plan.scale, cls.source, (*tests["privacy"], _AUDITED))
    ]
    rows += [
        Trace(
            key,
            cls.label,
            bound.form,
            f"{bound.quantity.replace('_', ' ')}, {_HOLDS[bound.holds]}",
            bound.assumes,
            bound.value,
            bound.source,
            tests[bound.form],
        )
        for bound in bounds_of(plan)
    ]
    return tuple(rows)


def guarantee(key: str) -> tuple[str, str]:
    """What the docstring of a mechanism says after "Guarantee:": the promise, and what is said of it after a comma.

    >>> guarantee("phased_sgd")[0]
    '(epsilon, delta)-differential privacy'
    """
    text = inspect.getdoc(mechanism_class(key)) or ""
    found = re.search(r"^Guarantee: (.*?)\.$\n(?=\S)", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise ValueError(f"the docstring of {key} must say what it guarantees, got {text[:80]!r}")
    said = " ".join(found[1].split())
    promise, _, conditions = said.partition("privacy")
    return promise + "privacy", conditions.strip(" ,").removesuffix(".")
