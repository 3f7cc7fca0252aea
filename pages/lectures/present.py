"""A page as it stands, as a step of a lecture."""

import streamlit as st

from pages.lectures.reader import written
from pages.ui import share_link

# In a step that is copied; at most 25, and to be replaced.
WORDS = "Say here what the room should see."


def offer() -> None:
    """The page's present state as lines to copy; worked out while somebody looks at them."""
    with st.popover("Make a step of this", key="make_a_step", type="tertiary", on_change="rerun") as opened:
        if opened.open and not share_link.charts():
            st.caption("A step shows a chart, and there is none here.")
        elif opened.open:
            st.caption("Copy these lines into the file of a lecture, then write the words.")
            st.code(step_text(), language="yaml", wrap_lines=True)
            if share_link.has_upload():
                st.caption("Your file is not in the step: it opens with the page's default data set.")


def step_text() -> str:
    """A step with every control of the page, so that a later default changes no lecture, and with its first chart."""
    state = share_link.values()
    chart, *others = share_link.charts()
    also = f"  # or, with “aside: true”: {', '.join(others)}" if others else ""
    lines = [f'- words: "{WORDS}"', f"  shows: {chart}{also}", f"  state: {written(state)}"]
    if "epsilon" in state:
        lines.append("  kept: [epsilon]")
    return "\n".join(f"  {line}" for line in lines)
