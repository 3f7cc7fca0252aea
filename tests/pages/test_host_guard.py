"""The names under which an operator lets a server be reached, and what becomes of names that are none."""

from __future__ import annotations

import pytest

from pages.server.host_guard import HOSTS, hosts_in, let_in_named_hosts


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


def test_a_wrong_name_ends_the_program_with_the_sentence(monkeypatch):
    monkeypatch.setenv(HOSTS, "*")
    with pytest.raises(SystemExit, match=rf"^{HOSTS} must list names or IP addresses "):
        let_in_named_hosts()
