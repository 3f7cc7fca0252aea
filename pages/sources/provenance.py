"""Traces: guarantee and bounds of a mechanism, with assumption, theorem and the tests that check them.

Guarantees and bounds come from the mechanisms themselves, at the settings below; the tests from their marks, by
`python -m tools.generators`.
"""

import dataclasses as dc
import functools
import json
from pathlib import Path
from typing import Any, Literal

from dpcore.core.losses import get_loss
from dpcore.mechanisms import mechanism_class, origin_of
from dpcore.mechanisms.api import bounds_of, calibrate

Form = Literal["privacy", "upper", "lower", "rate"]
SETTINGS: dict[str, Any] = {"n": 2_000, "p": 50, "epsilon": 1.0, "delta": 1e-5}
FILE = Path(__file__).with_name("provenance.json")
EVERY = "every mechanism"  # in the file: what a test shows of all that are registered

_HOLDS = {"expectation": "on average", "probability": "in a single run"}


@dc.dataclass(frozen=True)
class Trace:
    """One statement about a mechanism.

    form: "privacy", or that of a `Bound`. states: what is guaranteed or bounded. value: the size of the noise, or the
    bound, at `SETTINGS`. tests: file and name, below tests/.
    """

    form: Form
    states: str
    assumes: str
    value: float
    theorem: str
    tests: tuple[str, ...]


def traces(key: str) -> tuple[Trace, ...]:
    """The guarantee of a mechanism and every bound it knows, at `SETTINGS`; ValueError names the known keys.

    >>> [trace.form for trace in traces("generalized_gaussian")]
    ['privacy', 'upper', 'upper']
    """
    cls = mechanism_class(key)
    classes = 3 if get_loss(cls.usual_loss).task == "classes" else None
    plan = calibrate(key, **SETTINGS, classes=classes)
    guarantee, conditions = cls.guarantee()
    return (
        Trace("privacy", guarantee, conditions, plan.scale, cls.source, named_tests(key, "privacy")),
        *(
            Trace(
                bound.form,
                f"{bound.quantity.replace('_', ' ')}, {_HOLDS[bound.holds]}",
                bound.assumes,
                bound.value,
                bound.source,
                named_tests(key, bound.form),
            )
            for bound in bounds_of(plan)
        ),
    )


def named_tests(key: str, form: Form) -> tuple[str, ...]:
    """The tests that check a statement of this form about a mechanism, as file and name below tests/.

    None of a mechanism from outside: those of all mechanisms have not been run on it.
    """
    names = () if origin_of(key) else (key, EVERY)
    return tuple(test for name in names for test in _named().get(name, {}).get(form, ()))


@functools.cache
def _named() -> dict[str, dict[Form, list[str]]]:
    """Mechanism -> form -> tests."""
    found: dict[str, dict[Form, list[str]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
