"""The words of the page Papers. Every number comes from `dpcore`."""

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from dpcore.core.facts import facts_beside, text_beside
from dpcore.mechanisms import mechanism_class, origin_of
from dpcore.studies.papers.errata import Recomputed, three_digits
from dpcore.studies.papers.reproductions import Outcome, Reproduction, get_reproduction
from pages.ui.html import readable

VIEWS = {"errata": "Corrections", "algorithms": "Algorithms", "reproductions": "Reproductions"}
EVIDENCE = {"computed": "computed", "runs": "certified by runs"}
UNITS = {"delta": "δ", "epsilon": "ε"}
# Every algorithm, bound and figure of the five documents: the view that shows it and its address, and what mechanism it
# runs. Without an address: the part of docs/ that has it.
DOCUMENTS = facts_beside(__file__, "documents.csv")
FORMULA = text_beside(__file__, "formula.md")
VERDICT = {"agrees": "agrees", "differs": "differs", "unexplained": "not explained"}
VERDICTS = text_beside(__file__, "verdicts.md")


def algorithms_told() -> str:
    """Size of the list."""
    papers = len({row["document"] for row in DOCUMENTS})
    return f"**{len(DOCUMENTS)}** algorithms, bounds and figures of **{papers}** documents, each with its place."


def outside(key: str) -> str:
    """Of a mechanism from outside of the library: who vouches for it; "" for the library's own."""
    origin = origin_of(key)
    return f"From {origin}: its author states this guarantee, and no test of this library checks it." if origin else ""


def attack_of(key: str) -> str:
    """The address at which the page Audit attacks a mechanism."""
    return f"audit?{urlencode({'mechanism': mechanism_class(key).label})}"


def takeaway(found: Sequence[Recomputed]) -> str:
    """How many published statements break their guarantee, and the one that is farthest off."""
    broken = [each for each in found if each.erratum.kind == "broken"]
    worst = max(broken, key=lambda each: each.times)
    wasteful = max((each for each in found if each.erratum.kind == "wasteful"), key=lambda each: each.times)
    return (
        f"**{len(broken)}** of **{len(found)}** published results break the guarantee that they state: the worst "
        f"has **{three_digits(worst.times)} times** the {UNITS[worst.erratum.unit]} that it claims. The most wasteful "
        f"claims {three_digits(wasteful.times)} times the {UNITS[wasteful.erratum.unit]} that it spends."
    )


CAPTION = (
    "A bar is the factor between the published and the correct number: ε, δ, a constant, a bound or a probability. "
    "Rows below say what is published, and lead to views. The other pages compute with the corrected versions."
)


def snippet(seed: int) -> str:
    """Python that computes the numbers from an empty file."""
    return f"""from dpcore.studies.papers.errata import recomputed

for found in recomputed(seed={seed}):
    print(found.sentence)
"""


def name_of(name: str) -> str:
    """Name of a reproduction in a list: authors and title.

    >>> name_of("jain-thakurta-1b")
    'Jain & Thakurta: Accuracy against ε'
    """
    chosen = get_reproduction(name)
    authors = re.split(r",? (?:CS|\d{4})", chosen.source)[0]
    return f"{authors}: {readable(chosen.title)}"


def command(chosen: Reproduction) -> str:
    return f"python -m dpcore reproduce {chosen.name} -o {chosen.name}"


def duration(chosen: Reproduction) -> str:
    """Time that its command takes, roughly.

    >>> duration(get_reproduction("jain-thakurta-1a")), duration(get_reproduction("jain-thakurta-1b"))
    ('about 10 minutes', 'about 20 seconds')
    """
    return f"about {chosen.minutes:g} minutes" if chosen.minutes >= 1 else f"about {round(6 * chosen.minutes)}0 seconds"


def too_long(chosen: Reproduction) -> str:
    """Refusal of a run that is too long for a page."""
    title, takes = readable(chosen.title), duration(chosen)
    return f"**{title}** takes {takes} and more memory than a page may use; run the command below instead."


def under_way(chosen: Reproduction, *, failed: bool) -> str:
    """Headline while there is no figure."""
    if failed:
        return f"An error, noted in the server's log, stops the computation of **{readable(chosen.title)}**."
    return f"Computing **{readable(chosen.title)}** with {chosen.few} of its {chosen.runs} repetitions …"


def verdicts(chosen: Reproduction, outcome: Outcome) -> str:
    """How many claims hold, with how many repetitions, and one that does not."""
    agreeing = [claim for claim in outcome.claims if claim.verdict == "agrees"]
    others = [claim for claim in outcome.claims if claim.verdict != "agrees"]
    text = f"**{len(agreeing)}** of **{len(outcome.claims)}** published claims hold here"
    few = f"{text}, computed with {chosen.few} of the {chosen.runs} repetitions."
    if not others:
        return few
    return f"{few} One that does not: “{readable(others[0].words)}”"


def records(chosen: Reproduction, outcome: Outcome) -> str:
    """The records used, and the command for all repetitions."""
    file = " on your own file (`--data FILE`)," if chosen.file else ""
    done = readable(f"{chosen.title}, {chosen.source}. Records: {outcome.records}.")
    return f"{done} `{command(chosen)}` runs it{file} with all {chosen.runs} repetitions."


def short_snippet(chosen: Reproduction, seed: int) -> str:
    """Python that computes the same from an empty file."""
    return f"""from dpcore.studies.papers.reproductions import get_reproduction

outcome = get_reproduction("{chosen.name}").run(None, runs={chosen.few or None}, seed={seed}, told=print)
for claim in outcome.claims:
    print(claim.verdict, "-", claim.words, claim.found)
"""
