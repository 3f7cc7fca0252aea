"""Tables of sentences and links that wrap, and stand row by row on a phone; st.dataframe's canvas does neither."""

from __future__ import annotations

import html
from collections.abc import Sequence
from urllib.parse import quote

STYLE = """<style>
.sources-table { width: 100%; border-collapse: collapse; font-size: 0.875rem; line-height: 1.4 }
.sources-table caption { text-align: left; font-weight: 600; padding: 0.4rem 0; caption-side: top }
.sources-table th, .sources-table td { text-align: left; vertical-align: top; padding: 0.4rem 1rem 0.4rem 0;
    border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); overflow-wrap: break-word }
.sources-table code { overflow-wrap: anywhere }
.sources-table a { color: inherit; text-decoration: underline }
.sources-table td:first-child { font-weight: 600 }
@media (max-width: 700px) {
    .sources-table thead { position: absolute; clip-path: inset(50%) }
    .sources-table tr, .sources-table td { display: block }
    .sources-table tr { border-bottom: 1px solid; padding: 0.5rem 0 }
    .sources-table td { border: 0; padding: 0.1rem 0 }
    .sources-table td::before { content: attr(data-label); display: block; font-size: 0.75rem; font-weight: 400 }
    .sources-table td:first-child::before, .sources-table td:empty { display: none }
}
</style>"""


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML. rows: cells as HTML, made by `text`, `small`, `code` and `link`.

    >>> table("c", ["a"], [[text("x < y")]]).count("x &lt; y")
    1
    """
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-label="{html.escape(name)}">{cell}</td>' for name, cell in zip(columns, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'{STYLE}<table class="sources-table"><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def text(words: str) -> str:
    """Words as a cell."""
    return html.escape(words)


def small(words: str) -> str:
    """Words below those of a cell, if there are any."""
    return f"<br><small>{text(words)}</small>" if words else ""


def code(words: str) -> str:
    """A command or a name as a cell."""
    return f"<code>{html.escape(words)}</code>"


def link(words: str, address: str) -> str:
    """A link to an address below the dashboard's root, seen from a page.

    >>> link("here", "doors?side=λ+valley")
    '<a href="./doors?side=%CE%BB+valley">here</a>'
    """
    return f'<a href="./{html.escape(quote(address, safe="?=&+,:~"))}">{html.escape(words)}</a>'
