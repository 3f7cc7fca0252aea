"""Papers: what do the five documents say, what is correct, and which page shows it?"""

import pandas as pd
import streamlit as st

from dpcore.figures.named_bars import corrections_figure
from dpcore.figures.papers.reproductions import reproduction_figure
from dpcore.figures.style import FAMILIES
from dpcore.mechanisms import list_mechanisms, mechanism_class
from dpcore.studies.papers.errata import KINDS, recomputed, three_digits
from dpcore.studies.papers.reproductions import REPRODUCTIONS, Outcome, Reproduction, get_reproduction
from pages.background.asking import ask
from pages.papers import exhibits, words
from pages.papers.short_run import ShortRun
from pages.papers.table import code, link, small, table, text
from pages.ui import url_controls
from pages.ui.details import behind, behind_nothing
from pages.ui.html import readable
from pages.ui.live_figure import current_theme, small_print
from pages.ui.numbers import rounded
from pages.ui.page import Page
from pages.ui.pickers import switch
from pages.ui.sidebar import ALL_BUT_SEED, KEYS, sidebar

HEIGHT = 510
SEED = 7  # of the corrections that need draws
PLACE = 430  # px of the smallest figure that is done again


def show_errata(seed: int) -> None:
    found = recomputed(seed)
    sentence = words.takeaway(found)
    page.headline(sentence, colour=ink)
    chart = corrections_figure(
        [each.erratum.title for each in found],
        [each.times for each in found],
        [each.erratum.kind for each in found],
        KINDS,
        theme=theme,
        height=HEIGHT,
    )
    page.wide_chart(chart, sentence, key="corrections", height=HEIGHT)
    small_print(words.CAPTION)
    st.html(
        table(
            "Published and corrected, computed now",
            ["statement", "published", "corrected", "computed", "see it"],
            [
                [
                    text(f"{each.erratum.title} {KINDS[each.erratum.kind]}") + small(readable(each.erratum.source)),
                    text(readable(each.erratum.says)),
                    text(readable(each.erratum.holds)),
                    text(
                        f"{readable(each.erratum.unit)}: {each.erratum.word} {rounded(each.published)}, correct "
                        f"{rounded(each.corrected)}, a factor of {three_digits(each.times)} "
                        f"({readable(each.erratum.setting)})"
                    ),
                    f"{link('view', each.erratum.page)}<br>{code(f'python -m dpcore errata {each.name}')}",
                ]
                for each in found
            ],
        )
    )
    behind(
        lambda: "\n".join(f"- {readable(each.sentence)}." for each in found),
        words.FORMULA,
        lambda: words.snippet(seed),
        lambda: pd.DataFrame(each.facts for each in found),
    )


def where(row: dict[str, str]) -> str:
    """The place of an item of the five documents as a cell: a link, unless no page shows it."""
    return link(row["view"], row["address"]) if row["address"] else text(row["view"])


def show_algorithms() -> None:
    page.headline(words.algorithms_told(), colour=ink)
    st.html(
        table(
            "Algorithms, bounds and figures of the five documents, and where they are",
            ["document", "item", "see it"],
            [[text(readable(row["document"])), text(row["item"]), where(row)] for row in words.DOCUMENTS],
        )
    )
    rows = []
    for key in list_mechanisms():
        cls = mechanism_class(key)
        named = text(f"{cls.label[0].upper()}{cls.label[1:]}") + small(words.outside(key))
        rows.append([named, text(readable(cls.source)), link("attack", words.attack_of(key))])
    st.html(table("Mechanisms of this library", ["mechanism", "source", "see it"], rows))
    behind_nothing()


def show_reproduction(name: str, seed: int) -> None:
    """One figure with few repetitions, computed now, and the command of each with all of them."""
    chosen = get_reproduction(name)
    outcome = None
    if chosen.few:
        outcome = show_short_run(chosen, seed)
    else:
        page.headline(words.too_long(chosen), colour=ink)
    st.html(
        table(
            f"All {len(REPRODUCTIONS)} reproductions, one command each",
            ["figure or table", "source", "records", "time", "command"],
            [
                [
                    text(readable(each.title)),
                    text(readable(each.source)),
                    text(readable(each.file) or "synthetic, drawn by the command"),
                    text(f"{words.duration(each)}, {each.runs} repetitions"),
                    code(words.command(each)),
                ]
                for each in map(get_reproduction, REPRODUCTIONS)
            ],
        )
    )
    behind(
        lambda: readable(chosen.protocol),
        words.VERDICTS,
        lambda: words.short_snippet(chosen, seed),
        lambda: pd.DataFrame() if outcome is None else outcome.table,
    )


def show_short_run(chosen: Reproduction, seed: int) -> Outcome | None:
    """Figure and claims, as soon as they are there."""
    answer = ask(ShortRun(chosen.name, seed), 0.0)
    outcome: Outcome | None = answer.snapshot
    if outcome is None:
        page.headline(words.under_way(chosen, failed=answer.failed), colour=ink)
        if not answer.failed:
            st.html(f'<div style="height: {PLACE}px"></div>')  # so that the figure moves nothing when it comes
        return None
    sentence = words.verdicts(chosen, outcome)
    page.headline(sentence, colour=ink)
    figure = reproduction_figure(outcome.chart, theme=theme)
    page.wide_chart(figure, sentence, key=f"reproduced_{chosen.name}", height=figure.layout["height"])
    small_print(words.records(chosen, outcome))
    st.html(
        table(
            "Claim by claim",
            ["claim", "verdict", "published", "here"],
            [
                [
                    text(readable(claim.words)),
                    text(words.VERDICT[claim.verdict]),
                    text(readable(claim.published)),
                    text(readable(claim.found)) + small(readable(claim.why)),
                ]
                for claim in outcome.claims
            ],
        )
    )
    return outcome


theme = current_theme()
ink = FAMILIES[theme]["frank_wolfe"]
page = Page("What do the papers say, and what is correct?")
with page.pickers:
    view = switch("What is listed", words.VIEWS, "errata", key="about", wrap=True)
    evidence, reproduced = "computed", ""
    if view == "errata":
        evidence = switch("Numbers", words.EVIDENCE, "computed", key="evidence")
    if view == "reproductions":
        reproduced = url_controls.select(
            "reproduced", "Figure", tuple(REPRODUCTIONS), "jain-thakurta-1b", words.name_of, width=640
        )
controls = sidebar(default_n=2_000, max_columns=8, unused=ALL_BUT_SEED if view == "reproductions" else KEYS)
if view == "reproductions":
    show_reproduction(reproduced, controls.seed)
elif view == "algorithms":
    show_algorithms()
elif evidence == "computed":
    show_errata(SEED)
else:
    exhibits.show(page, SEED)
