"""Pickers above and below a chart that several pages have."""

from collections.abc import Mapping, Sequence

from dpcore import data
from dpcore.data import Source
from pages.ui import url_controls
from pages.ui.share_link import UPLOAD
from pages.ui.sidebar import release

# Data sets with two classes; idle columns have a page of their own, and the hardest records are of one page only.
_APART = ("synthetic_padded", "synthetic_hardest")
SHOWN = [key for key, info in data.SOURCES.items() if info.task == "classification" and key not in _APART]

OWN_FILE = f"{UPLOAD}own"

# Mechanisms of Overview by the place of their noise; Overview and Decide begin with the default: docs/performance.md.
OVERVIEW = {"output": "output_gaussian", "objective": "objective_gaussian", "gradient": "noisy_sgd"}
DEFAULT_PLACE = "objective"


def pick_source(default: str, key: str, most: int = 100_000, also: Sequence[str] = ()) -> tuple[Source, int]:
    """The data set that the reader chose, and the number of records it starts with: all of its own, at most `most`.

    key: of the picker and in the address; pages with different defaults need different ones. also: of this page only.
    """
    source = data.get_source(_pick([*SHOWN, *also], default, key))
    return source, min(source.sample_size, most)


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
