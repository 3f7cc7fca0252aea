"""Write what follows from the code: docs/api.md.

python -m tools.generators
"""

import dataclasses as dc
import inspect
import re
from collections.abc import Iterator

import dpcore
from dpcore.core.losses import LOSSES
from dpcore.mechanisms import list_mechanisms, mechanism_class, origin_of
from tests.harness import ROOT

_HEAD = """# The library's public names

Written by `python -m tools.generators` from the docstrings, for dpcore {version}.
Names load on first use from `dpcore`; everything else may change without notice.
Formulas and proofs: [formulas.md](formulas.md). What is not protected: [sharp_edges.md](sharp_edges.md).
"""


def api_page() -> str:
    """Every public name with its signature and docstring, then mechanisms with their knobs, then losses."""
    parts = [_HEAD.format(version=dpcore.__version__)]
    for home, names in dpcore._HOMES.items():
        parts.append(f"## `dpcore.{home}`\n")
        parts += [entry(name, getattr(dpcore, name)) for name in names]
    parts.append("## Mechanisms\n\nThe keys that `solve`, `calibrate` and `make_mechanism` take, with their knobs.\n")
    parts += [mechanism_entry(key) for key in _library()]
    parts.append("## Losses\n\nThe values of `loss`.\n\n| key | what |\n|---|---|")
    return "\n".join(parts) + "\n" + "".join(f"| `{key}` | {loss.label} |\n" for key, loss in LOSSES.items())


def entry(name: str, value: object) -> str:
    """A function, class or constant; a class with its public methods."""
    if not callable(value):
        return f"### `{name}`\n\n```python\n{name} = {value!r}\n```\n"
    lines = [f"### `{name}`", "", f"```python\n{name}{signature(value)}\n```", "", fenced(value)]
    for method, found in methods(value):
        shown = f"**`.{method}{signature(found) if callable(found) else ''}`**"
        first_words = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
        lines += [f"{shown} {first_words}".rstrip(), ""]
    return "\n".join(lines)


def methods(value: object) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class of ours writes down itself, or a base of ours."""
    if not inspect.isclass(value):
        return
    ours = [vars(base) for base in value.__mro__ if base.__module__.startswith("dpcore.")]
    for name in dict.fromkeys(name for written in ours for name in written if not name.startswith("_")):
        found = inspect.getattr_static(value, name)
        if inspect.isfunction(found) or isinstance(found, property):
            yield name, found


def mechanism_entry(key: str) -> str:
    cls = mechanism_class(key)
    rows = ["| knob | default | choices | what |", "|---|---|---|---|"]
    for field in dc.fields(cls):
        if field.init:
            choices = ", ".join(map(str, field.metadata["choices"] or ()))
            rows.append(f"| `{field.name}` | {field.default} | {choices} | {field.metadata['help']} |")
    return f"### `{key}`\n\n{cls.label}. {cls.source}.\n\n{fenced(cls)}\n" + "\n".join(rows) + "\n"


def signature(value: object) -> str:
    """As it is written; an exception takes a message, which says nothing."""
    if inspect.isclass(value) and issubclass(value, Exception):
        return ""
    text = re.sub(r"(?<=: |> )'([^']*)'", r"\1", str(inspect.signature(value)))  # type: ignore[arg-type]
    return text.replace("(self, ", "(").replace("(self)", "()")


def fenced(value: object) -> str:
    return f"```text\n{inspect.getdoc(value)}\n```\n"


def _library() -> list[str]:
    """The mechanisms without those of installed packages."""
    return [key for key in list_mechanisms() if not origin_of(key)]


if __name__ == "__main__":
    (ROOT / "docs" / "api.md").write_text(api_page(), encoding="utf-8")
