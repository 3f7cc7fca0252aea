"""Links: a page's link leads a fresh session to identical charts, and what a link says in vain is told."""

from __future__ import annotations

import html
import json
import math
import random
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from dpcore import __version__
from dpcore.core.facts import facts_beside
from pages.background.jobs import Job
from pages.decide.words import mechanisms
from pages.lectures.stories import STORIES
from pages.ui import share_link
from pages.ui.share_link import Control
from tests.harness import ROOT
from tests.page_driver import SCRIPTS, open_app, turn_to

# Random states of each page, together 200, and the share of them in which a control of COSTLY moves: between two such
# moves curves are cached, and what is on trial is the link.
STATES = {
    "overview": (30, 0.9),
    "decide": (10, 0.1),
    "dimension": (35, 0.9),
    "sparsity": (30, 0.06),
    "audit": (25, 0.2),
    "perturbation": (20, 0.06),
    "geometry": (15, 0.06),
    "multiclass": (10, 0.06),
    "survey": (10, 0.9),
    "sources": (15, 0.9),
}
COSTLY = (
    "epsilon",
    "delta",
    "n",
    "p",
    "lam",
    "m",
    "seed",
    "records",
    "class_records",
    "mechanism",
    "C",
    "columns",
    "way",
    "at_hand",
)
# Values are drawn up to here; every value of every control is read back without being drawn.
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


def settled(app: AppTest) -> AppTest:
    """Wait, as a browser does, for what is computed in the background, until the page is drawn with all of it."""
    deadline, answered = time.monotonic() + LASTING, list[Job]()
    while (asked := jobs_of(app)) != answered:
        while not all(job.finished for job in asked):
            for job in asked:
                job.watch(app.session_state["watcher"])
            time.sleep(0.01)
            assert time.monotonic() < deadline
        answered = asked
        app.run()
    return app


def jobs_of(app: AppTest) -> list[Job]:
    assert not app.exception, app.exception
    return [job for held in held_in_the_background(app) for job in getattr(held, "jobs", {"": held}).values()]


def held_in_the_background(app: AppTest) -> list[Any]:
    return [held for key, held in app.session_state.to_dict().items() if key.endswith("in the background")]


def under_way(app: AppTest) -> bool:
    """Whether something is still computed in the background."""
    assert not app.exception, app.exception
    return not all(held.finished for held in held_in_the_background(app))


def follow(page: str, query: str) -> AppTest:
    """A fresh session at this address."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=LASTING)
    app.query_params.update(parse_qs(query, keep_blank_values=True))
    return settled(turn_to(app, SCRIPTS[page]).run())


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
    """Another legal value, or the same; often the default, which links write in their own way."""
    if control.many:
        return [option for option in control.options if draw.random() < 0.5]
    allowed = cheap(control)
    if control.key in COSTLY and value in allowed and draw.random() >= share:
        return value
    return control.default if control.default in allowed and draw.random() < 0.3 else draw.choice(allowed)


def walk(page: str, states: int, share: float, visit: Callable[[AppTest], None]) -> None:
    """Take one session through random states; the controls that a state brings are moved in the next."""
    draw = random.Random(page)
    app = open_app(SCRIPTS[page], n=300, runs=AT_MOST["runs"], behind="Link")
    for _ in range(states):
        for key, (control, value) in drawn(app).items():
            app.session_state[key] = moved(control, value, share, draw)
        visit(settled(app.run()))


def read_back(control: Control) -> None:
    """Every value is understood as the address bar writes it, and as a link writes a default."""
    some = control.options[::9973] if isinstance(control.options, range) else control.options
    for value in [[], list(some), list(some[-1:])] if control.many else some:
        assert control.read(control.written(value)) == value
        assert control.read([str(option) for option in control.chosen(value)]) == value


def same_in_a_fresh_session(page: str, app: AppTest) -> None:
    fresh = follow(page, offered(app))
    assert values(fresh) == values(app), offered(app)
    assert pictures(fresh) == pictures(app), offered(app)
    assert remarks(fresh) == "", offered(app)


def test_two_hundred_states_are_visited():
    assert sum(states for states, _ in STATES.values()) == 200


# A twentieth of the states in every run, all of them by night.
PARTS = [
    *((page, 1 / 20) for page in STATES),
    *(pytest.param(page, 1.0, marks=pytest.mark.nightly) for page in STATES),
]


@pytest.mark.parametrize(("page", "part"), PARTS)
def test_every_link_leads_to_identical_charts(page, part, few_runs):
    controls: dict[str, Control] = {}
    seen = []

    def visit(app: AppTest) -> None:
        controls.update({key: control for key, (control, _) in drawn(app).items()})
        seen.append(offered(app))
        same_in_a_fresh_session(page, app)

    states, share = STATES[page]
    walk(page, math.ceil(part * states), share, visit)
    # Sources has few controls: chance repeats a third of its states.
    assert len(set(seen)) >= 0.5 * part * states
    for control in controls.values():
        read_back(control)


def test_no_link_names_an_upload_and_every_other_control_is_in_it():
    """What stands at its default is named as well: a later default must change no old link."""
    records = Control("records", "Records", ("synthetic", "iris", "upload-4711"), "synthetic")
    n, m = Control("n", "people", (200, 5000), 200, "{:,}".format), Control("m", "samples", ("auto", 1), "auto")
    for chosen, named in (("upload-4711", None), ("iris", "iris"), ("synthetic", "synthetic")):
        link = share_link.query({"records": (records, chosen), "n": (n, 5000), "m": (m, "auto")})
        assert "4711" not in link
        said = share_link.arrival("Perturbation", parse_qs(link)).said
        wanted = {"n": ["5,000"], "m": ["auto"]} | ({"records": [named]} if named else {})
        assert {key: texts for key, (texts, _) in said.items()} == wanted


@pytest.mark.parametrize("key", ["epsilon", "lam", "source"])
def test_a_control_that_is_missing_in_the_link_is_found_out(key, monkeypatch):
    whole = share_link.query
    monkeypatch.setattr(share_link, "query", lambda d, hide=(): whole({k: v for k, v in d.items() if k != key}, hide))
    with pytest.raises(AssertionError):
        walk("overview", 12, 1.0, lambda app: same_in_a_fresh_session("overview", app))


FULL = "defaults=m:auto~side:Releases&n=500"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", ""),
        (f"{FULL}&v={__version__}", ""),
        (f"{FULL}&lecture=perturbation&step=2", ""),
        ("hide=delta,lam", ""),
        ("delta=1e-5&n=2000&records=breast_cancer&layers=plain&lam=population", ""),  # values instead of labels
        ("colour=red", "colour = red (no such control here)"),
        ("n=17", "n = 17 (not on the scale: 1,000 is shown)"),
        ("seed=-1", "seed = -1 (not on the scale: 7 is shown)"),
        ("noise=purple", "noise = purple (not to be chosen: Gaussian is shown)"),
        ("n=200&n=500", "n = 200, 500 (given more than once: 1,000 is shown)"),
        ("records=upload-4711", "records = upload-4711 (uploads are not in links)"),
        (
            "defaults=side:Nowhere~m",
            "m = nothing (not on the scale: auto is shown); side = Nowhere (not to be chosen: Releases is shown)",
        ),
        ("defaults=~:~a:b:c", " = nothing (no such control here); a = b:c (no such control here)"),
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


OLD = [
    ("audit", "check=printed", {"check": "published"}),
    ("audit", "check=as+printed&n=17", {"check": "published"}),
    ("audit", "defaults=check:ledger~noise_of:lecture&steps=1&check=add+it+up", {"check": "ledger", "steps": 1}),
    ("audit", "mechanism=sampling+from+the+simplex&runs=1000", {"mechanism": "simplex_sampling", "runs": 1_000}),
    ("multiclass", "classifier=printed&beside_printed=Answers", {"beside_published": "Minimisers"}),
    ("multiclass", "classifier=as+printed&defaults=beside_printed:Answers", {"beside_published": "Minimisers"}),
    ("sources", "about=words&hide=beside_printed", {"about": "glossary"}),
    ("perturbation", "side=Door+zero&n=200", {"side": "No noise", "n": 200}),
    ("dimension", "noise_in=question&p=8&n=200", {"noise_in": "objective"}),
]


@pytest.mark.parametrize(("page", "query", "meant"), OLD)
def test_old_names_in_a_link_are_read_as_those_of_today(page, query, meant, few_runs):
    app = follow(page, query)
    assert meant.items() <= values(app).items()
    assert not any(f"{key} = " in remarks(app) for key in (*meant, "beside_printed"))
    assert "beside_printed" not in app.query_params
    reloaded = follow(page, urlencode(dict(app.query_params), doseq=True))
    assert values(reloaded) == values(app.run()), "the address bar says it as today"


# Views that a page does not begin with, and controls that only they have.
LATER = {
    "audit": ("check=ledger",),
    "sources": ("about=traces", "about=reproductions"),
    "sparsity": ("tab=simplex", "tab=streaming"),
    "multiclass": ("classifier=published",),
    "overview": ("place=output",),
    "geometry": ("view=n&p_norm=1.5", "view=n"),
}


def test_every_old_option_stands_for_one_of_today(few_runs):
    olds = facts_beside(share_link.__file__, "old_options.csv")
    known: dict[str, Control] = {}
    for page in STATES:
        for query in ("", *LATER.get(page, ())):
            known |= {key: control for key, (control, _) in drawn(follow(page, f"n=200&p=8&{query}")).items()}
    names = Control("lecture", "", [story.name for story in STORIES.values()], None)
    for control, row in ((known.get(row["control"], names), row) for row in olds):
        assert control.key == row["control"] and row["now"] in map(str, control.options), row
        with pytest.raises(ValueError):
            control.read([row["old"]])


@pytest.mark.parametrize("page", ["overview", "perturbation"])
def test_nonsense_of_every_kind_crashes_nothing(page):
    """Every control of a page said twice: empty, as binary, far too long."""
    keys = [*drawn(open_app(SCRIPTS[page], n=300, behind="Link")), "defaults", "hide", "v"]
    every = ("", "%00%ff%fe", "9" * 5000, "nan", "1e999", "[]", "~:,%25")
    for nonsense in every if page == "overview" else every[:2]:
        app = follow(page, "&".join([f"{key}={nonsense}&{key}={nonsense}" for key in keys]))
        assert 0 < len(re.findall(" = ", remarks(app))) <= share_link.MOST


@pytest.mark.parametrize(
    ("page", "query", "taken"),
    [
        (
            "perturbation",
            "delta=1e-5&n=2000&records=breast_cancer&layers=plain&lam=population&seed=08",
            {"delta": "10⁻⁵", "n": "2,000", "lam": "theory", "seed": "8", "layers": "non-private"},
        ),
        ("decide", "way=output_gaussian&give_up=5.0", {"way": mechanisms()["output_gaussian"], "give_up": "5"}),
        (
            "perturbation",
            "defaults=side:Path~m:20&n=300",
            {"side": "Descent path", "m": "20"},
        ),  # as another version had them
    ],
)
def test_a_link_written_by_hand_says_after_one_run_what_a_reload_understands(page, query, taken, few_runs):
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=LASTING)
    app.query_params.update(parse_qs(query))
    turn_to(app, SCRIPTS[page]).run()
    address = {key: said for key, said in app.query_params.items() if key != "defaults"}
    assert {key: "".join(address[key]) for key in taken} == taken
    reloaded = follow(page, urlencode(address, doseq=True))
    assert values(reloaded) == values(settled(app)) and remarks(reloaded) == ""


def hidden(app: AppTest) -> set[str]:
    styles = " ".join(e.proto.body for e in app.get("html"))
    return set(re.findall(r"st-key-block_(\w+), [^{]*\{ display: none", styles))


def test_hidden_controls_keep_their_values_and_stay_hidden_on_every_page():
    app = follow("perturbation", "hide=delta,layers,radius&delta=10⁻⁵&n=300&layers=upper")
    assert hidden(app) == {"delta", "layers"} and values(app)["delta"] == 1e-5 and values(app)["layers"] == ["upper"]
    app.select_slider(key="epsilon").set_value(2.0).run()
    assert hidden(app) == {"delta", "layers"}
    app.switch_page(SCRIPTS["sparsity"]).run()
    assert hidden(app) == {"delta", "layers", "radius"} and app.query_params["hide"] == "delta,layers,radius"
    app.session_state["behind"] = "Link"
    assert "hide=radius,delta,layers" in offered(app.run())


def test_a_note_is_gone_with_its_page():
    app = follow("perturbation", "colour=red&n=300")
    assert remarks(app)
    assert remarks(app.switch_page(SCRIPTS["dimension"]).run()) == ""


def test_controls_are_bound_to_the_address_in_one_place_only():
    bound = [file for file in (ROOT / "pages").rglob("*.py") if re.search(r"""bind["']?\s*[:=]""", file.read_text())]
    assert {file.name for file in bound} == {"share_link.py", "url_controls.py"}
