"""Sources: where does every curve come from, what is published, and what is correct?"""

import pandas as pd
import streamlit as st

from dpcore.figures.named_bars import corrections_figure
from dpcore.figures.sources.reproductions import reproduction_figure
from dpcore.figures.style import FAMILIES
from dpcore.mechanisms import mechanism_class
from dpcore.studies.papers.errata import KINDS, recomputed, three_digits
from dpcore.studies.papers.reproductions import REPRODUCTIONS, Outcome, Reproduction, get_reproduction
from pages.background.asking import ask
from pages.sources import words
from pages.sources.short_run import ShortRun
from pages.sources.table import code, link, small, table, text
from pages.ui import url_controls
from pages.ui.details import behind, behind_nothing
from pages.ui.html import plain, readable
from pages.ui.live_figure import current_theme, live_figure, small_print
from pages.ui.numbers import rounded
from pages.ui.page import Page
from pages.ui.pickers import switch
from pages.ui.sidebar import ALL_BUT_SEED, KEYS, sidebar
from pages.ui.terms import GLOSSARY

HEIGHT = 460
SEEDED = ("errata", "reproductions")  # views in which chance plays
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
    live_figure(chart, key="corrections", alt=plain(sentence), height=HEIGHT)
    small_print(words.caption(found))
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


def show_algorithms() -> None:
    rows = []
    for entry in words.algorithms():
        name, source, outside = entry["algorithm"], entry["source"], ""
        links = [] if entry["address"] is None else [link("view", entry["address"])]
        if key := entry["mechanism"]:
            cls = mechanism_class(key)
            name, source, outside = cls.label, cls.source, words.outside(key)
            links.append(link("attack", words.attack_of(key)))
        rows.append([text(f"{name[0].upper()}{name[1:]}") + small(outside), text(readable(source)), "<br>".join(links)])
    page.headline(f"**{len(rows)}** algorithms, each with a view that shows it.", colour=ink)
    st.html(table("Algorithms", ["algorithm", "source", "see it"], rows))
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
    live_figure(figure, key=f"reproduced_{chosen.name}", alt=plain(sentence), height=figure.layout["height"])
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


def show_glossary() -> None:
    page.headline(f"**{len(GLOSSARY)}** terms that the pages use, each in a sentence or two.", colour=ink)
    st.html(
        table(
            "Glossary",
            ["term", "meaning", "pages"],
            [[text(entry[column]) for column in ("word", "meaning", "pages")] for entry in GLOSSARY],
        )
    )
    behind_nothing()


theme = current_theme()
ink = FAMILIES[theme]["frank_wolfe"]
page = Page("Where does every curve come from?")
with page.pickers:
    view = switch("What is listed", words.VIEWS, "errata", key="about", wrap=True)
    reproduced = ""
    if view == "reproductions":
        reproduced = url_controls.select(
            "reproduced", "Figure", tuple(REPRODUCTIONS), "jain-thakurta-1b", words.name_of, width=640
        )
controls = sidebar(default_n=2_000, max_columns=8, unused=ALL_BUT_SEED if view in SEEDED else KEYS)
{
    "errata": lambda: show_errata(controls.seed),
    "algorithms": show_algorithms,
    "reproductions": lambda: show_reproduction(reproduced, controls.seed),
    "glossary": show_glossary,
}[view]()
