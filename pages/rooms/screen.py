"""The teacher's side of a room: it is opened in a lecture, shown to the class, and counts while a question stands."""

import dataclasses as dc
import html

import streamlit as st

from dpcore.core.facts import text_beside
from pages.rooms.address import how_to_reach, phones_address, phones_reach, qr_code
from pages.rooms.limits import network
from pages.rooms.room import Asked, Refused, Room, open_room
from pages.server.upload_lifetime import note_holder

_ROOM, _REFUSED, _SHOWN = "room", "room refused", "room shown"
_LOOK_SECONDS = 1.0
STYLE = text_beside(__file__, "screen.css")


def room() -> Room | None:
    """The room that this session has opened."""
    return st.session_state.get(_ROOM)


def ask(question: Asked | None) -> None:
    """Put a question to the phones of this session's room, if it has one, or take it away."""
    if held := room():
        held.ask(question)


def leave() -> None:
    """The page is without a lecture: no question stands, and how to join is not shown."""
    ask(None)
    _hide()


def button(place: str) -> None:
    """For a lecture's bar: opens a room, and shows how to join it until that is closed or the step is another one.

    place: names the step. A page that computes something runs again when there is more to show; what is shown stays.
    """
    held = room()
    label = "Open a room" if held is None else f"Room {held.code}"
    st.button(label, key="room_button", type="tertiary", on_click=_open, args=(place,))
    if st.session_state.get(_SHOWN) == place:
        _show()


@dc.dataclass(frozen=True)
class Randomised:
    """What a room has answered to a question about people themselves; keep: its coin's, as `Asked` has it."""

    code: str
    words: str
    phones: int
    yes: int
    keep: int


def randomised() -> Randomised | None:
    """The messages of this session's room, once there are any."""
    held = room()
    asked = held.flipped() if held else None
    if held is None or asked is None or asked.keep is None:
        return None
    counts = held.counts(asked.name)
    return Randomised(held.code, asked.words, sum(counts), counts[0], asked.keep) if sum(counts) else None


def _open(place: str) -> None:
    st.session_state[_SHOWN] = place
    st.session_state.pop(_REFUSED, None)
    if room() is None:
        try:
            st.session_state[_ROOM] = open_room(network(st.context.ip_address or ""))
            note_holder()  # the room ends soon after the page was closed
        except Refused as refused:
            st.session_state[_REFUSED] = str(refused)


def _close() -> None:
    del st.session_state[_ROOM]
    _hide()


def _hide() -> None:
    st.session_state.pop(_SHOWN, None)


@st.dialog("Answer by phone", width="large", on_dismiss=_hide)
def _show() -> None:
    held = room()
    if refused := st.session_state.get(_REFUSED):
        st.write(refused)
    elif held is None:  # it has just been closed
        st.rerun()
    else:
        st.html(invitation(held, small=False))
        st.button("Close the room", on_click=_close, key="close_room")


def invitation(held: Room, *, small: bool) -> str:
    """HTML of a room's address, code and QR code; in the place of the last, unless it is to be small, stands how to
    start a server that phones reach, if they do not reach this one."""
    address = phones_address()
    whole, picture = f"{address}?room={held.code}", ""
    if phones_reach(address):
        picture = f'<img src="{html.escape(qr_code(whole))}" alt="QR code of {html.escape(whole)}">'
    elif not small:
        before, command, after = map(html.escape, how_to_reach())
        picture = f"<p>{before} <code>{command}</code> {after}</p>"
    shown = html.escape(address.split("://")[1])
    return f'<div class="room-join">{picture}<p>{shown}<br><b class="room-code">{held.code}</b></p></div>'


def invite() -> None:
    """Draw how to join, small."""
    if held := room():
        st.html(invitation(held, small=True))


def count(question: Asked) -> None:
    """Draw the counts of a question that stands, as they come."""
    # In a container of its own: see `pages.background.asking.end`.
    with st.container(key="room_counts"):
        _poll(question)


@st.fragment(run_every=_LOOK_SECONDS)
def _poll(question: Asked) -> None:
    if held := room():
        st.html(bars(question.answers, held.counts(question.name), held.sharing(question.name)))


def result(question: Asked | None) -> str:
    """HTML of what the phones of this session's room have answered, and what is right; "" where none has."""
    held = room()
    if not held or not question or not sum(counts := held.counts(question.name)):
        return ""
    return bars(question.answers, counts, held.sharing(question.name), question.right)


def bars(answers: tuple[str, ...], counts: tuple[int, ...], sharing: int, right: int | None = None) -> str:
    """HTML of a bar for each answer, and the number of phones that gave it; sharing: so many of them came from one
    network; right: place of the one to be marked."""
    total, rows = sum(counts), []
    for k, (answer, count) in enumerate(zip(answers, counts, strict=True)):
        mark = " room-right" if k == right else ""
        width = f"{100 * count / max(total, 1):.0f}%"
        rows.append(
            f'<div class="room-answer{mark}"><span>{html.escape(answer)}</span><b>{count}</b>'
            f'<i style="width:{width}"></i></div>'
        )
    phones = "1 phone" if total == 1 else f"{total} phones"
    if sharing > 1:
        phones += f", {'all' if sharing == total else sharing} of them behind one address"
    marked = "" if right is None else "; ✓ what the picture says"
    return f'<div class="room-bars">{"".join(rows)}<p>{phones}{marked}</p></div>'
