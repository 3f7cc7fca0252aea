"""What m random draws from a mixture cost and tell: a valley in m, one release column by column, the price of columns.

All of it learns the source "synthetic_mixture" over the simplex. Excess on the training records is F(theta) - F*, with
F* the least risk over the simplex; on fresh records it is F(theta) - F(truth), the truth being the mixture behind the
labels, which no other mixture beats in the population. Noise comes from (seed, mechanism key, repetition) alone, so
that curves are smooth in m, lam and epsilon.
"""

from .data import MAX_FILLED, SOURCE, stored_columns
from .excess_by_columns import PS, PriceOfColumns, price_of_columns
from .excess_by_draws import MS, On, Valley, valley
from .published_draws import PublishedDraws, draws_at, published_draws
from .sampling_vs_frank_wolfe import BesideSampling, beside_sampling
from .single_release import Support, support

__all__ = [
    "MAX_FILLED",
    "MS",
    "PS",
    "SOURCE",
    "BesideSampling",
    "On",
    "PriceOfColumns",
    "PublishedDraws",
    "Support",
    "Valley",
    "beside_sampling",
    "draws_at",
    "price_of_columns",
    "published_draws",
    "stored_columns",
    "support",
    "valley",
]
