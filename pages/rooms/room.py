"""One room of phones: the question that stands, and the answers so far; in this process's memory only.

A session holds its room, and the room ends with it: elsewhere there are only weak references.
"""

import collections
import dataclasses as dc
import os
import secrets
import threading
from weakref import WeakValueDictionary

# Consonants that look like no digit and no other letter, and spell no word.
LETTERS = "BCDFGHJKMNPQRSTVWXZ"
_DRAWN = 5  # letters of a code after the server's own
SETTING = "PRICE_OF_PRIVACY_SERVER"
MOST_ROOMS, MOST_PHONES = 100, 300
MOST_OF_ONE = 20  # rooms opened from one network, which may be a school


class Refused(Exception):
    """A vote or a room that is refused; its text is for the person, its status for the phone."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dc.dataclass(frozen=True)
class Asked:
    """A question as phones see it.

    name: of lecture and step. right: place of the right answer, which phones do not see, if there is one. keep: None,
    or of how many of 2^32 draws a phone sends the answer that was tapped, and otherwise the other one of two
    (`dpcore.studies.survey.coin`).
    """

    name: str
    words: str
    answers: tuple[str, ...]
    right: int | None = None
    keep: int | None = None


class Room:
    """A code, the question that stands, and for each question what every phone has answered.

    opener: the teacher's network. known: it, and the first networks from which phones came with the right code.
    """

    def __init__(self, code: str, opener: str) -> None:
        self.code, self.opener, self.known = code, opener, {opener}
        self.asked: Asked | None = None
        self._known: dict[str, Asked] = {}
        self._answers: dict[str, dict[str, int]] = {}  # question -> phone -> answer
        self._phones: dict[str, str] = {}  # phone -> its network
        self._lock = threading.Lock()  # phones and the teacher's page are served by different threads

    def ask(self, question: Asked | None) -> None:
        """Put a question to the phones, or take it away; one that comes back is asked as it was at first.

        With another coin, say, phones that have answered would have answered another question.
        """
        with self._lock:
            self.asked = None if question is None else self._known.setdefault(question.name, question)

    def let_in(self, network: str) -> None:
        """Know a network that came with the right code."""
        if len(self.known) < MOST_PHONES:
            self.known.add(network)

    def vote(self, name: str, phone: str, answer: int, network: str = "") -> None:
        """Count an answer once, however often it is sent; raises Refused for a second one."""
        with self._lock:
            if self.asked is None or self.asked.name != name:
                raise Refused(409, "This question is closed.")
            if not 0 <= answer < len(self.asked.answers):
                raise Refused(400, "There is no such answer.")
            if phone not in self._phones and len(self._phones) >= MOST_PHONES:
                raise Refused(403, f"This room is full: it takes {MOST_PHONES} phones.")
            given = self._answers.setdefault(name, {}).setdefault(phone, answer)
            self._phones.setdefault(phone, network)
        if given != answer:
            raise Refused(409, "The first answer of this phone counts already.")

    def flipped(self) -> Asked | None:
        """The latest question that phones answer by a coin, if there was one."""
        with self._lock:
            return next((asked for asked in reversed(self._known.values()) if asked.keep is not None), None)

    def counts(self, name: str) -> tuple[int, ...]:
        """Number of phones that gave each answer to a question; empty if it was never asked here."""
        with self._lock:
            found = collections.Counter(self._answers.get(name, {}).values())
            return tuple(found[k] for k in range(len(self._known[name].answers))) if name in self._known else ()

    def sharing(self, name: str) -> int:
        """The largest number of phones that answered a question from one network."""
        with self._lock:
            return max(collections.Counter(map(self._phones.get, self._answers.get(name, {}))).values(), default=0)


_ROOMS: WeakValueDictionary[str, Room] = WeakValueDictionary()


def server_letter() -> str:
    """First letter of all codes of this process, by which a proxy before several processes finds it.

    PRICE_OF_PRIVACY_SERVER is the number of this process, 1 where it is not set.
    """
    said = os.environ.get(SETTING, "1")
    if said not in map(str, range(1, len(LETTERS) + 1)):
        raise ValueError(
            f"{SETTING} must be a whole number from 1 to {len(LETTERS)}, got {said[:20]!r}: "
            "give each server process a number of its own"
        )
    return LETTERS[int(said) - 1]


def open_room(opener: str = "") -> Room:
    """A new room, which lasts as long as the caller holds it; raises Refused where the process, or the network that it
    is opened from, has too many."""
    if len(_ROOMS) >= MOST_ROOMS:
        raise Refused(503, f"This server has {MOST_ROOMS} rooms open already; try again when one has ended.")
    if sum(room.opener == opener for room in list(_ROOMS.values())) >= MOST_OF_ONE:
        raise Refused(503, f"Your network has {MOST_OF_ONE} rooms open already; close one of them.")
    while (code := server_letter() + "".join(secrets.choice(LETTERS) for _ in range(_DRAWN))) in _ROOMS:
        pass
    room = _ROOMS[code] = Room(code, opener)
    return room


def find(code: str) -> Room | None:
    """The room with a code, in capital or small letters."""
    return _ROOMS.get(code.upper())
