"""The rate of private Lasso by Frank-Wolfe, n^(-2/3) and log p: exponents read off measured curves."""

import dataclasses as dc
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ....core.arrays import Array
from ....core.power_law import power_law
from ....core.validation import integer
from ...dimension.lasso.curves import against_n, against_p
from ...dimension.lasso.data import Setting, stored_columns
from .base import Claim, Exponent, Outcome, claim, protocol, verdict_of

RUNS = 10
NS = (1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
PS = (16, 64, 256, 1_024, 4_096, 16_384, 65_536)
P, N = 256, 10_000  # columns against n, and records against p
_EPSILON, _DELTA, _REPETITIONS = 1.0, 1e-6, 10
_NEAR = 0.05  # two exponents that differ by less are called equal
_RATE = -2.0 / 3.0


@dc.dataclass(frozen=True)
class Rates:
    """bounded: no mean exceeds its proved bound. growth, growth_se: excess at the most columns over that at the fewest,
    and its standard error; whole: the same with noise in the whole gradient, at the most columns before it learns
    nothing. n: records, against columns. filled: columns that are not zero in every record, at most."""

    exponents: tuple[Exponent, ...]
    bounded: bool
    growth: float
    growth_se: float
    columns: tuple[int, int]
    n: int
    filled: int
    whole: float
    whole_columns: int

    def of(self, curve: str) -> Exponent:
        return next(each for each in self.exponents if each.curve == curve)


HARD, HARD_BOUND = "hard records, default T", "hard records, T of the smallest bound"
FEW, BOUND = "few features matter, default T", "proved bound, T of the smallest bound"
COLUMNS = "few features matter, against ln 2p"


def rates(runs: int, seed: int, told: Callable[[str], None]) -> Rates:
    """Run k draws records and noise anew, from seed + k. runs: >= 2."""
    curves: dict[str, list[Array]] = {name: [] for name in (HARD, HARD_BOUND, FEW, BOUND)}
    columns, whole, bounded = [], [], True
    for k in range(integer("runs", runs, at_least=2)):
        setting = Setting(_EPSILON, _DELTA, radius=1.0, accounting="tight", seed=seed + k, repetitions=_REPETITIONS)
        default = against_n(setting, p=P, T="auto", ns=NS)
        tuned = against_n(setting, p=P, T="bound", ns=NS)
        wide = against_p(setting, n=N, T="auto", ps=PS)
        for found in (default, tuned):
            bounded &= bool((np.fmax(found.private.measured.mean, found.dense) <= found.private.bound).all())
        bounded &= bool((wide.private.measured.mean <= wide.private.bound).all())
        for name, values in (
            (HARD, default.dense),
            (HARD_BOUND, tuned.dense),
            (FEW, default.private.measured.mean),
            (BOUND, tuned.private.bound),
        ):
            curves[name].append(values)
        columns.append(wide.private.measured.mean)
        whole.append((wide.whole.measured.mean, wide.nothing))
        told(f"run {k + 1} of {runs}")
    x, heights = np.array(NS, float), np.array(columns)
    upper = _fit("", "n", x, [np.log(x * P) * x**_RATE], 0.0).mean
    lower = _fit("", "n", x, [(x * np.log(x)) ** _RATE], 0.0).mean
    claims = {HARD: lower, HARD_BOUND: lower, FEW: upper, BOUND: upper}
    fits = [_fit(name, "n", x, values, claims[name]) for name, values in curves.items()]
    ratios = heights[:, -1] / heights[:, 0]
    gradient, nothing = np.array(whole).mean(axis=0)
    learns = np.flatnonzero(gradient < nothing)
    last = int(learns[-1]) if len(learns) else 0
    return Rates(
        exponents=(*fits, _of_logarithm(np.array(PS, float), N, heights)),
        bounded=bounded,
        growth=float(ratios.mean()),
        growth_se=_error(ratios),
        columns=(PS[0], PS[-1]),
        n=N,
        filled=stored_columns(N, PS[-1]),
        whole=float(gradient[last] / gradient[0]),
        whole_columns=PS[last],
    )


def _fit(curve: str, over: str, x: Array, runs: Sequence[Array], claimed: float) -> Exponent:
    laws = [power_law(x, values) for values in runs]
    silent = next((law.reason for law in laws if law.slope is None), "")
    slopes = np.array([math.nan if law.slope is None else law.slope for law in laws])
    return Exponent(curve, over, float(slopes.mean()), _error(slopes), claimed, silent)


def _of_logarithm(p: Array, n: int, heights: Array) -> Exponent:
    """The power of ln 2p, and that of the published log(np). `power_law` asks for 1.5 decades, which neither spans."""
    *slopes, claimed = np.polyfit(np.log(np.log(2.0 * p)), np.log([*heights, np.log(n * p)]).T, 1)[0]
    return Exponent(COLUMNS, "ln 2p", float(np.mean(slopes)), _error(np.array(slopes)), float(claimed))


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def claims_of(found: Rates) -> tuple[Claim, ...]:
    hard, tuned, few, bound, columns = (found.of(name) for name in (HARD, HARD_BOUND, FEW, BOUND, COLUMNS))
    falls = found.bounded and all(each.mean - 2.0 * each.se <= bound.claimed + _NEAR for each in (hard, few, bound))
    same = all(abs(each.mean - each.claimed) <= _NEAR + 2.0 * each.se for each in (hard, tuned))
    fewest, most = found.columns
    published = math.log(found.n * most) / math.log(found.n * fewest)
    logs, root = math.log(2.0 * most) / math.log(2.0 * fewest), (most / fewest) ** (1.0 / 3.0)
    slow = found.growth - 2.0 * found.growth_se <= logs
    facts = dict(published=published, fewest=fewest, most=most, logs=logs, root=root, filled=found.filled)
    within = f"{'no mean' if found.bounded else 'some mean'} above its proved bound"
    return (
        claim(
            "talwar_falls",
            verdict_of(falls),
            f"proved bound {_text(bound)}; hard records {_text(hard)}; few features matter {_text(few)}; {within}",
            upper=bound.claimed,
        ),
        claim(
            "talwar_hardest",
            verdict_of(same, "unexplained"),
            f"on our hard records {_text(hard)} with the default T, {_text(tuned)} with the T of the smallest bound",
            lower=hard.claimed,
        ),
        claim(
            "talwar_columns",
            verdict_of(slow),
            f"{found.growth:.1f} ± {found.growth_se:.1f} times, power of ln 2p {_text(columns)}; with noise in the "
            f"whole gradient {found.whole:.1f} times by p = {found.whole_columns:,}, beyond which it learns nothing",
            **facts,
        ),
    )


def _text(fit: Exponent) -> str:
    return f"none ({fit.reason})" if math.isnan(fit.mean) else f"{fit.mean:.3f} ± {fit.se:.3f}"


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    found = rates(RUNS if runs is None else runs, seed, told)
    fits = tuple(each for each in found.exponents if not math.isnan(each.mean))
    return Outcome(
        "drawn: few features that matter, and hard ones whose best model uses every column",
        pd.DataFrame([dc.asdict(each) for each in found.exponents]),
        fits,
        claims_of(found),
    )


PROTOCOL = protocol("talwar_rate", delta=_DELTA, n=(NS[0], NS[-1]), p=(PS[0], PS[-1]), runs=RUNS, releases=_REPETITIONS)
