"""Non-private minimisers that certify their results.

`minimise` serves the mechanisms: it bounds the distance to the minimiser of the strongly convex J, by a gradient norm
(`erm.smooth`) or, for losses with kinks, by a duality gap (`erm.nonsmooth`). `infimum` serves the charts: excess risk
is measured from the smallest unregularised risk of all models, which on separable data none attains (`erm.everywhere`).
`minimise_in_ball` serves the bounds, which compare with models of a length: a gap bounds F(theta) - min F from any
feasible point (`erm.in_ball`, and `erm.location` for losses of a point). Over the simplex, `minimise_entropic`
certifies the logarithm of every weight and `minimise_on_simplex` is the charts' reference (`simplex.entropic`). Over
the L1 ball `minimise_on_l1_ball` is (`l1_ball`). `choose_penalty` and `penalised` learn as well as they can without
privacy (`erm.cross_validated`).
"""

from .erm.cross_validated import Penalty as Penalty
from .erm.cross_validated import choose_penalty as choose_penalty
from .erm.cross_validated import penalised as penalised
from .erm.minimise import infimum as infimum
from .erm.minimise import minimise as minimise
from .erm.minimise import minimise_in_ball as minimise_in_ball
from .erm.minimise import minimise_many as minimise_many
from .erm.minimise import tolerance as tolerance
from .erm.objective import Minimum as Minimum
from .erm.one_vs_rest import perturbed_against_rest as perturbed_against_rest
from .erm.perturbed import perturbed_minimisers as perturbed_minimisers
from .l1_ball import minimise_on_l1_ball as minimise_on_l1_ball
from .simplex.entropic import minimise_entropic as minimise_entropic
from .simplex.entropic import minimise_on_simplex as minimise_on_simplex
