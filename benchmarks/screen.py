"""`python -m benchmarks screen`: what a room's screen costs a terminal, a slow line, and a machine.

A host at 120×36 whose model streams 90 words, 30 a second, and a guest at another pseudo-terminal.
"per message" and "per answer" are bytes that the host's program writes to its terminal; "idle" is
its processor time while nothing happens. Memory is in megabytes, before and after the messages and
answers; a host with the offline helper is measured in a room of its own. "first paint" and "ready"
are as in `python -m benchmarks start`.
"""

import argparse
import json
import shlex
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from benchmarks import start
from benchmarks.memory import Memory
from benchmarks.room.run import cpu_seconds, free_port, wait_for
from benchmarks.terminal import Terminal, at_terminal

COLUMNS: Final = 120
ROWS: Final = 36
REASONS: Final = cycle(
    (
        "They settle it among themselves.",
        "Bob answers ann's question about the numbers himself.",
        "A confirmation.",
        "They agree on an hour for the review; no one asks the agent to do something.",
    )
)
RATE: Final = 30.0
"""Words a second of the model."""

WORDS: Final = ("room", "quiet", "until", "agent", "told", "what", "found", "nine", "old", "files")
ANSWER: Final = [f"{WORDS[i % len(WORDS)]} " for i in range(90)]

SETTLING: Final = 4.0
"""Seconds until everything on a screen has come to rest."""

BEFORE: Final = 12
"""Messages that fill the timeline."""

MESSAGES: Final = (
    "shall we move the review to the afternoon?",
    "fine with me, I have the numbers for the first half of the year ready by then",
    "ok",
)


def main(arguments: Sequence[str] = ()) -> int:
    """Measure a room's screen and print a table."""
    args = _arguments(arguments)
    painted, ready, _ = start.measure(start.HOST, "Bench", start.LOADED)
    print(f"{'first paint, s':28}{painted:>8.2f}")
    print(f"{'offline helper ready, s':28}{ready:>8.2f}", flush=True)
    with _room() as (host, guest):
        _print_memory("offline helper", "before", host, guest)
        for _ in range(3):
            _bytes_for("@genie what is 12*7?", host, host)
        _talk(guest, host)
        _print_memory("offline helper", "after", host, guest)
    with _model() as url, _room(url) as (host, guest):
        _print_memory("a model", "before", host, guest)
        per_message = _talk(guest, host)
        per_answer = [
            _bytes_for("@genie tell us more", host, host, len(ANSWER) / RATE + 3) for _ in range(3)
        ]
        idle, written = _idle(host, args.idle)
        _print_memory("a model", "after", host, guest)
    print(f"{'per message, bytes':28}{statistics.median(per_message):>8,.0f}")
    print(f"{'per answer, bytes':28}{statistics.median(per_answer):>8,.0f}")
    print(f"{'idle, % of a core':28}{100 * idle:>8.2f}   {written:,} bytes in {args.idle:.0f} s")
    print(f"Again: {shlex.join(['python', '-m', 'benchmarks', 'screen', *arguments])}\n")
    return 0


@contextmanager
def _room(url: str = "") -> Iterator[tuple[Terminal, Terminal]]:
    """Open a room at two terminals: its host, answered by a model if there is one, and a guest."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with _program(Path(folder) / "host", "ann", url, *_host(port, url)) as host:
            wait_for(port, host.process)
            time.sleep(SETTLING)
            with _program(
                Path(folder) / "guest", "bob", url, "join", f"127.0.0.1:{port}", "--guest"
            ) as guest:
                time.sleep(SETTLING)
                yield host, guest


def _talk(guest: Terminal, host: Terminal) -> list[int]:
    """Fill the timeline, and return the bytes of some messages after that."""
    for _ in range(BEFORE):
        guest.type("hello")
        guest.press_enter()
    time.sleep(SETTLING)
    return [
        _bytes_for(f"{n} {text}", guest, host) for n, text in enumerate(islice(cycle(MESSAGES), 16))
    ]


def _print_memory(answers: str, when: str, host: Terminal, guest: Terminal) -> None:
    for label, program in ((f"host, {answers}, {when}", host), (f"its guest, {when}", guest)):
        print(f"{label:28}{Memory.of(program.process.pid)}", flush=True)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks screen", description=__doc__.partition("\n\n")[2]
    )
    parser.add_argument("--idle", type=float, default=30.0, help="seconds without any event")
    return parser.parse_args(arguments)


def _host(port: int, url: str) -> Sequence[str]:
    model = ("--model", "openai-chat:bench") if url else ()
    return ("host", "--title", "Bench", "--port", str(port), *model)


@contextmanager
def _program(home: Path, name: str, url: str, *arguments: str) -> Iterator[Terminal]:
    start.make_home(home, name)
    env = {
        "GENIE_HOME": str(home),
        "GENIE_LOCAL": "true",
        "OPENAI_API_KEY": "not-a-key",
        "OPENAI_BASE_URL": url,
    }
    with at_terminal(["-m", "genie_tui", *arguments], env, columns=COLUMNS, rows=ROWS) as program:
        yield program


def _bytes_for(text: str, by: Terminal, seen: Terminal, wait: float = 1.5) -> int:
    """Say something at one terminal, and return how much is written to another, or to it."""
    by.type(text)
    before = seen.written
    by.press_enter()
    time.sleep(wait)
    return seen.written - before


def _idle(program: Terminal, seconds: float) -> tuple[float, int]:
    """Return the share of a core, and the bytes, while nothing happens."""
    written, before = program.written, cpu_seconds(program.process.pid) or 0.0
    time.sleep(seconds)
    after = cpu_seconds(program.process.pid) or 0.0
    return (after - before) / seconds, program.written - written


class _Model(BaseHTTPRequestHandler):
    """Streams the answer, whatever it is asked."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not asked.get("stream"):
            self._decide()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with suppress(OSError):  # the program has ended
            for word in ANSWER:
                self._send({"content": word, "role": "assistant"}, None)
                time.sleep(1 / RATE)
            self._send({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")

    def _decide(self) -> None:
        silent = json.dumps({"decision": "ignore", "reason": next(REASONS)})
        message = {"role": "assistant", "content": silent}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "bench",
                "choices": [choice],
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send(self, delta: dict[str, str], reason: str | None) -> None:
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "bench",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
