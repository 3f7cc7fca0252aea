"""Pictures of a page on three screens, light and dark: python tools/screenshots.py OUTDIR [--path /]."""

import argparse
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a script, from anywhere

from tests.harness import FLAGS, REMEDIES, ROOT, find_browser, serve

SCREENS = ((1440, 900), (1024, 768), (390, 844))
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def take(page: Page, folder: Path, name: str) -> None:
    """Save what fits on the screen, then the whole page."""
    page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=60_000)
    page.wait_for_timeout(500)  # fonts, and figures further down
    page.screenshot(path=folder / f"{name}.png")
    # Streamlit scrolls inside the window, so that only a taller window shows more.
    screen = page.viewport_size
    height = page.evaluate(
        """Math.max(...[...document.querySelectorAll("[data-testid=stMain], [data-testid=stSidebarContent]")]
            .filter(it => it.getBoundingClientRect().right > 0).map(it => it.scrollHeight))"""
    )
    assert screen
    page.set_viewport_size({"width": screen["width"], "height": max(height, screen["height"])})
    page.wait_for_timeout(500)
    page.screenshot(path=folder / f"{name}-full.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--path", default="/", help="address of the page (default: /)")
    arguments = parser.parse_args()
    executable = find_browser()
    if executable is None:
        sys.exit(f"No browser was found; any of these helps: {'; '.join(REMEDIES)}.")
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    page_name = arguments.path.strip("/").replace("/", "-") or "overview"
    with serve(ROOT / "app.py") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        for width, height in SCREENS:
            for scheme in SCHEMES:
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.goto(f"{server.url}/{arguments.path.lstrip('/')}")
                take(page, arguments.outdir, f"{page_name}-{width}-{scheme}")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
