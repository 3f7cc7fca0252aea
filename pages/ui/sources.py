"""Sentences that several pages share: on their records and on seeded runs."""

from dpcore import Problem
from dpcore.core.facts import text_beside
from dpcore.data import Source
from pages.ui.html import readable
from pages.ui.numbers import rounded

SEEDED = (
    "**A seeded run** like this one shows what a mechanism does; only a release with fresh noise has its guarantee."
)

_SAME = 1e-6  # losses that differ by less are one


def assumed(module: str, name: str, **facts: object) -> str:
    """A list of assumptions from a Markdown file in the folder of a module, with facts in the place of their {names}.

    module: its `__file__`. What all pages say of seeded runs is known as {seeded}.
    """
    return text_beside(module, name).replace("\n  ", " ").format(seeded=SEEDED, **facts).strip()


def learner_line(problem: Problem) -> str:
    """What is learned without privacy for comparison."""
    if problem.cross_validated:
        return "logistic regression whose penalty cross-validation chooses on the same training records"
    return f"the model with the smallest training loss and ‖θ‖ ≤ {problem.theta_norm:g}"


def infimum_of(problem: Problem) -> str:
    """What excess risk is measured above: F*, after "above"."""
    if problem.reference().attained:
        return "F*, the smallest of all models"
    return "F* = 0, which ever longer models approach and none attains, since the classes can be separated"


def certified(problem: Problem) -> str:
    """How far F* may be below its value, in brackets; "" where it is exact."""
    gap = problem.reference().gap
    return readable(f" (certified within {max(gap, 1e-15):.0e})") if gap else ""


def comparison_of(problem: Problem) -> str:
    """With which model upper bounds compare, and how much higher they are drawn for it: a sentence."""
    beyond = problem.comparator().risk - problem.reference().risk
    text = f"Upper bounds compare with the best model with ‖θ‖ ≤ {problem.theta_norm:g}"
    if beyond > _SAME:
        text += f", whose loss is {rounded(beyond, 2)} above F*, and are drawn so much higher"
    return f"{text}."


def axis_title(source: Source) -> str:
    """What an axis of accuracy counts."""
    return f"{source.things} {source.outcome}, %"


def records_line(source: Source) -> str:
    """Source and scaling of the records."""
    return (
        f"**Records:** {source.label}; {readable(source.scaling)}. This keeps ‖x‖ ≤ 1, and a longer record is refused."
    )


def neighbours_line(source: Source) -> str:
    """Definition of neighbours, and what is public."""
    return f"**Neighbours:** any one {source.record} replaced by another. n, p, λ and the bounds are public."
