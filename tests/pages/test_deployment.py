"""docs/nginx.conf in nginx: sessions stay where they are, and when one process is killed the other
serves; nothing that somebody sends reaches a disk; limits for each sender.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pages.rooms.room import SETTING
from pages.server import upload_lifetime
from pages.server.assets import PLOTLY_JS_URL

from ..harness import ROOT, Server, fork, free_port
from ..phones import Phone, Teacher
from ..sessions import Session
from .test_security import MOST, a_session, put, tokens_of

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx") is None, reason="nginx is not installed (apt install nginx-light)"
)
pytestmark = needs_nginx
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (apt install strace)")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
CONF = (ROOT / "docs" / "nginx.conf").read_text()


@contextmanager
def proxy(servers: list[Server], folder: Path, conf: str = CONF) -> Iterator[str]:
    """nginx with the files of the documents, at a free port, in front of one or two servers; its address."""
    port = free_port()
    conf = conf.replace("listen 8500", f"listen 127.0.0.1:{port}")
    for k, documented in enumerate(("8501", "8502")):
        conf = conf.replace(
            f"127.0.0.1:{documented}", servers[k % len(servers)].url.split("//")[1].replace("localhost", "127.0.0.1")
        )
    (folder / "price_of_privacy.conf").write_text(conf)
    # As root, it would run as a user who may not look into the folder.
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(user + (ROOT / "docs" / "nginx_main.conf").read_text())
    command = ["nginx", "-p", str(folder), "-e", "stderr", "-g", "daemon off;", "-c", "nginx.conf"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 120
            while socket.socket().connect_ex(("127.0.0.1", port)):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()


def get(url: str, **headers: str) -> Message:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with urllib.request.urlopen(request, timeout=120) as answer:
        answer.read()
        return answer.headers


def test_two_processes_at_one_address(tmp_path, monkeypatch):
    """A browser keeps its process, a room's phones reach theirs, and when a process is killed the other serves all."""
    with ExitStack() as stack:
        servers = []
        for number in ("1", "2"):
            monkeypatch.setenv(SETTING, number)
            if number == "2":
                stack.enter_context(pytest.raises(RuntimeError, match="the server ended with -9"))
            servers.append(stack.enter_context(fork(ROOT / "app.py", "--server.address", "127.0.0.1")))
        url = stack.enter_context(proxy(servers, tmp_path))

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

        # Which process a seat belongs to hangs on their ports: so many that one has none about once in a million runs.
        seats = [f"seat={k:032x}" for k in range(20)]
        letters = [asyncio.run(meet(url, seat)) for seat in seats]
        assert set(letters) == {"B", "C"}
        assert [asyncio.run(meet(url, seat)) for seat in seats] == letters, "the same seat, the same process"
        asyncio.run(outlive(url, seats[letters.index("B")], servers[1]))
        assert [asyncio.run(meet(url, seat)) for seat in seats] == ["B"] * len(seats)


async def meet(url: str, seat: str) -> str:
    """The letter of the process on which a browser with this seat opens a room, which a phone without seat reaches."""
    async with Teacher(url, cookie=seat) as teacher:
        await teacher.open_room()
        phone = Phone(url, teacher.code)
        await phone.vote((await phone.look())["name"], 1)
        letter = teacher.code[0]
        await teacher.press("close_room")
        return letter


async def outlive(url: str, seat: str, dies: Server) -> None:
    async with Session(url, cookie=seat) as stays:
        await stays.see("perturbation")
        os.kill(dies.process, signal.SIGKILL)
        await stays.see("perturbation")


# What somebody sends, and what is answered


RECORD = b"record-of-a-person,"
DOWNLOAD = RECORD * (20 * 2**20 // len(RECORD))


@contextmanager
def stand_in() -> Iterator[tuple[Server, list[Message]]]:
    """A server in the dashboard's place, that takes what comes and has one large answer; the heads that came."""
    heads: list[Message] = []

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            heads.append(self.headers)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.say(b"")

        def do_GET(self) -> None:
            heads.append(self.headers)
            self.say(DOWNLOAD)

        def say(self, text: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()  # it ends at its next look
        yield Server(f"http://127.0.0.1:{server.server_port}", Path(), os.getpid()), heads
        server.shutdown()


def processes(first: int) -> list[int]:
    return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


@contextmanager
def traced(folder: Path, *servers: int) -> Iterator[Path]:
    """What the servers' processes read and write, as strace has it, once the block is left."""
    log, pids = folder / "strace", [pid for server in servers for pid in processes(server)]
    calls = "read,recvfrom,write,writev,pwrite64,pwritev,pwritev2,sendfile,splice,copy_file_range"
    options = ["-f", "-y", "-s", "64", "-e", f"trace={calls}", "-o", str(log), *(f"-p{pid}" for pid in pids)]
    with subprocess.Popen(["strace", *options], stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr
        for _ in pids:
            if "attached" not in (said := tracer.stderr.readline()):
                pytest.skip(f"strace may not look here: {said.strip()}")
        try:
            yield log
        finally:
            tracer.terminate()


def on_disk(log: Path) -> list[str]:
    """The calls that wrote records to anything but a connection."""
    calls = [line for line in log.read_text().splitlines() if RECORD.decode() in line]
    assert calls, "the records went past"
    to_files = r"\d+ +(write|writev|pwrite64|pwritev|pwritev2)\(\d+<(?!socket:|TCP|pipe:)"
    return [line for line in calls if re.match(to_files, line)]


def master(folder: Path) -> int:
    """nginx's first process, once it has its worker: connections are accepted before that."""
    pid = int((folder / "nginx.pid").read_text())
    deadline = time.monotonic() + 120
    while len(processes(pid)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return pid


@pytest.fixture(scope="module")
def dashboard() -> Iterator[Server]:
    """As it is served behind nginx, with uploads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(upload_lifetime.SETTING, "on")
        with fork(ROOT / "app.py", "--server.address", "127.0.0.1") as server:
            yield server


@needs_strace
def test_neither_server_writes_an_upload_to_a_file(dashboard, tmp_path):

    async def upload(url: str) -> int:
        through = Server(url, Path(), 0)
        tokens = tokens_of(through)
        async with a_session(through, tokens) as session:
            return await put(through, session, MOST, fill=RECORD, **tokens)

    with (
        proxy([dashboard], tmp_path) as url,
        traced(tmp_path, dashboard.process, master(tmp_path)) as log,
    ):
        assert asyncio.run(upload(url)) == 204
    assert not on_disk(log)


def test_the_dashboard_hears_who_asks_and_a_sender_is_held_to_a_rate(tmp_path):
    with stand_in() as (server, heads), proxy([server], tmp_path) as url:
        get(url, X_Forwarded_For="203.0.113.9, 127.0.0.1", X_Forwarded_Proto="https", Host="localhost")
        assert heads[0].get_all("X-Forwarded-For") == ["127.0.0.1"]
        assert heads[0].get_all("X-Forwarded-Proto") == ["http"]
        taken = 0
        with pytest.raises(urllib.error.HTTPError) as refused:
            while taken < 1_000:
                request = urllib.request.Request(f"{url}/_stcore/upload_file/a/b", b"x", method="PUT")
                with urllib.request.urlopen(request, timeout=120):
                    taken += 1
    assert taken > 60 and refused.value.code == 429


@needs_openssl
def test_cookies_go_over_tls_alone_where_there_is_tls(dashboard, tmp_path):
    names = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert"), "-subj", "/CN=localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *names],
        check=True,
        capture_output=True,
    )
    tls = f" ssl;\n    ssl_certificate {tmp_path}/cert;\n    ssl_certificate_key {tmp_path}/key;"
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert"))
    trusting.check_hostname = False

    def cookies(url: str) -> list[str]:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=30, context=trusting) as answer:
            return answer.headers.get_all("Set-Cookie")

    for conf, scheme in ((CONF, "http"), (CONF.replace("listen 8500;", f"listen 8500{tls}"), "https")):
        with proxy([dashboard], tmp_path, conf) as url:
            said = cookies(f"{scheme}://{urlsplit(url).netloc}")
            assert [cookie.split("=")[0] for cookie in sorted(said)] == ["_streamlit_xsrf", "seat"]
            assert ["; Secure" in cookie for cookie in said] == [scheme == "https"] * 2
