"""Links: a page's address with the value of every control, and the note about an address that no control understands.

Streamlit keeps the controls that differ from their defaults in the address bar, in the words of the screen, and reads
them from there. The link to copy has the value of every control, so that a later default changes no old link, and adds

- `v=`: the version that made it,
- `hide=`: controls that are not to be seen.
"""

import dataclasses as dc
import html
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import __version__
from pages.ui.set_controls import set_controls

# Names that are no controls: the link's own, and those of a lecture, which takes care of them.
VERSION, HIDE, LECTURE = "v", "hide", ("lecture", "step")
UPLOAD = "upload-"  # how the key of a data set begins that only this session has
BEHIND = "behind"  # the row in which the link itself is offered
LONGEST, MOST = 40, 6  # characters of a name or a value, and remarks, that the note shows
HELD = "controls in the link"  # in the session: a Held


@dc.dataclass(frozen=True)
class Control:
    """A control: its legal values, and how the address writes one.

    options: a range for whole numbers. default: an option, or None where there may be none.
    """

    key: str
    label: str
    options: Sequence[Any]
    default: Any
    text: Callable[[Any], str] = str

    @property
    def texts(self) -> list[str]:
        """All options as the address writes them."""
        return [self.text(option) for option in self.options]

    @property
    def scale(self) -> str:
        """The options in a sentence, of many the first two and the last.

        >>> Control("n", "records", (200, 500, 2000, 5000), 200, "{:,}".format).scale
        '200, 500, …, 5,000'
        """
        options = self.options if len(self.options) < 4 else [*self.options[:2], self.options[-1]]
        texts = [self.text(option) for option in options]
        return ", ".join(texts if len(texts) == len(self.options) else [*texts[:2], "…", texts[2]])

    def written(self, value: Any) -> list[str]:
        """The value as the address writes it; nothing where no option is on."""
        return [] if value is None else [self.text(value)]

    def is_upload(self, value: Any) -> bool:
        """Whether it stands at a data set that only this session has."""
        return str(value).startswith(UPLOAD)


@dc.dataclass
class Held:
    """The controls and charts of a session.

    path: last part of the page's address. drawn: the controls of this run with their values; charts: keys of its
    charts; hidden: controls that it keeps out of sight. known: the controls of all runs. unread: what the first address
    says of the controls that are not drawn yet, None before the first run. ignored: what the note is about.
    """

    path: str = ""
    drawn: dict[str, tuple[Control, Any]] = dc.field(default_factory=dict)
    charts: list[str] = dc.field(default_factory=list)
    hidden: set[str] = dc.field(default_factory=set)
    known: dict[str, Control] = dc.field(default_factory=dict)
    unread: dict[str, list[str]] | None = None
    ignored: list[str] = dc.field(default_factory=list)


def held() -> Held:
    """The session's own."""
    mine: Held = st.session_state.setdefault(HELD, Held())
    return mine


def names(text: str) -> list[str]:
    """The names in a list like "delta,lam", each once.

    >>> names("delta,lam,,delta")
    ['delta', 'lam']
    """
    return list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))


def remark(name: str, texts: Sequence[str], reason: str) -> str:
    """One thing that an address says in vain: cut, and without what does not print.

    >>> remark("n", ["17"], "not one of 200, 500: 200 is shown")
    'n = 17 (not one of 200, 500: 200 is shown)'
    """
    return f"{cut(name)} = {cut(', '.join(texts).strip(', ')) or 'nothing'} ({reason})"


def cut(text: str) -> str:
    """The beginning of a text from outside, fit to be told."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def begin(path: str) -> None:
    """At the beginning of each run: forget the run before; in the session's first one, keep what the address says.

    path: last part of the address of the page that is about to be drawn.
    """
    mine = held()
    if mine.unread is None:
        mine.unread = {name: st.query_params.get_all(name) for name in st.query_params if name not in LECTURE}
    elif mine.path != path:
        mine.ignored.clear()
    mine.path, mine.drawn, mine.charts, mine.hidden = path, {}, [], set()
    if HIDE in st.query_params or st.session_state.get(HIDE):
        # A control that nobody sees: so the browser keeps the list in the address, also when the page is turned.
        st.html(f"<style>.st-key-{HIDE} {{ display: none }}</style>")
        mine.hidden.update(names(st.text_input("Hidden controls", key=HIDE, bind="query-params")))


def note(control: Control, value: Any) -> None:
    """After a control was drawn: keep its value for the page's link, and what the address said of it in vain."""
    mine = held()
    mine.drawn[control.key] = control, value
    mine.known[control.key] = control
    texts = (mine.unread or {}).pop(control.key, None)
    written = control.written(value)
    if texts is not None and set(texts) - {""} != set(written):
        reason = f"not one of {control.scale}: {', '.join(written) or 'nothing'} is shown"
        mine.ignored.append(remark(control.key, texts, reason))


def end(place: DeltaGenerator) -> None:
    """After the page is complete: tell at this place what the first address said in vain, until the reader dismisses
    the note or turns the page."""
    mine = held()
    unread = mine.unread or {}
    version = unread.pop(VERSION, [__version__])
    if version != [__version__]:
        mine.ignored.append(remark(VERSION, version, "made by another version: numbers may differ"))
    unknown = [name for name in names(",".join(unread.pop(HIDE, []))) if name not in mine.drawn]
    for name, texts in [*unread.items(), *([(HIDE, unknown)] if unknown else [])]:
        mine.ignored.append(remark(name, texts, "no such control here"))
    unread.clear()
    if mine.ignored:
        more = len(mine.ignored) - MOST
        first = [*mine.ignored[:MOST], *([f"{more} more"] if more > 0 else [])]
        with place.container(horizontal=True, vertical_alignment="center", key="ignored"):
            st.html(f"<small>{html.escape('Ignored in this link: ' + '; '.join(first) + '.')}</small>", width="stretch")
            st.button("Dismiss", key="dismiss_ignored", on_click=mine.ignored.clear, type="tertiary")


def reset() -> None:
    """Set all controls to their defaults; a file that the reader brought stays."""
    for key, control in held().known.items():
        if key != BEHIND and not control.is_upload(st.session_state.get(key, control.default)):
            set_controls({key: control.default})


def control_of(key: str) -> Control:
    """A control that this run has drawn."""
    control, _ = held().drawn[key]
    return control


def state() -> dict[str, str]:
    """The controls that this run has drawn so far, with their values as the screen writes them."""
    return {key: ",".join(control.written(value)) for key, (control, value) in held().drawn.items()}


def note_chart(key: str) -> None:
    """Note a chart that this run has drawn."""
    charts = held().charts
    if key not in charts:
        charts.append(key)


def charts() -> list[str]:
    """The keys of the charts that this run has drawn so far, in their order."""
    return list(held().charts)


def values() -> dict[str, Any]:
    """The controls that this run has drawn so far, with their values; not those at an upload, which others have not."""
    return {key: value for key, (_, value) in _shared(held().drawn).items()}


def _shared(drawn: Mapping[str, tuple[Control, Any]]) -> dict[str, tuple[Control, Any]]:
    return {
        key: (control, value)
        for key, (control, value) in drawn.items()
        if key != BEHIND and not control.is_upload(value)
    }


def has_upload() -> bool:
    """Whether a control of this run stands at a data set that only this session has."""
    return any(control.is_upload(value) for control, value in held().drawn.values())


def query(drawn: Mapping[str, tuple[Control, Any]], hide: Collection[str] = ()) -> str:
    """What a link says after its question mark.

    >>> n, m = Control("n", "records", (200, 5000), 200, "{:,}".format), Control("m", "draws", ("auto", 1), "auto")
    >>> query({"n": (n, 5000), "m": (m, "auto")}, ["m"]).replace(__version__, "VERSION")
    'n=5,000&m=auto&v=VERSION&hide=m'
    """
    said = [(key, text) for key, (control, value) in _shared(drawn).items() for text in control.written(value) or [""]]
    said.append((VERSION, __version__))
    if hide:
        said.append((HIDE, ",".join(hide)))
    return urlencode(said, quote_via=quote, safe=",")


def link_to_here(hide: Collection[str] = ()) -> str:
    """The whole address of this page in its state; complete once the page's controls are drawn."""
    mine = held()
    # Not the browser's own path: after a turn of the page it is still that of the page before.
    browser, base = urlsplit(st.context.url or ""), st.get_option("server.baseUrlPath").strip("/")
    path = f"/{base}/{mine.path}" if base else f"/{mine.path}"
    return f"{browser.scheme}://{browser.netloc}{path}?{query(mine.drawn, hide)}"


def offer() -> None:
    """The link to copy, and which controls it hides."""
    mine = held()
    labels = {key: control.label for key, (control, _) in mine.drawn.items() if key != BEHIND}
    hide = st.multiselect(
        "Controls to hide in this link",
        list(labels),
        [key for key in labels if key in mine.hidden],
        format_func=labels.__getitem__,
        key="hide_in_link",
    )
    st.code(link_to_here(hide), language=None, wrap_lines=True)
    if has_upload():
        st.caption("Your file is not in the link: it opens with the page's default data set.")
