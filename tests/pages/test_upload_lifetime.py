"""The server of uploads: who may send a file, that none is written to disk, and that closed pages lose theirs."""

import asyncio
import tomllib
from types import SimpleNamespace

import pytest
import streamlit as st
from starlette.requests import Request

from dpcore import data
from pages.decide.upload import form
from pages.server import upload_lifetime
from tests.harness import ROOT


@pytest.mark.parametrize(
    "setting, address, headers, allowed",
    [
        ("", "localhost", {}, True),
        ("", "127.0.0.1", {"Host": "127.0.0.1:8501"}, True),
        ("", "::1", {"Host": "[::1]:8501"}, True),
        ("", None, {}, False),
        ("", "0.0.0.0", {"Host": "localhost:8501"}, False),
        ("", "localhost", {"Host": "privacy.example.org"}, False),
        ("", "localhost", {"Host": "localhost", "X-Forwarded-For": "192.0.2.1"}, False),
        ("on", None, {"Host": "privacy.example.org"}, True),
        ("off", "localhost", {}, False),
        ("On please", "localhost", {}, False),
    ],
)
def test_who_may_upload(monkeypatch, setting, address, headers, allowed):
    monkeypatch.setenv(upload_lifetime.SETTING, setting)
    monkeypatch.setattr(upload_lifetime.st, "get_option", {"server.address": address}.__getitem__)
    monkeypatch.setattr(type(st.context), "headers", headers)
    off = upload_lifetime.why_off()
    assert off == "" if allowed else off.startswith("This server takes no files")


def test_the_server_refuses_what_a_sheet_would():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["maxUploadSize"] * 10**6 == data.UPLOAD.bytes


@pytest.mark.parametrize("mended", [True, False])
def test_no_part_of_an_upload_is_written_to_disk(monkeypatch, mended):
    """The largest file that Streamlit lets through stays in memory while the form is taken apart."""
    monkeypatch.setattr(upload_lifetime.MultiPartParser, "spool_max_size", 2**20)
    if mended:
        upload_lifetime.keep_in_memory()
    size = st.get_option("server.maxUploadSize") * 2**20
    start = b'--x\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\n'
    body = [start, b"1" * size, b"\r\n--x--\r\n"]

    async def receive():
        return {"type": "http.request", "body": body.pop(0), "more_body": bool(body)}

    headers = [(b"content-type", b"multipart/form-data; boundary=x")]

    async def rolled() -> bool:
        async with Request({"type": "http", "method": "PUT", "headers": headers}, receive).form() as form:
            assert form["file"].size == size
            return form["file"].file._rolled

    assert asyncio.run(rolled()) is not mended


def test_the_app_keeps_uploads_in_memory_and_closes_left_sessions():
    import app

    assert upload_lifetime.MultiPartParser.spool_max_size > st.get_option("server.maxUploadSize") * 2**20
    assert app.app._user_lifespan is upload_lifetime.lifespan


@pytest.mark.parametrize("document", ["data.md", "sharp_edges.md"])
def test_the_documents_say_how_long_a_closed_page_keeps_its_records(document):
    seconds = f"{upload_lifetime.LEFT_SECONDS + upload_lifetime.CHECK_SECONDS:g} seconds"
    assert seconds in (ROOT / "docs" / document).read_text() and seconds in form.STAYS


def test_left_sessions_are_closed_and_no_others(monkeypatch):
    closed: list[str] = []
    files = SimpleNamespace(file_storage={}, remove_session_files=lambda session: None)
    held = {name: SimpleNamespace(session_state={"upload held": name}) for name in ("open", "left")}
    server = SimpleNamespace(
        is_active_session=lambda session: session == "open",
        close_session=closed.append,
        uploaded_file_mgr=files,
        _session_mgr=SimpleNamespace(get_session_info=lambda session: SimpleNamespace(session=held[session])),
    )
    monkeypatch.setattr(upload_lifetime.runtime, "get_instance", lambda: server)
    monkeypatch.setattr(upload_lifetime, "CHECK_SECONDS", 0.01)
    now, looks = [100.0], [0]

    def seconds() -> float:
        looks[0] += 1
        return now[0]

    monkeypatch.setattr(upload_lifetime, "time", SimpleNamespace(monotonic=seconds))
    monkeypatch.setattr(upload_lifetime, "_LAST_SEEN", dict.fromkeys(("open", "left"), 100.0))

    async def look_at(second: float) -> list[str]:
        now[0], looks[0] = second, 0
        async with upload_lifetime.lifespan(None):
            while looks[0] < 2:
                await asyncio.sleep(0.01)
        return list(closed)

    assert asyncio.run(look_at(100.0 + upload_lifetime.LEFT_SECONDS)) == [], "a short break costs nothing"
    assert asyncio.run(look_at(101.0 + upload_lifetime.LEFT_SECONDS)) == ["left"]
    assert held["open"].session_state and not held["left"].session_state
    assert list(upload_lifetime._LAST_SEEN) == ["open"]
