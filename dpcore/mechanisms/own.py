"""Mechanisms that come from outside of the library: from installed packages, and from files.

A package names its classes in the group of entry points that is called as this package is:

    [project.entry-points."dpcore.mechanisms"]
    my_key = "my_package.my_module:MyMechanism"

Importing a mechanism runs its code with all rights of the process: nothing from outside is imported that was not
installed, or named in the command, by whoever runs it.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import re
import sys
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from .base import Family, Mechanism, Place


class FaultyMechanism(ValueError):
    """A package or a file whose mechanism cannot be offered; the text names it and says what to do."""


@dc.dataclass(frozen=True)
class Own:
    """A mechanism from outside. origin: the package or the file that it comes from, in words."""

    cls: type[Mechanism]
    origin: str


_FROM_FILES: dict[str, Own] = {}


def own_mechanisms(shipped: tuple[str, ...]) -> dict[str, Own]:
    """Key -> mechanism, of installed packages and then of files; FaultyMechanism where one cannot be offered.

    shipped: keys that are taken.
    """
    return {**_installed(shipped), **_FROM_FILES}


def add_file(path: Path, shipped: tuple[str, ...]) -> None:
    """Offer the mechanisms that a file of Python defines; FaultyMechanism if it defines none, or one is faulty."""
    where = f"{path}: The file"
    module = _imported(path, where)
    classes = [each for each in vars(module).values() if _is_mechanism(each) and each.__module__ == module.__name__]
    if not classes:
        raise FaultyMechanism(f"{where} must define a class that derives from Mechanism: write one (docs/tutorial.md).")
    found: dict[str, Own] = {}
    for cls in classes:
        taken = (*shipped, *_installed(shipped), *_FROM_FILES, *found)
        found[_checked(cls, f"{where}'s class {cls.__name__}", taken)] = Own(cls, f"the file {path.name}")
    _FROM_FILES.update(found)


@functools.cache
def _installed(shipped: tuple[str, ...]) -> dict[str, Own]:
    found: dict[str, Own] = {}
    for entry in sorted(entry_points(group=__package__), key=lambda entry: entry.name):
        package = entry.dist.name if entry.dist else "?"
        where = f"The entry point “{entry.name}” of the package {package}"
        cls = _loaded(entry, where)
        key = _checked(cls, where, (*shipped, *found))
        if key != entry.name:
            raise FaultyMechanism(f"{where} must be called as its mechanism's key, {key!r}: rename one of them.")
        found[key] = Own(cls, f"the package {package}")
    return found


def _loaded(entry: EntryPoint, where: str) -> Any:
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise FaultyMechanism(
            f"{where} cannot be imported ({type(error).__name__}: {error}): mend the package or uninstall it."
        ) from error


def _imported(path: Path, where: str) -> ModuleType:
    spec = spec_from_file_location(f"own_mechanism_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise FaultyMechanism(f"{where} must be Python, with a name that ends with .py: name another one.")
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise FaultyMechanism(f"{where} cannot be imported ({type(error).__name__}: {error}): mend it.") from error
    return module


def _is_mechanism(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Mechanism)


def _checked(cls: Any, where: str, taken: tuple[str, ...]) -> str:
    """The key of a class that can be offered; FaultyMechanism with the rule that it breaks."""

    def refuse(rule: str, got: Any) -> FaultyMechanism:
        return FaultyMechanism(f"{where} must {rule}, got {got!r}: mend it or leave it out (docs/tutorial.md).")

    if not _is_mechanism(cls):
        raise refuse("be a class that derives from dpcore.mechanisms.base.Mechanism", cls)
    if "__dataclass_params__" not in vars(cls) or not cls.__dataclass_params__.frozen:
        raise refuse("be a frozen dataclass, @dataclasses.dataclass(frozen=True)", cls.__name__)
    try:
        key = cls().key
        cls.guarantee()
    except (TypeError, ValueError) as error:
        raise refuse("be made from its defaults and state its guarantee", str(error)) from error
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", key):
        raise refuse("have a key of at most 40 letters a-z, digits and _, a letter first", key)
    if key in taken:
        raise refuse("have a key that no other mechanism has", key)
    for name, legal in (("family", get_args(Family)), ("place", get_args(Place))):
        if getattr(cls, name, None) not in legal:
            raise refuse(f"have a {name}, one of {', '.join(legal)}", getattr(cls, name, None))
    for name in ("label", "source"):  # pages tell mechanisms apart by them, so none may be inherited
        if not isinstance(words := vars(cls).get(name), str) or not words.strip():
            raise refuse(f"have a {name} of its own, in words", words)
    return key
