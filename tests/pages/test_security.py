"""Whom the server answers, how much it takes, and that nothing from outside is run as code (SECURITY.md)."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import shutil
import time
import tomllib
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.server import host_guard
from pages.server.assets import PLOTLY_JS_URL
from pages.server.host_guard import HEADERS, HOSTS, METRICS

from ..harness import ROOT, Server, fork

SETTINGS = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
MEGABYTE = 10**6


def test_the_settings_are_the_safe_ones():
    assert SETTINGS["browser"] == {"gatherUsageStats": False}
    server = SETTINGS["server"]
    assert server["address"] == "localhost" and server["allowedHosts"] == ["localhost", "127.0.0.1", "::1"]
    assert server["enableXsrfProtection"] is True and server["enableCORS"] is True
    assert server["maxUploadSize"] <= 10 and server["maxMessageSize"] <= 20
    assert server["fileWatcherType"] == "none" and not {"enableStaticServing", "enableAgentApi"} & set(server)
    assert SETTINGS["client"]["showErrorDetails"] == "none"


# A running server


def ask(server: Server, path: str, method: str = "GET", body: bytes | Iterator[bytes] | None = None, **headers: str):
    """A request in its own connection: (status, headers, text)."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=120)
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode(errors="replace")
    finally:
        connection.close()


def open_stream(server: Server, name: str = "", **options):
    """A page's websocket; under another name, and with `origin`, as a browser would open it.

    What nobody reads does not count (max_queue): the server's part of the farewell would wait behind it.
    """
    place = urlsplit(server.url)
    url = f"ws://{name or place.hostname}:{place.port}{place.path}/_stcore/stream"
    protocols = [websockets.Subprotocol("streamlit")]
    options |= {"host": place.hostname, "port": place.port, "subprotocols": protocols, "proxy": None}
    return websockets.connect(url, max_size=None, max_queue=None, **options)


def refusal(server: Server, **options) -> int:
    """The status with which a websocket is refused; 101 where it is not."""

    async def status() -> int:
        try:
            async with open_stream(server, **options):
                return 101
        except websockets.InvalidStatus as refused:
            return refused.response.status_code

    return asyncio.run(status())


def test_only_our_own_pages_open_websockets(server):
    port = urlsplit(server.url).port
    assert refusal(server, origin=server.url) == 101
    assert refusal(server) == 101, "a program that is no browser may come without an origin"
    for origin in ("https://example.org", f"http://127.0.0.1:{port}", f"http://localhost:{port + 1}", "null", ""):
        assert refusal(server, origin=origin) == 403, origin
    # A page that is at our address under its own name: of one origin with itself, and refused for the name.
    assert refusal(server, name="example.org", origin=f"http://example.org:{port}") == 400
    assert "external" not in server.log.read_text(), "nobody on the internet was asked for our address"


@pytest.mark.parametrize("host, status", [("localhost", 200), ("127.0.0.1:8501", 200), ("[::1]", 200)])
def test_names_of_this_computer_are_answered(server, host, status):
    assert ask(server, "/", Host=host)[0] == status


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "localhost@example.org", "x:y", ""])
def test_other_names_are_refused_in_one_sentence(server, host):
    for path in ("/", "/_stcore/health", "/assets/anything"):
        status, headers, text = ask(server, path, Host=host)
        assert status == 400 and text.count("\n") == 1 and HOSTS in text
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/perturbation", "/_stcore/health", "/nothing/here"])
def test_every_answer_says_what_browsers_must_not_do(server, path):
    _, headers, _ = ask(server, path)
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert headers["Access-Control-Allow-Origin"] != "*"
    assert (
        "HttpOnly" not in headers.get("Set-Cookie", "")
        and "SameSite=Lax".lower() in headers.get("Set-Cookie", "samesite=lax").lower()
    )


def test_what_is_no_origin_is_refused(server):
    for origin in ("http://[", "http://]:80", "//[x"):
        assert refusal(server, origin=origin) == 403
        for path in ("/", "/_stcore/health", "/_stcore/host-config", "/media/x"):
            assert ask(server, path, Origin=origin)[0] == 403
    assert "Traceback" not in server.log.read_text()


def test_metrics_are_closed_unless_they_are_asked_for(server, in_haste):
    """They tell how large other visitors' files are."""
    for path in ("/_stcore/metrics", "/_stcore/metrics?families=cache_memory_bytes", "/_stcore/%6Detrics"):
        status, _, text = ask(server, path)
        assert status == 403 and METRICS in text and text.count("\n") == 1
    status, _, text = ask(in_haste, "/_stcore/metrics")
    assert status == 200 and "active_sessions" in text


def test_names_among_the_secrets_are_answered(in_haste):
    """Streamlit Community Cloud takes settings as secrets."""
    name = "class.example.org"
    for host in (name, "CLASS.example.org:8500", "[2001:db8::7]", "127.0.0.1", "localhost:8501"):
        assert ask(in_haste, "/", Host=host)[0] == 200, host
    assert refusal(in_haste, name=name, origin=f"http://{name}:{urlsplit(in_haste.url).port}") == 101
    for host in ("example.org", f"a.{name}", f"{name}.evil.org", "2001:db8::8"):
        assert ask(in_haste, "/", Host=host)[0] == 400, host


def test_what_one_visitor_may_see_is_kept_by_nobody(server):
    for path in ("/media/0.html", "/ahead/nothing"):
        assert ask(server, path)[1]["Cache-Control"] == "no-store"
    assert "no-store" not in ask(server, f"/{PLOTLY_JS_URL}")[1]["Cache-Control"]


def form(size: int, fill: bytes = b"1") -> tuple[bytes, str]:
    start = b'--x\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\n'
    return start + (fill * (size // len(fill) + 1))[:size] + b"\r\n--x--\r\n", "multipart/form-data; boundary=x"


def tokens_of(server: Server) -> dict[str, str]:
    cookie = ask(server, "/_stcore/health")[1]["Set-Cookie"].split(";")[0]
    return {"Cookie": cookie, "X_Xsrftoken": cookie.split("=", 1)[1]}


@contextlib.asynccontextmanager
async def a_session(server: Server, tokens: dict[str, str]) -> AsyncIterator[str]:
    """The id of a session whose page runs once, in a browser with these tokens; it is left at the end."""
    cookie = {"Cookie": tokens["Cookie"]}
    async with open_stream(server, origin=server.url, additional_headers=cookie) as stream:
        await stream.send(BackMsg(rerun_script={}).SerializeToString())
        session = ""
        while not session:
            message = ForwardMsg.FromString(await stream.recv())
            session = message.new_session.initialize.session_id
        yield session


def place(session: str, file: str = "one") -> str:
    return f"/_stcore/upload_file/{session}/{file}"


async def put(
    server: Server,
    session: str,
    size: int,
    *,
    file: str = "one",
    chunked: bool = False,
    fill: bytes = b"1",
    **headers: str,
) -> int:
    body, kind = form(size, fill)
    pieces = (body[at : at + 2**20] for at in range(0, len(body), 2**20))
    sent = pieces if chunked else body
    return (await asyncio.to_thread(ask, server, place(session, file), "PUT", sent, Content_Type=kind, **headers))[0]


MOST = SETTINGS["server"]["maxUploadSize"] * 10**6


def test_uploads_need_a_session_a_token_and_a_bounded_size(server):
    """In this order: what has no token is refused before its session is looked up, and its body before it is read."""
    tokens = tokens_of(server)
    cookie = tokens["Cookie"]

    async def talk() -> None:
        async with a_session(server, tokens) as session:
            assert await put(server, session, 1000, **tokens) == 204
            assert await put(server, session, 1000) == 403, "without a token"
            assert await put(server, session, 1000, Cookie=cookie) == 403, (
                "with the cookie, which browsers send unasked"
            )
            assert await put(server, session, 1000, **{**tokens, "X_Xsrftoken": "2|0|0|0"}) == 403
            assert await put(server, "nobody", 1000, **tokens) == 403
            assert await put(server, session, MOST, **tokens) == 204, "the form around a file does not count"
            assert await put(server, session, MOST + 2**12, **tokens) == 413
            assert await put(server, session, MOST + 2**21, chunked=True, **tokens) == 413, "a length that is not said"

    asyncio.run(talk())


def test_only_a_sessions_own_browser_changes_its_files(in_haste):
    """Another one, with a token of its own, may know where they are."""
    tokens, others = tokens_of(in_haste), tokens_of(in_haste)

    async def talk() -> None:
        async with a_session(in_haste, tokens) as session:
            assert await put(in_haste, session, 1000, **tokens) == 204
            assert await put(in_haste, session, 2000, **others) == 403
            assert await status("DELETE", session, **others) == 403
            for method in ("GET", "HEAD", "POST"):
                assert await status(method, session, **tokens) == 404, "an upload is never handed out, and is no page"
            assert (await held(in_haste))[session] == {"one": 1000}
            assert await status("DELETE", session, **tokens) == 204
            assert not (await held(in_haste)).get(session)

    async def status(method: str, session: str, **headers: str) -> int:
        return (await asyncio.to_thread(ask, in_haste, place(session), method, **headers))[0]

    asyncio.run(talk())


async def begun(server: Server, path: str, length: int, **headers: str) -> tuple[StreamReader, StreamWriter]:
    """An upload whose head alone has been sent."""
    reader, writer = await asyncio.open_connection("localhost", urlsplit(server.url).port)
    said = {"Host": "localhost", "Content-Length": length, "Content-Type": form(0)[1], **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in said.items()]
    writer.write("\r\n".join([f"PUT {path} HTTP/1.1", *lines, "", ""]).encode())
    return reader, writer


async def status_of(reader: StreamReader) -> int:
    return int((await asyncio.wait_for(reader.readline(), 120)).split()[1])


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP"])
def test_whom_a_proxy_announces_is_refused_before_the_body_is_read(server, name):
    async def talk() -> None:
        tokens = tokens_of(server)
        async with a_session(server, tokens) as session:
            headers = {**tokens, name: "192.0.2.1"}
            reader, writer = await begun(server, place(session), 9 * 2**20, **headers)
            assert await status_of(reader) == 403
            await asyncio.wait_for(reader.readuntil(b"because you reach it from another computer"), 120)
            writer.close()

    asyncio.run(talk())


def test_where_uploads_are_off_nothing_is_taken(in_haste):
    async def talk() -> list[int]:
        tokens = tokens_of(in_haste)
        async with a_session(in_haste, tokens) as session:
            reader, writer = await begun(in_haste, place(session), 9 * 2**20, **tokens)
            early = await status_of(reader)
            writer.close()
            return [early, await put(in_haste, session, 1000, **tokens)]

    ask(in_haste, "/uploads/off")
    try:
        assert asyncio.run(talk()) == [403, 403]
    finally:
        ask(in_haste, "/uploads/on")


def altered_app(folder: Path, before: str, routes: str = "assets.routes()") -> Path:
    """app.py in a folder of its own, with lines before it and other routes."""
    text = (ROOT / "app.py").read_text()
    for old, new in {"Path(__file__).resolve().parent": f"Path({str(ROOT)!r})", "assets.routes()": routes}.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "app.py").write_text(f"{before}\n{text}")
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    return folder / "app.py"


# As the server is, but it serves few pages, looks after closed ones all the time, tells how many bytes each session
# holds and which uploads are on their way, and takes uploads or none, and for as long, as it is told.
IN_HASTE = f"""
import os
os.environ[{METRICS!r}] = "on"
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit import runtime
from pages.server import host_guard, upload_lifetime
host_guard.MOST_PAGES = 5
upload_lifetime.LEFT_SECONDS, upload_lifetime.CHECK_SECONDS = 0.4, 0.1
def held(request):
    files = runtime.get_instance().uploaded_file_mgr.file_storage
    return JSONResponse({{s: {{f: len(r.data) for f, r in of.items()}} for s, of in files.items()}})
def uploads(request):
    os.environ[upload_lifetime.SETTING] = request.path_params["taken"]
    return JSONResponse({{}})
def arriving(request):
    return JSONResponse({{s: [id(until) for until in of] for s, of in upload_lifetime._ARRIVING.items()}})
def patience(request):
    upload_lifetime.MOST_SECONDS = float(request.path_params["seconds"])
    return JSONResponse({{}})
"""


@pytest.fixture(scope="module")
def in_haste(tmp_path_factory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("haste")
    routes = (
        '[*assets.routes(), Route("/held", held), Route("/arriving", arriving), Route("/uploads/{taken}", uploads), '
        'Route("/patience/{seconds}", patience)]'
    )
    app = altered_app(folder, IN_HASTE, routes)
    (folder / ".streamlit" / "secrets.toml").write_text(f'{HOSTS} = "class.example.org,2001:db8::7"')
    with fork(app) as running:
        yield running


async def held(server: Server) -> dict[str, dict[str, int]]:
    return json.loads((await asyncio.to_thread(ask, server, "/held"))[2])


async def arriving(server: Server, session: str) -> list[int]:
    """The uploads of the session that are on their way, by numbers."""
    return json.loads((await asyncio.to_thread(ask, server, "/arriving"))[2]).get(session, [])


async def seen_to_begin(server: Server, session: str, file: str, length: int, **headers: str):
    """As `begun`, once the server has begun to take it."""
    before = await arriving(server, session)
    connection = await begun(server, place(session, file), length, **headers)
    latest = time.monotonic() + 120
    while set(await arriving(server, session)) <= set(before):
        assert time.monotonic() < latest, file
        await asyncio.sleep(0.01)
    return connection


def test_a_session_has_three_files_the_last_ones(in_haste):
    """A table, its dictionary and its ledger."""
    tokens = tokens_of(in_haste)

    async def talk() -> None:
        async with a_session(in_haste, tokens) as session:
            for size in (1000, 2000, 3000, 4000, 5000):
                assert await put(in_haste, session, size, file=f"of%20{size}", **tokens) == 204
            assert (await held(in_haste))[session] == {"of 3000": 3000, "of 4000": 4000, "of 5000": 5000}
            # Of those that are on their way the last ones count, and the others end at once.
            waiting = []
            for k in range(5):
                waiting.append(await seen_to_begin(in_haste, session, f"f{k}", 2**20, **tokens))
            assert [await status_of(reader) for reader, _ in waiting[:2]] == [409] * 2
            body, _ = form(5)
            for reader, writer in waiting[2:]:
                writer.write(body + b"-" * (2**20 - len(body)))
                assert await status_of(reader) == 204
            assert (await held(in_haste))[session] == {f"f{k}": 5 for k in (2, 3, 4)}
            for _, writer in waiting:
                writer.close()

    asyncio.run(talk())
    assert "Traceback" not in in_haste.log.read_text()


def test_a_file_goes_with_its_session_in_every_case(in_haste):
    """Left at once; left while the file was on its way; and an upload that was broken off."""
    tokens = tokens_of(in_haste)

    async def talk() -> None:
        async with a_session(in_haste, tokens) as session:
            assert await put(in_haste, session, 1000, **tokens) == 204
        async with a_session(in_haste, tokens) as slow:
            assert await put(in_haste, slow, 1000, **tokens) == 204
            _, broken = await seen_to_begin(in_haste, slow, "two", 2**20, **tokens)
            broken.close()
            reader, late = await seen_to_begin(in_haste, slow, "three", len(form(7)[0]), **tokens)
        await until_gone()
        late.write(form(7)[0])  # the session has ended, and now comes its file
        assert await status_of(reader) == 204
        await until_gone()
        late.close()

    async def until_gone() -> None:
        latest = time.monotonic() + 120
        while still := await held(in_haste):
            assert time.monotonic() < latest, still
            await asyncio.sleep(0.05)

    asyncio.run(talk())
    assert "Traceback" not in in_haste.log.read_text()


def test_a_message_beyond_the_bound_ends_the_connection(server):
    async def code() -> int:
        with pytest.raises(websockets.ConnectionClosed) as closed:
            async with open_stream(server, origin=server.url) as stream:
                await stream.send(b"\0" * (SETTINGS["server"]["maxMessageSize"] * MEGABYTE + 1))
                while True:
                    await stream.recv()
        return closed.value.rcvd.code

    assert asyncio.run(code()) == 1009  # message too big


# What it can hold


def test_a_process_serves_a_bounded_number_of_pages(in_haste):
    """Where five are as many as it serves, the sixth is refused; one that leaves makes room."""

    async def talk() -> None:
        async with contextlib.AsyncExitStack() as pages:
            for _ in range(4):
                await pages.enter_async_context(open_stream(in_haste))
            async with open_stream(in_haste):
                with pytest.raises(websockets.InvalidStatus) as refused:
                    await open_stream(in_haste)
                answer = refused.value.response
                assert answer.status_code == 503 and answer.headers["Retry-After"] == "60"
                assert f"it serves {host_guard.MOST_PAGES} pages at a time" in answer.body.decode()
                assert (await asyncio.to_thread(ask, in_haste, "/"))[0] == 200, "what is no page is answered"
            deadline = time.monotonic() + 120
            while True:
                with contextlib.suppress(websockets.InvalidStatus):
                    async with open_stream(in_haste):
                        break
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)

    asyncio.run(talk())
    assert "Traceback" not in in_haste.log.read_text()


def test_an_upload_that_does_not_end_is_ended(in_haste):
    """Bytes that come one by one do not help."""
    tokens = tokens_of(in_haste)

    async def talk() -> None:
        ask(in_haste, "/patience/0.5")
        async with a_session(in_haste, tokens) as session:
            reader, writer = await begun(in_haste, place(session), 1000, **tokens)
            writer.write(form(0)[0].removesuffix(b"\r\n--x--\r\n"))
            answer = asyncio.create_task(status_of(reader))
            while not answer.done():
                writer.write(b"1")
                await asyncio.sleep(0.05)
            assert await answer == 409
            writer.close()

    try:
        asyncio.run(talk())
    finally:
        ask(in_haste, "/patience/120")
    assert "Traceback" not in in_haste.log.read_text()


# The scripts


@pytest.mark.parametrize(
    "script", sorted((ROOT / "pages").rglob("*.js")) + sorted((ROOT / "dpcore").rglob("*.js")), ids=lambda p: p.name
)
def test_scripts_make_neither_code_nor_markup_of_texts(script: Path):
    text = script.read_text()
    for word in ("eval(", "new Function", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"):
        assert word not in text, word
    # Of this server alone, below the page's own address: pictures that are drawn ahead, and what phones ask of a room.
    asked = {"live_figure.js": "fetch(new URL(ahead, document.baseURI)", "join.js": "fetch(place,"}
    assert len(re.findall(r"\bfetch\(", text)) == text.count(asked.get(script.name, "fetch(")) == (script.name in asked)
    assert script.name != "join.js" or ("place = new URL(`join/${" in text and "document.baseURI" in text)
