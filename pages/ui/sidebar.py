"""The shared sidebar: every control in the same place on every page.

A page says which controls it uses; the others stay visible, disabled, with the page's reason. Sliders walk frozen
grids, so that every position has a finished curve behind it.

What the reader sets goes along to every page and tab (see `pages.ui.navigation`); what nobody has set stands at each
page's default. A page that does not use a control shows it unchanged; a value that is not on a page's grid is replaced
there by the nearest one, with a note, until the reader moves that control or returns to a grid that has it.
"""

import dataclasses as dc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import streamlit as st

from dpcore import EPSILON_GRID, Problem
from pages.ui import share_link, url_controls
from pages.ui.numbers import power

DELTAS = tuple(10.0**-k for k in range(10, 2, -1))
PEOPLE = (200, 300, 500, 700, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
DIMENSIONS = tuple(2**k for k in range(3, 21))
LAMBDAS: tuple[float | str, ...] = (
    *("auto", "population"),
    *(m * 10.0**k for k in (-4, -3, -2, -1) for m in (1, 2, 5)),
    1.0,
)
SAMPLES: tuple[int | str, ...] = ("auto", *(m * 10**k for k in range(4) for m in (1, 2, 5)), 10_000)
LARGEST_SEED = 10**6
DEFAULTS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "p": 8, "lam": "auto", "m": "auto", "seed": 7}
GOES_ALONG = "What you set here goes with you to every page. Choosing other records sets n to theirs."


@dc.dataclass(frozen=True)
class Controls:
    """What the sidebar says; pages add controls of their own. lam: a number, "auto" or "population"."""

    epsilon: float
    delta: float
    n: int
    p: int
    lam: float | str
    m: int | str
    seed: int

    @property
    def budget(self) -> dict[str, Any]:
        """Arguments that most computations take."""
        return {"epsilon": self.epsilon, "delta": self.delta, "seed": self.seed}

    def problem(self, source: str, **more: Any) -> Problem:
        """What is learned from this source. more: other fields, or others in the place of the sidebar's."""
        facts = {"n": self.n, "p": self.p, "delta": self.delta, "lam": self.lam, "seed": self.seed}
        return Problem(source, **(facts | more))


@dc.dataclass(frozen=True)
class Drawn:
    """A control as it was last drawn; asked differs from shown where the grid lacks what was asked for.

    by_hand: whether the reader asked for it, or nobody did. text: what was asked for, as the sidebar repeats it.
    """

    asked: Any
    shown: Any
    by_hand: bool
    text: str = ""


def delta_text(delta: float) -> str:
    """A power of ten as people write it.

    >>> delta_text(1e-6)
    '10⁻⁶'
    """
    return power("10", str(round(math.log10(delta))))


def lam_text(lam: float | str) -> str:
    """A number, or the rule's name: "population", the lam of the smallest proved bound, is theory's choice."""
    return {"auto": "auto", "population": "theory"}[lam] if isinstance(lam, str) else f"{lam:g}"


def delta_note(delta: float, n: int) -> str | None:
    """What a large delta means, or None while delta is below 1/n^2."""
    if delta >= 1 / n:
        return "⚠️ δ ≥ 1/n: a rule that publishes one whole record at random would pass."
    if delta > 1 / n**2:
        return "δ is above 1/n²; cautious users stay below."
    return None


def sidebar(
    *,
    people: tuple[int, ...] = PEOPLE,
    default_people: int,
    columns: int | None = None,
    max_columns: int,
    unused: Mapping[str, str],
    default_columns: int | None = None,
    letter: str = "p",
    rules: tuple[str, ...] = ("auto", "population"),
) -> Controls:
    """Draw the sidebar and return its state.

    people: sizes n can take, default_people the one to start with. columns: of the data set where it fixes them, else
    the slider decides up to max_columns, starting at default_columns. unused: control -> reason, for controls that
    this page does not use. letter: what the page calls the dimension. rules: for lam, beside numbers.
    """
    with st.sidebar:
        st.markdown("### Price of Privacy")
        epsilon = _slider("epsilon", "ε privacy budget", EPSILON_GRID, "{:g}".format, reason=unused.get("epsilon"))
        with url_controls.block("delta_and_note", gap="xsmall"):
            delta = _slider("delta", "δ failure chance", DELTAS, delta_text, reason=unused.get("delta"))
            note = st.empty()
        n = _slider("n", "n people", people, "{:,}".format, default_people, unused.get("n"))
        if not {"delta", "n"} & set(unused) and (text := delta_note(delta, n)):
            note.caption(text)
        p = _dimension(letter, columns, max_columns, default_columns, unused.get("p"))
        lams = (*rules, *(lam for lam in LAMBDAS if not isinstance(lam, str)))
        lam = _slider("lam", "λ regularisation", lams, lam_text, reason=unused.get("lam"))
        m = _slider("m", "m samples", SAMPLES, reason=unused.get("m"))
        seed = _seed(unused.get("seed"))
        _reset_all()
    return Controls(epsilon, delta, n, p, lam, m, seed)


def _seed(reason: str | None) -> int:
    """The seed and the button that draws another one; with a reason both are disabled and say so."""
    drawn, default = _drawn(), DEFAULTS["seed"]
    last = drawn.get("seed")
    asked, by_hand = wanted(st.session_state.get("seed", default), last, default)
    _settle("seed", asked, default, last)
    with url_controls.block("seed", gap="xsmall"):
        number, reroll = st.columns([3, 2], vertical_alignment="bottom")
        with number:
            numbers, label = range(LARGEST_SEED + 1), "seed of chance"
            seed = url_controls.whole_number("seed", label, numbers, default, disabled=reason is not None)
        if seed != asked:  # the address decided otherwise
            by_hand = seed != default
        drawn["seed"] = Drawn(seed, seed, by_hand, f"seed {seed}")
        reroll.button(
            "Re-roll", on_click=_reroll, width="stretch", help="New data and new noise.", disabled=reason is not None
        )
        if reason:
            st.caption(reason)
    return seed


def _slider(
    key: str,
    label: str,
    options: Sequence[Any],
    text: Callable[[Any], str] = str,
    default: Any = None,
    reason: str | None = None,
) -> Any:
    """A slider over a frozen grid, kept in the address; with a reason it is disabled and says so."""
    if default is None:
        default = DEFAULTS[key]
    drawn = _drawn()
    last = drawn.get(key)
    asked, by_hand = wanted(st.session_state.get(key, default), last, default)
    if reason and asked not in options:
        options = sorted({*options, asked})
    fitting = nearest(asked, options, default)
    _settle(key, fitting, default, last)
    with url_controls.block(key, gap="xsmall"):
        shown = url_controls.slider(key, label, options, default, text, disabled=reason is not None)
        if shown != fitting:  # the address decided otherwise
            asked, by_hand = shown, shown != default
        drawn[key] = Drawn(asked, shown, by_hand, f"{label.split()[0]} = {text(asked)}")
        if reason:
            st.caption(reason)
        elif asked != shown:
            replaced = "takes its place" if isinstance(asked, str) else "is the nearest"
            st.caption(f"{text(asked)} is not on this page's scale; {text(shown)} {replaced}.")
    return shown


def wanted(value: Any, last: Drawn | None, default: Any) -> tuple[Any, bool]:
    """What a control is asked for, and whether by the reader, given its value and how it was last drawn (None: never).

    >>> wanted(398, Drawn(398, 398, by_hand=False), 2000), wanted(398, Drawn(398, 398, by_hand=True), 2000)
    ((2000, False), (398, True))
    """
    if last is None:
        return value, value != default
    if value != last.shown:
        return value, True
    return (last.asked, True) if last.by_hand else (default, False)


def nearest(asked: Any, options: Sequence[Any], default: Any) -> Any:
    """What a slider can show of what was asked for: the nearest number in ratio, the default for a rule.

    >>> nearest(700, (200, 500, 2000), 2000), nearest("population", ("auto", 0.1), "auto")
    (500, 'auto')
    """
    if asked in options:
        return asked
    return default if isinstance(asked, str) else min(options, key=lambda option: abs(math.log(option / asked)))


def release(key: str) -> None:
    """Forget that the reader set this control: it takes the page's default in the next run."""
    if key in _drawn():
        _drawn()[key] = dc.replace(_drawn()[key], shown=st.session_state.get(key), by_hand=False)


def _reset_all() -> None:
    """The button that sets all back, the rule of what goes along, and what the reader has set."""
    drawn = _drawn()
    in_order = [drawn[key] for key in ("epsilon", "delta", "n", "p", "lam", "m", "seed") if key in drawn]
    kept = [control.text for control in in_order if control.by_hand]
    with st.container(key="reset_all", gap="xsmall"):
        st.button(
            "Reset all",
            on_click=_reset,
            width="stretch",
            help="Sets the sidebar and all other controls of this page to their defaults. A file of yours stays.",
        )
        st.caption(f"{GOES_ALONG} Set by you: {', '.join(kept)}." if kept else GOES_ALONG)


def _reset() -> None:
    share_link.reset()
    for key in _drawn():
        release(key)


def _drawn() -> dict[str, Drawn]:
    """The controls as this session drew them last, on whatever page."""
    return cast("dict[str, Drawn]", st.session_state.setdefault("drawn", {}))


def _settle(key: str, value: Any, default: Any, last: Drawn | None) -> None:
    """Give a control that is about to be drawn its value; setting it also mends the address."""
    # The browser loses an address's parameter when the reader turns the page before the control is on the screen. Of a
    # control that has just moved it may say the value first and the address a moment later: nothing is lost then, and
    # to send the address as it was would undo what the reader moves meanwhile.
    stays = last is not None and value == last.shown
    lost = value != default and key not in st.query_params and stays
    if lost or value != st.session_state.get(key, default):
        st.session_state[key] = value


def _dimension(letter: str, columns: int | None, max_columns: int, default: int | None, reason: str | None) -> int:
    label = f"{letter} dimension"
    if columns is None:
        # Where p is not used it may be any of another page, and a link that says so is understood.
        columns_to = [p for p in DIMENSIONS if reason or p <= max_columns]
        label = label if reason else f"{label} (to {max_columns:,})"
        return _slider("p", label, columns_to, "{:,}".format, default, reason)
    # Its own key: the free slider keeps its value for data sets that have no columns of their own.
    with url_controls.block("p", gap="xsmall"):
        st.select_slider(label, sorted({*DIMENSIONS, columns}), columns, key=f"p_{columns}", disabled=True)
        st.caption(f"this data set has {columns} columns")
    return columns


def _reroll() -> None:
    st.session_state["seed"] = (int(st.session_state["seed"]) + 1) % (LARGEST_SEED + 1)
