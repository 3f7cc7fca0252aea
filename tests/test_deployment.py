"""docs/nginx.conf before two processes: sessions stay where they are, and when one is killed the other serves."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

import pytest

from pages.ui.assets import PLOTLY_JS_URL
from pages.ui.visitor import Broken, Visitor

from .harness import ROOT, Server, serve

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed (apt install nginx-light)"),
]
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
CONF = (ROOT / "docs" / "nginx.conf").read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


@contextmanager
def proxy(servers: list[Server], folder: Path) -> Iterator[str]:
    """nginx with the file of the document, whose ports are replaced; its address."""
    port = free_port()
    ports = iter(re.findall(r":(\d+)", " ".join(server.url for server in servers)))
    text = re.sub(r"127\.0\.0\.1:\d+", lambda found: f"127.0.0.1:{next(ports)}", CONF)
    text = text.replace("listen 8500", f"listen {port}").replace(
        "proxy_cache_path cache", f"proxy_cache_path {folder}/c"
    )
    kinds = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMPORARY)
    user = "user root;\n" if os.geteuid() == 0 else ""
    conf = f"{user}daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
    conf += f"http {{\naccess_log off;\n{kinds}\n{text}}}\n"
    (folder / "nginx.conf").write_text(conf)
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", "nginx.conf"])
    try:
        deadline = time.monotonic() + 30
        while socket.socket().connect_ex(("localhost", port)):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait(30)


def get(url: str, **headers: str) -> Message:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
        return answer.headers


def connections(server: Server) -> int:
    """How many are open to a process' port, as Linux has it."""
    port = f":{int(server.url.rsplit(':', 1)[1]):04X}"
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return sum(row[1].endswith(port) and row[3] == "01" for row in rows)


def test_sessions_stay_on_their_process_and_survive_the_death_of_another(tmp_path):
    with (
        serve(ROOT / "app.py", "--server.address", "127.0.0.1") as stays,
        pytest.raises(RuntimeError, match="the server ended with -9"),
        serve(ROOT / "app.py", "--server.address", "127.0.0.1") as dies,
        proxy([dies, stays], tmp_path) as url,
    ):
        # A browser gets one seat, and keeps it; a nonsense seat is replaced.
        cookie = get(url)["Set-Cookie"].split(";")[0]
        assert re.fullmatch("seat=[0-9a-f]{32}", cookie)
        assert not [said for said in get(url, Cookie=cookie).get_all("Set-Cookie", []) if said.startswith("seat")]
        assert get(url, Cookie="seat=../x")["Set-Cookie"].startswith("seat=")

        # The chart library: from the cache the second time, compressed, and for the browser to keep.
        found = [get(f"{url}/{PLOTLY_JS_URL}", Accept_Encoding="gzip") for _ in range(2)]
        assert [answer["X-Cache"] for answer in found] == ["MISS", "HIT"]
        assert found[1]["Content-Encoding"] == "gzip" and "immutable" in found[1]["Cache-Control"]
        assert get(f"{url}/{PLOTLY_JS_URL}").get("Content-Encoding") is None

        asyncio.run(_sessions(url, [dies, stays]))


async def _sessions(url: str, servers: list[Server]) -> None:
    # One seat is always on one process, whatever the number of its connections; many seats are on both.
    homes: dict[str, int] = {}
    for seat in (f"seat={k:032x}" for k in range(8)):
        for _ in range(2):
            before = [connections(server) for server in servers]
            async with Visitor(url, cookie=seat) as visitor:
                await visitor.visit("")
                assert visitor.figures
                grown = [connections(server) - count for server, count in zip(servers, before, strict=True)]
            home = grown.index(max(grown))
            assert homes.setdefault(seat, home) == home
            await asyncio.sleep(0.2)
    assert set(homes.values()) == {0, 1}

    lost, kept = (next(seat for seat, home in homes.items() if home == k) for k in (0, 1))
    async with Visitor(url, cookie=kept) as stays, Visitor(url, cookie=lost) as goes:
        await stays.visit("doors")
        await goes.visit("doors")
        os.kill(servers[0].process, signal.SIGKILL)
        with pytest.raises(Broken, match="closed the connection"):
            await goes.move("epsilon", goes.sliders["epsilon"].options[0])
        await stays.move("epsilon", stays.sliders["epsilon"].options[0])
        assert stays.figures
    for seat in homes:  # a browser comes back with the seat it had, and the state that is in its address
        async with Visitor(url, cookie=seat) as again:
            await again.visit("doors", "epsilon=2")
            assert again.figures and again.sliders["epsilon"].options[again.place("epsilon")] == "2"
