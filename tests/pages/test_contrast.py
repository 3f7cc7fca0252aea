"""What every page draws: colours readable in both themes, none of which tells what nothing else tells, and bounds that
name their source.

Contrast is WCAG 2's: 4.5:1 for text, 3:1 for large text and for what draws. The palette's own test is in
tests/figures/test_figures.py.
"""

import functools
import json
import re
import tomllib

import pytest

from dpcore.figures.style import BACKGROUND, FAMILIES, TEXT, Theme, note
from dpcore.studies.decide import loss_curve
from pages.papers import exhibits
from pages.ui.theme import look
from tests.figures.test_figures import contrast
from tests.harness import ROOT
from tests.nights import each
from tests.page_driver import charts, headline, shown

WORDS, DRAWING = 4.5, 3.0
PAGES = {
    "overview": ("overview/page.py", {}),
    "perturbation": ("perturbation/page.py", {}),
    "dimension": ("dimension/page.py", {}),
    "sparse model": ("dimension/page.py", {"topic": "sparse"}),
    "simplex": ("selection/page.py", {"tab": "simplex"}),
    "streaming": ("selection/page.py", {"tab": "streaming"}),
    "geometry": ("geometry/page.py", {}),
    "geometry, people": ("geometry/page.py", {"view": "n", "p": 16}),
    "classes": ("multiclass/page.py", {"n": 300, "C": 2}),
    "survey": ("survey/page.py", {}),
    "attack": ("audit/page.py", {"runs": 2_000}),
    "composition": ("composition/page.py", {}),
    "noisy SGD": ("composition/page.py", {"repeated": "sgd"}),
    "published": ("papers/page.py", {"evidence": "runs"}),
    "decide": ("decide/page.py", {"n": 500}),
    "decide, all mechanisms": ("decide/page.py", {"more": "compare", "n": 500}),
    "decide, deployments": ("decide/page.py", {"more": "deployments", "n": 500}),
    "papers": ("papers/page.py", {}),
    "papers, done again": ("papers/page.py", {"about": "reproductions", "reproduced": "kamath-three-ways"}),
}
# Views that draw bounds of their own.
BOUNDS = {
    "sparse model, n": ("dimension/page.py", {"topic": "sparse", "against": "n", "p": 64}),
    "sparse model, T": ("dimension/page.py", {"topic": "sparse", "against": "T"}),
}


@functools.cache
def seen(name: str, theme: Theme) -> tuple[dict[str, dict], str]:
    """The figures of a page by their sentences, and its headline."""
    script, state = (PAGES | BOUNDS)[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss_curve, "SPLITS", 2)
        patch.setattr(exhibits, "run_exhibit", functools.partial(exhibits.run_exhibit, runs=1_000))
        page = shown(script, theme, **state)
    return {alt: json.loads(chart["figure"]) for alt, chart in charts(page).items()}, headline(page)


def over(colour: str, background: str) -> str:
    """A colour, perhaps translucent, on a background as #RRGGBB."""
    if colour.startswith("#"):
        return colour
    *rgb, opacity = (float(part) for part in re.findall(r"[\d.]+", colour))
    below = [int(background[i : i + 2], 16) for i in (1, 3, 5)]
    mixed = (opacity * c + (1 - opacity) * b for c, b in zip(rgb, below, strict=True))
    return "#" + "".join(f"{round(c):02X}" for c in mixed)


def pale_texts(figure: dict, theme: Theme) -> list[str]:
    """Texts of a chart below 4.5:1; one in the paper's own colour stands on the bars at its height."""
    paper, layout = figure["layout"]["paper_bgcolor"], figure["layout"]
    assert paper == BACKGROUND[theme]
    bars = [t["marker"]["color"] for t in figure["data"] if t["type"] == "bar"]
    found = []
    for text in [*layout.get("annotations", []), *layout.get("meta", {}).get("narrow", {}).get("annotations", [])]:
        ink, grounds = text["font"]["color"], [text.get("bgcolor", paper)]
        if "bgcolor" not in text and ink == paper:
            grounds = [inks[int(text["y"])] for inks in bars if inks[int(text["y"])].startswith("#")]
        assert grounds, f"{text['text']} has the colour of the paper"
        found += [f"{text['text']}: {ink} on {g}" for g in grounds if contrast(ink, over(g, paper)) < WORDS]
    fonts = [layout["font"], *(axis.get("tickfont", layout["font"]) for key, axis in layout.items() if "axis" in key)]
    return found + [f"ticks: {font['color']}" for font in fonts if contrast(font["color"], paper) < WORDS]


def ink_of(trace: dict, paper: str) -> list[str]:
    """The colours that make a trace visible: a line's, or the rim or the face of its marks, whichever stands out more.

    None of what is an area, a map, a shade (translucent, of what is drawn in full too or one of many), or nameless.
    """
    if trace.get("fill") == "tonexty" or trace["type"] in ("contour", "heatmap") or not trace.get("name"):
        return []
    if "lines" in trace.get("mode", ""):
        return [trace["line"]["color"]] if trace["line"]["width"] else []
    marker = trace.get("marker", {})
    rim, face = marker.get("line", {}), marker.get("color", "rgba(0,0,0,0)")
    if isinstance(face, list):
        return [ink for ink in face if ink.startswith("#")]
    both = [ink for ink in (face, rim.get("color", "") if rim.get("width") else "") if ink.startswith("#")]
    return sorted(both, key=lambda ink: contrast(ink, paper))[-1:]


@pytest.mark.parametrize(
    "name, theme", [*((name, "light") for name in PAGES), *each(3, ((name, "dark") for name in PAGES))]
)
def test_texts_and_curves_of_every_chart_stand_out(name, theme):
    figures, large = seen(name, theme)
    assert figures, "a page without a chart"
    for alt, figure in figures.items():
        assert alt.strip() and pale_texts(figure, theme) == []
        for trace in figure["data"]:
            for ink in ink_of(trace, BACKGROUND[theme]):
                assert contrast(ink, BACKGROUND[theme]) >= DRAWING, f"{trace['name']}: {ink}"
    for ink in re.findall(r'<b style="color:(#\w+)"', large):
        assert contrast(ink, BACKGROUND[theme]) >= DRAWING, "20 px bold is large"


@pytest.mark.parametrize("name", [*PAGES, *BOUNDS])
def test_every_bound_that_is_drawn_names_its_source(name):
    bounds = 0
    for figure in seen(name, "light")[0].values():
        labels = [note for note in figure["layout"]["annotations"] if note.get("name") in ("upper", "lower")]
        assert all("Source: " in note["hovertext"] for note in labels)
        for trace in figure["data"]:
            if trace.get("meta") in ("upper", "lower") and len(trace["x"]):
                assert "Source: " in trace["hovertemplate"], trace["name"]
                bounds += 1
    assert bounds or name not in (*BOUNDS, "simplex", "streaming", "geometry, people")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_small_print_is_readable_on_page_and_sidebar(theme):
    settings = (ROOT / ".streamlit" / "config.toml").read_text().split(f"[theme.{theme}]")[1]
    paper, side, text = (
        re.search(rf'{key} = "(#\w+)"', settings)[1]
        for key in ("backgroundColor", "secondaryBackgroundColor", "textColor")
    )
    assert (paper, text) == (BACKGROUND[theme], TEXT[theme])
    inks = dict(re.findall(r"--([\w-]+): (#\w+)", look(theme)))
    written = {inks[name] for name in re.findall(r"color: var\(--(?!st-)([\w-]+)\)", look(theme))}
    assert not re.search(r"color: #", look(theme))
    (small,) = written - {paper, text}
    for ink, ground in ((small, paper), (small, side), (text, side)):
        assert contrast(ink, ground) >= WORDS


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_the_chosen_answer_of_a_lecture_is_readable_on_the_accent(theme):
    accent = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"][theme]["primaryColor"]
    assert "button[kind=primary] p { color: var(--page) }" in (ROOT / "pages/lectures/lecture.css").read_text()
    assert contrast(accent, BACKGROUND[theme]) >= WORDS


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_label_in_a_family_s_hue_is_readable(theme):
    for family, colour in FAMILIES[theme].items():
        ink = note("x", x=0, y=0, colour=colour, size=13)["font"]["color"]
        assert contrast(ink, BACKGROUND[theme]) >= WORDS, family
        assert (ink == colour) is bool(contrast(colour, BACKGROUND[theme]) >= WORDS), "changed without need"
