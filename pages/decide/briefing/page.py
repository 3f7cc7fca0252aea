"""The briefing as one HTML file: five slides and a page to sign that need no network, no server and no second file.

Everything plotly.js could fetch (maps, an upload to its maker) is switched off, and the Content-Security-Policy of
page.html forbids the browser every request (blob: is for "download as picture": the browser's own memory, like data:).
"""

import html
import json
import math
import re
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from dpcore.core.facts import text_beside
from dpcore.figures.decide import budget_figure, equivalent_figure
from dpcore.figures.figure import Figure
from dpcore.figures.icon_array import icons_svg
from dpcore.figures.style import FAMILIES, GRID
from dpcore.studies.decide.threshold_interval import Answer
from pages.decide.briefing import words
from pages.decide.briefing.content import Briefing

_SAID = (words.budget, words.cost, words.floor, words.guarantee, words.equivalent, words.needed)
_HEIGHT, _WIDER = 300, 24  # px of a chart and of its right margin, before page.js draws it larger
_LOST = {"epsilons": "ε", "mean": "accuracy loss", "smooth": "drawn", "low": "at least", "high": "at most"}
_SIZES = {"epsilons": "ε", "size": "equivalent sample size", "low": "at least", "high": "at most"}


def html_page(briefing: Briefing) -> str:
    """The whole file as text; write it as UTF-8.

    Every number stands in a <data> element that names its place in the JSON, by which a reader or a test can compare
    them.
    """
    document, colour = briefing.document(), FAMILIES["light"][briefing.family]
    write = _Writer(document)
    along = document["equivalent"]["epsilons"]
    charts = {"lost": _lost_chart(document)} | ({"equivalent": _equivalent_chart(document)} if along else {})
    return Template(text_beside(__file__, "page.html")).substitute(
        {f"{name}_heading": write(heading) for name, heading in words.HEADINGS.items()},
        **{sentence.__name__: write(sentence(document)) for sentence in _SAID},
        title=html.escape(briefing.title),
        style=text_beside(__file__, "page.css"),
        print_style=text_beside(__file__, "print.css"),
        colour=colour,
        data=write(words.DATA),
        method=write("{mechanism:text}"),
        lost_chart=_chart("lost", write.plain(words.cost(document) + " " + words.budget(document))),
        lost_table=_table(write, "curve", _LOST, "tenths"),
        attacker=write(words.ATTACKER),
        attacker_label=write.plain(words.ATTACKER),
        icons=icons_svg(*briefing.attack_success.of_100, colour=colour, rest=GRID["light"]),
        attackers=_items(write, words.ATTACKERS),
        equivalent_chart=_chart("equivalent", write.plain(words.equivalent(document))) if along else "",
        equivalent_table=_table(write, "equivalent", _SIZES, "count") if along else "",
        needed_class="" if along else ' class="lead"',
        assumptions=_items(write, words.each(document, "assumptions")),
        warnings=_items(write, words.each(document, "warnings")),
        link=write("{link:text}"),
        about=write(words.ABOUT),
        nothing_to_sign=write(words.nothing_to_sign(document)),
        signed=_lines(write, words.signed(document)),
        blanks="".join(f'<dt>{name}</dt><dd class="blank"></dd>' for name in words.BLANKS),
        snippet=write("{snippet:text}"),
        document=_json(document),
        charts=_json(charts),
        plotly=_script(_plotly()),
        script=_script(text_beside(__file__, "page.js")),
    )


class _Writer:
    """Sentences of `words` as HTML."""

    def __init__(self, document: words.Document) -> None:
        self.document = document

    def __call__(self, sentence: str) -> str:
        """With each value in an element that says where it is from, and what stands between ** strong."""
        found = words.fill(sentence, self.document, _marked)
        return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", found)

    def plain(self, sentence: str) -> str:
        """For an attribute."""
        return html.escape(words.fill(sentence, self.document).replace("**", ""))

    def value(self, path: str, form: str) -> str:
        """A table's cell; empty where the value is unknown."""
        return "" if words.look_up(self.document, path) is None else self(f"{{{path}:{form}}}")


def _marked(path: str, form: str, text: str) -> str:
    # Words of the user's must not be taken for marks of ours.
    safe = html.escape(text).replace("*", "&#42;")
    return f'<data data-path="{path}" data-form="{form}">{safe}</data>'


def _items(write: _Writer, sentences: Iterable[str]) -> str:
    return "".join(f"<li>{write(sentence)}</li>" for sentence in sentences)


def _lines(write: _Writer, lines: dict[str, str]) -> str:
    return "".join(f"<dt>{name}</dt><dd>{write(sentence)}</dd>" for name, sentence in lines.items())


def _chart(name: str, label: str) -> str:
    return f'<div class="chart" data-chart="{name}" role="img" aria-label="{label}"></div>'


def _table(write: _Writer, record: str, columns: dict[str, str], form: str) -> str:
    """The chart's numbers, folded."""
    head = "".join(f'<th scope="col">{name}</th>' for name in columns.values())
    rows = ""
    for k in range(len(write.document[record]["epsilons"])):
        cells = (write.value(f"{record}.{key}.{k}", "plain" if key == "epsilons" else form) for key in columns)
        rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return f"<details><summary>Numbers of the chart</summary><table><tr>{head}</tr>{rows}</table></details>"


def _on_slide(figure: Figure) -> dict[str, Any]:
    """For plotly.js, with room for labels in whichever font the reader's machine has."""
    made = figure.to_dict()
    made["layout"]["margin"]["r"] += _WIDER
    return made


def _lost_chart(document: words.Document) -> dict[str, Any]:
    curve, (value, least, most) = document["curve"], _beyond(document["budget"])
    epsilons, smooth, low, high = (np.array(curve[name]) for name in ("epsilons", "smooth", "low", "high"))
    made = budget_figure(
        *(epsilons, smooth, low, high),
        at_most=document["at_most"],
        answer=Answer(value, least, most, epsilons[0], epsilons[-1]),
        learnable=document["learnable"],
        epsilon=document["guarantee"]["epsilon"],
        family=document["family"],
        theme="light",
        height=_HEIGHT,
    )
    return _on_slide(made)


def _beyond(answer: dict[str, float | None]) -> list[float]:
    """Value and interval of an answer; what the document does not know is beyond the axis."""
    return [math.inf if (found := answer[name]) is None else found for name in ("value", "low", "high")]


def _equivalent_chart(document: words.Document) -> dict[str, Any]:
    found = document["equivalent"]
    made = equivalent_figure(
        *(np.array(found[name], float) for name in ("epsilons", "size", "low", "high")),
        n=document["n"],
        metric="same score",  # which one, in anyone's words, the slide says
        epsilon=document["guarantee"]["epsilon"],
        family=document["family"],
        theme="light",
        height=_HEIGHT,
    )
    return _on_slide(made)


def _plotly() -> str:
    # The package's metadata says the place; the module is imported by the figures alone.
    return Path(str(distribution("plotly").locate_file("plotly/package_data/plotly.min.js"))).read_text(
        encoding="utf-8"
    )


def _script(code: str) -> str:
    """Code that does not end its <script> early."""
    if re.search(r"</script|<!--", code, re.IGNORECASE):
        raise ValueError("code must be free of </script and <!-- to stand in a page, got one")
    return code


def _json(value: Any) -> str:
    """JSON that no HTML parser takes for markup."""
    plain = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
