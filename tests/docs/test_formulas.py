"""docs/formulas.md leaves nothing out: every name with a guarantee or a bound has a section of its own."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module

import dpcore
from dpcore import theory
from dpcore.core.losses import LOSSES

from ..harness import ROOT

TEXT = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
ACCOUNTANTS = (
    *("gaussian", "objective", "zcdp", "composition", "kamath", "attack_limits", "subsampled_rdp"),
    *("adaptive_bounded_range", "pld"),
)


def public_functions(module: str) -> set[str]:
    """Those that a module defines itself, behind a cache or not."""
    found = {name: inspect.unwrap(f) for name, f in vars(import_module(module)).items() if callable(f)}
    return {name for name, f in found.items() if inspect.isfunction(f) and f.__module__ == module and name[0] != "_"}


def names() -> set[str]:
    """Mechanisms, losses, bounds and accountants, from the code."""
    modules = [f"dpcore.theory.{part.name}" for part in pkgutil.iter_modules(theory.__path__)]
    modules += [f"dpcore.accounting.{name}" for name in ACCOUNTANTS]
    return {*dpcore.list_mechanisms(), *LOSSES}.union(*map(public_functions, modules))


def sections(text: str) -> dict[str, str]:
    """Title, without the files in brackets, -> what stands below it, up to the next title of any level."""
    parts = re.split(r"^##+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r" \(`.*", "", title): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(body: str) -> list[list[str]]:
    """The cells of a section's tables, without their heads."""
    lines = [line for line in body.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_every_mechanism_loss_bound_and_accountant_has_its_place():
    found = sections(TEXT)
    table = [(row[0].strip("* "), re.findall(r"`(\w+)`", row[1])) for row in rows(found["Where each name stands"])]
    listed = [name for _, in_section in table for name in in_section]
    assert sorted(listed) == sorted(set(listed)), "each under one section"
    assert set(listed) == names()
    for title, _ in table:
        assert "$" in found[title], f"{title} holds no formula"


def test_every_loss_and_every_rate_has_a_row_with_a_formula():
    found = sections(TEXT)
    for title, wanted in (
        ("Losses", set(LOSSES)),
        ("Rates as published", {name for name in names() if name.endswith(("_rate", "_lasso_corollary"))}),
    ):
        table = {row[0].strip("` "): row[1] for row in rows(found[title]) if row[0].strip().startswith("`")}
        assert set(table) == wanted
        assert all("$" in formula for formula in table.values())


def test_mechanisms_cite_what_the_document_cites():
    """The year of each mechanism's source stands in the documents, which derive it or say where it comes from."""
    documents = TEXT + (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    for key in dpcore.list_mechanisms():
        source = dpcore.mechanisms.mechanism_class(key).source
        first = re.match(r"[\w-]+", source)
        assert first is not None and first.group() in documents, f"{key}: {source}"
