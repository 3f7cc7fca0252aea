"""Who bears the loss: that of one release by the groups of a declared column."""

import dataclasses as dc

import numpy as np

from ...core.privacy import NotApplicable
from ...data import held
from .loss_curve import LostCurve


@dc.dataclass(frozen=True)
class GroupLoss:
    """A group of a file's records.

    rows: that any split has tested. lost: points, a mean over splits and noise. error: its standard error over rows,
    nan of fewer than two.
    """

    group: str
    rows: int
    lost: float
    error: float


def loss_by_group(curve: LostCurve, column: str, epsilon: float) -> list[GroupLoss]:
    """Accuracy loss at an epsilon of each group that `UploadedRecords.groups` makes of a declared column.

    Raises NotApplicable where outcomes are not right or wrong, and ValueError for another source than an upload.
    """
    if curve.setting.metric != "accuracy":
        raise NotApplicable("loss by group needs predictions that are right or wrong, got a measure of pairs")
    names, places = held(curve.setting.source).groups(column)
    tested = curve.tested > 0
    times, places = curve.tested[tested], places[tested]
    each = np.array([curve.between(epsilon, row) for row in curve.lost_of[tested]])
    found = []
    for place, name in enumerate(names):
        lost, often = each[places == place], times[places == place]
        rows = len(lost)
        mean = lost.sum() / often.sum() if rows else np.nan
        error = (lost / often).std(ddof=1) / np.sqrt(rows) if rows > 1 else np.nan
        found.append(GroupLoss(name, rows, float(mean), float(error)))
    return found
