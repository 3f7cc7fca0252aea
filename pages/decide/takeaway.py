"""What can be taken away: the release as one page to sign, its plan, and the key of the file."""

import streamlit as st

from pages.decide.briefing.content import Briefing
from pages.decide.briefing.page import html_page
from pages.decide.state import State
from pages.ui import share_link
from pages.ui.html import literal


def show(state: State, looks: int) -> None:
    """Draw what all planned releases cost, and the files, which are offered once all splits are in.

    looks: answers from the records of a file so far, 0 where there is no file.
    """
    answer, upload = state.answer, state.upload
    if not state.complete:
        st.caption("The page to sign comes with the last split.")
        return
    if not answer.useful:
        st.markdown(f"**Nothing to sign:** {answer.why} {answer.change}")
        return
    briefing = Briefing.of(answer, state.source, upload, looks, _address(state))
    st.markdown(literal(briefing.sections["The guarantee"]["All releases"]))
    if briefing.nothing_to_sign:
        st.caption(literal(briefing.nothing_to_sign))
    files = [
        ("Page to sign (HTML)", html_page(briefing), "html", "text/html"),
        ("Plan (JSON)", briefing.to_json(), "json", "application/json"),
    ]
    if upload is not None and briefing.plan is not None:
        files.append(("Key (text)", upload.key, "key", "text/plain"))
    with st.container(horizontal=True, key="take_away"):
        for label, content, ending, kind in files:
            name = f"{briefing.name}.{ending}"
            st.download_button(label, content, name, kind, on_click="ignore", key=f"take_{ending}")
    if len(files) == 3:
        st.caption("Keep the key apart from the rest: whoever has both can test whether a file is yours.")


def _address(state: State) -> str:
    """Address of this state, which never names an uploaded file."""
    address = share_link.link_to_here()
    return f"{address} (without the file, which stays with its holder)" if state.upload else address
