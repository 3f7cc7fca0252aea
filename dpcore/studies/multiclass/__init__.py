"""Many classes: private ellipsoids beside one class against the others, and the published mechanism, an exhibit.

What comes from `papers.pathak_raj` and `papers.pathak_raj_leak` is not private, for any epsilon.
"""

from ..papers.pathak_raj import (
    Excess,
    Quantiles,
    Share,
    existence,
    lemma_4_fails,
    linear_terms,
    norm_quantiles,
    published_noise,
    theorem_2_bound,
    theorem_2_violations,
)
from ..papers.pathak_raj_leak import (
    Betrayal,
    Stillness,
    betrayal,
    certified_gaps,
    decisions_without_noise,
    minimise_printed,
    neighbours,
    residuals,
)
from .curves import (
    PLAIN_MU,
    Accuracies,
    AccuracyQuestion,
    Axis,
    Excesses,
    Records,
    Tuning,
    accuracy_against,
    accuracy_against_lam,
    excess_against_epsilon,
)
from .decision_regions import Picture, picture
from .one_vs_rest import LEARNERS, LearnerKey, Runs, runs_of, split_budget
from .reference_risk import Least, least_in_ball, mean_losses

__all__ = [
    "LEARNERS",
    "PLAIN_MU",
    "Accuracies",
    "AccuracyQuestion",
    "Axis",
    "Betrayal",
    "Excess",
    "Excesses",
    "LearnerKey",
    "Least",
    "Picture",
    "Quantiles",
    "Records",
    "Runs",
    "Share",
    "Stillness",
    "Tuning",
    "accuracy_against",
    "accuracy_against_lam",
    "betrayal",
    "certified_gaps",
    "decisions_without_noise",
    "excess_against_epsilon",
    "existence",
    "least_in_ball",
    "lemma_4_fails",
    "linear_terms",
    "mean_losses",
    "minimise_printed",
    "neighbours",
    "norm_quantiles",
    "picture",
    "published_noise",
    "residuals",
    "runs_of",
    "split_budget",
    "theorem_2_bound",
    "theorem_2_violations",
]
