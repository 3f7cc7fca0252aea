"""Which perturbation predicts classes best where no rule of ours was chosen: the reason for Overview's default.

    python -m benchmarks.default_mechanism [--splits 10] [--draws 10] [--json FILE]

Tasks with two classes that no page's picker offers, at several epsilons and delta = 1e-6, each mechanism with all its
knobs at "auto": mean accuracy on test records over splits of the records and draws of the noise. A mechanism wins alone
where it is better than each other one by more than two standard errors of the difference on the same splits.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dpcore import Data, calibrate
from dpcore.core.arrays import Array
from dpcore.data import load, load_classes

MECHANISMS = {"output_gaussian": "output", "objective_gaussian": "objective", "noisy_sgd": "gradient"}
EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-6
Task = Callable[[int], tuple[Data, Data]]


def classes(source: str, n: int, chosen: Sequence[int], seed: int) -> tuple[Data, Data]:
    """Some classes of several against the others, with a constant column."""
    split = load_classes(source, n, seed=seed)

    def made(part: Data) -> Data:
        X = np.column_stack([part.X, np.ones(part.n)]) / math.sqrt(2.0)
        return Data(X, np.where(np.isin(part.y, chosen), 1.0, -1.0))

    return made(split.train), made(split.test)


def sign(source: str, n: int, p: int, size: float, seed: int) -> tuple[Data, Data]:
    """The sign of the outcome; size: the largest norm of a record, declared, by which all are divided."""
    split = load(source, n, p, seed)
    made = [Data(part.X / size, np.where(part.y > 0, 1.0, -1.0)) for part in (split.train, split.test)]
    return made[0], made[1]


TASKS: dict[str, Task] = {
    "iris, setosa": partial(classes, "iris", 105, [0]),
    "iris, versicolor": partial(classes, "iris", 105, [1]),
    "wine, second grower": partial(classes, "wine", 124, [1]),
    "wine, third grower": partial(classes, "wine", 124, [2]),
    "digits, below 5": partial(classes, "digits", 1_257, range(5)),
    "digits, multiples of 3": partial(classes, "digits", 1_257, range(0, 10, 3)),
    "drawn Gaussian classes": partial(classes, "gaussian_classes", 2_000, [0]),
    "diabetes, sign of the outcome": partial(sign, "diabetes", 309, 11, 1.0),
    "idle columns, p = 32": partial(sign, "synthetic_padded", 1_000, 32, 1.0),
    "drawn regression, sign": partial(sign, "synthetic_regression", 1_000, 8, 1.0),
    "drawn sparse model, sign": partial(sign, "synthetic_sparse", 2_000, 16, 4.0),
}


def accuracies(task: Task, key: str, epsilon: float, splits: int, draws: int) -> Array:
    """Mean accuracy on the test records, of each split."""
    found = []
    for seed in range(splits):
        train, test = task(seed)
        plan = calibrate(key, n=train.n, p=train.p, epsilon=epsilon, delta=DELTA, loss="logistic")
        rngs = [np.random.default_rng([seed, draw]) for draw in range(draws)]
        thetas = plan.mechanism.release_many(plan, plan.mechanism.prepare(plan, train), rngs)
        found.append(((test.X @ thetas.T > 0) == (test.y[:, None] > 0)).mean())
    return np.array(found)


def winners(found: dict[str, Array]) -> list[str]:
    """The best mechanism and all that are no worse than it by two standard errors."""
    best = max(found, key=lambda key: float(found[key].mean()))

    def behind(key: str) -> bool:
        less = found[best] - found[key]
        return bool(less.mean() > 2.0 * less.std(ddof=1) / math.sqrt(len(less)))

    return [key for key in found if not behind(key)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(arguments)
    rows, wins = [], {key: [0, 0] for key in MECHANISMS}
    print(f"| task | ε | {' | '.join(MECHANISMS.values())} | best |\n|{'---|' * (3 + len(MECHANISMS))}")
    for name, task in TASKS.items():
        for epsilon in EPSILONS:
            found = {key: accuracies(task, key, epsilon, asked.splits, asked.draws) for key in MECHANISMS}
            best = winners(found)
            for key in best:
                wins[key][len(best) > 1] += 1
            means = {key: 100.0 * float(values.mean()) for key, values in found.items()}
            rows.append({"task": name, "epsilon": epsilon, "best": best, **means})
            cells = " | ".join(f"{mean:.1f}" for mean in means.values())
            print(f"| {name} | {epsilon:g} | {cells} | {', '.join(MECHANISMS[key] for key in best)} |", flush=True)
    for key, (alone, shared) in wins.items():
        print(f"{MECHANISMS[key]}: best alone in {alone}, among the best in {shared} more of {len(rows)}")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
