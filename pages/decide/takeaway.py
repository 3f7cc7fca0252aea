"""What can be taken away: the release as one page to sign, its plan, and the key of the file."""

import streamlit as st

from dpcore.data import Source
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon
from pages.decide.briefing.content import Briefing
from pages.decide.briefing.page import html_page
from pages.decide.upload.upload import Upload
from pages.ui import url_controls
from pages.ui.html import literal

RELEASES = (1, 2, 3, 4, 5, 7, 10, 20, 50, 100)


def show(
    answer: SmallestEpsilon, source: Source, upload: Upload | None, looks: int, address: str, complete: bool
) -> None:
    """Draw the planned releases, what they cost, and the files, which are offered once all splits are in.

    upload: None for a data set of the dashboard. looks: answers from its records so far. address: the page's link.
    """
    releases = url_controls.slider("releases", "planned releases", RELEASES, 1)
    if not complete:
        st.caption("The page to sign comes with the last split.")
        return
    if not answer.useful:
        st.markdown(f"**Nothing to sign:** {answer.why} {answer.change}")
        return
    briefing = Briefing.of(answer, source, upload, releases, looks, address)
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
