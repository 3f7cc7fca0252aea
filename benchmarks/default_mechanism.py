"""Which perturbation predicts classes best where no rule of ours was chosen: the reason for Overview's default.

    python -m benchmarks.default_mechanism

Tasks with two classes that no page's picker offers, at several epsilons and delta = 1e-6, each mechanism with all its
knobs at "auto": mean accuracy on test records over splits of the records and draws of the noise. A mechanism wins alone
where it is better than each other one by more than two standard errors of the difference on the same splits.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dpcore import Data, calibrate
from dpcore.core.arrays import Array
from dpcore.data import load, load_classes

MECHANISMS = {"output_gaussian": "output", "objective_gaussian": "objective", "noisy_sgd": "gradient"}
EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-6
SPLITS, DRAWS = 20, 10
Task = Callable[[int], tuple[Data, Data]]


def classes(source: str, n: int, chosen: Sequence[int], seed: int, **drawn: int) -> tuple[Data, Data]:
    """Some classes of several against the rest, with a constant column. drawn: dimension and number of classes."""
    split = load_classes(source, n, seed=seed, **drawn)

    def made(part: Data) -> Data:
        X = np.column_stack([part.X, np.ones(part.n)]) / math.sqrt(2.0)
        return Data(X, np.where(np.isin(part.y, chosen), 1.0, -1.0))

    return made(split.train), made(split.test)


def sign(source: str, n: int, p: int, size: float, seed: int) -> tuple[Data, Data]:
    """The sign of the outcome; size: the largest norm of a record, declared, by which all are divided."""
    split = load(source, n, p, seed)
    train, test = (Data(part.X / size, np.where(part.y > 0, 1.0, -1.0)) for part in (split.train, split.test))
    return train, test


# A source of classes, the classes against the rest: training records, these classes.
CLASS_TASKS = {
    "iris, setosa": (105, [0]),
    "iris, versicolor": (105, [1]),
    "wine, second grower": (124, [1]),
    "wine, third grower": (124, [2]),
    "digits, below 5": (1_257, range(5)),
    "digits, multiples of 3": (1_257, range(0, 10, 3)),
    "gaussian_classes, the first": (2_000, [0]),
}
TASKS: dict[str, Task] = {
    **{name: partial(classes, name.split(", ")[0], *facts) for name, facts in CLASS_TASKS.items()},
    "diabetes, sign of the outcome": partial(sign, "diabetes", 309, 11, 1.0),
    "idle columns, p = 32": partial(sign, "synthetic_padded", 1_000, 32, 1.0),
    "drawn regression, sign": partial(sign, "synthetic_regression", 1_000, 8, 1.0),
    "drawn sparse model, sign": partial(sign, "synthetic_sparse", 2_000, 16, 4.0),
}


def accuracies(task: Task, key: str, epsilon: float) -> Array:
    """Mean accuracy on the test records, of each split."""
    found = []
    for seed in range(SPLITS):
        train, test = task(seed)
        plan = calibrate(key, n=train.n, p=train.p, epsilon=epsilon, delta=DELTA, loss="logistic")
        rngs = [np.random.default_rng([seed, draw]) for draw in range(DRAWS)]
        thetas = plan.mechanism.release_many(plan, plan.mechanism.prepare(plan, train), rngs)
        found.append(((test.X @ thetas.T > 0) == (test.y[:, None] > 0)).mean())
    return np.array(found)


def main() -> None:
    won = []
    print(f"| task | ε | {' | '.join(MECHANISMS.values())} | best |\n|{'---|' * (3 + len(MECHANISMS))}")
    for (name, task), epsilon in itertools.product(TASKS.items(), EPSILONS):
        found = {key: accuracies(task, key, epsilon) for key in MECHANISMS}
        best = max(found.values(), key=np.mean)
        less = {key: best - values for key, values in found.items()}
        won.append([key for key, d in less.items() if d.mean() <= 2.0 * d.std(ddof=1) / math.sqrt(SPLITS)])
        cells = " | ".join(f"{100 * values.mean():.1f}" for values in found.values())
        print(f"| {name} | {epsilon:g} | {cells} | {', '.join(MECHANISMS[key] for key in won[-1])} |", flush=True)
    for key, name in MECHANISMS.items():
        print(
            f"{name}: among the best in {sum(key in each for each in won)} of {len(won)}, alone in {won.count([key])}"
        )


if __name__ == "__main__":
    main()
