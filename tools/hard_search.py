"""Search for records that are harder for a mechanism than those of dpcore/studies/hardest, at a size that allows it.

python -m tools.hard_search [MECHANISM ...]

One record after another is moved at random within the domain, made equal to another one, or its label turned, and the
move is kept if the mean excess risk grows. Prints the excess on the records found, that on the hardest of the list, and
the records. A minute; of output perturbation the means are integrals, of others those of a few releases.
"""

import sys
from collections.abc import Sequence

import numpy as np

from dpcore import Budget, Data, Plan, Spec, make_mechanism
from dpcore.core.cancel import never
from dpcore.core.rng import generator
from dpcore.studies.hardest.excess import mean_excess
from dpcore.studies.hardest.families import hard_records

SPEC = Spec("logistic", n=12, p=2, lam=0.1, theta_norm=6.0)
_EPSILONS, _STEPS, _STARTS, _RELEASES = (1.0, 10.0), 2_000, 2, 8


def excess(plan: Plan, data: Data) -> float:
    """Mean excess empirical risk on the records."""
    return float(mean_excess([plan], data, 0, "search", _RELEASES, never)[0][0])


def search(plan: Plan, steps: int, rng: np.random.Generator) -> tuple[float, Data]:
    """The largest excess found from random records, and the records."""
    n, p = plan.spec.n, plan.spec.p
    X, y = _inside(rng.standard_normal((n, p))), rng.choice([-1.0, 1.0], n)
    best = excess(plan, Data(X, y))
    for _ in range(steps):
        moved, turned, i = X.copy(), y.copy(), rng.integers(n)
        kind = rng.integers(4)
        if kind == 0:
            turned[i] = -y[i]
        elif kind == 1:
            j = rng.integers(n)
            moved[i], turned[i] = X[j], y[j]
        else:
            size = 0.5 ** rng.integers(0, 8)
            moved[i] = _inside(X[i] + size * rng.standard_normal(p))
        found = excess(plan, Data(moved, turned))
        if found > best:
            best, X, y = found, moved, turned
    return best, Data(X, y)


def _inside(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1.0)


def main(keys: Sequence[str]) -> None:
    for key in keys or ("output_gaussian",):
        for epsilon in _EPSILONS:
            plan = make_mechanism(key).calibrate(SPEC, Budget(epsilon, 1e-6))
            listed = max((excess(plan, hard.records(SPEC)), hard.name) for hard in hard_records(SPEC))
            best, data = max(
                (search(plan, _STEPS, generator(0, key, start)) for start in range(_STARTS)), key=lambda pair: pair[0]
            )
            print(f"{key}, ε = {epsilon:g}: found {best:.4g}, listed {listed[0]:.4g} ({listed[1]})")
            for x, label in sorted(zip(data.X.round(3).tolist(), data.y, strict=True)):
                print(f"    {label:+.0f} {x}")


if __name__ == "__main__":
    main(sys.argv[1:])
