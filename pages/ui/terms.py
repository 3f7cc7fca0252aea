"""Terms explained where they stand: the glossary's meanings, in the browser."""

import json

import streamlit as st

from dpcore.core.facts import facts_beside, text_beside

# Words of the screens: word, meaning, and the pages where it stands.
GLOSSARY = facts_beside(__file__, "glossary.csv")

# At import, so once per process.
_component = st.components.v2.component(
    "terms",
    js=text_beside(__file__, "terms.js").replace(
        "GLOSSARY", json.dumps({entry["word"].lower(): entry["meaning"] for entry in GLOSSARY}, ensure_ascii=False)
    ),
    isolate_styles=False,
)


def explain_terms() -> None:
    """Let the first of each term in a page's texts and labels show its meaning, on every page."""
    _component(key="terms")
