"""Figures for the last row of a lecture hall."""

from typing import Any

from .figure import Figure

# A figure is laid out in less room and drawn so many times larger: its labels keep the gaps they were placed with.
ENLARGED = 1.35
LEAST_TEXT, TITLE, LEAST_LINE = 18, 24, 4  # px on the screen


def enlarged(figure: Figure) -> Figure:
    """A copy to be drawn ENLARGED times larger: no text below 18 px, titles of panels 24 px, curves 4 px and more.

    figure: titles are the notes that stand above a panel's corner.

    >>> enlarged(Figure([], {"font": {"size": 10}})).layout.font.size * ENLARGED
    18.0
    """
    made = figure.to_dict()
    _raise_fonts(made)
    notes = made["layout"].get("annotations", ())
    for narrow in (made["layout"].get("meta") or {}).values():  # a phone has no room for larger titles
        narrow.setdefault("annotations", [dict(note) for note in notes])
    for note in notes:
        if note.get("xref") == note.get("yref") == "paper" and note.get("x") == 0 and (note.get("yshift") or 0) >= 16:
            # Larger letters reach further down: the title stays off its panel.
            note.update(font=note["font"] | {"size": TITLE / ENLARGED}, yshift=note["yshift"] + 5)
    for trace in made["data"]:
        if trace["type"] == "scatter" and trace.get("line", {}).get("width", 0) > 0:
            trace["line"] = {**trace["line"], "width": max(trace["line"]["width"], LEAST_LINE / ENLARGED)}
    return Figure(**made)


def _raise_fonts(node: Any) -> None:
    if isinstance(node, list | tuple):
        for each in node:
            _raise_fonts(each)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key.endswith("font") and isinstance(value, dict) and "size" in value:
                value["size"] = max(value["size"], LEAST_TEXT / ENLARGED)
            else:
                _raise_fonts(value)
