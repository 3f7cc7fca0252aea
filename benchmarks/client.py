"""A browser tab without a browser: a session of the running dashboard that turns pages, moves sliders and waits.

It speaks Streamlit's protocol over a websocket, as the page in a browser does: every change is a request to run the
script, with the address and the controls as they stand; what comes back are the elements of the page. It asks whether
work in the background is done as often as the page says. It draws nothing.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import websockets
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

FIGURE = "live_figure"
_PATIENCE_SECONDS = 120.0


class Broken(Exception):
    """The dashboard showed an error, or no answer came."""


class Client:
    """One session; to be used as `async with Client(url) as client`.

    url: of the server, with its base path if it has one.

    sliders: those on the page that can be moved, by key. figures: how many pictures the last run sent. errors: what the
    page showed instead of pictures, in words.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        socket = "wss" if parts.scheme == "https" else "ws"
        self._url = url.rstrip("/")
        self._stream = urlunsplit((socket, parts.netloc, parts.path.rstrip("/") + "/_stcore/stream", "", ""))
        self.sliders: dict[str, Slider] = {}
        self.figures = 0
        self.errors: list[str] = []
        self._drawn: dict[str, Slider] = {}  # what this run has drawn of them
        self._states: dict[str, WidgetState] = {}
        self._address: dict[str, list[str]] = {}
        self._page, self._script = "", ""
        self._polls: dict[str, asyncio.Task[None]] = {}
        self._asked: asyncio.Future[None] | None = None  # whether the work in the background is done
        self._run, self._left = "", ""  # the run that draws the page now; the one that a move gave up
        self._done = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._socket = await websockets.connect(
            self._stream,
            subprotocols=[websockets.Subprotocol("streamlit")],
            max_size=None,
            compression=None,
            proxy=None,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._stop_polls()
        self._reader.cancel()
        await self._socket.close()

    @property
    def address(self) -> str:
        """What the browser's address bar would show."""
        return f"{self._url}/{self._page}?{urlencode(self._address, doseq=True)}"

    @property
    def waits(self) -> bool:
        """Whether the page waits for work in the background."""
        return bool(self._polls)

    async def visit(self, page: str, query: str = "") -> float:
        """Open a page: what follows the server's address, "" for the first one; returns as `move` does."""
        self._page, self._script, self._states = page, "", {}
        self._address = parse_qs(query, keep_blank_values=True)
        return await self._rerun()

    async def move(self, key: str, option: str) -> float:
        """Set a slider to one of its options; returns the seconds until the page was complete.

        Raises Broken if the page shows an error or never ends.
        """
        self._set(self.sliders[key], option)
        return await self._rerun()

    async def see(self) -> None:
        """Wait for a picture: the first that comes, where the page begins without one.

        Raises Broken if the page has none and waits for none.
        """
        await self._wait(lambda: self.figures > 0)
        if not self.figures:
            raise Broken(f"{self.address} shows no picture")

    async def settle(self) -> None:
        """Wait until nothing is awaited from the background."""
        await self._wait(lambda: False)

    async def _wait(self, enough: Callable[[], bool]) -> None:
        """As long as the page waits for something, until there is enough after a complete run."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._done.is_set() or (self.waits and not enough()):
            if time.monotonic() > deadline:
                raise Broken(f"{self.address} still waits for numbers after {_PATIENCE_SECONDS:g} seconds")
            await asyncio.sleep(0.02)
        if self.errors:
            raise Broken(f"{self.address}: {self.errors[0]}")

    def place(self, key: str) -> int:
        """Which of its options a slider stands at."""
        slider = self.sliders[key]
        if state := self._states.get(slider.id):
            return list(slider.options).index(state.string_array_value.data[0])
        return int(slider.default[0])

    def _set(self, slider: Slider, option: str) -> None:
        """The browser keeps a value in the address too, unless it is the default."""
        self._states[slider.id] = WidgetState(id=slider.id, string_array_value=StringArray(data=[option]))
        if name := slider.query_param_key:
            self._address.pop(name, None)
            if option != slider.options[int(slider.default[0])]:
                self._address[name] = [option]

    async def _rerun(self) -> float:
        start = time.perf_counter()
        if self._asked is not None:  # whose answer could be mistaken for that to the move
            await asyncio.wait_for(self._asked, _PATIENCE_SECONDS)
        self._stop_polls()
        self._left, self._run = self._run, ""
        self._done.clear()
        name = self._page or "the first page"
        try:
            await self._send()
            await asyncio.wait_for(self._done.wait(), _PATIENCE_SECONDS)
        except TimeoutError:
            raise Broken(f"{name} did not answer in {_PATIENCE_SECONDS:g} seconds") from None
        except websockets.ConnectionClosed:
            raise Broken(f"{name}: the server closed the connection") from None
        if self.errors:
            raise Broken(f"{name}: {self.errors[0]}")
        return time.perf_counter() - start

    async def _send(self, fragment: str = "") -> None:
        message = BackMsg()
        client = message.rerun_script
        client.query_string = urlencode(self._address, doseq=True)
        client.page_script_hash = self._script
        client.page_name = "" if self._script else self._page
        client.widget_states.widgets.extend(self._states.values())
        client.fragment_id, client.is_auto_rerun = fragment, bool(fragment)
        client.context_info.url = self.address
        client.context_info.color_scheme = "light"
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        try:
            async for frame in self._socket:
                assert isinstance(frame, bytes)
                self._take(ForwardMsg.FromString(frame))
            self.errors.append("the server closed the connection")
        except websockets.ConnectionClosed:
            self.errors.append("the server closed the connection")
        except Exception as error:  # nobody would hear of it, and whoever waits would wait for nothing
            self.errors.append(f"a message could not be read: {error!r}")
        self._done.set()

    def _take(self, message: ForwardMsg) -> None:
        """What the browser does with a message."""
        kind, run = message.WhichOneof("type"), message.metadata.run
        if kind == "new_session" and not run.fragment_ids and run.script_run_id != self._left:
            self._begin(run.script_run_id)
        elif kind == "navigation":
            self._script = message.navigation.page_script_hash
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._see(message.delta.new_element)
        elif kind == "page_info_changed":
            self._address = parse_qs(message.page_info_changed.query_string, keep_blank_values=True)
        elif kind == "auto_rerun" and self._run:
            name, every = message.auto_rerun.fragment_id, message.auto_rerun.interval
            if name not in self._polls:
                self._polls[name] = asyncio.create_task(self._poll(name, every))
        elif kind == "session_event" and message.session_event.WhichOneof("type") == "script_compilation_exception":
            self.errors.append(message.session_event.script_compilation_exception.message)
        elif kind == "script_finished":
            self._end(message)

    def _begin(self, run: str) -> None:
        """A run of the whole page has begun: it will send everything that stays, and until its end all else does."""
        self._answered()
        self._stop_polls()
        self._run, self._left = run, ""
        self._done.clear()
        self._drawn = {}
        self.figures, self.errors = 0, []

    def _end(self, message: ForwardMsg) -> None:
        run, early = message.metadata.run, message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
        if early:
            return  # another run follows
        if run.fragment_ids:
            self._answered()
        elif run.script_run_id == self._run:
            self.sliders = self._drawn
            self._done.set()

    def _see(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        if kind == "slider" and element.slider.type == Slider.SELECT_SLIDER:
            if element.slider.set_value:
                self._set(element.slider, element.slider.raw_value[0])
            if not element.slider.disabled:
                self._drawn[_key(element.slider.id)] = element.slider
        elif kind == "plotly_chart" or (kind == "bidi_component" and element.bidi_component.component_name == FIGURE):
            self.figures += 1
        elif kind == "exception":
            self.errors.append(f"{element.exception.type}: {element.exception.message}")
        elif kind == "alert" and element.alert.format == Alert.ERROR:
            self.errors.append(element.alert.body)

    async def _poll(self, fragment: str, every: float) -> None:
        """Run one block of the page again and again, as long as the page holds it."""
        while True:
            await asyncio.sleep(every)
            if self._asked is None and self._done.is_set():
                self._asked = asyncio.get_running_loop().create_future()
                await self._send(fragment)

    def _answered(self) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(None)
        self._asked = None

    def _stop_polls(self) -> None:
        for poll in self._polls.values():
            poll.cancel()
        self._polls = {}


def _key(widget: str) -> str:
    """The name that the page gave a widget, from its id.

    >>> _key("$$ID-3f8a-beside-epsilon")
    'beside-epsilon'
    """
    return widget.split("-", 2)[2]
