"""Links: every control of a page in one address, and what becomes of an address that says something else.

Streamlit keeps what differs from a control's default in the address bar, written as on the screen. A link says it in
the same way, so that opening it changes nothing in the address, and adds

- `defaults=`: the controls that stand at their defaults, so that a later default changes no old link,
- `v=`: the version that made it,
- `hide=`: controls that are not to be seen.

A control's old names and the old names of its options, `old_options.csv`, are read as those of today. What a link says
and no control understands is told to the reader, once.
"""

import dataclasses as dc
import html
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import get_session_state

from dpcore import __version__
from dpcore.core.facts import facts_beside

# Names that are no controls: the link's own, and those of a lecture, which takes care of them.
DEFAULTS, VERSION, HIDE, LECTURE = "defaults", "v", "hide", ("lecture", "step")
UPLOAD = "upload-"  # how the key of a data set begins that only this session has
BEHIND = "behind"  # the row in which the link itself is offered
LONGEST, MOST = 40, 6  # characters of a name or a value, and things ignored, that the note shows
HELD = "controls in the link"  # in the session: a Held
_RENAMED = {"beside_printed": "beside_published"}  # controls
_OLD_OPTIONS = {(row["control"], row["old"]): row["now"] for row in facts_beside(__file__, "old_options.csv")}


@dc.dataclass(frozen=True)
class Control:
    """A control: its legal values, and how the address writes one.

    options: a range for whole numbers. default: a list where many options may be on at once, else an option, or None
    where there may be none.
    """

    key: str
    label: str
    options: Sequence[Any]
    default: Any
    text: Callable[[Any], str] = str
    many: bool = False

    @property
    def texts(self) -> list[str]:
        """All options as the address writes them."""
        return [self.text(option) for option in self.options]

    def chosen(self, value: Any) -> list[Any]:
        """The options that are on."""
        return list(value) if self.many else [] if value is None else [value]

    def written(self, value: Any) -> list[str]:
        """The value as the address bar writes it, one text for each option that is on."""
        return [self.text(option) for option in self.chosen(value)]

    def read(self, texts: Sequence[str]) -> Any:
        """The value that is written so; ValueError where there is none.

        >>> Control("n", "people", (200, 5000), 200, "{:,}".format).read(["5000"])
        5000
        """
        found = [self._option(text) for text in texts if text]
        if self.many:
            return found
        if len(found) > 1 or (not found and self.default is not None):
            raise ValueError(f"{self.key} must be one value, got {len(found)}")
        return found[0] if found else None

    def _option(self, text: str) -> Any:
        if isinstance(self.options, range):
            number = int(text) if text.isascii() and len(text) <= LONGEST else -1
            if number in self.options:
                return number
        else:
            for option in self.options:
                if text in (self.text(option), str(option)) or _number(text) == option:
                    return option
        raise ValueError(f"{self.key} must be one of its options, got {text}")


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


@dc.dataclass
class Arrival:
    """What an address says that the reader opened or went back to, until a control takes it, and what none could take.

    said: control -> its texts, and whether they stand in the address as Streamlit writes them. hide: names to hide.
    back: whether the browser went back or forward to it.
    """

    page: str
    said: dict[str, tuple[list[str], bool]]
    hide: list[str]
    ignored: list[str] = dc.field(default_factory=list)
    back: bool = False


@dc.dataclass
class Held:
    """What a session knows of its controls: one object, because each look into the session takes its time.

    page: title of the page that is drawn, "" for a page by itself; paths: title -> last part of the address. drawn: the
    controls of this run with their values; charts: keys of its charts; hidden: controls that it keeps out of sight.
    arrival: what the address said that was opened, or gone back to. known: title -> the controls drawn there so far.
    """

    page: str = ""
    paths: dict[str, str] = dc.field(default_factory=dict)
    drawn: dict[str, tuple[Control, Any]] = dc.field(default_factory=dict)
    charts: list[str] = dc.field(default_factory=list)
    hidden: set[str] = dc.field(default_factory=set)
    arrival: Arrival | None = None
    known: dict[str, dict[str, Control]] = dc.field(default_factory=dict)

    def said(self, key: str) -> tuple[list[str] | None, bool]:
        """What the address says of a control, as in `Arrival`; None for nothing."""
        return self.arrival.said.get(key, (None, False)) if self.arrival else (None, False)


def held() -> Held:
    """The session's own."""
    found: Held = st.session_state.setdefault(HELD, Held())
    return found


def arrival(page: str, address: Mapping[str, list[str]]) -> Arrival:
    """Sort what an address says: name -> values.

    >>> arrival("Perturbation", {"n": ["500"], "v": ["9.9"], "defaults": ["layers:bounds,bias~m:auto"]}).said
    {'layers': (['bounds', 'bias'], False), 'm': (['auto'], False), 'n': (['500'], True)}
    """
    said: dict[str, tuple[list[str], bool]] = {}
    for part in filter(None, "~".join(address.get(DEFAULTS, [])).split("~")):
        name, _, written = part.partition(":")
        key, values = of_today(name, [unquote(value) for value in written.split(",")])
        said[key] = values, False
    for name in filter(lambda name: name not in (DEFAULTS, VERSION, HIDE, *LECTURE), address):
        key, values = of_today(name, address[name])
        said[key] = values, (key, values) == (name, list(address[name]))
    made = Arrival(page, said, [_RENAMED.get(name, name) for name in names(",".join(address.get(HIDE, [])))])
    if (version := address.get(VERSION, [__version__])) != [__version__]:
        made.ignored.append(remark(VERSION, version, "made by another version: numbers may differ"))
    return made


def of_today(name: str, values: Sequence[str]) -> tuple[str, list[str]]:
    """A control and its texts, by the names of today.

    >>> of_today("check", ["as printed"]), of_today("beside_printed", ["Answers"])
    (('check', ['published']), ('beside_published', ['Minimisers']))
    """
    key = _RENAMED.get(name, name)
    return key, [_OLD_OPTIONS.get((key, value), value) for value in values]


def names(text: str) -> list[str]:
    """The names in a list like "delta,lam", each once.

    >>> names("delta,lam,,delta")
    ['delta', 'lam']
    """
    return list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))


def remark(name: str, values: Sequence[str], reason: str) -> str:
    """One thing that a link says in vain: cut, and without what does not print.

    >>> remark("n", ["17"], "not on the scale: 200 is shown")
    'n = 17 (not on the scale: 200 is shown)'
    """
    said = _cut(", ".join(values).strip(", ")) or "nothing"
    return f"{_cut(name)} = {said} ({reason})"


def _cut(text: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def begin(page: str, paths: Mapping[str, str]) -> None:
    """At the begin of each run: forget the run before, and look at the address if it is the session's first, or one
    that the browser went back or forward to.

    page: title of the page that is about to be drawn; paths: title -> last part of its address.
    """
    context = get_script_run_ctx()
    back = context is not None and context.is_history_navigation
    mine = held()
    if back or mine.arrival is None:
        said = {name: st.query_params.get_all(name) for name in st.query_params}
        mine.arrival = dc.replace(arrival(page, said), back=back)
        # Streamlit's number inputs break on an infinite number in the address.
        for name, values in said.items():
            if name in _RENAMED or any(math.isinf(_number(text) or 0.0) for text in values):
                _rewrite(name, None)
    elif mine.arrival.back:  # only in the run for it does Streamlit let an address win over the controls
        mine.arrival.said = {}
    mine.page, mine.paths = page, dict(paths)
    mine.drawn, mine.charts, mine.hidden = {}, [], set()
    if HIDE in st.query_params or st.session_state.get(HIDE):
        # A control that nobody sees: so the browser keeps the list in the address, also when the page is turned.
        st.html(f"<style>.st-key-{HIDE} {{ display: none }}</style>")
        hide_controls(names(st.text_input("Hidden controls", key=HIDE, bind="query-params")))


def hide_controls(keys: Iterable[str]) -> None:
    """Keep these controls out of sight in this run, with the values they have; others may be named too."""
    held().hidden.update(keys)


def is_named(key: str) -> bool:
    """Whether the address that was opened, or its list of what it hides, names a control that is not yet drawn."""
    mine = held()
    return mine.said(key)[0] is not None or key in mine.hidden


def prepare(control: Control, mine: Held) -> None:
    """Before a control is drawn: hide it if that is wanted, and put what a link says of it into Streamlit's words."""
    if control.key in mine.hidden:
        st.html(f"<style>.st-key-block_{control.key}, .st-key-{control.key} {{ display: none }}</style>")
    texts, in_address = mine.said(control.key)
    if texts is None:
        return
    try:
        value = control.read(texts)
    except ValueError:
        return
    # Streamlit reads the words on the screen; anything else it drops from the address, so that a reload has lost it.
    written = control.written(value) or [""]
    if value != control.default and (texts != written or not in_address):
        _rewrite(control.key, written)


def _rewrite(key: str, texts: list[str] | None) -> None:
    """Let the address say this of a control, None for nothing, before the control is drawn."""
    with get_session_state().query_params() as address:
        if texts is None:
            address.remove_param(key)
        else:
            address.set_corrected_value(key, texts, "string_array_value")
        address.set_initial_query_params_from_current()  # what Streamlit reads, in this run too


def note(control: Control, value: Any, mine: Held) -> None:
    """After a control was drawn: note its value for the page's link, and what a link said about it in vain."""
    mine.drawn[control.key] = control, value
    mine.known.setdefault(mine.page, {})[control.key] = control
    texts, _ = mine.said(control.key)
    if mine.arrival is None or texts is None:
        return
    del mine.arrival.said[control.key]
    try:
        if control.read(texts) == value:
            return
    except ValueError:
        pass
    shown = ", ".join(control.written(value)) or "nothing"
    if any(text.startswith(UPLOAD) for text in texts):
        reason = "uploads are not in links"
    elif len(texts) > 1 and not control.many:
        reason = f"given more than once: {shown} is shown"
    else:
        scale = isinstance(control.options[-1], int | float)
        reason = f"not {'on the scale' if scale else 'to be chosen'}: {shown} is shown"
    mine.arrival.ignored.append(remark(control.key, texts, reason))


def reset() -> None:
    """Set all controls of this page to their defaults, of all its views; a file that the reader brought stays."""
    mine = held()
    for key, control in mine.known.get(mine.page, {}).items():
        kept = key == BEHIND or str(st.session_state.get(key)).startswith(UPLOAD)
        if not kept:
            st.session_state[key] = list(control.default) if control.many else control.default


def control_of(key: str) -> Control:
    """A control that this run has drawn."""
    control, _ = held().drawn[key]
    return control


def state() -> dict[str, str]:
    """What the controls say that this run has drawn so far, as the screen writes it."""
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
    drawn = held().drawn.items()
    return {key: value for key, (control, value) in drawn if key != BEHIND and not _is_upload(control, value)}


def has_upload() -> bool:
    """Whether a control of this run stands at a data set that only this session has."""
    return any(_is_upload(control, value) for control, value in held().drawn.values())


def _is_upload(control: Control, value: Any) -> bool:
    return any(str(option).startswith(UPLOAD) for option in control.chosen(value))


def end(place: DeltaGenerator) -> None:
    """After the page is complete: tell at this place what its link said in vain, until the reader has seen it or goes
    back in the browser."""
    mine = held()
    told = mine.arrival
    assert told is not None  # since `begin`
    for name, (values, _) in told.said.items():
        told.ignored.append(remark(name, values, "no such control here"))
    if unknown := [name for name in told.hide if name not in mine.drawn]:
        told.ignored.append(remark(HIDE, unknown, "no such control here"))
    told.said, told.hide = {}, []
    if told.page != mine.page or told.back:
        told.ignored = []
    if told.ignored:
        more = len(told.ignored) - MOST
        first = [*told.ignored[:MOST], *([f"{more} more"] if more > 0 else [])]
        with place.container(horizontal=True, vertical_alignment="center", key="ignored"):
            st.html(f"<small>{html.escape('Ignored in this link: ' + '; '.join(first) + '.')}</small>", width="stretch")
            st.button("Dismiss", key="dismiss_ignored", on_click=told.ignored.clear, type="tertiary")


def query(drawn: Mapping[str, tuple[Control, Any]], hide: Collection[str] = ()) -> str:
    """What a link says after its question mark.

    >>> n, m = Control("n", "people", (200, 5000), 200, "{:,}".format), Control("m", "samples", ("auto", 1), "auto")
    >>> query({"n": (n, 5000), "m": (m, "auto")}, ["m"]).replace(__version__, "VERSION")
    'n=5,000&defaults=m:auto&v=VERSION&hide=m'
    """
    said, defaults = [], []
    for key, (control, value) in drawn.items():
        if _is_upload(control, value):
            continue
        if value == control.default:
            defaults.append(f"{key}:{','.join(quote(str(option), safe='') for option in control.chosen(value))}")
        else:
            said += [(key, text) for text in control.written(value) or [""]]
    said += [(DEFAULTS, "~".join(defaults)), (VERSION, __version__)]
    if hide:
        said.append((HIDE, ",".join(hide)))
    return urlencode(said, quote_via=quote, safe=":,~")


def link_to_here(hide: Collection[str] = ()) -> str:
    """The whole address of this page in its state; complete once the page's controls are drawn."""
    mine = held()
    drawn = {key: pair for key, pair in mine.drawn.items() if key != BEHIND}
    base = st.get_option("server.baseUrlPath")
    address = _page_address(st.context.url or "", mine.paths[mine.page], set(mine.paths.values()), base)
    return f"{address}?{query(drawn, hide)}"


def _page_address(url: str, path: str, paths: Collection[str], base: str) -> str:
    """The address of the page at `path`, seen from another page's: after a turn of the page the browser still reports
    the one before.

    >>> _page_address("http://x/base/audit?n=1", "perturbation", {"", "perturbation", "audit"}, "base")
    'http://x/base/perturbation'
    """
    seen = urlsplit(url)
    here = seen.path.rstrip("/")
    above, _, last = here.rpartition("/")
    if last in paths and here.strip("/") != base.strip("/"):
        here = above
    return f"{seen.scheme}://{seen.netloc}{here}/{path}"


def offer() -> None:
    """The link to copy, and which controls it hides."""
    mine = held()
    drawn = mine.drawn
    keys = [key for key in drawn if key != BEHIND]
    hide = st.multiselect(
        "Controls to hide in this link",
        keys,
        [key for key in keys if key in mine.hidden],
        format_func=lambda key: drawn[key][0].label,
        key="hide_in_link",
    )
    st.code(link_to_here(hide), language=None, wrap_lines=True)
    if has_upload():
        st.caption("Your file is not in the link: it opens with the page's default data set.")
