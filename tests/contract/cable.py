"""A cable between people and their host, which a test can cut."""

import contextlib
import select
import socket
import struct
import threading
from types import TracebackType
from typing import Final, Self

CHUNK: Final = 65536
RESET: Final = struct.pack("ii", 1, 0)
"""The option that makes closing a socket a reset, as when a machine is gone."""


class Cable:
    """Passes bytes on between whoever connects to `address` and the host, both ways.

    It is TLS that passes, so nothing of it can be read or changed here. `cuts` counts how often
    connections that stood were broken, `passed` the bytes that came here in all.
    """

    def __init__(self, host: str) -> None:
        name, _, port = host.rpartition(":")
        self._host = (name, int(port))
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._budget: int | None = None
        self._closing = threading.Event()
        self.cuts = 0
        self.passed = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address: Final = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self.cut()
        for thread in list(self._threads):
            thread.join(10)
        self._socket.close()

    def cut(self) -> bool:
        """Break all connections at once, with whatever is under way; whether there were any."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
            self._budget = None
            self.cuts += bool(pairs)
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    end.shutdown(socket.SHUT_RDWR)
        return bool(pairs)

    def cut_after(self, passed: int) -> None:
        """Break once, instead of letting more than so many bytes pass from now on."""
        self._budget = passed

    def _accept(self) -> None:
        while not self._closing.is_set():
            if not select.select([self._socket], [], [], 0.1)[0]:
                continue
            near, _ = self._socket.accept()
            try:
                far = socket.create_connection(self._host, 5)
            except OSError:
                near.close()
                continue
            thread = threading.Thread(target=self._carry, args=(near, far), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        pair = (near, far)
        with near, far:
            for end in pair:
                end.settimeout(5)
            with self._lock:
                self._pairs.add(pair)
            try:
                while pair in self._pairs and self._pass_on(near, far):
                    pass
            except OSError:  # one end is gone, or a cut came between
                pass
            finally:
                with self._lock:
                    self._pairs.discard(pair)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> bool:
        """Move what has arrived; False at the end of one direction."""
        for source in select.select([near, far], [], [], 0.1)[0]:
            data = source.recv(CHUNK)
            if not data:
                return False
            if not self._may_pass(len(data)):
                self.cut()
                return False
            (far if source is near else near).sendall(data)
        return True

    def _may_pass(self, size: int) -> bool:
        with self._lock:
            self.passed += size
            if self._budget is None:
                return True
            self._budget -= size
            return self._budget >= 0
