"""The address at which phones reach this server, or what to do where they cannot."""

import ipaddress
import socket
from pathlib import Path
from urllib.parse import urlsplit

import segno
import streamlit as st

from pages.rooms.routes import PATH

# In a clone, and where the dashboard was installed as a package.
_CLONE = Path(__file__).resolve().parents[2]
_RUN = "python3 dev.py run" if (_CLONE / "dev.py").exists() else "price-of-privacy run"


def join_address(page: str, base: str) -> str:
    """Address of the page for phones, given that of the teacher's page; base: the server's base path.

    >>> join_address("https://hall.example.org/base/audit", "base"), join_address("http://localhost:8501/?x=1", "")
    ('https://hall.example.org/base/join', 'http://localhost:8501/join')
    """
    place = urlsplit(page)
    return f"{place.scheme}://{place.netloc}/" + f"{base.strip('/')}/{PATH}".lstrip("/")


def phones_address() -> str:
    """As `join_address`, of the session whose script runs here."""
    return join_address(st.context.url or "http://localhost:8501", st.get_option("server.baseUrlPath"))


def phones_reach(address: str) -> bool:
    """Whether an address means this computer from other computers, too.

    >>> [phones_reach(f"http://{host}/join") for host in ("192.0.2.2", "localhost:8501", "127.1.2.3", "[::1]")]
    [True, False, False, False]
    """
    host = urlsplit(address).hostname or "localhost"
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def how_to_reach() -> tuple[str, str, str]:
    """Where phones cannot reach this server: the command that starts one they reach, between the two parts of a
    sentence."""
    port, address = urlsplit(phones_address()).port or 8501, own_address()
    command = (
        f"{_RUN} -- --server.address 0.0.0.0 --server.port {port} "
        f"--server.allowedHosts {address} --server.allowedHosts localhost"
    )
    return (
        "Phones cannot reach this page's address, which means this computer only. Stop the server, start it with",
        command,
        f"and open this lecture at http://{address}:{port}.",
    )


def own_address() -> str:
    """Address of this computer in its network; its name where it is in none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # chooses the network's interface; nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def qr_code(address: str) -> str:
    """QR code of an address as the source of an image, black on white in every theme: phones read no other."""
    return segno.make(address, error="m", micro=False).svg_data_uri(border=4, dark="#000", light="#fff")
