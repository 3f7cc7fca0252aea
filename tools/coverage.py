"""Write docs/coverage.md: how often the intervals of the page Decide cover, by share of positives and records.

python -m tools.coverage
"""

import dataclasses as dc
import math
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from dpcore.core.arrays import Array
from dpcore.experiments.metrics import separated
from dpcore.studies.decide.loss_curve import LEAST_SHARE, LEAST_TESTED
from dpcore.studies.decide.smallest_epsilon import RARE
from dpcore.studies.decide.threshold_interval import error_in_population, limits, nine_of_ten, unseen

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
EPSILONS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
SPLITS, _RELEASES, _NOISE = 20, 10, 0.3
_TEXT = """# How often the intervals cover

Written by `python -m tools.coverage`, seed 0. Files drawn from a known law: two columns, uniform on [-1, 1], and a
logistic model. A fast learner of its own (ridge regression, normal noise, exact means for accuracy) takes the place of
a mechanism; rows, errors and limits are those of `dpcore/studies/decide`. Each file has {splits} splits, 70% to learn
from.

**Population**: the least share, over ε = 0.5 to 8, of files whose 95% interval covers the mean loss over all files;
where none is given, what it would be stands in brackets. None is given where the smaller class has under {least}%
(under {rare}% the metric is AUC), or fewer than {tested} test records in a split: the loss depends on which few records
the model learned from, and no split of one file shows that. *Smaller class, test*: its test records in a split.

{population}

**Crossing**: the smallest ε at which nine of ten single releases lose at most 3 points, of 400 made-up curves each.
*Covered* by its 95% interval of {splits} splits; *kept*: the share of new releases at the answer that keep to the
limit, on average. Where 5% of splits lose 20 points more, {none:.0f} of 100 times no split of {splits} is one of them;
whatever meets up to {unseen:.0f}% of splits may be in none.

{crossing}
"""


@dc.dataclass(frozen=True)
class File:
    """Law of a file: share of positives, records, and records a person, all the same."""

    share: float
    records: int
    person: int = 1

    @property
    def auc(self) -> bool:
        return self.share < RARE

    @property
    def given(self) -> bool:
        """True if an interval for the population is given."""
        return self.share >= LEAST_SHARE and round(0.3 * self.share * self.records) >= LEAST_TESTED

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """X [m, 3] and y [m]; files with fewer than two records of a class are drawn again."""
        while True:
            x = rng.uniform(-1.0, 1.0, (self.records // self.person, 2))
            yes = rng.random(len(x)) < expit(4.0 * x[:, 0] + 1.5 * x[:, 1] + intercept(self.share))
            if 2 <= yes.sum() <= len(x) - 2:
                break
        X = np.column_stack([x, np.ones(len(x))]).repeat(self.person, axis=0)
        return X, np.where(yes, 1.0, -1.0).repeat(self.person)


FILES = (
    *(File(share, records) for share in (0.5, 0.3, 0.25) for records in (120, 400, 1_500)),
    *(File(share, records, 3) for share in (0.5, 0.25) for records in (150, 600)),
    *(File(0.2, records) for records in (120, 400)),
    *(File(0.15, records) for records in (120, 400, 1_500)),
    *(File(0.05, records) for records in (400, 1_500)),
    File(0.02, 1_500),
)


def intercept(share: float) -> float:
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (20_000, 2)) @ np.array([4.0, 1.5])
    return float(brentq(lambda c: expit(x + c).mean() - share, -20.0, 20.0))


def curve(file: File, seed: int) -> tuple[Array, Array]:
    """Losses of the splits of one file, [S, K], and rows of its records, [N, K]; points."""
    rng = np.random.default_rng([0, seed])
    X, y = file.draw(rng)
    lost, tested, splits = np.zeros((len(y), len(EPSILONS))), np.zeros(len(y)), list[Array]()
    while len(splits) < SPLITS:
        order = rng.permutation(len(y))
        train, test = np.split(order, [int(0.7 * len(y))])
        if abs(y[test].sum()) < len(test):
            points = by_record(X[train], y[train], X[test], y[test], file.auc, rng)
            lost[test] += points
            tested[test] += 1.0
            splits.append(points.mean(axis=0))
    mean = np.mean(splits, axis=0)
    return np.array(splits), mean + (lost - tested[:, None] * mean) * (len(y) / tested.sum())


def by_record(X: Array, y: Array, X_test: Array, y_test: Array, auc: bool, rng: np.random.Generator) -> Array:
    """Points that noisy models lose on each test record, [m, K]."""
    n, gram = len(y), X.T @ X
    best, centre = (np.linalg.solve(gram + w * np.eye(3), X.T @ y) for w in (1.0, 0.05 * n))
    scales = _NOISE / EPSILONS
    margins = X_test @ centre
    if not auc:
        length = np.linalg.norm(X_test, axis=1)
        right = ndtr((y_test * margins)[:, None] / (length[:, None] * scales))
        return np.asarray(100.0 * ((y_test * (X_test @ best) > 0.0)[:, None] - right))
    noise, yes = X_test @ rng.standard_normal((3, 4)), y_test > 0.0
    scores = margins + scales[:, None, None] * noise.T
    less = separated(X_test @ best, y_test) - separated(scores, y_test).mean(axis=1)
    mean = less[:, yes].mean(axis=1, keepdims=True)
    return np.asarray(100.0 * (mean + (less - mean) / np.where(yes, yes.mean(), 1.0 - yes.mean()))).T


def covered(file: File, files: int) -> Array:
    """Share of the files whose 95% interval for the population covers, at each epsilon, [K]."""
    curves = [curve(file, seed) for seed in range(files)]
    truth = np.mean([splits.mean(axis=0) for splits, _ in curves], axis=0)
    ends = [limits(splits, least=error_in_population(splits, rows, file.person)) for splits, rows in curves]
    return np.mean([(low <= truth) & (truth <= high) for low, high in ends], axis=0)


def paths(splits: int, releases: int, rng: np.random.Generator, failing: float = 0.0) -> Array:
    """Losses of single releases [S, R, K] on a falling curve; a share of splits loses 20 points more."""
    share = rng.standard_normal((splits, releases, 1))
    level = 1.0 * rng.standard_normal((splits, 1, 1)) + 20.0 * (rng.random((splits, 1, 1)) < failing)
    return np.asarray(20.0 / (1.0 + 2.0 * EPSILONS**1.5) * (1.0 + 0.3 * share) + level)


def crossing(failing: float, curves: int = 400) -> tuple[float, float]:
    """Share of intervals of the smallest epsilon that cover, and of new releases that keep to 3 points there."""
    rng, at_most = np.random.default_rng(1), 3.0
    many = paths(20_000, 1, rng, failing)
    truth = nine_of_ten(EPSILONS, many, at_most).value
    found = [nine_of_ten(EPSILONS, paths(SPLITS, _RELEASES, rng, failing), at_most, seed=k) for k in range(curves)]
    hits = np.mean([each.low <= truth <= each.high for each in found])
    places = [np.interp(math.log(each.value), np.log(EPSILONS), range(5)) for each in found if each.reachable]
    kept = [_kept(many[:2_000, 0], place, at_most) for place in places]
    return float(hits), float(np.mean(kept))


def _kept(many: Array, place: float, at_most: float) -> float:
    low = min(int(place), len(EPSILONS) - 2)
    lost = many[:, low] + (place - low) * (many[:, low + 1] - many[:, low])
    return float((lost <= at_most).mean())


def page(files: int = 1_000) -> str:
    lines = ["| smaller class | records | a person | smaller class, test | metric | covered |", "|---" * 6 + "|"]
    for file in FILES:
        least = covered(file, files if file.given else files // 4).min()
        told = f"{100.0 * least:.0f}%" if file.given else f"none ({100.0 * least:.0f}%)"
        few = round(0.3 * file.share * file.records)
        metric = "AUC" if file.auc else "accuracy"
        lines.append(f"| {100 * file.share:.0f}% | {file.records:,} | {file.person} | {few} | {metric} | {told} |")
    crossings = ["| splits that fail | covered | kept |", "|---" * 3 + "|"]
    for failing in (0.0, 0.05):
        hits, kept = crossing(failing)
        crossings.append(f"| {100 * failing:.0f}% | {100 * hits:.0f}% | {100 * kept:.0f}% |")
    return _TEXT.format(
        splits=SPLITS,
        least=f"{100 * LEAST_SHARE:.0f}",
        tested=LEAST_TESTED,
        rare=f"{100 * RARE:.0f}",
        none=100.0 * 0.95**SPLITS,
        unseen=100.0 * unseen(SPLITS),
        population="\n".join(lines),
        crossing="\n".join(crossings),
    )


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
