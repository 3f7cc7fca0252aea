"""Rules by which mechanisms choose lam from public facts."""

import math

import numpy as np

from ..core.losses import get_loss
from ..core.records import Data
from ..core.specification import Spec
from ..solvers import Minimum
from ..theory import erm

# Under output perturbation lam="auto" makes the noise move the prediction of a record of norm R by a fixed size, root
# mean square: in the margin (B R)^(2/3) / 16, where B R is the largest margin of a model of norm theta_norm; for
# squared loss a tenth of y_max (docs/formulas.md, "lam"). The lam that minimises a bound lost up to 13 points of
# accuracy more.
_AUTO_MARGIN, _AUTO_POWER, _AUTO_LABEL = 1.0 / 16.0, 2.0 / 3.0, 0.1
# Share of the ridge in the rule for losses of numbers where the loss resists the noise (docs/formulas.md, "lam").
_AUTO_RIDGE = 5.0
LARGEST_LOG = 230.0  # lam lies between 1e-100 and 1e100


def comparator_norm(spec: Spec) -> float:
    """L2 norm B of the comparator: theta_norm, or `radius` if that is smaller; the largest in another set."""
    if spec.set == "ball":
        return min(spec.theta_norm, spec.radius or math.inf)
    return (spec.size or 0.0) * spec.unit_set.norm(2.0, spec.p)


def biases(spec: Spec, data: Data, best: Minimum) -> tuple[float, float]:
    """`erm.regularisation_bias` against `best` on these records, and against any model of norm B on any records."""
    loss, lam = get_loss(spec.loss), float(spec.lam)
    zero = float(loss.risks(data, np.zeros((1, data.stored)))[0])
    own = erm.regularisation_bias(lam, float(np.linalg.norm(best.theta)), zero - best.risk)
    return own, erm.regularisation_bias(lam, comparator_norm(spec), loss.at_zero(spec))


def auto_size(spec: Spec) -> float:
    """Root mean square move of the prediction of a record of norm R by noise that nothing resists, under lam="auto".

    For descent on location losses, which predict no label, of a coordinate of theta: a tenth of R.
    """
    if not get_loss(spec.loss).linear:
        return _AUTO_LABEL * spec.domain.R
    if get_loss(spec.loss).classification:
        return _AUTO_MARGIN * (comparator_norm(spec) * spec.domain.R) ** _AUTO_POWER
    return _AUTO_LABEL * spec.domain.y_max


def numbers_lam(spec: Spec, noise: float, effect: float) -> float:
    """lam under "auto" for a linear prediction of numbers where the loss resists noise in the gradient.

    noise: its standard deviation in every direction. effect: the largest effect of a record on the gradient. The lam at
    which noise without resistance would move the prediction of a record of norm R by 1 is R noise. The rule is
    R noise / (y_max m^(-1/3)) with m = noise / effect, so that the size of the move grows with epsilon alone; and 5
    times the best ridge for a model of norm B with equal components, p noise^2 / (R B)^2, more.
    """
    R = spec.domain.R
    ridge = spec.p * (noise / comparator_norm(spec) / R) ** 2
    return R * noise * (noise / effect) ** (1.0 / 3.0) / spec.domain.y_max + _AUTO_RIDGE * ridge


def no_lam(spec: Spec) -> ValueError:
    """Error of a rule for lam that would leave the range of lam."""
    return ValueError(f"lam must be a number if the rule {spec.lam!r} gives none between 1e-100 and 1e100")
