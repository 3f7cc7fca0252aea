"""Large-margin Gaussian classification as published: when its noise leaves an answer, what the answer betrays, and what
its theorems say. Nothing here is private.
"""

from .betrayal import (
    Betrayal,
    Stillness,
    betrayal,
    certified_gaps,
    decisions_without_noise,
    minimise_printed,
    neighbours,
    residuals,
)
from .published import (
    Excess,
    Quantiles,
    Share,
    Theorem3,
    existence,
    lemma_4_fails,
    linear_terms,
    norm_quantiles,
    published_noise,
    theorem_2_bound,
    theorem_2_violations,
    theorem_3_terms,
)

__all__ = [
    "Betrayal",
    "Excess",
    "Quantiles",
    "Share",
    "Stillness",
    "Theorem3",
    "betrayal",
    "certified_gaps",
    "decisions_without_noise",
    "existence",
    "lemma_4_fails",
    "linear_terms",
    "minimise_printed",
    "neighbours",
    "norm_quantiles",
    "published_noise",
    "residuals",
    "theorem_2_bound",
    "theorem_2_violations",
    "theorem_3_terms",
]
