"""Looks at charts on screens of several sizes, of a page that is already open."""

from __future__ import annotations

from playwright.sync_api import Page

from .looks import BETWEEN, LARGE, PHONE, Chart, Screen, check_two_charts, settled


def check_open_charts(
    page: Page, charts: tuple[Chart, Chart], screens: tuple[Screen, ...] = (LARGE, BETWEEN, PHONE)
) -> None:
    """As `check_two_charts`, in the light; leaves the page on a large screen, with its charts at rest."""
    check_two_charts(lambda **_: page, lambda *_: charts, screens, "light", ("",))
    page.set_viewport_size({"width": LARGE[0], "height": LARGE[1]})
    settled(page, *charts)


def check_in_the_dark(page: Page, charts: tuple[Chart, Chart]) -> None:
    """As `check_two_charts` on a screen in between, once a control has redrawn charts that were made in the light."""
    check_two_charts(lambda **_: page, lambda *_: charts, (BETWEEN,), "dark", ("",))
