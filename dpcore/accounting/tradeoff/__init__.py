"""Guarantees as whole trade-off curves: the delta of every mechanism at every epsilon at once."""

from .composed import BatchCurve as BatchCurve
from .composed import ChoicesCurve as ChoicesCurve
from .composed import RepeatedChoiceCurve as RepeatedChoiceCurve
from .composed import ZcdpCurve as ZcdpCurve
from .composed import choices_curve as choices_curve
from .composed import equal_choices_curve as equal_choices_curve
from .composed import summed_curve as summed_curve
from .curves import BoundedCurve as BoundedCurve
from .curves import GaussianCurve as GaussianCurve
from .curves import ObjectiveCurve as ObjectiveCurve
from .curves import PureCurve as PureCurve
from .curves import TradeoffCurve as TradeoffCurve
from .group import repeated_releases_curve as repeated_releases_curve
from .group import summed_losses as summed_losses
