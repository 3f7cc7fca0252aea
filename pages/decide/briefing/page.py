"""The briefing as one printed page: an HTML file that needs no network, no script and no second file."""

import html
import re
from string import Template

from dpcore.core.facts import text_beside
from pages.decide.briefing import words
from pages.decide.briefing.content import Briefing


def html_page(briefing: Briefing) -> str:
    """The whole file as text; write it as UTF-8.

    Every number stands in a <data> element that names its place in the JSON, by which a reader or a test can compare
    them.
    """
    document = briefing.document()

    def write(sentence: str) -> str:
        """With each value in an element that says where it is from, and what stands between ** strong."""
        return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", words.fill(sentence, document, _marked))

    lines = {name: write(sentence) for name, sentence in words.signed(document).items()}
    return Template(text_beside(__file__, "page.html")).substitute(
        heading=write(words.HEADING),
        style=text_beside(__file__, "page.css"),
        nothing_to_sign=write(words.nothing_to_sign(document)),
        budget=write(words.budget(document)),
        cost=write(f"{words.COST} {words.floor(document)}"),
        attacker=write(words.ATTACKER),
        signed="".join(f"<dt>{name}</dt><dd>{line}</dd>" for name, line in lines.items()),
        blanks="".join(f'<dt>{name}</dt><dd class="blank"></dd>' for name in words.BLANKS),
        warnings="".join(f"<li>{write(f'{{warnings.{k}:text}}')}</li>" for k in range(len(briefing.warnings))),
        link=write("{link:text}"),
        about=write(words.ABOUT),
    )


def _marked(path: str, form: str, text: str) -> str:
    # Words of the user's must not be taken for marks of ours.
    safe = html.escape(text).replace("*", "&#42;")
    return f'<data data-path="{path}" data-form="{form}">{safe}</data>'
