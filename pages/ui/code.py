"""Python that pages show: calls as they are typed, an argument a line."""

from typing import Any

from dpcore import Experiment


class Code(str):
    """An argument that is code itself: "EPSILON_GRID"."""

    def __repr__(self) -> str:
        return str(self)


def call(function: str, *arguments: Any, **named: Any) -> str:
    """A call of a function.

    >>> print(call("valley", 2, lam="auto", ms=Code("MS")))
    valley(
        2,
        lam='auto',
        ms=MS,
    )
    """
    told = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())]
    return f"{function}(\n" + "".join(f"    {each},\n" for each in told) + ")"


def experiment_call(experiment: Experiment, mechanisms: object, **more: Any) -> str:
    """The experiment with these mechanisms; more: fields beside those that every page sets."""
    problem = Code(f"dpcore.{experiment.problem!r}")
    return call("dpcore.Experiment", problem, mechanisms=mechanisms, **more, repetitions=experiment.repetitions)
