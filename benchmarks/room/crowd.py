"""A process with many clients: `python -m benchmarks.room.crowd`, driven through its pipes.

It is given a plan, its share of it and a port. It says when all its clients are in, when all of
them have heard the first message, and in the end what they heard.
"""

import selectors
import ssl
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from time import monotonic, monotonic_ns
from typing import Final

from benchmarks.room.client import Client
from benchmarks.room.dialect import dialect
from benchmarks.room.plan import Plan
from benchmarks.room.report import Report

IDLE: Final = 0.005  # seconds without news after which there is time to look at what came
WARM_UP: Final = -1
"""Number of the message with which everybody shows that they hear."""


class Crowd:
    """Some clients of the room; some of them also speak."""

    def __init__(self, plan: Plan, share: int, shares: int, port: int) -> None:
        self._plan = plan
        self._selector = selectors.DefaultSelector()
        tls = _context() if plan.is_encrypted() else None
        if plan.stalled and share == 0:
            name = "sleeper"
            self._sleeper = Client(port, dialect(plan.subject, name), tls, stalled=True)
        self.clients = {
            each: Client(port, dialect(plan.subject, f"client-{each}"), tls)
            for each in range(share, plan.clients, shares)
        }
        self._speakers = [
            self.clients[each] for each in range(plan.senders) if each in self.clients
        ]
        self._unseen: deque[Client] = deque()
        self._calm = False
        for client in self.clients.values():
            self._selector.register(client.line.socket, selectors.EVENT_READ, client)

    def warm_up(self) -> None:
        """Say something if it is our turn, and wait until all clients heard what was said."""
        if 0 in self.clients:
            self.clients[0].say(0, WARM_UP)
        self._listen(1, iter(()))
        for client in self.clients.values():
            client.notes.clear()

    def run(self, start: int) -> Report:
        """Begin at a moment (ns); ends when everybody has heard everything, or nothing comes."""
        self._listen(self._plan.messages, self._turns(start))
        return Report.of([client.notes for client in self.clients.values()])

    def _listen(self, messages: int, turns: "Iterator[tuple[int, Client, int]]") -> None:
        turn = next(turns, None)
        quiet_since = monotonic()
        while any(len(client.notes) < messages for client in self.clients.values()):
            now = monotonic_ns()
            while turn is not None and turn[0] <= now:
                turn[1].say(turn[2] % self._plan.senders, turn[2])
                turn = next(turns, None)
                quiet_since = monotonic()
            wait = IDLE if turn is None else min(IDLE, max(0.0, (turn[0] - monotonic_ns()) / 1e9))
            if self._take(wait):
                quiet_since = monotonic()
            elif monotonic() - quiet_since > self._plan.patience:
                return

    def _take(self, wait: float) -> bool:
        """Take what arrives; once nothing does, look at what came before, bit by bit."""
        ready = self._selector.select(0 if self._calm and self._unseen else wait)
        self._calm = not ready
        for key, _ in ready:
            client: Client = key.data
            if client.take():
                self._unseen.append(client)
            if not client.open:
                self._selector.unregister(client.line.socket)
        if self._calm and self._unseen:
            self._unseen.popleft().look()
        for speaker in self._speakers:
            speaker.line.flush()
        return bool(ready)

    def _turns(self, start: int) -> "Iterator[tuple[int, Client, int]]":
        """When (ns) which of our clients says which message."""
        plan = self._plan
        gap = int(1e9 / plan.pace) if plan.pace else 0
        for number in range(plan.messages):
            client = self.clients.get(number % plan.senders)
            if client is not None:
                yield start + number * gap, client, number


def _context() -> ssl.SSLContext:
    from genie_core.room.security.certificate import client_context

    return client_context()


def main(arguments: Sequence[str]) -> None:
    plan, share, shares, port = arguments
    crowd = Crowd(Plan.from_json(plan), int(share), int(shares), int(port))
    print("in", flush=True)
    sys.stdin.readline()
    crowd.warm_up()
    print("warm", flush=True)
    print(crowd.run(int(sys.stdin.readline())).to_json(), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1:])
