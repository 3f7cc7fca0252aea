"""Every bound that a page draws names its theorem, which says what the mechanism's own bound says."""

import json
import re

import pytest

from dpcore.figures.figure import LAYERS
from dpcore.figures.theorems import THEOREMS
from dpcore.mechanisms import list_mechanisms
from dpcore.mechanisms.api import bounds_of, calibrate
from pages.sources.provenance import SETTINGS
from tests.page_driver import LIVE, SCRIPTS, charts, said, shown, texts

# The views of a page that draw bounds of their own, beside the one that it opens with.
_MORE = {
    "perturbation": [{"side": "Noisy SGD"}],
    "dimension": [{"below": "damage"}],
    "sparsity": [{"tab": "simplex"}, {"tab": "streaming"}, {"against": "n"}, {"against": "p"}],
    "geometry": [{"view": "n"}],
    "multiclass": [{"price_against": "excess"}],
}
_VIEWS = [(page, state) for page in LIVE for state in [{}, *_MORE.get(page, [])]]


@pytest.mark.parametrize(("page", "state"), _VIEWS)
def test_every_bound_that_is_drawn_names_its_source_and_every_switch_has_a_curve(page, state):
    opened = shown(SCRIPTS[page], **state)
    hidden = re.findall(r"st-key-layers button:nth-of-type\((\d)\)", texts(opened))
    bounds = 0
    for alt, chart in charts(opened).items():
        figure = json.loads(chart["figure"])
        if "layers" in opened.session_state and said(opened).startswith(alt):
            drawn = {trace.get("meta") for trace in figure["data"]}
            assert [str(k) for k, layer in enumerate(LAYERS, 1) if layer not in drawn] == sorted(hidden)
        labels = [note for note in figure["layout"]["annotations"] if note.get("name") in ("upper", "lower")]
        assert all("Source: " in note["hovertext"] for note in labels)
        for trace in figure["data"]:
            if trace.get("meta") in ("upper", "lower") and len(trace["x"]):
                assert "Source: " in trace["hovertemplate"], trace["name"]
                bounds += 1
    assert bounds or page in ("audit", "decide") or not state


@pytest.mark.parametrize("key", list_mechanisms())
def test_a_theorem_names_the_source_of_the_mechanism_s_own_bound(key):
    plan = calibrate(key, **SETTINGS, classes=3 if key == "gaussian_classifier" else None)
    proved = {bound.source for bound in bounds_of(plan) if bound.form == "upper"}
    named = {row["source"] for name, row in THEOREMS.items() if name.split(":")[0] == key}
    assert named and named <= proved
    lower = {bound.source for bound in bounds_of(plan) if bound.form == "lower"}
    assert lower <= {row["source"] for row in THEOREMS.values()}


def test_details_say_what_the_bounds_are_at_the_cursor():
    told = texts(shown(SCRIPTS["multiclass"], price_against="excess", behind="Formula"))
    for name in ("gaussian_classifier", "gaussian_classifier:over"):
        assert all(THEOREMS[name][part] in told for part in ("formula", "assumes", "source"))
