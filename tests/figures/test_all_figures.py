"""What every figure owes, whatever it shows, and that its curves are the engine's numbers."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import json
import re

import numpy as np
import pytest

from dpcore.figures import style
from dpcore.figures.figure import Figure

from ..harness import ROOT
from . import pictures
from .pictures import KEYS, all_figures, classified, orders, padded, plane, setting, table, valley

# Figures that are cut where their axis ends, on purpose, and say so or go on beyond it.
CUT = ("ruler", "betting", "function, betting test", "budget", "ball", "exhibits", "corrections", "regret", "price")
CUT += ("excess", "valley", "accuracy", "orders", "learners", "draws, fresh", "many passes", "ledger")
# Figures whose words stand beside their marks.
WITHOUT_LEGEND = ("leak", "ruler", "uses", "proof", "bells")
# The palette of one theme alone.
PALETTES = {
    theme: {*style.FAMILIES[theme].values(), style.BACKGROUND[theme], style.TEXT[theme], style.MUTED[theme]}
    for theme in ("light", "dark")
}


@functools.cache
def drawn(theme: str = "light", place: int = 0) -> dict[str, Figure]:
    """All figures, the cursor at the first or the second of its places; without a second place only those that have
    a cursor."""
    return {
        name: draw(**{argument: places[place] for argument, places in cursor.items()})
        for name, draw, cursor in all_figures(theme)
        if cursor or place == 0
    }


def test_every_public_figure_function_is_drawn_here_and_returns_figures():
    found, named = {}, inspect.getsource(pictures)
    for file in (ROOT / "dpcore" / "figures").rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and re.fullmatch("[a-z].*_figures?", node.name):
                found[node.name] = ast.unparse(node.returns) if node.returns else ""
    assert len(found) > 30 and set(found.values()) <= {"Figure", "dict[str, Figure]"}
    assert [name for name in found if f".{name}" not in named] == []


@pytest.mark.parametrize("theme, other", [("light", "dark"), ("dark", "light")])
def test_the_look_is_the_theme_s_and_the_browser_keeps_its_zoom(theme, other):
    for name, figure in drawn(theme).items():
        layout = json.loads(sent := figure.to_json())["layout"]
        assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == style.BACKGROUND[theme], name
        assert layout["uirevision"] == "keep" and layout["template"] == {}, f"{name}: a template brings its own colours"
        assert not set(re.findall("#[0-9A-Fa-f]{6}", sent)) & (PALETTES[other] - PALETTES[theme]), name


@pytest.mark.parametrize("name", ["price", "survey"])
def test_where_a_curve_meets_the_cursor_its_dot_has_its_colour(name):
    traces = drawn()[name].data
    dots = [trace for trace in traces if trace.mode == "markers" and trace.hoverinfo == "skip"]
    meets = [(x, y, dot.marker.color) for dot in dots for x, y in zip(dot.x, dot.y, strict=True)]
    curves = {(x, y, t.line.color) for t in traces if "lines" in (t.mode or "") for x, y in zip(t.x, t.y, strict=True)}
    assert meets and set(meets) <= curves


def test_what_is_drawn_lies_inside_its_axes():
    """But bounds, whose labels then point there, and the edges of bands."""
    traces = [(name, figure, trace) for name, figure in drawn().items() for trace in figure.data]
    for name, figure, trace in traces:
        if name.startswith(CUT):
            continue
        if trace.type not in ("scatter", "bar") or trace.meta in ("upper", "lower") or not trace.name:
            continue
        if trace.line.width == 0 if trace.type == "scatter" else trace.base is not None:
            continue
        for values, axis in ((trace.y, f"yaxis{(trace.yaxis or 'y')[1:]}"), (trace.x, "xaxis")):
            shown = figure.layout[axis]
            if shown.range is None or np.asarray(values).dtype.kind not in "fiu":
                continue
            values = np.asarray(values, float)[np.isfinite(np.asarray(values, float))]
            values = np.log10(values) if shown.type == "log" else values
            low, high = sorted(shown.range)
            slack = 1e-6 * (high - low)
            assert ((values >= low - slack) & (values <= high + slack)).all(), (name, trace.name)


def test_a_move_of_the_cursor_changes_marks_at_the_cursor_only():
    for name, other in drawn(place=1).items():
        one = drawn()[name]
        assert [trace.name for trace in one.data] == [trace.name for trace in other.data], name
        for before, after in zip(one.data, other.data, strict=True):
            same = before.type == after.type and np.array_equal(before.y, after.y, equal_nan=True)
            assert same or (before.mode == "markers" and before.hoverinfo == "skip"), (name, before.name)
        assert one.layout.yaxis == other.layout.yaxis, name
        words = [[it.to_plotly_json() for it in figure.layout.annotations] for figure in (one, other)]
        moved = [it for it in [*words[0], *words[1]] if not (it in words[0] and it in words[1])]
        at = [next(it["x"] for it in each if it.get("name") == "cursor") for each in words]
        assert [it["text"] for it in moved if it["xref"] != "x" or it["x"] not in at] == [], f"{name}: labels jump"
        lines = [[shape.x0 for shape in figure.layout.shapes if shape.name == "cursor"] for figure in (one, other)]
        assert lines[0] and lines[0][0] != lines[1][0], name


@pytest.mark.parametrize("place", [0, 1])
def test_no_tick_label_is_half_hidden_by_the_cursor_s_flag(place):
    for name, figure in drawn(place=place).items():
        flag = next((note.x for note in figure.layout.annotations if note.name == "cursor"), None)
        wide = figure.layout.xaxis.to_plotly_json()
        narrow = wide | figure.layout.meta["narrow"].get("xaxis", {})
        for axis, least in ((wide, 0.03), (narrow, 0.06)) if flag is not None else ():
            ticks = np.log10(axis["tickvals"]) if axis.get("type") == "log" else np.asarray(axis["tickvals"], float)
            away = np.abs(ticks - flag) / (axis["range"][1] - axis["range"][0])
            texts = axis.get("ticktext", ticks)
            assert not [text for text, far in zip(texts, away, strict=True) if 1e-9 < far < least and text != ""], name


def test_labels_keep_apart_and_a_phone_has_a_legend_in_their_place():
    for name, figure in drawn().items():
        layout, narrow = figure.layout, figure.layout.meta["narrow"]
        for axis in ("y", "y2"):
            labels = [note for note in layout.annotations if (note.yref, note.xref) == (axis, "paper")]
            if len(labels) > 1:
                (low, high), (bottom, top) = (shown := layout[f"yaxis{axis[1:]}"]).range, shown.domain or (0, 1)
                size = (layout.height - layout.margin.t - layout.margin.b) * (top - bottom) / (high - low)
                boxes = [((it.y - low) * size + (it.yshift or 0), 16 * (1 + it.text.count("<br>"))) for it in labels]
                for (one, tall), (two, taller) in itertools.pairwise(sorted(boxes)):
                    assert two - one >= (tall + taller) / 2 - 1e-6, name
        entries = [trace.name for trace in figure.data if trace.showlegend is not False and trace.name]
        assert len(entries) == len(set(entries)), f"{name}: an entry comes twice"
        assert layout.showlegend or narrow.get("showlegend") or name in WITHOUT_LEGEND, name
        if narrow.get("showlegend"):
            assert narrow["margin"]["b"] > layout.margin.b and narrow["margin"]["r"] <= layout.margin.r, name
            figure.plotly.update_layout({key: value for key, value in narrow.items() if key != "annotations"})


def test_labels_inside_the_narrowest_drawing_are_not_cut():
    inside = {"xref": "x", "xanchor": "center", "yanchor": "middle"}
    for name, figure in drawn().items():
        notes = [it for it in figure.layout.annotations if {key: it[key] for key in inside} == inside]
        for it in notes if not name.startswith("regions") else ():
            low, high = figure.layout.xaxis.range
            centre = (it.x - low) / (high - low) * 346 + (it.xshift or 0)
            half = 3.0 * max(map(len, it.text.split("<br>")))
            assert half - 1e-6 <= centre <= 346 - half + 1e-6, (name, it.text)


def test_what_claims_no_privacy_says_none():
    """Objective perturbation on the orthant, which has no guarantee."""
    figure = drawn()["orthant"]
    said = [note.text for note in figure.layout.annotations] + [trace.name or "" for trace in figure.data]
    said += [trace.hovertemplate or "" for trace in figure.data]
    assert not re.search(r"ε|δ|epsilon|privat|privacy|budget", " ".join(said), re.IGNORECASE)


# The numbers


def rows_of(found, key, metric="excess_empirical_risk"):
    return found[(found.mechanism == key) & (found.metric == metric)]


def shape(values, through):
    """A rate, which has no constant: through the first point."""
    return values / values[0] * through[0]


def numbers() -> dict[str, dict[str, object]]:
    """Of each figure what some of its traces hold, by their names; behind "@" the panel."""
    made = table()
    excess = rows_of(made, KEYS[0])
    answer, grown = padded(KEYS[0], KEYS[2])
    steps, people, columns = map(setting, ("steps", "people", "columns"))
    free, fixed, by_p = valley("auto"), valley(0.1), pictures.columns()
    (regret, private_free), play, order = pictures.streams(), pictures.play(), orders()
    members, learners = map(plane, ("members", "people"))
    accuracy = classified("epsilon")
    damage = rows_of(answer, KEYS[0])
    ledger = {curve.kind: curve.epsilon for curve in pictures.ledgers()}
    return {
        "price": {"measured": excess["mean"], "upper bound": excess.bound, "single releases": [0.1, 0.4]},
        "excess": {
            "output perturbation": excess["mean"],
            "output: upper bound": excess.bound,
            "hardest records known": pictures.hard().mean,
            "proved range for these records": excess.proved_low,
        },
        "dimension": {
            "Gamma noise@y": 100 * rows_of(answer, KEYS[2], "accuracy")["mean"],
            "always the larger class": 100 * answer[answer.metric == "accuracy"].nothing_learned.dropna().iloc[0],
            "Gaussian noise@y2": (damage["mean"] - damage.noiseless).to_numpy(),
            "Gaussian noise: bound": grown[KEYS[0]].damage_bound,
        },
        "orthant": {
            "output, cut at 0": pictures.orthants().projected,
            "objective, held ≥ 0": pictures.orthants().constrained,
            "objective, free": pictures.orthants().free_objective,
        },
        "steps": {"private, mean": steps.private.measured.mean, "upper bound": steps.private.bound},
        "people": {
            "private, mean": people.private.measured.mean,
            "every column matters, mean": people.dense,
        },
        "columns": {
            "one vertex, mean": columns.private.measured.mean,
            "upper bound, one vertex": columns.private.bound,
            "noise in the whole gradient, mean": columns.whole.measured.mean,
            "nothing learned, θ = 0": columns.nothing,
        },
        "draws, fresh": {"measured mean": free.fresh.mean, "upper bound": free.bounds["fresh"]},
        "draws, training": {
            "measured mean": fixed.training.mean,
            "hardest records known": pictures.hard_draws().mean,
        },
        "simplex columns": {
            "objective, projected": by_p.projected.mean,
            "ln p, shape only": shape(np.log(by_p.p), by_p.sampling.mean),
            "nothing learned, θ = 0": by_p.nothing,
        },
        "regret": {
            "private": regret.expected,
            "upper bound": regret.bound,
            "non-private": private_free.expected,
            "lower bound, hardest data": regret.least,
        },
        "play": {"this run": play.regret, "mean": play.expected, "upper bound of the mean": play.bound},
        "orders": {
            "exponential mechanism, mean": order.vertices.mean,
            "Gaussian noise, mean": order.gaussian.mean,
            "lower bound in the ball, hardest data": order.least,
        },
        "rates": {
            "cost of sampling": np.minimum([row.sampling for row in plane("rows")], 1.0),
            "cost of privacy": np.minimum([row.privacy for row in plane("rows")], 1.0),
        },
        "members": {
            "AUC: a member scores above a non-member": members.auc,
            "excess, share of “nothing learned”": np.minimum(members.excess / members.signal, 1.2),
        },
        "learners": {
            "private, mean": learners.private.mean,
            "upper bound": learners.bound,
            "reconstructed rate, shape only": shape(learners.rate, learners.private.mean),
        },
        "accuracy, epsilon": {
            "Gaussian classifier, private": accuracy.learners["ellipsoids"].mean,
            "one-vs-rest, private": accuracy.learners["split"].mean,
            "the largest class": accuracy.chance,
        },
        "ledger": {
            "Rényi, Poisson batch": ledger["poisson"],
            "Kamath's claim": ledger["kamath"],
            "advanced composition": ledger["advanced"],
            "target, ε = 1": 1.0,
        },
    }


def test_curves_are_the_engine_s_numbers():
    for name, traces_of in numbers().items():
        for words, values in traces_of.items():
            called, _, panel = words.partition("@")
            traces = [trace for trace in drawn()[name].data if trace.name == called]
            (trace,) = [trace for trace in traces if not panel or (trace.yaxis or "y") == panel]
            found = np.asarray(trace.y, float)
            expected = np.full(len(found), values) if np.ndim(values) == 0 else np.asarray(values, float)
            assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), (name, words)
