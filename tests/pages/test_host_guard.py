"""The names under which an operator lets a server be reached, and what becomes of names that are none."""

from __future__ import annotations

import asyncio

import pytest
import streamlit as st
from starlette.types import Message, Receive, Scope, Send
from streamlit import config

from pages.server.host_guard import HOSTS, HostGuard, hosts_in, let_in_named_hosts


def test_names_and_addresses_are_read_as_browsers_write_them():
    assert hosts_in("") == hosts_in(" ") == []
    assert hosts_in("Class.Example.org") == ["class.example.org"]
    assert hosts_in("nas, my_app,a-b.hf.space,192.0.2.7") == ["nas", "my_app", "a-b.hf.space", "192.0.2.7"]
    assert hosts_in("2001:DB8:0::7") == ["2001:db8::7"]


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "*.example.org",
        "https://a.org",
        "a.org:80",
        "[::1]",
        "a.org/",
        "u@a.org",
        "a..org",
        "a.org.",
        "-a",
        "192.0.2.300",
        "42",
        "",
        "ä.org",
        "a" * 64,
    ],
)
def test_what_is_no_name_is_refused_in_a_sentence(name):
    """ "*" would let everybody in, and with it any site whose name points at the server."""
    with pytest.raises(ValueError, match=f"^{HOSTS} must list names or IP addresses .*; write for example ") as refused:
        hosts_in(f"class.example.org,{name}")
    assert f"got {name!r};" in str(refused.value)


def status_of(host: str) -> int:
    """What the guard answers to a request under this name."""
    said: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Message) -> None:
        said.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    scope = {"type": "http", "method": "GET", "scheme": "http", "path": "/", "headers": [(b"host", host.encode())]}
    asyncio.run(HostGuard(app)(scope, receive, send))
    return said[0]["status"]


def test_named_hosts_come_to_those_of_the_settings(monkeypatch):
    settings = list(st.get_option("server.allowedHosts"))
    monkeypatch.setenv(HOSTS, "class.example.org,2001:db8::7")
    try:
        assert settings == ["localhost", "127.0.0.1", "::1"] and status_of("class.example.org") == 400
        let_in_named_hosts()
        for host in ("class.example.org", "CLASS.example.org:8500", "[2001:db8::7]", "localhost:8501", "127.0.0.1"):
            assert status_of(host) == 200
        for host in ("example.org", "a.class.example.org", "class.example.org.evil.org", "2001:db8::8"):
            assert status_of(host) == 400
    finally:
        config.set_option("server.allowedHosts", settings)


def test_a_wrong_name_ends_the_program_with_the_sentence(monkeypatch):
    monkeypatch.setenv(HOSTS, "*")
    with pytest.raises(SystemExit, match=rf"^{HOSTS} must list names or IP addresses "):
        let_in_named_hosts()
