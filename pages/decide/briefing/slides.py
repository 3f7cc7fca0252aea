"""The briefing as PowerPoint slides with native charts; needs python-pptx, which is optional."""

import io
import math
from typing import Any

import pptx
from pptx.chart.data import XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
from pptx.enum.dml import MSO_LINE
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Inches, Pt

from dpcore.figures.style import FAMILIES, LARGER, MUTED, TEXT
from pages.decide.briefing import words
from pages.decide.briefing.content import Briefing

_WIDTH, _HEIGHT = 13.333, 7.5  # inches: a wide screen
_EDGE = 0.6
_HUNDRED = 100


def powerpoint(briefing: Briefing) -> bytes:
    """A .pptx file: five slides, whose charts are PowerPoint's own, with their numbers in an editable sheet, and the
    page to sign.
    """
    document = briefing.document()
    file = pptx.Presentation()
    file.slide_width, file.slide_height = Inches(_WIDTH), Inches(_HEIGHT)
    file.core_properties.title = briefing.title
    file.core_properties.author = "Price of Privacy"
    deck = _Deck(file, document, FAMILIES["light"][briefing.family])
    for name, fill in zip(words.HEADINGS, (_question, _curve, _attack, _equivalent, _basis, _sign), strict=True):
        deck.start(name)
        fill(deck, document)
    out = io.BytesIO()
    file.save(out)
    return out.getvalue()


class _Deck:
    """A presentation that is being filled from a document's values."""

    def __init__(self, file: Any, document: words.Document, colour: str) -> None:
        self.file, self.document, self.colour = file, document, colour
        self.slide: Any = None

    def start(self, name: str) -> None:
        """A new slide with its heading as a real title, which outlines and screen readers know."""
        self.slide = self.file.slides.add_slide(self.file.slide_layouts[5])  # title only
        title = self.slide.shapes.title
        title.left, title.top = Inches(_EDGE), Inches(0.3)
        title.width, title.height = Inches(_WIDTH - 2 * _EDGE), Inches(1.0)
        title.text_frame.text = words.fill(words.HEADINGS[name], self.document)
        self._look(title.text_frame, 32)
        title.text_frame.paragraphs[0].runs[0].font.size = Pt(32 if len(title.text_frame.text) < 70 else 24)

    def text(self, sentences: list[str], top: float, height: float, *, size: float = 20, left: float = _EDGE) -> None:
        """A box of paragraphs over the rest of the width."""
        width = _WIDTH - left - _EDGE
        box = self.slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height)).text_frame
        for k, sentence in enumerate(sentences):
            paragraph = box.paragraphs[0] if k == 0 else box.add_paragraph()
            paragraph.text = words.fill(sentence, self.document).replace("**", "")
        self._look(box, size)

    def curve(
        self, record: str, lines: dict[str, str], levels: dict[str, float], titles: tuple[str, str], said: str
    ) -> Any:
        """A native chart of columns of a record against epsilon, with horizontal levels, on a logarithmic axis.

        said: the sentence for screen readers.
        """
        columns = self.document[record]
        epsilons = columns["epsilons"]
        table = XyChartData()
        for key, name in lines.items():
            series = table.add_series(name)
            for epsilon, value in zip(epsilons, columns[key], strict=True):
                if value is not None:
                    series.add_data_point(epsilon, value)
        for name, level in levels.items():
            series = table.add_series(name)
            for epsilon in (epsilons[0], epsilons[-1]):
                series.add_data_point(epsilon, level)
        place = Inches(_EDGE), Inches(2.35), Inches(_WIDTH - 2 * _EDGE), Inches(3.9)
        frame = self.slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS, *place, table)
        self._dress(frame.chart, len(lines), titles)
        _logarithmic(frame.chart.category_axis, epsilons)
        frame._element.nvGraphicFramePr.cNvPr.set("descr", words.fill(said, self.document).replace("**", ""))
        return frame.chart

    def _dress(self, chart: Any, lines: int, titles: tuple[str, str]) -> None:
        chart.has_title = False
        chart.has_legend = True
        chart.legend.position = XL_LEGEND_POSITION.BOTTOM
        chart.legend.include_in_layout = False
        chart.font.size = Pt(16)
        for axis, title in zip((chart.category_axis, chart.value_axis), titles, strict=True):
            axis.axis_title.text_frame.text = title
            axis.axis_title.text_frame.paragraphs[0].runs[0].font.size = Pt(16)
        chart.category_axis.has_major_gridlines = False
        inks = [*[self.colour] * lines, FAMILIES["light"]["reference"], MUTED["light"]]
        for k, (series, ink) in enumerate(zip(chart.plots[0].series, inks, strict=False)):
            series.smooth = False
            series.format.line.color.rgb = RGBColor.from_string(ink[1:])
            series.format.line.width = Pt(4 if k == 0 else 2)
            dash = MSO_LINE.SOLID if k == 0 else MSO_LINE.DASH if k == lines else MSO_LINE.ROUND_DOT
            series.format.line.dash_style = dash

    def _look(self, frame: Any, size: float) -> None:
        frame.word_wrap = True
        frame.vertical_anchor = MSO_ANCHOR.TOP
        for paragraph in frame.paragraphs:
            paragraph.alignment = PP_ALIGN.LEFT
            paragraph.space_after = Pt(8)
            paragraph.font.size = Pt(size)
            paragraph.font.color.rgb = RGBColor.from_string(TEXT["light"][1:])


def _question(deck: _Deck, document: words.Document) -> None:
    lead = [words.budget(document), words.cost(document), words.floor(document)]
    deck.text([sentence for sentence in lead if sentence], 1.5, 2.6, size=22 if lead[-1] else 26)
    facts = [words.DATA, "Mechanism: {mechanism:text}", "Guarantee: " + words.guarantee(document)]
    deck.text([words.ATTACKER, *facts], 4.2, 2.8)


def _curve(deck: _Deck, document: words.Document) -> None:
    deck.text([words.cost(document)], 1.35, 0.9, size=22)
    lines = {"smooth": "accuracy loss, mean", "low": "at least", "high": "at most"}
    levels = {
        words.fill("acceptable loss: {at_most:plain}", document): document["at_most"],
        words.fill(f"{LARGER}: loss {{learnable:tenths}}", document): document["learnable"],
    }
    titles = ("privacy budget ε (smaller = more private)", "accuracy loss, percentage points")
    deck.curve("curve", lines, levels, titles, words.cost(document))
    deck.text([words.budget(document)], 6.4, 0.8)


def _attack(deck: _Deck, document: words.Document) -> None:
    _dots(deck, document["attack_success_of_100"])
    deck.text([words.ATTACKER], 1.6, 2.4, size=24, left=6.4)
    deck.text(words.ATTACKERS, 4.0, 3.0, left=6.4)


def _equivalent(deck: _Deck, document: words.Document) -> None:
    if not document["equivalent"]["epsilons"]:
        deck.text([words.equivalent(document), words.needed(document)], 1.6, 5.0, size=26)
        return
    deck.text([words.equivalent(document)], 1.35, 0.9)
    lines = {"size": "equivalent sample size", "low": "at least", "high": "at most"}
    levels = {words.fill("all {n:count}", document): document["n"]}
    titles = ("privacy budget ε (smaller = more private)", "records without privacy")
    chart = deck.curve("equivalent", lines, levels, titles, words.equivalent(document))
    drawn = [v for key in lines for v in document["equivalent"][key] if v is not None and v > 0]
    _logarithmic(chart.value_axis, [*drawn, document["n"]])
    deck.text([words.needed(document)], 6.4, 0.8)


def _basis(deck: _Deck, document: words.Document) -> None:
    texts = [*words.each(document, "assumptions"), *words.each(document, "warnings"), "{link:text}", words.ABOUT]
    letters = sum(len(words.fill(text, document)) for text in texts)
    # About 100 letters of 20 points fit on a line, and 14 lines on the slide.
    deck.text(texts, 1.3, 6.0, size=20 if letters < 900 else 16 if letters < 1_600 else 11)
    deck.slide.notes_slide.notes_text_frame.text = words.fill("{snippet:text}", document)


def _sign(deck: _Deck, document: words.Document) -> None:
    texts = [words.nothing_to_sign(document)] if not document["release"] else []
    texts += [f"{name}: {sentence}" for name, sentence in words.signed(document).items()]
    texts.append("    ".join(f"{name}: ________________" for name in words.BLANKS))
    letters = sum(len(words.fill(text, document)) for text in texts)
    deck.text(texts, 1.3, 6.0, size=16 if letters < 1_600 else 11)


def _dots(deck: _Deck, counts: dict[str, int]) -> None:
    colour, grey = RGBColor.from_string(deck.colour[1:]), RGBColor.from_string("D9D6D2")
    step, size = 0.52, 0.38
    for k in range(_HUNDRED):
        place = Inches(_EDGE + step * (k % 10)), Inches(1.6 + step * (k // 10)), Inches(size), Inches(size)
        dot = deck.slide.shapes.add_shape(MSO_SHAPE.OVAL, *place)
        dot.name = "grey"
        dot.shadow.inherit = False
        if k < counts["cap"]:
            dot.name = "solid" if k < counts["certified"] else "pale" if k < counts["limit"] else "ringed"
            dot.line.color.rgb, dot.line.width = colour, Pt(2)
        else:
            dot.line.fill.background()
        if dot.name == "ringed":
            dot.fill.background()
            continue
        dot.fill.solid()
        dot.fill.fore_color.rgb = grey if dot.name == "grey" else colour
        if dot.name == "pale":
            dot.fill.fore_color.brightness = 0.6


def _logarithmic(axis: Any, values: list[float]) -> None:
    """Powers of ten along an axis, from the one below all values to the one above."""
    axis.minimum_scale = 10.0 ** math.floor(math.log10(min(values)))
    axis.maximum_scale = 10.0 ** math.ceil(math.log10(max(values)))
    scaling = axis._element.find(qn("c:scaling"))
    base = scaling.makeelement(qn("c:logBase"), {"val": "10"})
    scaling.insert(0, base)  # the schema wants it first
    axis.tick_labels.number_format = "General"
    axis.tick_labels.number_format_is_linked = False
