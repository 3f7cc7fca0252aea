"""What must not change while code is moved and rewritten: store it, and compare it later.

    python -m tools.golden store DIR      compute everything by seed and keep it in DIR
    python -m tools.golden compare DIR    compute it anew; exit status 1 and a list where anything differs

--only FAMILY: one of the families below, or "pages" for all pages. --within REL: how far numbers may be apart, as a
share of the larger one; without it they are equal bit for bit. --ignore-words: texts may differ. DIR is .golden where
it is left out. A family's entries are kept in a file of their own.
"""

import argparse
import base64
import dataclasses as dc
import html
import json
import logging
import math
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore.audit.bugs import BUGS
from dpcore.core.blas import one_blas_thread
from dpcore.core.losses import LOSSES
from dpcore.core.sets import SETS
from dpcore.data import SOURCES
from dpcore.figures.sources.reproductions import reproduction_figure
from dpcore.mechanisms import mechanism_class
from dpcore.studies.decide.repeated_releases import several
from dpcore.studies.papers.errata import recomputed
from dpcore.studies.papers.exhibits import EXHIBITS
from dpcore.studies.papers.reproductions import REPRODUCTIONS, get_reproduction
from tests.harness import ROOT
from tests.page_driver import SCRIPTS, turn_to

# Where the dashboard's main script is, and what a session holds of it: key -> (control, value) of the last run, who
# watches work in the background, and how the keys of such work end.
MAIN = ROOT / "pages" / "main.py"
PAGES = tuple(SCRIPTS.values())  # in the order of the navigation
CONTROLS, WATCHER, BACKGROUND = "controls in the link", "watcher", " in the background"

DEFAULT = ".golden"
PLANS, STATES, RUNS = 1_500, 10, 2_000
MOST_STEPS = 2_000  # of a plan whose releases are composed
# Of a control's numbers, and of the columns of the records that it picks, so that no state takes minutes.
LARGEST, MOST_COLUMNS = 2_000, 40
LONGEST_SECONDS = 300.0  # until a page is finished
MOST_LINES = 60
VARYING = ("seconds", "versions")  # fields that no seed decides
# Keys of a figure whose texts are words; what stands elsewhere says how to draw.
WORDS = {"customdata", "hovertemplate", "name", "text", "ticktext"}
ABSENT = "(not there)"

Entries = Iterator[tuple[str, Any]]


# What is computed


def experiments() -> Entries:
    """The table of each mechanism and loss on each source of the loss's task."""
    for key in dpcore.list_mechanisms():
        for loss in LOSSES.values():
            for source in SOURCES.values():
                if source.task == loss.task:
                    yield f"{key}/{loss.key}/{source.key}", _or_reason(_table, key, loss.key, source)


def _table(key: str, loss: str, source: Any) -> Any:
    return dpcore.run(
        dpcore.Experiment(
            dpcore.Problem(source.key, n=100, p=source.p, loss=loss),
            mechanisms=(key,),
            sweep=dpcore.Axis("epsilon", (0.5, 2.0)),
            repetitions=3,
            population=source.size is None and source.set == "ball" and source.task != "location",
        )
    )


def releases() -> Entries:
    """One seeded release of each mechanism, loss and accounting."""
    X = np.random.default_rng(0).uniform(-0.25, 0.25, (60, 4))
    for key in dpcore.list_mechanisms():
        (knob,) = [field for field in dc.fields(mechanism_class(key)) if field.name == "accounting"]
        for loss in LOSSES.values():
            for accounting in knob.metadata["choices"]:
                yield f"{key}/{loss.key}/{accounting}", _or_reason(_release, key, X, loss, accounting)


def _release(key: str, X: Any, loss: Any, accounting: str) -> Any:
    asked = {"epsilon": 0.9, "delta": 1e-5, "loss": loss.key, "accounting": accounting}
    if loss.task == "classes":
        return dpcore.solve(key, X, np.arange(len(X)) % 3, classes=3, seed=0, **asked).theta
    return dpcore.solve(key, X, np.sign(X[:, 0]) if loss.classification else X[:, 0], seed=0, **asked).theta


def plans() -> Entries:
    """Random plans of all mechanisms, most of them legal, with bounds and the price of one and of ten releases."""
    keys = dpcore.list_mechanisms()
    for number in range(PLANS):
        key = keys[number % len(keys)]
        asked = _drawn(random.Random(number), key)
        yield f"{number}/{key}", {"asked": asked, "plan": _or_reason(_planned, key, asked)}


def _drawn(draw: random.Random, key: str) -> dict[str, Any]:
    """Arguments of `calibrate`."""

    def sized(low: float, high: float) -> float:
        return float(10.0 ** draw.uniform(low, high))

    cls = mechanism_class(key)
    asked: dict[str, Any] = {
        "n": int(sized(0.31, 3.5)),
        "p": int(sized(0.0, 1.7)),
        "epsilon": sized(-2.0, 1.3),
        "delta": draw.choice((0.0, 1e-5, sized(-12.0, -2.0), sized(-12.0, -2.0))),
        "loss": draw.choice(tuple(LOSSES)) if draw.random() < 0.4 else None,
        "set": draw.choice(tuple(SETS)) if draw.random() < 0.25 else None,
        "radius": draw.choice((None, sized(-2.0, 2.0))),
        "R": draw.choice((1.0, 1.0, sized(-2.0, 2.0))),
        "y_max": draw.choice((1.0, 1.0, sized(0.0, 2.0))),
        "lam": draw.choice(("auto", "auto", "population", 0.0, sized(-5.0, 2.0))),
    }
    if LOSSES[asked["loss"] or cls.usual_loss].task == "classes":
        asked["classes"] = draw.choice((2, 3, 5))
    for field in dc.fields(cls):
        if field.metadata.get("choices") and draw.random() < 0.4:
            asked[field.name] = draw.choice(field.metadata["choices"])
    return asked


def _planned(key: str, asked: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        plan = dpcore.calibrate(key, **asked)
    found: dict[str, Any] = {"plan": plan, "warnings": [str(each.message) for each in warned]}
    if plan.steps <= MOST_STEPS:
        found["bounds"] = _or_reason(dpcore.bounds_of, plan)
        found["attack limit"] = _or_reason(plan.mechanism.attack_limit, plan)
        for count in (1, 10):
            found[f"{count} releases"] = _or_reason(_composed, plan, count)
    return found


def _composed(plan: dpcore.Plan, releases: int) -> dict[str, Any]:
    found = several(plan, releases)
    return {field.name: getattr(found, field.name) for field in dc.fields(found) if field.name != "curve"}


def audits() -> Entries:
    """Every mechanism, honest and with each mistake built in."""
    for key in dpcore.list_mechanisms():
        for bug in (None, *BUGS):
            yield f"{key}/{bug or 'honest'}", _or_reason(_audit, key, bug)


def _audit(key: str, bug: str | None) -> Any:
    return dpcore.run_audit(key, runs=RUNS, bug=bug).facts()


def papers() -> Entries:
    """Errata with their numbers, and exhibits."""
    for erratum in recomputed():
        yield f"errata/{erratum.name}", {"printed": erratum.printed, "right": erratum.right, "words": erratum.sentence}
    for key in EXHIBITS:
        found = dpcore.run_exhibit(key)
        yield f"exhibits/{key}", {"found": found, "words": found.sentence}


def reproductions() -> Entries:
    """Each with the few repetitions of a first look, or with one where even these take long."""
    for name in REPRODUCTIONS:
        chosen = get_reproduction(name)
        outcome = chosen.run(None, runs=chosen.few or 1, seed=0, told=lambda progress: None)
        yield (
            name,
            {
                "records": outcome.records,
                "table": outcome.table,
                "claims": outcome.claims,
                "figure": figure_of(reproduction_figure(outcome.chart, theme="light").to_json()),
            },
        )


def pages(place: int) -> Entries:
    """One page, by its place in the navigation: as it opens, and in random states."""
    script = PAGES[place]
    page = _opened(script, {})
    controls = _controls(page)
    yield f"{place}/default", _seen(page)
    for number in range(STATES):
        draw = random.Random(f"{place} {number}")
        state = {key: _option(draw, control, number) for key, control in controls.items()}
        page = _opened(script, state)
        # A view may have controls that the default one has not.
        more = {key: _option(draw, control, number) for key, control in _controls(page).items() if key not in state}
        if more:
            page = _opened(script, state | more)
        yield f"{place}/{number}", _seen(page)


def _opened(script: str, state: dict[str, Any]) -> AppTest:
    page = AppTest.from_file(str(MAIN), default_timeout=LONGEST_SECONDS)
    turn_to(page, script)
    for key, value in state.items():
        page.session_state[key] = value
    return page.run()


def _controls(page: AppTest) -> dict[str, Any]:
    """The controls that the page has drawn."""
    return {key: control for key, (control, _) in page.session_state[CONTROLS].items()}


def _option(draw: random.Random, control: Any, number: int) -> Any:
    """A value for this state. What is picked by name takes turns from state to state, so that each is seen."""
    if isinstance(control.options, range):
        return draw.choice(control.options[:LARGEST])
    options = [option for option in control.options if _is_small(option)]
    if control.many:
        return [option for option in options if draw.random() < 0.5]
    if all(isinstance(option, str) for option in options):
        start = random.Random(len(options)).randrange(len(options))
        return options[(start + number) % len(options)]
    return draw.choice(options or list(control.options))


def _is_small(option: Any) -> bool:
    if option in SOURCES:
        return (SOURCES[option].p or 0) <= MOST_COLUMNS
    return isinstance(option, str) or bool(option <= LARGEST)


def _seen(page: AppTest) -> dict[str, Any]:
    """What a page shows once nothing more is computed for it, and once more when it runs again."""
    deadline, before = time.monotonic() + LONGEST_SECONDS, ""
    while time.monotonic() < deadline:
        _watch(page)
        page.run()
        shown = _shown(page)
        now = json.dumps(plain(shown))
        if now == before and all(held.finished for held in _background(page)):
            return shown
        before = now
    raise TimeoutError(f"a page must be finished within {LONGEST_SECONDS:g} s, got one that is not: run it alone")


def _watch(page: AppTest) -> None:
    """Keep what is computed in the background alive until it is there, or for some seconds: a run of the page asks
    again for what was given up all the same."""
    until = time.monotonic() + 5.0
    while time.monotonic() < until and any(not held.finished for held in _background(page)):
        for held in _background(page):
            held.watch(page.session_state[WATCHER])
        time.sleep(0.02)


def _shown(page: AppTest) -> dict[str, Any]:
    told = [element.proto.body for element in [*page.markdown, *page.caption, *page.get("html")]]
    charts = [json.loads(element.proto.json) for element in page.get("bidi_component") if element.proto.json]
    return {
        "controls": {key: control.written(value) for key, (control, value) in page.session_state[CONTROLS].items()},
        "errors": [error.value for error in page.exception],
        "texts": [text for text in map(_as_read, told) if text],
        "tables": [frame.value for frame in page.dataframe],
        "charts": [
            {"alt": chart["alt"], "figure": figure_of(chart["figure"])} for chart in charts if "figure" in chart
        ],
    }


def _background(page: AppTest) -> list[Any]:
    return [held for name, held in page.session_state.items() if str(name).endswith(BACKGROUND)]


def _as_read(text: str) -> str:
    """A text without its styles and tags."""
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", text)).strip()


def figure_of(sent: str) -> Any:
    """A figure's JSON with its arrays as lists, and numbers to twelve digits."""

    def read(value: Any) -> Any:
        if isinstance(value, dict) and "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            return read(array.tolist())
        if isinstance(value, dict):
            return {key: read(each) for key, each in value.items()}
        if isinstance(value, list):
            return [read(each) for each in value]
        return float(f"{value:.12g}") if isinstance(value, float) else value

    return read(json.loads(sent))


def _or_reason(compute: Callable[..., Any], *arguments: Any) -> Any:
    """What is computed, or why there is nothing."""
    try:
        return compute(*arguments)
    except (ValueError, dpcore.Unconverged) as reason:
        return {"refused": str(reason)}


# What takes longest comes first.
FAMILIES: dict[str, Callable[[], Entries]] = {
    **{f"pages-{place}": partial(pages, place) for place in range(len(PAGES))},
    "reproductions": reproductions,
    "audits": audits,
    "plans": plans,
    "experiments": experiments,
    "papers": papers,
    "releases": releases,
}


def computed(family: str) -> tuple[dict[str, Any], float]:
    """All entries of a family, as JSON holds them, and the seconds that they took."""
    started = time.perf_counter()
    made = {name: plain(found) for name, found in FAMILIES[family]()}
    read: dict[str, Any] = json.loads(json.dumps(made))  # keys become texts
    return read, time.perf_counter() - started


def plain(value: Any) -> Any:
    """A value as what JSON can hold; fields that no seed decides are left out."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a table
        value = value.to_dict("list")
    if dc.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dc.fields(value)}
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items() if name not in VARYING}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# What differs


@dc.dataclass(frozen=True)
class Difference:
    """field: where in the entry; words: whether it is a text that differs."""

    entry: str
    field: str
    was: Any
    now: Any
    words: bool

    @property
    def apart(self) -> float:
        """How far two numbers are apart, as a share of the larger one; inf for anything else."""
        if not (_is_number(self.was) and _is_number(self.now)):
            return math.inf
        return float(abs(self.was - self.now) / max(abs(self.was), abs(self.now)))


def differences(was: Any, now: Any, within: float, entry: str, field: str = "") -> Iterator[Difference]:
    """All places in which two entries differ.

    >>> [d.field for d in differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.1]}, 0.0, "plans/1")]
    ['a.1']
    """
    if isinstance(was, dict) and isinstance(now, dict):
        pairs = [(key, was.get(key, ABSENT), now.get(key, ABSENT)) for key in {**was, **now}]
    elif isinstance(was, list) and isinstance(now, list):
        pairs = [(str(place), *pair) for place, pair in enumerate(zip_longest(was, now, fillvalue=ABSENT))]
    elif _agree(was, now, within):
        return
    else:
        path = field.split(".")
        words = isinstance(was, str) and isinstance(now, str) and not ("figure" in path and WORDS.isdisjoint(path))
        yield Difference(entry, field, was, now, words)
        return
    for key, one, other in pairs:
        yield from differences(one, other, within, entry, f"{field}.{key}".lstrip("."))


def _agree(was: Any, now: Any, within: float) -> bool:
    if _is_number(was) and _is_number(now):
        return was == now or abs(was - now) <= within * max(abs(was), abs(now)) or (was != was and now != now)
    return type(was) is type(now) and bool(was == now)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def leaves(value: Any) -> int:
    """How many values there are.

    >>> leaves({"a": [1.0, 2.0], "b": None})
    3
    """
    if isinstance(value, dict):
        return sum(map(leaves, value.values()))
    return sum(map(leaves, value)) if isinstance(value, list) else 1


def report(found: list[Difference]) -> list[str]:
    """A line for each field, the places of a list together: the first that differs, and how far the worst is apart."""
    grouped: dict[tuple[str, str], list[Difference]] = {}
    for each in found:
        grouped.setdefault((each.entry, re.sub(r"(\.\d+)+$", "", each.field)), []).append(each)
    lines = []
    for (entry, field), (first, *others) in grouped.items():
        line = f"{entry}: {first.field if not others else field}: was {_short(first.was)}, is {_short(first.now)}"
        far = [each.apart for each in (first, *others) if math.isfinite(each.apart)]
        line += f"; {len(others)} more" if others else ""
        lines.append(line + (f"; {max(far):.2g} apart" if far else ""))
    shown = lines[:MOST_LINES]
    return shown + ([f"... and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else [])


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


# The command


def results(wanted: Iterable[str]) -> Iterator[tuple[dict[str, Any], float]]:
    """`computed` of each family, from two processes."""
    with ProcessPoolExecutor(2, get_context("spawn"), _begin) as pool:
        yield from pool.map(computed, wanted)


def _begin() -> None:
    one_blas_thread()
    logging.disable(logging.WARNING)  # pages that run without a server warn all the time


def main(arguments: list[str] | None = None) -> int:
    assert __doc__
    first, *others = __doc__.split("\n\n")
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m tools.golden", description=first, epilog="\n".join(others), formatter_class=form
    )
    parser.add_argument("command", choices=("store", "compare"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path(DEFAULT))
    parser.add_argument("--only", choices=("pages", *FAMILIES), metavar="FAMILY")
    parser.add_argument("--within", type=float, default=0.0)
    parser.add_argument("--ignore-words", action="store_true")
    asked = parser.parse_args(arguments)
    wanted = [family for family in FAMILIES if asked.only in (None, family, family.split("-")[0])]
    files = [asked.folder / f"{family}.json" for family in wanted]
    if asked.command == "store":
        asked.folder.mkdir(parents=True, exist_ok=True)
    elif missing := [file.name for file in files if not file.exists()]:
        parser.error(f"DIR must hold {missing[0]}, got {asked.folder} without it; store first")
    entries = values = 0
    found: list[Difference] = []
    for family, file, (made, seconds) in zip(wanted, files, results(wanted), strict=True):
        print(f"{family}: {len(made):,} entries in {seconds:.0f} s", flush=True)
        entries, values = entries + len(made), values + leaves(made)
        if asked.command == "store":
            file.write_text(json.dumps(made))
            continue
        kept = json.loads(file.read_text())
        for name in {**kept, **made}:
            found += differences(kept.get(name, ABSENT), made.get(name, ABSENT), asked.within, f"{family}/{name}")
    words = [each for each in found if each.words]
    numbers = [each for each in found if not each.words]
    shown = {"values": numbers, "words": [] if asked.ignore_words else words}
    for heading, listed in shown.items():
        if listed:
            print("\n".join([f"{heading} that differ:", *report(listed)]))
    differ = any(shown.values())
    counted = f"golden: {values:,} values in {entries:,} entries"
    if asked.command == "store":
        print(f"{counted} kept")
    elif differ:
        print(f"{counted}: {len(numbers):,} values and {len(words):,} texts differ")
    else:
        print(f"{counted} equal" + (f" but for {len(words):,} texts" if words else ""))
    return int(differ)


if __name__ == "__main__":
    # By the module's name, not as __main__, in whose place pages are put when they run.
    from tools.golden import main as run

    sys.exit(run())
