"""A session of a running server, as a browser tab has one: it opens addresses, presses buttons and keeps what came."""

from __future__ import annotations

import asyncio
from typing import Self
from urllib.parse import parse_qs, urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

_PATIENCE_SECONDS = 120.0


class Session:
    """One session; to be used as `async with Session(url) as session`.

    elements: what the last run of the page has drawn. address: what stands in the address then, name -> values.
    """

    def __init__(self, url: str, cookie: str = "") -> None:
        place = urlsplit(url)
        self._url = url.rstrip("/")
        self._stream = f"ws://{place.netloc}{place.path.rstrip('/')}/_stcore/stream"
        self._headers = {"Cookie": cookie} if cookie else {}
        self._page = self._query = ""
        self.elements: list[Element] = []
        self.address: dict[str, list[str]] = {}

    async def __aenter__(self) -> Self:
        self._socket = await websockets.connect(
            self._stream, additional_headers=self._headers, subprotocols=[websockets.Subprotocol("streamlit")],
            max_size=None, compression=None, proxy=None,
        )  # fmt: skip
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._socket.close()

    @property
    def figures(self) -> int:
        return sum(element.bidi_component.component_name == "live_figure" for element in self.elements)

    @property
    def errors(self) -> list[str]:
        return [element.exception.message for element in self.elements if element.HasField("exception")]

    async def visit(self, page: str, query: str = "") -> None:
        """Open a page: what follows the server's address, "" for the first one; until its first run has ended."""
        self._page, self._query = page, query
        await asyncio.wait_for(self._run(), _PATIENCE_SECONDS)

    async def see(self, page: str, query: str = "") -> None:
        """Open a page again and again until it shows a picture."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await self.visit(page, query)
            while not self.figures:
                assert not self.errors, self.errors
                await asyncio.sleep(0.2)
                await self._run()

    async def press(self, key: str) -> None:
        """Press a button of the page."""
        ids = [element.button.id for element in self.elements if element.button.id.endswith(f"-{key}")]
        await asyncio.wait_for(self._run(WidgetState(id=ids[-1], trigger_value=True)), _PATIENCE_SECONDS)

    async def _run(self, *widgets: WidgetState) -> None:
        message = BackMsg()
        message.rerun_script.query_string, message.rerun_script.page_name = self._query, self._page
        message.rerun_script.widget_states.widgets.extend(widgets)
        message.rerun_script.context_info.url = f"{self._url}/{self._page}?{self._query}"
        await self._socket.send(message.SerializeToString())
        while True:
            frame = await self._socket.recv()
            assert isinstance(frame, bytes)
            found = ForwardMsg.FromString(frame)
            kind = found.WhichOneof("type")
            if kind == "new_session":
                self.elements = []
            elif kind == "delta" and found.delta.WhichOneof("type") == "new_element":
                self.elements.append(found.delta.new_element)
            elif kind == "page_info_changed":
                self._query = found.page_info_changed.query_string
            elif kind == "script_finished" and found.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.address = parse_qs(self._query, keep_blank_values=True)
                return
