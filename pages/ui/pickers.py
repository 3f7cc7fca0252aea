"""Pickers above and below a chart that several pages have."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpcore import data
from dpcore.data import Source
from pages.ui import url_controls
from pages.ui.share_link import UPLOAD
from pages.ui.sidebar import SAMPLE_SIZES, release

# Data sets with two classes; idle columns have a page of their own, and the hardest records are of one page only.
_APART = ("synthetic_padded", "synthetic_hardest")
SHOWN = [key for key, info in data.SOURCES.items() if info.task == "classification" and key not in _APART]

OWN_FILE = f"{UPLOAD}own"

# Mechanisms of Overview by the place of their noise; Overview and Decide begin with the default: docs/performance.md.
OVERVIEW = {"output": "output_gaussian", "objective": "objective_gaussian", "gradient": "noisy_sgd"}
DEFAULT_PLACE = "objective"


# Overview and Perturbation open with the same people. So many, with these settings, that bounds are below "nothing
# learned" at ε = 1; the norm is that of the law by which they are drawn, and bounds compare with models of at most it.
_PEOPLE, _PEOPLE_N, PEOPLE_NORM = "synthetic", 2_000, 6.0
_PEOPLE_DEFAULTS: dict[str, Any] = {"lam": 0.005, "delta": 1e-7}


def is_drawn(source: Source) -> bool:
    """Whether any number of records can be drawn."""
    return source.size is None


def defaults_of(source: Source) -> dict[str, Any]:
    """Defaults of the sidebar that these records ask for: drawn ones have a public λ, real ones the common rule."""
    return _PEOPLE_DEFAULTS if is_drawn(source) else {}


def norm_of(source: Source) -> float:
    """The largest norm of the models with which upper bounds compare."""
    return PEOPLE_NORM if is_drawn(source) else source.theta_norm


def sizes_of(source: Source, size: int, most: int) -> tuple[int, ...]:
    """Numbers of records on a slider, `size` among them: of a real set at most all of its own."""
    largest = min(most, source.size or most)
    return tuple(sorted({*(n for n in SAMPLE_SIZES if n <= largest), size}))


def pick_source(key: str, also: Sequence[str] = ()) -> tuple[Source, int]:
    """The data set that the reader chose, and the number of records it starts with.

    key: of the picker and in the address; pages with different defaults need different ones. also: of this page only.
    """
    source = data.get_source(_pick([*SHOWN, *also], _PEOPLE, key))
    return source, min(source.sample_size, _PEOPLE_N)


def pick_source_or_file(default: str, key: str) -> Source | None:
    """The data set that the reader chose; None stands for a file of their own."""
    chosen = _pick([*SHOWN, OWN_FILE], default, key)
    return None if chosen == OWN_FILE else data.get_source(chosen)


def _pick(options: Sequence[str], default: str, key: str) -> str:
    return url_controls.select(
        key,
        "Records",
        options,
        default,
        lambda option: "a file of your own" if option == OWN_FILE else data.SOURCES[option].label,
        on_change=release,
        args=("n",),  # it takes the number of these records
        width=290,
    )


def switch(
    label: str, options: Sequence[str] | Mapping[str, str], default: str, *, key: str, wrap: bool = False
) -> str:
    """One of a few words in a row, in the address under its key; a mapping says what is shown for each.

    label: for screen readers. wrap: break into several rows where there is no room.
    """
    names = options if isinstance(options, Mapping) else dict(zip(options, options, strict=True))
    return url_controls.segments(
        key, label, list(names), default, names.__getitem__, label_visibility="collapsed", wrap=wrap
    )
