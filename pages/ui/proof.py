"""Where the bound loses: the view beside a chart that takes a bound's proof apart, the same on every page."""

from dpcore.experiments.proof_chain import ProofChain, ProofQuestion
from dpcore.figures.figure import Figure
from dpcore.figures.proof_chain import chain_figure, times
from dpcore.figures.style import Theme
from dpcore.mechanisms import Mechanism
from dpcore.studies.geometry.proof_by_n import ProofByN
from dpcore.studies.multiclass.proof import ClassProofQuestion
from pages.background.asking import ask, waiting, with_progress
from pages.ui.html import readable
from pages.ui.live_figure import captioned_figure, small_print

PROOF = "Where the bound loses"  # the view's name in pickers
SECONDS = 0.3  # what a page waits for all releases of a chain


def show_proof(question: ProofQuestion | ClassProofQuestion | ProofByN, theme: Theme, height: int) -> None:
    """The view of a chain that a job computes, with its caption; or why there is none yet."""
    drawn = asked_proof(question, theme, height)
    if isinstance(drawn, str):
        small_print(drawn)
    else:
        captioned_figure(*drawn, key="chain", height=height)


def asked_proof(
    question: ProofQuestion | ClassProofQuestion | ProofByN, theme: Theme, height: int
) -> tuple[Figure, str] | str:
    """What `show_proof` shows."""
    answer = ask(question, SECONDS, lambda found: found.repetitions == question.repetitions)
    found: ProofChain | None = answer.snapshot
    if answer.reason:
        return f"There is no bound to take apart: {readable(answer.reason)}."
    if found is None:
        return waiting(answer)
    figure, caption = proof_view(found, question.mechanism, theme, height)
    return figure, with_progress(caption, answer, f"{found.repetitions} of {question.repetitions} releases")


def proof_view(found: ProofChain, mechanism: Mechanism, theme: Theme, height: int) -> tuple[Figure, str]:
    """The view and its caption."""
    return chain_figure(found, family=mechanism.family, theme=theme, height=height), proof_caption(found)


def proof_caption(found: ProofChain) -> str:
    """How much of the bound the proof loses on these records, and how much on the worst ones."""
    first, last = found.steps[0].value, found.steps[-1].value
    on_these = max(step.value for step in found.steps if not step.worst)
    if not first > 0.0:
        return "The measured excess is not above 0, so that the bound is no multiple of it."
    if last / on_these < 1.05:
        return "The proof loses all of it on these records; others could not make it lose more."
    return (
        f"The proof loses a factor of {times(on_these / first)} on these records, and {times(last / on_these)} more by "
        "allowing for the worst ones (hatched)."
    )
