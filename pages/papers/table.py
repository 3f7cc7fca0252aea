"""Tables of sentences and links that wrap, and stand row by row on a phone; st.dataframe's canvas does neither."""

import html
import re
from collections.abc import Sequence
from urllib.parse import quote

from dpcore.core.facts import text_beside
from pages.ui.html import unbroken

_STYLE = f"<style>\n{text_beside(__file__, 'table.css')}</style>"


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML. rows: cells as HTML, made by `text`, `small`, `code` and `link`.

    >>> table("c", ["a"], [[text("<b>")]]).count("&lt;b&gt;")
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
        f'{_STYLE}<table class="papers-table"><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def text(words: str) -> str:
    """Words as a cell."""
    return html.escape(unbroken(words))


def small(words: str) -> str:
    """Words below those of a cell, if there are any."""
    return f"<br><small>{text(words)}</small>" if words else ""


def code(words: str) -> str:
    """A command or a name as a cell; a long one may go on in another line after a mark between its words, but not
    within an option such as "-o".

    >>> code("a/b::c_d -o")
    '<code>a/<wbr>b::<wbr>c_<wbr>d <span>-o</span></code>'
    """
    parted = re.sub("(/|::|_)", r"\1<wbr>", html.escape(words))
    parted = re.sub(r"(?<= )-\w\b", r"<span>\g<0></span>", parted)
    return f"<code>{parted}</code>"


def link(words: str, address: str) -> str:
    """A link to an address below the dashboard's root, seen from a page; what is encoded in the address stays so.

    >>> link("here", "perturbation?side=λ&also=a%2Cb")
    '<a href="./perturbation?side=%CE%BB&amp;also=a%2Cb">here</a>'
    """
    return f'<a href="./{html.escape(quote(address, safe="?=&+,:~%"))}">{html.escape(words)}</a>'
