"""Links: a page's link leads a fresh session to identical charts, and what a link says in vain is told."""

from __future__ import annotations

import html
import json
import math
import random
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from dpcore import __version__
from pages.ui import share_link
from pages.ui.share_link import Control
from tests.harness import ROOT
from tests.page_driver import SCRIPTS, finished, open_app, turn_to

# Random states of each page, together 200, and the share of them in which a control of COSTLY moves: between two such
# moves curves are cached, and what is on trial is the link.
STATES = {
    "overview": (30, 0.9),
    "decide": (10, 0.1),
    "dimension": (35, 0.9),
    "selection": (30, 0.06),
    "audit": (25, 0.2),
    "perturbation": (20, 0.06),
    "geometry": (15, 0.06),
    "multiclass": (10, 0.06),
    "survey": (10, 0.9),
    "papers": (15, 0.9),
}
COSTLY = ("epsilon", "delta", "n", "p", "lam", "m", "seed", "records", "class_records", "mechanism", "C", "columns")
COSTLY += ("at_hand",)
# Values are drawn up to here.
AT_MOST = {"n": 300, "p": 512, "runs": 2_000, "T": 32, "steps_of_stream": 200, "steps": 10_000, "C": 3, "columns": 2}
SEEDS = (7, 0, 10**6)
LASTING = 120.0


def drawn(app: AppTest) -> dict[str, tuple[Control, Any]]:
    """The controls that the page has drawn, with their values; the row with the link itself left out."""
    found = dict(app.session_state[share_link.HELD].drawn)
    found.pop(share_link.BEHIND)
    return found


def values(app: AppTest) -> dict[str, Any]:
    return {key: value for key, (_, value) in drawn(app).items()}


def pictures(app: AppTest) -> list[dict[str, Any]]:
    """All but where the pictures beside them are, which is another address in each session."""
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    return [{key: value for key, value in picture.items() if key != "ahead"} for picture in sent]


def follow(page: str, query: str) -> AppTest:
    """A fresh session at this address."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=LASTING)
    app.query_params.update(parse_qs(query, keep_blank_values=True))
    return finished(turn_to(app, SCRIPTS[page]).run())


def offered(app: AppTest) -> str:
    """What the link that the page offers says after its question mark."""
    return urlsplit(app.code[-1].value).query


def remarks(app: AppTest) -> str:
    """The note at the top of the page, as a reader sees it."""
    found = [e.proto.body for e in app.get("html") if "Ignored in this link" in e.proto.body]
    assert len(found) <= 1
    return html.unescape(re.sub("<[^>]*>", "", found[0])) if found else ""


def cheap(control: Control) -> list[Any]:
    """The legal values to draw from."""
    if isinstance(control.options, range):
        return [seed for seed in SEEDS if seed in control.options]
    most = AT_MOST.get(control.key, math.inf)
    allowed = [option for option in control.options if isinstance(option, str) or option <= most]
    return allowed or list(control.options[:1])


def moved(control: Control, value: Any, share: float, draw: random.Random) -> Any:
    """Another legal value, or the same; often the default, which Streamlit leaves out of the address bar."""
    allowed = cheap(control)
    if control.key in COSTLY and value in allowed and draw.random() >= share:
        return value
    return control.default if control.default in allowed and draw.random() < 0.3 else draw.choice(allowed)


def walk(page: str, states: int, share: float) -> Iterator[AppTest]:
    """One session in random states; the controls that a state brings are moved in the next."""
    draw = random.Random(page)
    app = open_app(SCRIPTS[page], n=300, runs=AT_MOST["runs"], behind="Link")
    for _ in range(states):
        for key, (control, value) in drawn(app).items():
            app.session_state[key] = moved(control, value, share, draw)
        yield finished(app.run())


# A twentieth of the states in every run, all of them by night.
PARTS = [
    *((page, 1 / 20) for page in STATES),
    *(pytest.param(page, 1.0, marks=pytest.mark.nightly) for page in STATES),
]


@pytest.mark.parametrize(("page", "part"), PARTS)
def test_every_link_leads_to_identical_charts(page, part, few_runs):
    states, share = STATES[page]
    seen = set()
    for app in walk(page, math.ceil(part * states), share):
        link = offered(app)
        seen.add(link)
        fresh = follow(page, link)
        assert values(fresh) == values(app), link
        assert pictures(fresh) == pictures(app), link
        assert remarks(fresh) == "", link
    # Papers has few controls: chance repeats a third of its states.
    assert len(seen) >= 0.5 * part * states


def test_no_link_names_an_upload_and_every_other_control_is_in_it():
    """A control at its default is named as well: a later default must change no old link."""
    records = Control("records", "Records", ("synthetic", "iris", "upload-4711"), "synthetic")
    n, m = Control("n", "records", (200, 5000), 200, "{:,}".format), Control("m", "draws", ("auto", 1), "auto")
    leak = Control("leak", "Published", ("median", "curve"), None)
    for chosen, named in (
        ("upload-4711", {}),
        ("iris", {"records": ["iris"]}),
        ("synthetic", {"records": ["synthetic"]}),
    ):
        link = share_link.query({"records": (records, chosen), "n": (n, 5000), "m": (m, "auto"), "leak": (leak, None)})
        expected = {"n": ["5,000"], "m": ["auto"], "leak": [""], "v": [__version__]}
        assert parse_qs(link, keep_blank_values=True) == named | expected


SIZES = "not one of 200, 300, …, 10,000: 2,000 is shown"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", ""),
        (f"n=500&delta=10⁻⁵&side=Releases&v={__version__}&hide=delta,lam", ""),
        ("lecture=perturbation&step=2", ""),
        ("colour=red", "colour = red (no such control here)"),
        ("n=17", f"n = 17 ({SIZES})"),
        ("n=200&n=500", f"n = 200, 500 ({SIZES})"),
        ("seed=1e999", "seed = 1e999 (not one of 0, 1, …, 1000000: 7 is shown)"),
        ("noise=purple", "noise = purple (not one of Gaussian, Gamma: Gaussian is shown)"),
        ("noise=", "noise = nothing (not one of Gaussian, Gamma: Gaussian is shown)"),
        ("v=9.9", "v = 9.9 (made by another version: numbers may differ)"),
        ("hide=delta,shoe", "hide = shoe (no such control here)"),
        ("x=%3Cimg%20src=x%20onerror=alert(1)%3E", "x = <img src=x onerror=alert(1)> (no such control here)"),
        ("x=%00%E2%80%AE%0Ay", "x = \ufffd\ufffd\ufffdy (no such control here)"),
        (f"x={'y' * 5000}", f"x = {'y' * 39}… (no such control here)"),
        (
            "&".join(f"x{i}=y" for i in range(9)),
            "; ".join(f"x{i} = y (no such control here)" for i in range(6)) + "; 3 more",
        ),
    ],
)
def test_what_a_link_says_in_vain_is_told_once_and_harms_nothing(query, told):
    app = follow("perturbation", query)
    assert remarks(app) == (f"Ignored in this link: {told}." if told else "")
    if told:
        raw = next(e.proto.body for e in app.get("html") if "Ignored in this link" in e.proto.body)
        assert "<img" not in raw
        app.button(key="dismiss_ignored").click().run()
        assert remarks(app) == "" and not app.exception


def hidden(app: AppTest) -> set[str]:
    styles = " ".join(e.proto.body for e in app.get("html"))
    return set(re.findall(r"st-key-block_(\w+), \.st-key-\1 \{ display: none", styles))


def test_hidden_controls_keep_their_values_and_stay_hidden_on_every_page():
    app = follow("perturbation", "hide=delta,noise,on&delta=10⁻⁵&n=300&noise=Gamma")
    assert hidden(app) == {"delta", "noise"} and values(app)["delta"] == 1e-5 and values(app)["noise"] == "gamma"
    app.select_slider(key="epsilon").set_value(2.0).run()
    assert hidden(app) == {"delta", "noise"}
    app.switch_page(SCRIPTS["selection"]).run()
    assert hidden(app) == {"delta", "on"} and app.query_params["hide"] == "delta,noise,on"
    app.session_state["behind"] = "Link"
    assert "hide=on,delta" in offered(app.run())


def test_a_note_is_gone_with_its_page():
    app = follow("perturbation", "colour=red&n=300")
    assert remarks(app)
    assert remarks(app.switch_page(SCRIPTS["dimension"]).run()) == ""


def test_controls_are_bound_to_the_address_in_one_place_only():
    bound = [file for file in (ROOT / "pages").rglob("*.py") if re.search(r"""bind["']?\s*[:=]""", file.read_text())]
    assert {file.name for file in bound} == {"share_link.py", "url_controls.py"}
