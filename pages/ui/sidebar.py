"""The shared sidebar: every control in the same place on every page.

A page says which controls it does not use. Those of them that the reader has set, or that the address names, are drawn
all the same, disabled and out of sight, so that they keep their values and their place in the address. Sliders walk
frozen grids, so that every position has a finished curve behind it.

What the reader sets goes along to every page and tab (see `pages.ui.navigation`); what nobody has set stands at each
page's default. A page that does not use a control shows it unchanged; a value that is not on a page's grid is replaced
there by the nearest one, with a note, until the reader moves that control or returns to a grid that has it.
"""

import dataclasses as dc
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import EPSILON_GRID, Problem
from dpcore.core.facts import text_beside
from pages.ui import share_link, url_controls
from pages.ui.numbers import power
from pages.ui.set_controls import set_controls

DELTAS = tuple(10.0**-k for k in range(10, 2, -1))
SAMPLE_SIZES = (200, 300, 500, 700, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
DIMENSIONS = tuple(2**k for k in range(3, 21))
LAMBDAS: tuple[float | str, ...] = (
    *("auto", "population"),
    *(m * 10.0**k for k in (-4, -3, -2, -1) for m in (1, 2, 5)),
    1.0,
)
SAMPLES: tuple[int | str, ...] = ("auto", *(m * 10**k for k in range(4) for m in (1, 2, 5)), 10_000)
LARGEST_SEED = 10**6
KEYS = ("epsilon", "delta", "n", "p", "lam", "m", "seed")
ALL_BUT_SEED = KEYS[:-1]
_RESET_HELP = "Sets all controls to their defaults, on every page. An uploaded file stays."
DEFAULTS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "p": 8, "lam": "auto", "m": "auto", "seed": 7}

# At import, so once per process.
_by_hand = st.components.v2.component(
    "epsilon",
    js=text_beside(__file__, "epsilon.js").replace("EPSILON_GRID", str([*EPSILON_GRID])),
    isolate_styles=False,
)


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

    by_hand: whether the reader asked for it, or nobody did.
    """

    asked: Any
    shown: Any
    by_hand: bool


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
        return "⚠️ δ ≥ 1/n: even publishing a random record would satisfy this guarantee."
    if delta > 1 / n**2:
        return "δ > 1/n²: a smaller δ is safer."
    return None


def sidebar(
    *,
    sample_sizes: tuple[int, ...] = SAMPLE_SIZES,
    default_n: int,
    columns: int | None = None,
    max_columns: int,
    unused: Collection[str],
    letter: str = "p",
    rules: tuple[str, ...] = ("auto", "population"),
    own: Mapping[str, Any] = {},
) -> Controls:
    """Draw the sidebar and return its state.

    sample_sizes: values n can take, default_n the one to start with. columns: of the data set where it fixes them, else
    the slider decides up to max_columns. unused: keys of controls that this page does not use. letter: what the page
    calls the dimension. rules: for lam, beside numbers. own: defaults of this page that differ from `DEFAULTS`.
    """
    with st.sidebar:
        st.markdown("### Price of Privacy")
        epsilon = _slider("epsilon", "ε privacy budget", EPSILON_GRID, "{:g}".format, own.get("epsilon"), unused)
        below_delta = url_controls.block("delta", gap="xsmall")
        delta = _slider("delta", "δ failure probability", DELTAS, delta_text, own.get("delta"), unused, below_delta)
        n = _slider("n", "n records", sample_sizes, "{:,}".format, default_n, unused)
        if not {"delta", "n"} & set(unused) and (text := delta_note(delta, n)):
            below_delta.caption(text)
        dimension = f"{letter} dimension"
        if columns is None:
            # Where p is not used it may be any of another page, and a link that says so is understood.
            columns_to = [p for p in DIMENSIONS if "p" in unused or p <= max_columns]
            dimension += "" if "p" in unused else f" (to {max_columns:,})"
            p = _slider("p", dimension, columns_to, "{:,}".format, own.get("p"), unused)
        else:  # the slider keeps its value for data sets that have no columns of their own
            p = columns
            url_controls.block("p", gap="xsmall")
        lams = (*rules, *(lam for lam in LAMBDAS if not isinstance(lam, str)))
        lam = _slider("lam", "λ regularisation", lams, lam_text, own.get("lam"), unused)
        m = _slider("m", "m draws", SAMPLES, unused=unused)
        places = ", ".join(f"[data-testid=stLayoutWrapper]:has(> .st-key-block_{key})" for key in unused)
        st.html(f"<style>{places or 'none'} {{ display: none }}</style>")
        seed = _anew(unused)
    return Controls(epsilon, delta, n, p, lam, m, seed)


def _anew(unused: Collection[str]) -> int:
    """The buttons that draw another seed and set all back; returns the seed."""
    with st.container(horizontal=True, key="anew", gap="small"):
        seed = _seed(unused)
        st.button("Reset all", on_click=_reset, help=_RESET_HELP)
    return seed


def _seed(unused: Collection[str]) -> int:
    """The seed, which only the address and this button set: its own field is out of sight (theme.css)."""
    drawn, default = _drawn(), DEFAULTS["seed"]
    last = _last("seed")
    asked, by_hand = wanted(round(st.session_state.get("seed", default)), last, default)
    disabled = "seed" in unused
    with url_controls.block("seed"):
        if _left_out("seed", default, by_hand, unused):
            return int(default)
        _settle("seed", asked, default, last)
        seed = url_controls.whole_number("seed", "seed", range(LARGEST_SEED + 1), default, disabled=disabled)
        if seed != asked:  # the address decided otherwise
            by_hand = seed != default
        drawn["seed"] = Drawn(seed, seed, by_hand)
        st.button("New seed", on_click=_new_seed, help="Draws new data and new noise.", disabled=disabled)
    return seed


def _left_out(key: str, default: Any, by_hand: bool, unused: Collection[str]) -> bool:
    """Whether a control stays out that the page does not use: nobody has set it, and the address does not name it.

    It is noted as one that stands at the page's default.
    """
    out = key in unused and not by_hand and key not in st.query_params
    if out:
        st.session_state[key] = default
        _drawn()[key] = Drawn(default, default, by_hand=False)
    return out


def _slider(
    key: str,
    label: str,
    options: Sequence[Any],
    text: Callable[[Any], str] = str,
    default: Any = None,
    unused: Collection[str] = (),
    place: DeltaGenerator | None = None,
) -> Any:
    """A slider over a frozen grid, kept in the address; disabled where it is unused."""
    if default is None:
        default = DEFAULTS[key]
    drawn, last = _drawn(), _last(key)
    asked, by_hand = wanted(st.session_state.get(key, default), last, default)
    with place or url_controls.block(key, gap="xsmall"):
        if _left_out(key, default, by_hand, unused):
            return default
        if key in unused and asked not in options:
            options = sorted({*options, asked})
        fitting = nearest(asked, options, default)
        _settle(key, fitting, default, last)
        shown = url_controls.slider(key, label, options, default, text, disabled=key in unused)
        if shown != fitting:  # the address decided otherwise
            asked, by_hand = shown, shown != default
        if key == "epsilon" and key not in unused:
            _by_hand(key="play_epsilon")
        drawn[key] = Drawn(asked, shown, by_hand)
        if asked != shown:
            replaced = "takes its place" if isinstance(asked, str) else "is the nearest"
            st.caption(f"{text(asked)} is not on this page's scale: {text(shown)} {replaced}.")
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


def _reset() -> None:
    share_link.reset()
    for key in _drawn():
        release(key)


def _drawn() -> dict[str, Drawn]:
    """The controls as this session drew them last, on whatever page."""
    return cast("dict[str, Drawn]", st.session_state.setdefault("drawn", {}))


def _last(key: str) -> Drawn | None:
    """How the control was last drawn.

    The browser shows it so, also where the reader turns the page so early that it has not said so yet.
    """
    last = _drawn().get(key)
    if last is not None and key not in st.session_state and key not in st.query_params:
        st.session_state[key] = last.shown
    return last


def _settle(key: str, value: Any, default: Any, last: Drawn | None) -> None:
    """Give a control that is about to be drawn its value; setting it also mends the address."""
    # The browser loses an address's parameter when the reader turns the page before the control is on the screen. Of a
    # control that has just moved it may say the value first and the address a moment later: nothing is lost then, and
    # to send the address as it was would undo what the reader moves meanwhile.
    stays = last is not None and value == last.shown
    lost = value != default and key not in st.query_params and stays
    if lost or value != st.session_state.get(key, default):
        set_controls({key: value})


def _new_seed() -> None:
    set_controls({"seed": (int(st.session_state["seed"]) + 1) % (LARGEST_SEED + 1)})
