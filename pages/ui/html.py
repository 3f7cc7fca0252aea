"""Sentences as pages show them: in HTML, in Markdown, and those of the library in the words of the pages."""

import base64
import functools
import html
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context

from dpcore.core.facts import facts_beside
from dpcore.core.losses import LOSSES
from dpcore.core.sets import SETS, get_set
from dpcore.figures.icon_array import ICONS_SIDE, icons_svg
from dpcore.figures.style import INKS
from dpcore.mechanisms import list_mechanisms, mechanism_class

from .numbers import power, scientific


def emphasised(sentence: str, colour: str) -> str:
    """The sentence as HTML, with the words between ** in the chart's colour, or its `INKS` where that is too faint."""
    ink = INKS.get(colour, colour)
    marked = re.sub(r"\*\*(.+?)\*\*", rf'<b style="color:{ink}">\1</b>', html.escape(unbroken(sentence)))
    return f'<p style="font-size:1.25rem;line-height:1.4;margin:0" class="takeaway">{marked}</p>'


def framed(text: str) -> str:
    """A short warning in a frame as HTML; st.badge would cut it on a phone."""
    style = "display:inline-block;border:2px solid;font-weight:600;border-radius:0.5rem;padding:0.1rem 0.6rem"
    style += ";font-size:0.875rem"
    return f'<span style="{style}">{html.escape(text)}</span>'


@functools.lru_cache(maxsize=100)
def icon_array(
    reached: int, limit: int, cap: int, *, colour: str, rest: str, alt: str, labels: tuple[str, str, str]
) -> str:
    """Attack success as ten by ten dots, `icons_svg`: an HTML image that screen readers know by `alt`, and beside it a
    label of the solid, the pale and the ringed dots."""
    picture = icons_svg(reached, limit, cap, colour=colour, rest=rest)
    source = "data:image/svg+xml;base64," + base64.b64encode(picture.encode()).decode()
    told = "".join(f"<li>{html.escape(label)}</li>" for label in labels)
    image = f'<img src="{source}" alt="{html.escape(alt)}" width="{ICONS_SIDE}">'
    return f'<div class="dots" style="--dot:{colour}">{image}<ul>{told}</ul></div>'


def plain(sentence: str) -> str:
    """The sentence without its marks, for screen readers: letter for letter what `emphasised` shows."""
    return unbroken(sentence.replace("**", ""))


def unbroken(text: str) -> str:
    """The text with no line break beside a sign, as in "ε = 1", or before an ellipsis.

    >>> unbroken("At ε = 2 × 10⁻⁵ …").replace("\\N{NO-BREAK SPACE}", "_")
    'At ε_=_2_×_10⁻⁵_…'
    """
    return re.sub(" (?=[=<>≤≥×±] |…)|(?<= [=<>≤≥×±]) ", "\N{NO-BREAK SPACE}", text)


def literal(text: str) -> str:
    """Text of a file as Markdown shows it letter by letter, and makes no link of.

    >>> literal("got '**x** $1'")
    "got \\\\'\\\\*\\\\*x\\\\*\\\\* \\\\$1\\\\'"
    >>> literal("www.example.org").replace("\\u2060", "|")
    'www|\\\\.example\\\\.org'
    """
    # Markdown looks for addresses after it has taken the backslashes away; a word joiner (no width) breaks them.
    unlinked = re.sub(r"(?i)(https?(?=://)|www(?=\.)|(?<=@))", "\\1\u2060", " ".join(text.split()))
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", unlinked)


def listed(words: Iterable[str], most: int = 5) -> str:
    """The first words, so many at the most, and how many more there are.

    >>> listed("abc"), listed("abcdefg")
    ('a, b, c', 'a, b, c, d, e and 2 more')
    """
    every = [*words]
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def readable(reason: str) -> str:
    """A library's sentence as a page shows it: names for keys, the page's letters, numbers as people write them.

    What is in quotes stays as it is, unless it is a key.

    >>> readable("noisy_gd needs lam >= 0.02 for delta = 1e-06 and n = 8800, got 0.005: see dpcore.core")
    'gradient perturbation (full batch) needs λ ≥ 0.02 for δ = 10⁻⁶ and n = 8,800 (here 0.005)'
    >>> readable("column 'dose_mg' grows like n^(-2/3)"), readable("(C - 1) theta in [-1, 1] needs lam > 0.00240231")
    ('column “dose_mg” grows like n⁻²⁄³', '(C − 1) θ in [−1, 1] needs λ > 0.002403')
    """
    quoted: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        quoted.append(found[2])
        return f"\0{len(quoted) - 1}\0"

    reason = re.sub(r"""(?<!\w)(['"])(.*?)\1(?!\w)""", set_aside, reason)
    reason = re.sub(r"[;:,] [^;:,]*\bdpcore\.[^;:,]*", "", reason)
    reason = re.sub(r", got ([^:;]*[^:; ])", r" (here \1)", reason)
    reason = re.sub(r"\w+", lambda word: _names().get(word[0], word[0]), reason)
    for pattern, said in _SAID:
        reason = re.sub(pattern, said, reason)
    reason = re.sub(r"\b(\d[\d.]*)e([+-]?\d+)", lambda found: scientific(found[1], int(found[2])), reason)
    reason = re.sub(r"([>≥] )?(?<![\d.])(\d+\.\d{3,})(?![\d.]*\w)", _short, reason)
    reason = re.sub(r"([=<>≤≥]|here|least) (\d{4,})", lambda found: f"{found[1]} {int(found[2]):,}", reason)
    reason = re.sub(
        r"([\w)])\^(?:\(([-−\d./pr ]+)\)|(-?[\d.]*\d|p))", lambda found: power(found[1], found[2] or found[3]), reason
    )
    names = _names() | {"population": "theory"}
    return re.sub(r"\0(\d+)\0", lambda found: f"“{names.get(word := quoted[int(found[1])], word)}”", reason)


def _short(found: re.Match[str]) -> str:
    """A decimal with four significant digits; after ">" rounded up, so that it holds."""
    rounding = ROUND_CEILING if found[1] else ROUND_HALF_EVEN
    return f"{found[1] or ''}{Context(4, rounding).create_decimal(found[2]):f}"


# Patterns of what messages write in ASCII, in this order.
_SAID = [(row["written"], row["said"]) for row in facts_beside(__file__, "symbols.csv")]


@functools.cache
def _names() -> dict[str, str]:
    """Keys in messages, and what pages call them."""
    named = {key: mechanism_class(key).label for key in list_mechanisms()}
    made = {key: re.sub(r", (.*)", r" (\1)", label) for key, label in named.items()}
    made |= {key: loss.label for key, loss in LOSSES.items() if "_" in key}
    return made | {key: get_set(key).label for key in SETS if "_" in key}
