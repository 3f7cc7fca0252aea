"""The hardest records known of the mechanism whose bounds a chart shows: found while the reader looks at it."""

from __future__ import annotations

from functools import partial
from typing import Any

from dpcore import EPSILON_GRID, Plan, Problem
from dpcore.mechanisms import Mechanism
from dpcore.studies.hardest.excess import Hardest, HardestQuestion, hardest
from pages.background.asking import ask
from pages.background.jobs import SHARED

EPSILONS = EPSILON_GRID[::2]
REPETITIONS = 20
MOST_RECORDS = 10_000  # beyond, it takes a minute


def hardest_question(problem: Problem, mechanism: Mechanism) -> HardestQuestion | None:
    """The question of a chart over the budget; None where it would take too long."""
    if problem.n > MOST_RECORDS:
        return None
    spec = problem.spec(mechanism)
    return HardestQuestion(mechanism, spec, EPSILONS, problem.delta, problem.seed, REPETITIONS)


def question_of_plan(plan: Plan, seed: int) -> HardestQuestion | None:
    """The question at one budget; None where it would take too long."""
    if plan.spec.n > MOST_RECORDS:
        return None
    epsilon, delta = plan.requested.epsilon, plan.requested.delta
    return HardestQuestion(plan.mechanism, plan.spec, (epsilon,), delta, seed, REPETITIONS)


def hardest_so_far(question: HardestQuestion | None) -> Hardest | None:
    """The answer, once it is there; until then the page does not wait and runs again."""
    found: Hardest | None = ask(question, 0.0).snapshot if question else None
    return found


def hardest_known(question: HardestQuestion | None) -> Hardest | None:
    """The answer where somebody has asked for it already, for pictures ahead too, which ask for nothing."""
    answer = SHARED.known(question) if question else None
    return answer.snapshot if answer else None


def hardest_call(question: HardestQuestion | None, found: Hardest | None) -> dict[str, Any]:
    """The argument of a figure for the code that draws it again, where it was drawn with it."""
    return {"hardest": partial(hardest, question)} if question and found else {}
