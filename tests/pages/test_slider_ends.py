"""What pages say where a slider stands at an end or in the middle: whole sentences that agree with their numbers."""

import re

import pytest

from tests.nights import each
from tests.page_driver import captions, finished, open_script, said, texts

EPSILONS, DELTAS, PEOPLE = (0.01, 0.1, 1.0, 10.0), (1e-10, 1e-6, 1e-3), (500, 5_000, 50_000)
SHARED = {"epsilon": EPSILONS, "delta": DELTAS, "n": PEOPLE}
WIDE = {"p": (8, 1_024, 65_536)}
VIEWS = {
    "lasso over columns": ("sparsity/page.py", {"against": "p"}, SHARED | {"radius": (0.25, 4.0)}),
    "geometry": ("geometry/page.py", {}, SHARED | WIDE | {"p_norm": ("1 + 1/ln d", "2", "∞")}),
    "lasso over people": ("sparsity/page.py", {"against": "n"}, SHARED | WIDE | {"T": (2, 32, 512)}),
    "classes": ("multiclass/page.py", {}, SHARED | {"C": (2, 10), "columns": (2, 16)}),
    "geometry, people": ("geometry/page.py", {"view": "n"}, SHARED | {"p": (8, 64), "p_norm": ("1.5", "2", "∞")}),
    "lasso over steps": ("sparsity/page.py", {}, SHARED | WIDE | {"T": (2, 32, 512), "radius": (0.25, 4.0)}),
    "classes over epsilon": ("multiclass/page.py", {"price_against": "epsilon"}, {"epsilon": EPSILONS, "n": PEOPLE}),
    "classes over columns": ("multiclass/page.py", {"price_against": "d"}, {"epsilon": EPSILONS, "n": PEOPLE}),
    "excess over classes": (
        "multiclass/page.py",
        {"price_against": "excess"},
        {"epsilon": EPSILONS, "lam": (1e-4, 1.0)},
    ),
    "simplex": ("sparsity/page.py", {"tab": "simplex"}, SHARED | WIDE | {"m": (1, 50, 10_000), "lam": (1e-4, 1.0)}),
    "streaming": ("sparsity/page.py", {"tab": "streaming"}, {"epsilon": EPSILONS, "delta": DELTAS}),
    "perturbation": ("perturbation/page.py", {}, SHARED | {"lam": (1e-4, 1.0)}),
    "dimension": ("dimension/page.py", {}, {"epsilon": EPSILONS, "p": (8, 1_048_576), "n": PEOPLE}),
    "ledger": ("audit/page.py", {"check": "ledger"}, {"epsilon": EPSILONS, "delta": DELTAS, "n": PEOPLE}),
    "attack": ("audit/page.py", {}, {"epsilon": EPSILONS, "delta": DELTAS}),
    "overview": ("overview/page.py", {}, SHARED | {"lam": (1e-4, 1.0)}),
    "survey": ("survey/page.py", {}, {"epsilon": EPSILONS, "n": (10, 50, 500), "share": (0, 100)}),
    "decide": ("decide/page.py", {"n": 500}, {"epsilon": EPSILONS, "delta": DELTAS, "give_up": (0.1, 2.0, 20.0)}),
}
CASES = [
    (name, {key: value})
    for name, (_, _, sliders) in VIEWS.items()
    for key, values in sliders.items()
    for value in values
]
ALWAYS = [
    ("geometry", {"epsilon": 0.01}),
    ("lasso over people", {"T": 512, "p": 64}),
    ("classes", {"epsilon": 0.01}),
    ("geometry, people", {"delta": 1e-3}),
]
NUMBER = r"(−?[\d.,]*\d)"
# Of every headline's first sentence one must be there.
VERBS = re.compile(
    r"\b(is|are|has|have|leaves?|loses?|costs?|takes?|falls?|grows?|needs?|goes?|go|follows?|keeps?|adds?|"
    r"rises?|would|can|may|must|does|do|says?|tells?|ends?|pays?|lies?|gives?|moves?|wins?|makes?|stays?|asks?|spends?|"
    r"gets?|differ|reach(es)?|learns?|throws?|destroys?|comes?|allows?|draws?|hides?|beats?|puts?|finds?|holds?|proves?|means?|"
    r"classifies|sends)\b"
)


def contradictions(sentence):
    """Comparisons in it that its own numbers do not bear out."""
    told = []
    for one, other, times in re.findall(rf"loses {NUMBER} on.*? and {NUMBER} on.*?, {NUMBER} times as much", sentence):
        if not 0.9 < value(other) / value(one) / value(times) < 1.1 or value(times) <= 1.0:
            told.append(f"{other} is {times} times {one}")
    if "less than if every class pays by itself" in sentence:
        pairs = re.findall(rf"takes? {NUMBER} points?(?: of accuracy)?.*? and {NUMBER} points?", sentence)
        assert pairs
        told += [f"{one} is less than {other}" for one, other in pairs if value(one) >= value(other)]
    told += [f"costs {times} times" for times in re.findall(rf"cost {NUMBER} times", sentence) if value(times) <= 1.0]
    told += [
        f"falls like n{power}" for power in re.findall("falls like n([⁻⁰¹²³⁴⁵⁶⁷⁸⁹·]+)", sentence) if power[0] != "⁻"
    ]
    return told


def value(number):
    return float(number.replace("−", "-").replace(",", ""))


@pytest.mark.parametrize(("name", "moved"), ALWAYS + each(len(CASES), CASES))
def test_a_headline_is_whole_sentences_that_agree_with_their_numbers(name, moved):
    script, state, _ = VIEWS[name]
    page = finished(open_script(script, **(state | moved)))
    assert not page.exception
    headline = said(page)
    assert VERBS.search(headline.split(". ")[0]), headline
    assert headline.endswith((".", "?")) and not contradictions(headline), headline
    for text in (headline, captions(page), re.sub(r"<[^>]+>", "", texts(page))):
        assert not re.search(r"\b(nan|inf|None)\b|\(\)|\*\*\*\*|,,| ,|\.\.(?!\.)|  ,", text), text


def test_the_search_for_contradictions_finds_what_pages_once_said():
    adds = (
        "It adds up, but less than if every class pays by itself. With 5 classes privacy takes 71.1 points of accuracy"
    )
    assert contradictions(f"{adds} from the Gaussian classifier, and 67.6 points from one-vs-rest.")
    assert contradictions("256 times more columns, 65,536 instead of 256, cost 0.55 times the excess.")
    assert contradictions("A private answer loses 0.2 on the L1 ball and 0.1 on the L2 ball, 9.9 times as much.")
    assert contradictions("The bound falls like n⁰·⁰⁰.") and not contradictions("The bound falls like n⁻⁰·⁵⁰.")
    assert not VERBS.search("With more people the excess on hard records only like n^−0.91")
