"""Write docs/errata.md and docs/glossary.md, and docs/reproductions.md from a folder with what the reproductions gave.

python -m tools.documents
for name in jain-thakurta-1b ...; do python -m dpcore reproduce $name -o FOLDER/$name; done
python -m tools.documents FOLDER
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore.core.facts import facts_beside
from dpcore.studies.papers import errata
from dpcore.studies.papers.reproductions import REPRODUCTIONS, get_reproduction
from dpcore.studies.papers.reproductions.jain_thakurta import PUBLISHED
from pages.ui.terms import GLOSSARY

DOCS = Path(__file__).resolve().parents[1] / "docs"
FURTHER = facts_beside(errata.__file__, "further_errata.csv")
PAPERS = {
    "Jain and Thakurta 2014": "(Near) dimension independent risk bounds for differentially private learning",
    "Talwar, Thakurta and Zhang 2015": "Nearly optimal private LASSO",
    "Bassily, Guzmán and Nandi 2021": "Non-Euclidean differentially private stochastic convex optimization. The "
    "available text lacks its formulas: what is compared here is reconstructed from its words and its references",
    "Kamath's lecture": "CS 860, lecture 13: private empirical risk minimisation",
    "Pathak and Raj 2010": "Large margin multiclass Gaussian classification with differential privacy. Here $\\lambda$ "
    "belongs to the sum of the losses",
    "Dwork and Roth 2014": "The algorithmic foundations of differential privacy",
}
_ERRATA = """# Errata

Written by `python -m tools.documents` from `dpcore/studies/papers/errata.csv` and `further_errata.csv`.

Statements of the papers that are wrong or loose, the correct ones, and how to check them. `python -m dpcore errata`
computes those that have a number, and the page *Papers* draws them; `dpcore.run_exhibit` certifies by runs what five
of the mechanisms spend as published. Letters are those of [formulas.md](formulas.md): $\\lambda$ belongs to the
average loss, and $\\lambda'=n\\lambda$ to the sum.
"""
_GLOSSARY = """# Glossary

Written by `python -m tools.documents` from `pages/ui/glossary.csv`. The dashboard shows a term's meaning where the term
stands.

| term | meaning | pages |
|---|---|---|
"""
_REPRODUCTIONS = """# Figures and claims of the papers, reproduced

Written by `python -m tools.documents` from the words of `dpcore/studies/papers/reproductions/` and one run of each with
seed 0. `python -m dpcore reproduce NAME -o DIR` does one again and writes its table, claims and figure; the page
*Papers* does it with few repetitions. Published values were read off curves, to two digits at best. **Agrees**: the
claim holds in the numbers computed here. **Differs**: it does not, and the difference is named. **Unexplained**: it
does not, and no cause was found.
"""


def glossary_page() -> str:
    """The terms of the dashboard."""
    lines = [f"| {entry['word']} | {entry['meaning']} | {entry['pages']} |\n" for entry in GLOSSARY]
    return _GLOSSARY + "".join(lines)


def errata_page() -> str:
    """Paper by paper, what is computed and then the rest."""
    return _ERRATA + "".join(f"\n## {paper}\n{words}.\n{''.join(_of(paper))}" for paper, words in PAPERS.items())


def _of(paper: str) -> Iterator[str]:
    yield "\n| place | as published | correct | check |\n|---|---|---|---|\n"
    for name, erratum in errata.ERRATA.items():
        if erratum.source.startswith(paper):
            found = errata.recompute(name)
            place = erratum.source.removeprefix(paper).strip(", ") or erratum.title
            values = f"{erratum.word} {found.published:.3g}, correct {found.corrected:.3g}"
            numbers = f"{erratum.unit}: {values} ({erratum.setting})"
            words = (place, erratum.says, f"{erratum.holds}. {numbers}", f"`python -m dpcore errata {name}`")
            yield f"| {' | '.join(each.replace('|', chr(92) + '|') for each in words)} |\n"
    for row in FURTHER:
        if row["paper"] == paper:
            yield f"| {row['place']} | {row['published']} | {row['correct']} | {row['check']} |\n"


def reproductions_page(folder: Path) -> str:
    """Each reproduction with its protocol and its claims, as found in FOLDER/NAME."""
    parts, before = [_REPRODUCTIONS], ""
    for name in REPRODUCTIONS:
        chosen, found = get_reproduction(name), json.loads((folder / name / "claims.json").read_text(encoding="utf-8"))
        parts.append(f"## {chosen.title}\n{chosen.source}: `{name}`. Records: {found['records']}.\n")
        parts.append("Protocol as above.\n" if chosen.protocol == before else f"{chosen.protocol}\n")
        before = chosen.protocol
        if name.startswith("jain-thakurta-1"):
            parts.append(_panel(pd.read_csv(folder / name / "table.csv"), PUBLISHED[name[-1]]))
        parts += [claim_line(claim) for claim in found["claims"]] + [""]
    return "\n".join(parts).rstrip() + "\n"


def claim_line(claim: dict[str, Any]) -> str:
    """A claim as an item of a list."""
    why = f" {claim['why']}" if claim["verdict"] != "agrees" else ""
    compared = f"Published: {claim['published']}. Here: {claim['found']}."
    return f"- **{claim['verdict'].title()}**: {claim['words']} {compared}{why}"


def _panel(table: pd.DataFrame, published: dict[str, list[tuple[float, float]]]) -> str:
    """Accuracy in % by mechanism and place, and below it that of the paper."""
    table = table[table.lam == table.lam.iloc[0]] if "lam" in table else table
    means = table.pivot_table("right", "mechanism", "x", aggfunc=lambda right: right.mean(), dropna=False, sort=False)
    lines = [f"| % | {' | '.join(f'{x:g}' for x in means.columns)} |", "|---" * (len(means.columns) + 1) + "|"]
    for mechanism, row in means.iterrows():
        lines.append(f"| {mechanism} | {' | '.join('refused' if pd.isna(v) else f'{v:.1f}' for v in row)} |")
        if marks := dict(published.get(str(mechanism), ())):
            lines.append(
                f"| as published | {' | '.join(f'{marks[x]:g}' if x in marks else '' for x in means.columns)} |"
            )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    (DOCS / "errata.md").write_text(errata_page(), encoding="utf-8")
    (DOCS / "glossary.md").write_text(glossary_page(), encoding="utf-8")
    for given in sys.argv[1:]:
        (DOCS / "reproductions.md").write_text(reproductions_page(Path(given)), encoding="utf-8")
