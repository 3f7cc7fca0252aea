"""The words of the page Multiclass. Every number comes from the curves, a release or a plan."""

import dataclasses as dc
import math
from typing import cast

from dpcore import EPSILON_GRID
from dpcore.core.facts import text_beside
from dpcore.data import ClassSource
from dpcore.experiments.summary import LEAST_BANDED
from dpcore.mechanisms.multiclass.calibration import dimensions_of
from dpcore.studies.multiclass.curves import Accuracies, AccuracyQuestion, Axis, Records
from dpcore.studies.multiclass.decision_regions import Picture
from dpcore.studies.multiclass.one_vs_rest import LearnerKey
from dpcore.studies.multiclass.proof import ClassProofQuestion
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import nearest, points, rounded, tenths
from pages.ui.sidebar import delta_text, lam_text
from pages.ui.sources import assumed
from pages.ui.verdict import NO_LOWER, verdict

VIEWS = {"classes": "classes", "epsilon": "budget ε"}
CLASSES, FIRST_CLASSES = tuple(range(2, 11)), 5
COLUMNS = (2, 3, 4, 6, 8, 12, 16)
MOST_COLUMNS = 3  # with more the best models of all numbers of classes take too long
LEARNERS: tuple[LearnerKey, ...] = ("ellipsoids", "split")
FEW, HEAVY = 300, 2_000_000  # records; numbers that a release is made of: records times directions of the noise
CHIPS = chips_beside(__file__, "chips.json")

FORMULA = text_beside(__file__, "formula.md")


@dc.dataclass(frozen=True)
class MulticlassState:
    """What all pictures of the page share."""

    records: Records
    info: ClassSource
    epsilon: float
    delta: float
    lam: float | str

    @property
    def classes(self) -> int:
        return self.records.classes or len(self.info.names)

    @property
    def d(self) -> int:
        return self.records.d or self.info.d or 0

    @property
    def directions(self) -> int:
        """Of the noise."""
        return dimensions_of(self.classes, self.d)

    @property
    def heavy(self) -> bool:
        """Whether fewer releases must do for a picture to be live."""
        return self.records.n * self.directions > HEAVY


def places(view: str, state: MulticlassState) -> tuple[tuple[float, ...], float]:
    """The values of an axis, the reader's among them, and where he stands."""
    if view == "epsilon":
        return EPSILON_GRID, state.epsilon
    return tuple(sorted({2, 3, 4, 5, 6, 8, 10, state.classes})), state.classes


def effort(state: MulticlassState) -> tuple[int, int]:
    """How many releases, and on how many draws of the records: more where records are few, and where they differ
    from place to place."""
    if state.heavy:
        return 2, 1
    return (10, 4) if state.records.n <= FEW else (6, 2)


def question(view: str, state: MulticlassState) -> AccuracyQuestion:
    """What the chart answers, where it is about accuracy."""
    along, asked = places(view, state)[0], (state.epsilon, state.delta, state.lam)
    wanted = view == "epsilon" or state.d <= MOST_COLUMNS
    return AccuracyQuestion(cast(Axis, view), along, state.records, *asked, LEARNERS, *effort(state), wanted)


def proof_question(state: MulticlassState) -> ClassProofQuestion:
    """The proof of the bound at the cursor, from the chart's own releases."""
    asked = state.epsilon, state.delta, state.lam
    return ClassProofQuestion(state.records, *asked, effort(state)[0])


def _at(found: Accuracies, state: MulticlassState) -> int:
    """Where the reader stands on the curves."""
    return nearest(found.x, state.epsilon if found.axis == "epsilon" else state.classes)


def _lost(found: Accuracies, key: LearnerKey, k: int) -> float:
    """Percentage points of accuracy below the Gaussian classifier without privacy."""
    return 100.0 * float(found.plain[k] - found.learners[key].mean[k])


def _learned(found: Accuracies, key: LearnerKey, k: int) -> bool:
    """Whether a learner is right more often than the most frequent class alone, by more than its error."""
    learner = found.learners[key]
    return bool(learner.mean[k] - 2.0 * learner.se[k] > found.chance[k])


def _less(found: Accuracies, k: int) -> bool:
    """Whether the Gaussian classifier loses less than one-vs-rest, by more than the error."""
    whole, split = found.learners["ellipsoids"], found.learners["split"]
    return bool(whole.mean[k] - split.mean[k] > 2.0 * math.hypot(whole.se[k], split.se[k]))


def takeaway(found: Accuracies, state: MulticlassState) -> str:
    """What the chart says at the cursor."""
    k = _at(found, state)
    reason = found.reasons["ellipsoids"][k]
    if reason:
        return f"**Nothing is released** at ε = {state.epsilon:g}: {readable(reason)}."
    whole, split = _lost(found, "ellipsoids", k), _lost(found, "split", k)
    if found.axis == "epsilon":
        right, alone = (100.0 * found.learners[key].mean[k] for key in ("ellipsoids", "split"))
        return (
            f"At ε = {state.epsilon:g} the private Gaussian classifier is right for **{rounded(right, 2)}%** of "
            f"{state.info.things}, private one-vs-rest for {rounded(alone, 2)}%; without privacy "
            f"{rounded(100.0 * found.plain[k], 2)}%."
        )
    if not (_learned(found, "ellipsoids", k) or _learned(found, "split", k)):
        return f"With {state.classes} classes and d = {state.d} **nothing is learned** at ε = {state.epsilon:g}."
    less = _learned(found, "ellipsoids", k) and _less(found, k)
    lead = "**Yes, but less than with a model for each class**: with" if less else "With"
    lost = f"**{points(whole)}** of accuracy, with one-vs-rest {tenths(split)}"
    return f"{lead} {found.x[k]:g} classes privacy costs {lost}."


def readouts(found: Accuracies, picture: Picture | None, state: MulticlassState) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the charts."""
    k, made = _at(found, state), []
    if not math.isfinite(found.bayes[k]):
        made.append(("Logistic regression", f"{found.logistic[k]:.1%}", "accuracy, multinomial and not private"))
    if picture is not None:
        charge, lam = picture.plan.ledger[0].charge, float(picture.plan.spec.lam)
        made += [
            ("Same decision as without privacy", f"{picture.agree:.1%}", "of fresh records, for this one release"),
            (
                "Cost of the Hessian's determinant",
                f"{100 * charge / state.epsilon:.0f}% of ε",
                f"at λ = {rounded(lam, 2)}; noise in {state.directions:,} dimensions takes the rest",
            ),
        ]
    return made


def verdict_of(found: Accuracies, state: MulticlassState) -> str:
    """Where the upper bound on the excess risk is informative; of accuracies nothing is proved."""
    excess, name = found.excess, {"classes": "C", "epsilon": "ε"}[found.axis]
    if excess is None or not excess.there:
        return ""
    at = state.classes if found.axis == "classes" else state.epsilon
    told = verdict(found.x, [("", excess.mean, excess.bound)], excess.nothing, at, name)
    return f"{told} {NO_LOWER}" if told else ""


def caption(found: Accuracies, total: int, state: MulticlassState) -> str:
    """total: the draws of the records that there will be."""
    label = state.info.label
    releases = found.repetitions * found.datasets
    made = f"{releases} of {found.repetitions * total}" if found.datasets < total else f"{releases}"
    band = " (band: 8 of 10)" if releases >= LEAST_BANDED else ""
    text = (
        f"{label[0].upper()}{label[1:]}, n = {state.records.n:,}, λ {lam_text(state.lam)}; means of {made} "
        f"releases{band}. Same guarantee for each private curve: ε and δ = {delta_text(state.delta)} in total, which "
        "one-vs-rest splits."
    )
    if isinstance(state.lam, float):
        text += " This λ is the Gaussian classifier's; one-vs-rest keeps its own rule."
    if not found.excess:
        text += f" Excess risk is drawn up to d = {MOST_COLUMNS}."
    if state.info.public:
        text += f" {state.info.public}"
    refused = sorted({reason for reasons in found.reasons.values() for reason in reasons if reason})
    return f"{text} Left out: {readable(refused[0])}." if refused else text


def counted(found: Accuracies, total: int) -> str:
    """How much of the curves is there."""
    waits = "excess risk to come; " if found.excess and not found.excess.there else ""
    return f"{waits}{found.datasets} of {total} draws"


def picture_caption(picture: Picture, state: MulticlassState) -> str:
    two = (
        " and ".join(state.info.features[k] for k in picture.columns)
        if state.info.features
        else "the first two columns"
    )
    plane = "" if state.d == 2 else f" Drawn in the plane of {two}, the others at 0."
    return (
        f"One release at ε = {state.epsilon:g}: accuracy {picture.right:.1%} on fresh records, "
        f"{picture.plain_right:.1%} without privacy. Shaded: privacy changes the decision.{plane}"
    )


def assumptions(state: MulticlassState) -> str:
    records = f"{readable(state.info.scaling)}. {state.info.public}".strip()
    facts = {"epsilon": state.epsilon, "delta": delta_text(state.delta), "records": records}
    return assumed(__file__, "assumptions.md", **facts)
