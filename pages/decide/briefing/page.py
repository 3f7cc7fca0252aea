"""The briefing as one printed page: an HTML file that needs no network, no script and no second file."""

from html import escape
from string import Template

from dpcore.core.facts import text_beside
from pages.decide.briefing.content import Briefing
from pages.ui.html import unbroken

_LONG = 50  # letters of a question that is set smaller


def html_page(briefing: Briefing) -> str:
    """The whole file as text; write it as UTF-8."""
    sections = "".join(
        f"<section><h2>{_safe(heading)}</h2><dl>{''.join(map(_line, lines.items()))}</dl></section>"
        for heading, lines in briefing.sections.items()
    )
    neighbours = "".join(
        f"<li><b>{_safe(f'ε = {each.epsilon:.3g}')}</b> for one {_safe(f'{each.unit}: {each.who}, {each.what}')}</li>"
        for each in briefing.neighbours
    )
    return Template(text_beside(__file__, "page.html")).substitute(
        style=text_beside(__file__, "page.css"),
        title=_safe(briefing.title),
        long=' class="long"' if len(briefing.question) > _LONG else "",
        question=_safe(briefing.question),
        nothing_to_sign=_safe(briefing.nothing_to_sign),
        answer=_safe(briefing.answer.sentence()),
        strength=_safe(briefing.strength),
        why=_safe(briefing.why),
        neighbours=neighbours,
        sections=sections,
        link=_safe(briefing.short_link),
    )


def _line(line: tuple[str, str]) -> str:
    return f"<dt>{_safe(line[0])}</dt><dd>{_safe(line[1])}</dd>"


def _safe(text: str) -> str:
    return escape(unbroken(text))
