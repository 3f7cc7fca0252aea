"""Milliseconds from a key press on a slider to the frame that shows the new picture, in a real browser.

    python -m benchmarks live_slider [--moves 15] [--pages overview,...] [--unforeseen] [--checkout FOLDER ...]

This checkout, and others that are named, each from its own server, with moves in turns: epsilon step by step over new
values, whose pictures may be drawn ahead while the reader rests (step), back over the same ones (back), and delta, not
moved before, over new values (delta, seven moves at most). "Page" is the time until nothing in it changes any more:
texts, and charts once again. A frame is blank if the first chart of the page has no drawing or no height in it. A move
whose picture does not change within 30 s is counted as missed. With --unforeseen nothing is drawn ahead, and epsilon,
delta and n move to values that nobody foresaw. Needs a browser, as the tests do (tests/harness.py).
"""

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from playwright.sync_api import TimeoutError as TooSlow

from dpcore.core.facts import text_beside
from tests.harness import FLAGS, ROOT, find_browser, serve
from tests.page_driver import LIVE

NUMBERS = ("p50", "p95", "max", "page", "missed", "blank frames")
# name, slider, key to press
WALKS = (("step", "epsilon", "ArrowRight"), ("back", "epsilon", "ArrowLeft"), ("delta", "delta", "ArrowRight"))
NEW_WALKS = tuple((slider, slider, "ArrowRight") for slider in ("epsilon", "delta", "n"))
START, DELTA_MOVES = "epsilon=0.02&delta=10⁻¹⁰", 7
REST_MS = 500  # without a change: more than there is between two messages of one script
WATCH = text_beside(__file__, "watch.js")


def move(page: Page, slider: str, stroke: str) -> tuple[float, float] | None:
    """Milliseconds until the picture differs, and until the page is at rest; None if the picture never does."""
    page.locator(f".st-key-{slider} input[type=range]").press(stroke)
    try:
        page.wait_for_function("watch.took !== null", timeout=30_000)
    except TooSlow:
        return None
    page.wait_for_function(f"performance.now() - watch.changed > {REST_MS}", timeout=30_000)
    took, whole = page.evaluate("[watch.took, watch.changed - watch.pressed]")
    return took, max(took, whole)


def at_end(page: Page, slider: str) -> bool:
    """True if a slider stands at its last place."""
    handle = page.locator(f".st-key-{slider} input[type=range]")
    return handle.input_value() == handle.get_attribute("max")


def prepare(page: Page, url: str) -> None:
    """Open a page and start to watch."""
    page.goto(url)
    page.wait_for_selector(".js-plotly-plot .main-svg", timeout=120_000)
    page.wait_for_timeout(5_000)  # what a page computes after its first picture
    page.evaluate(WATCH)


def summary(times: Sequence[tuple[float, float] | None]) -> dict[str, float]:
    seen = [time for time in times if time is not None]
    took, whole = np.array(seen or [(np.nan, np.nan)]).T
    p50, p95, most = np.percentile(took, [50, 95, 100])
    return {"p50": p50, "p95": p95, "max": most, "page": float(np.median(whole)), "missed": len(times) - len(seen)}


def compare(
    pages: Mapping[str, Page], addresses: Mapping[str, str], walks: Sequence[tuple[str, str, str]], moves: int
) -> list[dict[str, Any]]:
    """Walk the sliders that all have in turns: a row for each page and walk."""
    for who, page in pages.items():
        prepare(page, addresses[who])
    rows: list[dict[str, Any]] = []
    for kind, slider, stroke in walks:
        if not all(page.locator(f".st-key-{slider} input[type=range]").is_enabled() for page in pages.values()):
            continue
        times: dict[str, list[tuple[float, float] | None]] = {who: [] for who in pages}
        for _ in range(min(moves, DELTA_MOVES) if slider == "delta" else moves):
            if any(stroke == "ArrowRight" and at_end(page, slider) for page in pages.values()):
                break
            for who, page in pages.items():
                page.bring_to_front()
                times[who].append(move(page, slider, stroke))
        rows += [{"who": who, "walk": kind, **summary(times[who])} for who in pages]
    return [row | {"blank frames": pages[row["who"]].evaluate("watch.blank")} for row in rows]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks live_slider",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--moves", type=int, default=15)
    parser.add_argument("--pages", default=",".join(LIVE))
    parser.add_argument("--unforeseen", action="store_true", help="moves with nothing drawn ahead")
    parser.add_argument("--checkout", type=Path, action="append", default=[], help="another checkout, in turns")
    words = parser.parse_args(arguments)
    print("| page | checkout | walk | p50 ms | p95 ms | max ms | page, p50 ms | missed | blank frames |")
    print("|---" * 9 + "|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        for name in words.pages.split(","):
            with contextlib.ExitStack() as stack:  # new servers, which know nothing
                folders = (ROOT, *words.checkout)
                servers = {str(each): stack.enter_context(serve(each.resolve() / "app.py")) for each in folders}
                # The pages' policy would forbid Playwright's own waiting, which evaluates strings.
                pages = {who: browser.new_page(bypass_csp=True) for who in servers}
                for page in pages.values() if words.unforeseen else ():
                    page.route("**/ahead/**", lambda route: route.fulfill(status=204))
                path = f"{'' if name == 'overview' else name}?{START}"
                addresses = {who: f"{server.url}/{path}" for who, server in servers.items()}
                for row in compare(pages, addresses, NEW_WALKS if words.unforeseen else WALKS, words.moves):
                    numbers = " | ".join(f"{row[key]:.0f}" for key in NUMBERS)
                    print(f"| {name} | {row['who']} | {row['walk']} | {numbers} |", flush=True)
                for page in pages.values():
                    page.close()
