"""`python -m benchmarks screen`: what a room's screen costs a terminal, a slow line, and a machine.

A host at 120×36 whose model streams 90 words, 30 a second, and a guest at another pseudo-terminal.
"per message" and "per answer" are bytes that the host's program writes to its terminal; "idle" is
its processor time while nothing happens.
"""

import argparse
import fcntl
import json
import os
import pty
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from benchmarks.room.run import ENDING, ROOT, cpu_seconds, free_port, wait_for

COLUMNS: Final = 120
ROWS: Final = 36
SILENT: Final = '{"decision": "ignore", "reason": "They settle it among themselves."}'
RATE: Final = 30.0
"""Words a second of the model."""

WORDS: Final = [
    "the",
    "room",
    "was",
    "quiet",
    "until",
    "an",
    "agent",
    "told",
    "what",
    "it",
    "had",
    "found",
    "in",
    "nine",
    "old",
    "files",
]
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
    with _model() as url, tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with _program(Path(folder) / "host", url, *_host(port)) as host:
            wait_for(port, host.process)
            time.sleep(SETTLING)
            with _program(Path(folder) / "guest", url, "join", f"127.0.0.1:{port}", "--guest",
                          "--name", "bob") as guest:  # fmt: skip
                time.sleep(SETTLING)
                for _ in range(BEFORE):  # so that the timeline scrolls from now on
                    guest.type("hello")
                time.sleep(SETTLING)
                per_message = [host.bytes_for(_said(guest, text)) for text in MESSAGES * 5]
                per_answer = [
                    host.bytes_for(_said(host, "@genie tell us more", 90 / RATE + 3))
                    for _ in range(3)
                ]
                idle, written = host.idle(args.idle)
                guest_memory = _resident(guest.process.pid)
            memory = _resident(host.process.pid)
    print(f"{'per message, bytes':24}{statistics.median(per_message):>10,.0f}")
    print(f"{'per answer, bytes':24}{statistics.median(per_answer):>10,.0f}")
    print(f"{'idle, % of a core':24}{100 * idle:>10.2f}   {written:,} bytes in {args.idle:.0f} s")
    print(f"{'host, MB':24}{memory:>10.0f}")
    print(f"{'guest, MB':24}{guest_memory:>10.0f}")
    print(f"Again: {shlex.join(['python', '-m', 'benchmarks', 'screen', *arguments])}\n")
    return 0


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks screen", description=__doc__.partition("\n\n")[2]
    )
    parser.add_argument("--idle", type=float, default=30.0, help="seconds without any event")
    return parser.parse_args(arguments)


def _host(port: int) -> Sequence[str]:
    return (
        "host", "--title", "Bench", "--port", str(port), "--name", "ann",
        "--model", "openai-chat:bench",
    )  # fmt: skip


class _Program:
    """A program at a pseudo-terminal whose output is read and counted."""

    def __init__(self, process: "subprocess.Popen[str]", master: int) -> None:
        self.process = process
        self._master = master
        self.written = 0

    def read(self) -> None:
        with suppress(OSError):  # the program has ended
            while data := os.read(self._master, 65536):
                self.written += len(data)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())
        time.sleep(0.3)
        os.write(self._master, b"\r")

    def bytes_for(self, doing: "Iterator[None]") -> int:
        """Return how much it writes while something happens; `doing` yields when to begin."""
        next(doing)
        before = self.written
        for _ in doing:
            pass
        return self.written - before

    def idle(self, seconds: float) -> tuple[float, int]:
        """Return the share of a core, and the bytes, while nothing happens."""
        written, before = self.written, cpu_seconds(self.process.pid) or 0.0
        time.sleep(seconds)
        after = cpu_seconds(self.process.pid) or 0.0
        return (after - before) / seconds, self.written - written


def _said(by: _Program, text: str, wait: float = 1.5) -> "Iterator[None]":
    os.write(by._master, text.encode())  # noqa: SLF001 - of this module
    time.sleep(0.7)
    yield
    os.write(by._master, b"\r")  # noqa: SLF001 - of this module
    time.sleep(wait)


@contextmanager
def _program(home: Path, url: str, *arguments: str) -> Iterator[_Program]:
    (home / "data").mkdir(parents=True)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "genie_tui", *arguments],
        cwd=ROOT,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        text=True,
        start_new_session=True,
        env={
            **os.environ,
            "GENIE_HOME": str(home),
            "GENIE_LOCAL": "true",
            "OPENAI_API_KEY": "not-a-key",
            "OPENAI_BASE_URL": url,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        },
    )
    os.close(slave)
    program = _Program(process, master)
    reader = threading.Thread(target=program.read)
    reader.start()
    try:
        yield program
    finally:
        process.terminate()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        os.close(master)


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
        message = {"role": "assistant", "content": SILENT}
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


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
