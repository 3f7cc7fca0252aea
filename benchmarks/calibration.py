"""Time of calibration for every mechanism, and of dp-accounting for the same steps.

    python -m benchmarks calibration [--dp-accounting PYTHON]

Each mechanism with its usual loss, n = 1,000 people (its own default knobs), at (epsilon, 1e-6); epsilon differs a
little from call to call, so that nothing is remembered. dp-accounting 0.6.0 searches the noise multiplier by its Renyi
accountant: Gaussian noise for replacing one record, and random batches for adding or removing one, the only relation
for which it knows them; its time is what is compared. "z" is the noise over what one record adds, which is half of what
a replacement changes: of `noisy_sgd` the two are for different guarantees.
"""

import dataclasses as dc
import itertools
from collections.abc import Iterator

import dpcore
from benchmarks.guests import Invitation
from benchmarks.runner import Accuracy, Rival, Work
from dpcore.mechanisms.plan import Plan

DELTA = 1e-6
# Mechanisms whose noise dp-accounting can set as well.
GAUSSIAN_STEPS = ("output_gaussian", "noisy_gd", "noisy_sgd")


@dc.dataclass(frozen=True)
class Sizes:
    n: int = 1_000
    p: int = 8
    epsilon: float = 1.0
    rounds: int = 9


QUICK = Sizes(rounds=1)


def plan_of(key: str, sizes: Sizes, epsilon: float) -> Plan:
    classes = 3 if key == "gaussian_classifier" else None
    return dpcore.calibrate(key, n=sizes.n, p=sizes.p, epsilon=epsilon, delta=DELTA, classes=classes)


def multiplier(plan: Plan) -> Accuracy:
    """Noise over what one record adds, half of what a replacement changes."""
    event = plan.ledger[0]
    return {"z": 2.0 * event.scale / event.sensitivity}


def compare(key: str, sizes: Sizes) -> Work:
    epsilons = (sizes.epsilon * (1.0 + 1e-6 * k) for k in itertools.count())
    rivals = [Rival("ours", lambda: plan_of(key, sizes, next(epsilons)))]
    if key in GAUSSIAN_STEPS:
        event = plan_of(key, sizes, sizes.epsilon).ledger[0]
        rate = event.rate if key == "noisy_sgd" else 1.0
        steps = {"rate": rate, "times": event.times, "epsilon": sizes.epsilon, "delta": DELTA}
        rivals = [
            dc.replace(rivals[0], judge=multiplier),
            Rival("dp-accounting", Invitation("dp-accounting", steps), lambda z: {"z": z}),
        ]
    return Work(key, {"n": sizes.n, "p": sizes.p, "epsilon": sizes.epsilon}, rivals)


def works(sizes: Sizes) -> Iterator[Work]:
    for key in dpcore.list_mechanisms():
        yield compare(key, sizes)
