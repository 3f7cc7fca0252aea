"""Experiments: frozen descriptions, with the parameters of `dpcore.solve`, that are divided into cells."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any, cast

from ..core.privacy import Budget
from ..core.validation import check_real, integer, one_of, shown
from ..mechanisms import Mechanism, make_mechanism
from ..mechanisms.problem import Problem
from .cell import Cell

EPSILON_GRID = (
    *(round(mantissa * 10.0**power, 3) for power in (-2, -1, 0) for mantissa in (1, 1.5, 2, 3, 5, 7)),
    10.0,
)

_AXES = ("epsilon", "delta", "n", "p", "lam")
_MAX_REPETITIONS = 100_000
_TUMOURS = Problem()
_MAX_MARGINS = 200_000_000  # repetitions times n: they are in memory together


def _real(value: object) -> float:
    return check_real("axis values", value, "finite numbers", lambda v: True) + 0.0  # -0.0 becomes 0.0


def _whole(value: object) -> int:
    return int(check_real("axis values", value, "whole numbers", float.is_integer))


def _listed(name: str, values: Any, kind: str) -> tuple[Any, ...]:
    """Elements of a list, or ValueError; an array without axes claims to be iterable and is not."""
    try:
        if not isinstance(values, str):
            return tuple(values)
    except TypeError:
        pass
    raise ValueError(f"{name} must be a list of {kind}, got {shown(values)}")


@dc.dataclass(frozen=True)
class Axis:
    """Sweep of an experiment: one of its fields and the values that it takes.

    >>> Axis("epsilon", (0.1, 1.0)).values
    (0.1, 1.0)
    """

    name: str
    values: tuple[float, ...] | tuple[int, ...]

    def __post_init__(self) -> None:
        one_of("axis", self.name, _AXES)
        kind = _whole if self.name in ("n", "p") else _real
        values = _listed("axis values", self.values, "numbers")
        object.__setattr__(self, "values", tuple(kind(value) for value in values))
        if not self.values:
            raise ValueError("axis values must not be empty")
        if list(self.values) != sorted(set(self.values)):
            raise ValueError(f"axis values must be increasing, got {self.values}")


@dc.dataclass(frozen=True)
class Experiment:
    """Description of the runs of one chart.

    problem: what is learned from which records. mechanisms: keys or mechanism objects (which have knobs). epsilon: as
    in `dpcore.solve`. sweep: replaces epsilon, or delta, n, p or lam of the problem, by a list of values. repetitions:
    releases per point, from 2 to 100,000 and at most 2 * 10^8 / n. proved: key of the mechanism, if any, for which the
    table also has the bounds on the mean excess that are proved for these records.

    >>> small = Experiment(Problem(n=200))
    >>> small.digest() == Experiment.from_json(small.to_json()).digest()
    True
    """

    problem: Problem = _TUMOURS
    mechanisms: tuple[Mechanism | str, ...] = ("output_gaussian",)
    epsilon: float = 1.0
    sweep: Axis = Axis("epsilon", EPSILON_GRID)
    repetitions: int = 50
    proved: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            raise ValueError(f"problem must be a Problem, got {shown(self.problem)}")
        set_field = object.__setattr__
        set_field(self, "mechanisms", _mechanisms(self.mechanisms))
        if not isinstance(self.sweep, Axis):
            raise ValueError(f"sweep must be an Axis, got {shown(self.sweep)}")
        set_field(self, "repetitions", integer("repetitions", self.repetitions, at_least=2))
        if self.repetitions > _MAX_REPETITIONS:
            raise ValueError(f"repetitions must be at most {_MAX_REPETITIONS:,}, got {self.repetitions:,}")
        set_field(self, "epsilon", Budget(self.epsilon).epsilon)
        one_of("proved", self.proved, ["", *(m.key for m in self.mechanisms)])  # type: ignore[union-attr]
        # Every value of the sweep must keep the rules of the problem and of solve.
        for epsilon in self.sweep.values if self.sweep.name == "epsilon" else ():
            Budget(epsilon)
        for cell in self.cells():
            if cell.repetitions * cell.problem.n > _MAX_MARGINS:
                raise ValueError(
                    f"repetitions times n must be at most {_MAX_MARGINS:,} to fit into memory, "
                    f"got {cell.repetitions:,} times {cell.problem.n:,}"
                )

    def cells(self) -> Iterator[Cell]:
        """Independent cells, mechanism by mechanism along the sweep."""
        if self.sweep.name == "epsilon":
            points = [(self.sweep.values, self.problem)]
        else:
            own = [dc.replace(self.problem, **{self.sweep.name: value}) for value in self.sweep.values]  # type: ignore[arg-type]
            points = [((self.epsilon,), problem) for problem in own]
        for mechanism in cast("tuple[Mechanism, ...]", self.mechanisms):
            for epsilons, problem in points:
                proved = mechanism.key == self.proved
                yield Cell(mechanism, tuple(map(float, epsilons)), problem, self.repetitions, proved=proved)

    def to_json(self) -> str:
        """Canonical JSON: equal experiments give equal text."""
        plain = {f.name: getattr(self, f.name) for f in dc.fields(self)}
        plain["problem"] = dc.asdict(self.problem)
        plain["mechanisms"] = [{"key": m.key, **m.knobs} for m in self.mechanisms]  # type: ignore[union-attr]
        plain["sweep"] = {"name": self.sweep.name, "values": list(self.sweep.values)}
        return json.dumps(plain, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """Experiment from the text of `to_json`; missing fields take their defaults, unknown ones are refused."""
        if not isinstance(text, str):
            raise ValueError(f"an experiment must be the text of a JSON object, got {shown(text)}")
        try:
            plain = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"an experiment must be a JSON object, got text that is none ({error})") from None
        except ValueError:  # Python reads no longer integer
            digits = sys.get_int_max_str_digits()
            raise ValueError(f"an experiment must have numbers of at most {digits} digits, got a longer one") from None
        if not isinstance(plain, dict):
            raise ValueError(f"an experiment must be a JSON object, got {type(plain).__name__}")
        _check_fields("an experiment", cls, plain)
        for name, read in (("problem", _problem_from), ("mechanisms", _mechanisms_from), ("sweep", _axis_from)):
            if name in plain:
                plain[name] = read(plain[name])
        return cls(**plain)

    def digest(self) -> str:
        """Short hash of everything on which the table depends."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


def _mechanisms(chosen: object) -> tuple[Mechanism, ...]:
    listed = _listed("mechanisms", chosen, "keys or mechanisms")
    made = tuple(m if isinstance(m, Mechanism) else make_mechanism(m) for m in listed)
    if not made:
        raise ValueError("mechanisms must name at least one mechanism, got none")
    for mechanism in made:
        if mechanism.quantity == "regret":
            raise ValueError(
                f"mechanisms must learn from a table of records, got {mechanism.key}, which plays against a stream of "
                "costs: see dpcore.studies.selection.streaming.regret"
            )
    return made


def _check_fields(what: str, cls: type, plain: dict[str, Any]) -> None:
    known = [field.name for field in dc.fields(cls)]
    for name in plain:
        if name not in known:
            raise ValueError(f"{what} has no field {name!r}; it has {', '.join(known)}")


def _problem_from(plain: object) -> Problem:
    if not isinstance(plain, dict):
        raise ValueError(f"problem must be an object with the fields of a problem, got {shown(plain)}")
    _check_fields("a problem", Problem, plain)
    return Problem(**plain)


def _mechanisms_from(plain: object) -> tuple[Mechanism, ...]:
    if not isinstance(plain, list) or not all(isinstance(m, (str, dict)) for m in plain):
        raise ValueError(f"mechanisms must be a list of keys or of objects with a key, got {shown(plain)}")
    return tuple(make_mechanism(m) if isinstance(m, str) else make_mechanism(**({"key": ""} | m)) for m in plain)


def _axis_from(plain: object) -> Axis:
    if not isinstance(plain, dict) or set(plain) != {"name", "values"} or not isinstance(plain["values"], list):
        raise ValueError(f'sweep must be an object {{"name": ..., "values": [...]}}, got {shown(plain)}')
    return Axis(plain["name"], tuple(plain["values"]))
