"""The dashboard's server: `streamlit run app.py`.

Handing pages/main.py to st.App makes every address, also the first one asked for, run that script; plain page
files beside a main script would be run alone and without their sidebar.
"""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from pages.server import arguments, assets, host_guard, preload_imports, upload_lifetime

# On Streamlit Community Cloud, variables of the environment are set as secrets.
st.secrets.load_if_toml_exists()
host_guard.let_in_named_hosts()
if Path(sys.argv[0]).name == "app.py":  # started by Streamlit; another server's arguments are its own
    arguments.accept(sys.argv[1:])
preload_imports.start()
upload_lifetime.keep_in_memory()


def apologise(error: Exception) -> bool:
    """Show a visitor one sentence; Streamlit has just logged the error with its traceback."""
    st.error("Something went wrong; the server's log has the details. Change a control or reload the page to continue.")
    return True


app = st.App(
    Path(__file__).resolve().parent / "pages" / "main.py",
    routes=assets.routes(),
    lifespan=upload_lifetime.lifespan,
    middleware=[Middleware(host_guard.HostGuard), Middleware(upload_lifetime.UploadGuard)],
    on_script_error=apologise,
)
