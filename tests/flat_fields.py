"""Experiments whose fields and whose problem's fields are told in one breath."""

from __future__ import annotations

import dataclasses as dc
from typing import Any, TypeVar

from dpcore import Experiment, Problem

Asked = TypeVar("Asked", bound=Any)
_OF_PROBLEMS = {field.name for field in dc.fields(Problem)}


def experiment_of(**fields: Any) -> Experiment:
    """The experiment with these fields, those of its problem among them."""
    problem = {name: fields.pop(name) for name in _OF_PROBLEMS & fields.keys()}
    return Experiment(Problem(**problem), **fields)


def changed(asked: Asked, **fields: Any) -> Asked:
    """The same experiment or setting with other fields, those of its problem among them."""
    own = {name: value for name, value in fields.items() if name not in _OF_PROBLEMS}
    of_problem = {name: value for name, value in fields.items() if name in _OF_PROBLEMS}
    return dc.replace(asked, problem=dc.replace(asked.problem, **of_problem), **own)
