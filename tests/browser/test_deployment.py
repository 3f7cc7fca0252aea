"""A visitor's page behind nginx as docs/nginx.conf sets it up."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from ..harness import Server
from ..pages.test_deployment import CONF, needs_nginx, proxy
from .looks import Chart

pytestmark = [pytest.mark.browser, needs_nginx]
LIMIT = "price_of_privacy_connections 500;"


@pytest.mark.nightly
def test_a_page_needs_seven_of_a_sender_s_connections_at_most(server: Server, page: Page, tmp_path: Path):
    """Six for files, as browsers have them, and its websocket."""
    assert LIMIT in CONF
    statuses: list[int] = []
    page.on("response", lambda answer: statuses.append(answer.status))
    with proxy([server], tmp_path, CONF.replace(LIMIT, LIMIT.replace("500", "7"))) as url:
        page.goto(f"{url}/perturbation")
        Chart(page, "perturbation").shown()
        page.goto("about:blank")
    assert len(statuses) > 20 and 429 not in statuses
