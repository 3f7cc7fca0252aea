"""Python that pages show: the calls that they make themselves, each a `partial`, with the imports that these need."""

import dataclasses as dc
import math
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from textwrap import indent
from typing import Any

import dpcore
from dpcore import Experiment
from dpcore.figures.figure import Figure

_LONGEST = 100  # letters of a call on one line


class _Verbatim(str):
    pass


def verbatim(text: str) -> Any:
    """A value that is code itself: "experiment.cells()"."""
    return _Verbatim(text)


def script(made: Mapping[str, Any], *drawn: partial[Figure]) -> str:
    """A program that runs from an empty file.

    made: name -> its value; drawn: calls of figures, all but the theme, to be shown. A partial stands for what it
    returns, as a value or inside of one.

    >>> from dpcore.data import load
    >>> print(script({"split": partial(load, "iris", 50, seed=verbatim("2 + 5"))}), end="")
    from dpcore.data import load
    <BLANKLINE>
    split = load('iris', 50, seed=2 + 5)
    """
    imports: defaultdict[str, set[str]] = defaultdict(set)
    lines = [f"{name} = {_written(value, imports)}" for name, value in made.items()]
    lines += [f"{_written(partial(each, theme='light'), imports)}.show()" for each in drawn]
    heads = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    return "\n".join([*heads, "", *lines, ""])


def redrawn(asked: partial[Any], drawn: partial[Figure]) -> str:
    """The program that draws what is found by `asked`."""
    return script({"found": asked}, partial(drawn, verbatim("found")))


def experiment_call(experiment: Experiment, **more: Any) -> Any:
    """The experiment as a partial; more: fields beside those that every page sets."""
    if experiment.proved:
        more["proved"] = experiment.proved
    return partial(Experiment, experiment.problem, experiment.mechanisms, **more, repetitions=experiment.repetitions)


def _written(value: Any, imports: defaultdict[str, set[str]]) -> str:
    """A value as code, whose imports are added to the others."""
    if isinstance(value, _Verbatim):
        return value
    if isinstance(value, partial):
        name = value.func.__name__
        home = "dpcore" if getattr(dpcore, name, None) is value.func else value.func.__module__
        imports[home].add(name)
        named = [f"{key}={_written(argument, imports)}" for key, argument in value.keywords.items()]
        return _folded(f"{name}(", [*(_written(argument, imports) for argument in value.args), *named], ")")
    if dc.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dc.fields(value) if field.init}
        return _written(partial(type(value), **fields), imports)
    if isinstance(value, dict):
        return _folded("{", [f"{key!r}: {_written(each, imports)}" for key, each in value.items()], "}")
    if isinstance(value, list | tuple) and any(callable(each) or dc.is_dataclass(each) for each in value):
        return _folded("[", [_written(each, imports) for each in value], "]")
    return "float('inf')" if value == math.inf else repr(value)


def _folded(start: str, parts: list[str], end: str) -> str:
    """On one line where that is short, else a part a line."""
    line = f"{start}{', '.join(parts)}{end}"
    if len(line) <= _LONGEST and "\n" not in line:
        return line
    return "\n".join([start, *(indent(f"{part},", "    ") for part in parts), end])
