"""The briefing as one HTML file: five slides that need no network, no server and no second file.

Whatever plotly.js could fetch (maps, an upload to its maker) is switched off, and a Content-Security-Policy forbids the
browser to ask anybody for anything.
"""

from __future__ import annotations

import html
import json
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from dpcore.figures.decide import lost_on_wall, worth_on_wall
from dpcore.figures.icon_array import icons_svg
from dpcore.figures.style import FAMILIES, GRID
from pages.decide.briefing import words
from pages.decide.briefing.content import Briefing

_HERE = Path(__file__).parent
# blob: is for "download as picture": the browser's own memory, like data:.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def html_page(briefing: Briefing) -> str:
    """The whole file as text; write it as UTF-8.

    Every number that is read stands in a <data> element that names its place in the JSON, so that a reader, or a test,
    can hold one against the other.
    """
    document = briefing.document()
    write = _Writer(document)
    slides = [
        _slide("question", _question(write)),
        _slide("curve", _curve(write)),
        _slide("odds", _odds(write, briefing.family)),
        _slide("people", _people(write)),
        _slide("basis", _basis(write)),
    ]
    charts = {"lost": _lost_chart(document)}
    if document["people"]["epsilons"]:
        charts["worth"] = _worth_chart(document)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{html.escape(briefing.title)}</title>
<style>{_inside("page.css")}</style>
<style id="print" media="print">{_inside("print.css")}</style>
</head>
<body style="--family: {FAMILIES["light"][briefing.family]}">
<main>
{"".join(slides)}
</main>
<script type="application/json" id="briefing">{_json(document)}</script>
<script type="application/json" id="charts">{_json(charts)}</script>
<script>{_script(_plotly().read_text(encoding="utf-8"))}</script>
<script>{_script(_inside("page.js"))}</script>
</body>
</html>
"""


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
        """A table's cell; empty where nothing can be told."""
        return "" if words.look_up(self.document, path) is None else self(f"{{{path}:{form}}}")


def _marked(path: str, form: str, text: str) -> str:
    # Words of the user's must not be taken for marks of ours.
    safe = html.escape(text).replace("*", "&#42;")
    return f'<data data-path="{path}" data-form="{form}">{safe}</data>'


def _slide(name: str, body: str) -> str:
    return f'<section class="slide" id="{name}" aria-labelledby="{name}-title" tabindex="-1">{body}</section>\n'


def _heading(write: _Writer, name: str) -> str:
    level = "h1" if name == "question" else "h2"
    return f'<{level} id="{name}-title">{write(words.HEADINGS[name])}</{level}>'


def _question(write: _Writer) -> str:
    document = write.document
    return (
        _heading(write, "question")
        + f'<p class="lead">{write(words.budget(document))}</p>'
        + f'<p class="lead">{write(words.cost(document))} {write(words.floor(document))}</p>'
        + f"<p>{write(words.attacker(document))}</p>"
        + '<dl class="facts">'
        + f"<dt>Data</dt><dd>{write(words.data(document))}</dd>"
        + f"<dt>Method</dt><dd>{write('{mechanism:text}')}</dd>"
        + f"<dt>Promise</dt><dd>{write(words.promise(document))}</dd></dl>"
    )


def _curve(write: _Writer) -> str:
    document = write.document
    columns = {"epsilons": "ε", "mean": "points lost", "smooth": "drawn", "low": "at least", "high": "at most"}
    return (
        _heading(write, "curve")
        + f'<p class="lead">{write(words.cost(document))}</p>'
        + _chart("lost", write.plain(words.cost(document) + " " + words.budget(document)))
        + f"<p>{write(words.budget(document))}</p>"
        + _table(write, "curve", columns, "tenths")
    )


def _odds(write: _Writer, family: str) -> str:
    document = write.document
    counts = document["odds_of_100"]
    picture = icons_svg(
        counts["certified"], counts["limit"], counts["cap"], colour=FAMILIES["light"][family], rest=GRID["light"]
    )
    label = write.plain(words.attacker(document))
    kinds = "".join(f"<li>{write(sentence)}</li>" for sentence in words.attackers(document))
    return (
        _heading(write, "odds")
        + f'<div class="beside"><div class="icons" role="img" aria-label="{label}">{picture}</div>'
        + f'<div><p class="lead">{write(words.attacker(document))}</p><ul>{kinds}</ul></div></div>'
    )


def _people(write: _Writer) -> str:
    document = write.document
    body = _heading(write, "people") + f'<p class="lead">{write(words.people(document))}</p>'
    if document["people"]["epsilons"]:
        columns = {"epsilons": "ε", "worth": "worth so many", "low": "at least", "high": "at most"}
        body += _chart("worth", write.plain(words.people(document)))
        body += f"<p>{write(words.needed(document))}</p>" + _table(write, "people", columns, "count")
        return body
    return body + f'<p class="lead">{write(words.needed(document))}</p>'


def _basis(write: _Writer) -> str:
    document = write.document
    lists = {
        name: "".join(f"<li>{write(f'{{{name}.{k}:text}}')}</li>" for k in range(len(document[name])))
        for name in ("assumptions", "warnings")
    }
    return (
        _heading(write, "basis")
        + f"<h3>What must hold</h3><ul>{lists['assumptions']}</ul>"
        + f"<h3>What no label counts</h3><ul>{lists['warnings']}</ul>"
        + f'<h3>Where to look</h3><p class="link">{write("{link:text}")}</p>'
        + f"<p>{write('Price of Privacy, version {version:text}, seed {seed:plain}.')}</p>"
        + f"<details><summary>Python that computes it again</summary><pre>{write('{snippet:text}')}</pre></details>"
    )


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


def _sure(document: words.Document) -> str:
    return words.fill("{confidence:percent} sure", document)


def _lost_chart(document: words.Document) -> dict[str, Any]:
    curve, answer = document["curve"], document["budget"]
    figure = lost_on_wall(
        **curve,
        at_most=document["at_most"],
        learnable=document["learnable"] if document["measure"] == "accuracy" else None,
        budget=(answer["value"], answer["low"], answer["high"]),
        epsilon=document["promise"]["epsilon"],
        sure=_sure(document),
        family=document["family"],
    )
    return figure.to_dict()


def _worth_chart(document: words.Document) -> dict[str, Any]:
    people = document["people"]
    figure = worth_on_wall(
        **{name: people[name] for name in ("epsilons", "worth", "low", "high")},
        n=document["n"],
        epsilon=document["promise"]["epsilon"],
        sure=_sure(document),
        family=document["family"],
    )
    return figure.to_dict()


def _plotly() -> Path:
    # The package's metadata says the place; the module is imported by the figures alone.
    return Path(str(distribution("plotly").locate_file("plotly/package_data/plotly.min.js")))


def _inside(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _script(code: str) -> str:
    """Code that ends no <script> before its time."""
    if re.search(r"</script|<!--", code, re.IGNORECASE):
        raise ValueError("code must be free of </script and <!-- to stand in a page, got one")
    return code


def _json(value: Any) -> str:
    """JSON that no HTML parser takes for markup."""
    plain = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
