"""Write which tests check what the page Sources says of a mechanism.

python -m tools.generators
"""

import ast
import json

from dpcore.mechanisms import list_mechanisms, origin_of
from pages.sources.provenance import EVERY, FILE
from tests.harness import ROOT


def _library() -> list[str]:
    """The mechanisms without those of installed packages."""
    return [key for key in list_mechanisms() if not origin_of(key)]


def provenance() -> str:
    """Results shown by tests, as their marks `shows(form, *mechanisms)` say: mechanism -> form -> tests, as JSON.

    A mark without a mechanism speaks of all that are registered.
    """
    found: dict[str, dict[str, list[str]]] = {key: {} for key in (*_library(), EVERY)}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for test in ast.parse(text).body if "mark.shows(" in text else ():
            for mark in getattr(test, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.shows":
                    form, *keys = (ast.literal_eval(argument) for argument in mark.args)
                    name = f"{path.relative_to(ROOT / 'tests').as_posix()}::{test.name}"  # type: ignore[attr-defined]
                    for key in keys or (EVERY,):
                        found[key].setdefault(form, []).append(name)
    return json.dumps({key: forms for key, forms in found.items() if forms}, indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(provenance(), encoding="utf-8")
