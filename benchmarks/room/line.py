"""A TCP connection that costs its owner little, so that the server is what is measured."""

import socket
import ssl
from typing import Final

RECEIVE: Final = 256 * 1024
_received: Final = memoryview(bytearray(RECEIVE))
_decrypted: Final = memoryview(bytearray(RECEIVE))
"""Made once: to get so much memory for each piece that arrives takes longer than the piece does."""

WINDOW: Final = 2048
SEGMENT: Final = 1460
"""What a narrow line takes in unread, and its packets, in bytes: as over an Ethernet. Loopback has
packets of 64 KB, and with them the system keeps 2 MB for a client that reads nothing."""

OPENING: Final = 30.0  # seconds that a server may take to answer while a connection opens


class LineClosed(Exception):
    """The other end closed the connection."""


class Line:
    """A connection to a port on this machine: first it blocks, and after `release` it never does.

    TLS is done in memory, so that one system call reads what came in many records.
    """

    def __init__(
        self, port: int, tls: ssl.SSLContext | None = None, *, narrow: bool = False
    ) -> None:
        self.socket: Final = socket.socket()
        if narrow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(OPENING)
        self.socket.connect(("127.0.0.1", port))
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = None if tls is None else tls.wrap_bio(self._incoming, self._outgoing)
        self._unsent = b""
        if self._tls is not None:
            self._shake_hands(self._tls)

    def certificate(self) -> bytes:
        """The server's certificate in DER, empty without TLS."""
        return b"" if self._tls is None else self._tls.getpeercert(binary_form=True) or b""

    def release(self) -> None:
        """Never block from now on."""
        self.socket.setblocking(False)

    def receive(self) -> bytes:
        """What has arrived, which may be nothing.

        Raises:
            LineClosed: nothing will arrive any more.
        """
        try:
            size = self.socket.recv_into(_received)
        except BlockingIOError:
            return b""
        except ConnectionError as error:
            raise LineClosed from error
        if not size:
            raise LineClosed
        data = _received[:size]
        return bytes(data) if self._tls is None else self._decrypted(self._tls, data)

    def send(self, data: bytes) -> None:
        """Send, or keep for `flush` what does not go out at once."""
        if self._tls is not None:
            self._tls.write(data)
            data = self._outgoing.read()
        self._unsent += data
        self.flush()

    def flush(self) -> bool:
        """Send what was kept; whether everything is out.

        Raises:
            LineClosed: nothing can be sent any more.
        """
        try:
            while self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except BlockingIOError:
            return False
        except ConnectionError as error:
            raise LineClosed from error
        return True

    def _shake_hands(self, tls: ssl.SSLObject) -> None:
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                self.socket.sendall(self._outgoing.read())
                self._incoming.write(self.socket.recv(RECEIVE))
            else:
                self.socket.sendall(self._outgoing.read())
                return

    def _decrypted(self, tls: ssl.SSLObject, data: memoryview) -> bytes:
        self._incoming.write(data)
        parts = []
        try:
            while self._incoming.pending or tls.pending():
                size = int(tls.read(RECEIVE, _decrypted))  # a number, whatever its type says
                parts.append(bytes(_decrypted[:size]))
        except ssl.SSLWantReadError:  # the rest of a record is still to come
            pass
        return b"".join(parts)
