"""One slider move about objective perturbation: every curve anew, against the loop one would write without us.

    python -m benchmarks slider_move [--diffprivlib PYTHON]

A move is K epsilons x R repetitions x two laws of noise: that many minimisations for objective perturbation, and output
perturbation; accuracy on test records and excess risk on training records. Ours adds the exact means of output
perturbation, which the loops sample. Logistic loss, the recipe "synthetic", noise as the mechanisms calibrate it.

The loop, by numpy and scipy's L-BFGS-B, has one exponential for risk and slope and starts each repetition from its own
solution at the epsilon before: at the loosest tolerance (in steps of sqrt(10)) whose mean excess risk is within 0.5%
everywhere, and with gradients below 1e-8. diffprivlib's LogisticRegression with its default tolerance does the Gamma
half of objective perturbation. Errors are the largest relative ones of mean excess risk and of mean accuracy over all
points of objective perturbation, against gradients below 1e-10; gradients are those of the perturbed J.
"""

import dataclasses as dc
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from benchmarks.guests import Invitation
from benchmarks.runner import Accuracy, Rival, Work
from dpcore import Budget, Spec, data, make_mechanism
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.core.privacy import NoiseLaw
from dpcore.experiments import metrics
from dpcore.mechanisms.base import Drawn
from dpcore.mechanisms.noise.spherical import NOISES
from dpcore.solvers import Minimum, minimise, minimise_in_ball
from dpcore.solvers.erm.perturbed import DISPLAY_ACCURACY, perturbed_minimisers

LOSS, DELTA, RADIUS = get_loss("logistic"), 1e-6, 10.0
LAWS: tuple[NoiseLaw, ...] = ("gaussian", "gamma")
WITHIN, TIGHT = 0.005, {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 10_000}


@dc.dataclass(frozen=True)
class Sizes:
    n: int = 5_000
    p: int = 100
    epsilons: int = 12
    repetitions: int = 50
    lam: float = 1e-3
    rounds: int = 3


QUICK = Sizes(n=200, p=3, epsilons=3, repetitions=4, lam=0.1, rounds=1)


@dc.dataclass(frozen=True)
class Task:
    """Public facts and random draws: the same for all competitors."""

    split: data.Split
    lam: float
    epsilons: Array
    objective: dict[str, Array]
    output: dict[str, Array]
    directions: dict[str, Array]
    reference: Minimum


def make_task(sizes: Sizes) -> Task:
    n, p, lam, points, repetitions = sizes.n, sizes.p, sizes.lam, sizes.epsilons, sizes.repetitions
    split, rng = data.load("synthetic", n, p, 0), np.random.default_rng(0)
    epsilons, spec = np.geomspace(0.1, 10.0, points), Spec(LOSS.key, n, p, lam, split.domain)

    def scales(mechanism: str) -> Array:
        calibrate = make_mechanism(mechanism).calibrate
        return np.array([calibrate(spec, Budget(epsilon, DELTA)).scale for epsilon in epsilons])

    directions: dict[str, Array] = {}
    for law in LAWS:
        half = np.stack([NOISES[law].direction(p, p, rng) for _ in range(repetitions // 2)])
        directions[law] = np.stack([half, -half], axis=1).reshape(repetitions, p)
    return Task(
        split,
        lam,
        epsilons,
        {law: scales(f"objective_{law}") for law in LAWS},
        {law: scales(f"output_{law}") for law in LAWS},
        directions,
        minimise_in_ball(LOSS, split.train, RADIUS),
    )


@dc.dataclass(frozen=True)
class Curves:
    """Curves that a move draws for one noise distribution, and the largest gradient.

    means: [4, K], of accuracy and of excess risk for objective perturbation, then for output perturbation.
    """

    means: Array
    gradient: float


def ours(task: Task, law: NoiseLaw, accuracy: float) -> Curves:
    train, test = task.split.train, task.split.test
    centre = minimise(LOSS, train, task.lam, tol=1e-6 / task.lam).theta
    centres, lams = np.tile(centre, (len(task.epsilons), 1)), np.full(len(task.epsilons), task.lam)
    path = perturbed_minimisers(
        LOSS, train, lams, task.objective[law], task.directions[law], start=centre, accuracy=accuracy
    )
    drawn = Drawn(centres, path.thetas, path.risks)
    added = metrics.Additive(centres, task.output[law], task.directions[law], NOISES[law].spread(train.p))
    curves = [metrics.curves_of(LOSS, train, test, task.reference, releases) for releases in (drawn, added)]
    return Curves(np.array([curve.mean for both in curves for curve in both]), float(path.residuals.max()))


def loop(task: Task, law: NoiseLaw, tolerances: dict[str, float]) -> Curves:
    """The same by numpy and scipy alone."""
    X, y, lam, n = task.split.train.X, task.split.train.y, task.lam, task.split.train.n
    X_test, y_test = task.split.test.X, task.split.test.y

    def objective(theta: Array, b: Array) -> tuple[float, Array]:
        m = y * (X @ theta)
        e = np.exp(-np.abs(m))
        value = (np.maximum(-m, 0.0) + np.log1p(e)).mean() + 0.5 * lam * theta @ theta + b @ theta
        return value, X.T @ (-y * np.where(m > 0.0, e, 1.0) / (1.0 + e)) / n + lam * theta + b

    def solve(b: Array, start: Array) -> Array:
        return scipy_minimize(objective, start, (b,), jac=True, method="L-BFGS-B", options=tolerances).x

    def judge(thetas: Array) -> tuple[float, float]:
        risks = np.logaddexp(0.0, -y * (thetas @ X.T)).mean(axis=1)
        return (y_test * (thetas @ X_test.T) > 0.0).mean(), risks.mean() - task.reference.risk

    Z = task.directions[law]
    centre = solve(np.zeros(X.shape[1]), np.zeros(X.shape[1]))
    thetas, gradient, points = np.tile(centre, (len(Z), 1)), 0.0, []
    for k in np.argsort(task.objective[law]):
        B = task.objective[law][k] * Z
        thetas = np.stack([solve(b, start) for b, start in zip(B, thetas, strict=True)])
        gradient = max(gradient, *(float(np.linalg.norm(objective(t, b)[1])) for t, b in zip(thetas, B, strict=True)))
        points.append((k, *judge(thetas), *judge(centre + task.output[law][k] * Z)))
    return Curves(np.array(sorted(points)).T[1:], gradient)


def errors(curves: list[Curves], exact: list[Curves]) -> Array:
    """The largest relative errors of mean accuracy and of mean excess risk, [2]."""
    means, right = (np.array([each.means[:2] for each in side]) for side in (curves, exact))
    return np.abs(means / right - 1.0).max(axis=(0, 2))


def loosest(task: Task, exact: list[Curves]) -> dict[str, float]:
    """The largest tolerance of the loop whose mean excess risks are within 0.5%."""
    for power in np.arange(3.0, 9.0, 0.5):
        tolerances = TIGHT | {"gtol": 10.0**-power}
        if errors([loop(task, law, tolerances) for law in LAWS], exact)[1] <= WITHIN:
            return tolerances
    raise RuntimeError("the loop does not get within 0.5%")


def works(sizes: Sizes) -> Iterator[Work]:
    task = make_task(sizes)
    exact = [ours(task, law, 1e-10) for law in LAWS]
    facts = {name: value for name, value in dc.asdict(sizes).items() if name != "rounds"}

    def judge(curves: list[Curves]) -> Accuracy:
        right, excess = errors(curves, exact)
        return {"excess error": excess, "accuracy error": right, "gradient": max(c.gradient for c in curves)}

    def rival(who: str, move: Callable[[NoiseLaw], Curves]) -> Rival:
        return Rival(who, lambda: [move(law) for law in LAWS], judge)

    display = partial(ours, task, accuracy=DISPLAY_ACCURACY)
    tuned = loosest(task, exact)
    who = f"numpy and scipy, gtol {tuned['gtol']:.0e}"
    rivals = [rival("ours", display), rival(who, lambda law: loop(task, law, tuned))]
    yield Work("a move, at display accuracy", facts, rivals)
    tight = [
        rival("ours", lambda law: ours(task, law, 1e-8)),
        rival("numpy and scipy", lambda law: loop(task, law, TIGHT)),
    ]
    yield Work("a move, gradients below 1e-8", facts, tight)
    train = task.split.train
    settings = {"C": 1.0 / (train.n * task.lam), "repetitions": sizes.repetitions, "epsilons": task.epsilons.tolist()}
    guest = Invitation("diffprivlib", settings | {"X": train.X.tolist(), "y": train.y.tolist()})
    half = [
        Rival("ours", lambda: ours(task, "gamma", DISPLAY_ACCURACY), lambda c: {"accuracy": c.means[0].mean()}),
        Rival("diffprivlib", guest, lambda score: {"accuracy, training": score}),
    ]
    yield Work("its Gamma half, at display accuracy", facts, half)
