"""One of many clients in a process: it keeps what arrives, and looks at it when there is time."""

import ssl
from collections import deque
from time import monotonic_ns
from typing import Final

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from benchmarks.room.dialect import Dialect
from benchmarks.room.line import Line, LineClosed
from benchmarks.room.plan import Note


class Client:
    """A WebSocket with a dialect. `notes` are what it heard, with the moment of arrival (ns)."""

    def __init__(
        self, port: int, dialect: Dialect, tls: ssl.SSLContext | None, *, stalled: bool = False
    ) -> None:
        self.line: Final = Line(port, tls, narrow=stalled)
        self.notes: list[tuple[Note, int]] = []
        self.open = True
        self._dialect = dialect
        self._arrived: deque[tuple[int, bytes]] = deque()
        self._payloads: deque[bytes] = deque()
        scheme = "ws" if tls is None else "wss"
        uri = parse_uri(f"{scheme}://127.0.0.1:{port}{dialect.path}")
        self._protocol = ClientProtocol(uri, max_size=None)
        self._upgrade()
        dialect.enter(self._ask, self.line.certificate())
        self.line.release()

    def say(self, sender: int, number: int) -> None:
        """Say what tells who says it and when."""
        note = Note(sender, number, monotonic_ns())
        self._protocol.send_text(self._dialect.say(note.text()))
        self._pass_on()

    def take(self) -> bool:
        """Keep what has arrived; whether there was anything."""
        try:
            data = self.line.receive()
        except LineClosed:
            self.open = False
            return False
        if data:
            self._arrived.append((monotonic_ns(), data))
        return bool(data)

    def look(self) -> None:
        """Understand the first of what was kept."""
        at, data = self._arrived.popleft()
        self._feed(data)
        while self._payloads:
            heard = self._dialect.heard(self._payloads.popleft())
            self.notes.extend((Note.read(text), at) for text in heard)
        self._pass_on()

    def _upgrade(self) -> None:
        self._protocol.send_request(self._protocol.connect())
        self._pass_on()
        while self._protocol.state is State.CONNECTING:
            self._feed(self.line.receive())
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc

    def _ask(self, message: bytes) -> bytes:
        self._protocol.send_text(message)
        self._pass_on()
        while not self._payloads:
            self._feed(self.line.receive())
        return self._payloads.popleft()

    def _feed(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._payloads.append(bytes(event.data))
            elif isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
                self.open = False

    def _pass_on(self) -> None:
        try:
            for data in self._protocol.data_to_send():
                self.line.send(data)
        except LineClosed:
            self.open = False
