"""What reaches a terminal or a pipe: no text from elsewhere passes for a line of its own."""

import asyncio
import os
import pty
import struct
import termios
from collections.abc import Iterator
from fcntl import ioctl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.text.nasty import NASTY
from tests.limits import scaled

from genie_core.text.safe import visible
from genie_tui.cli.plain.output import MARK, NARROWEST, Output, rows


@given(st.text(NASTY, max_size=200) | st.text(max_size=200), st.integers(0, 100))
def test_only_first_line_lacks_mark(text: str, columns: int) -> None:
    first, *more = rows(f"[1] bob: {visible(text)}", columns)
    assert first.startswith("[1]")
    assert all(line.startswith(MARK.rstrip()) for line in more)


@given(st.text("ab д漢👍 ", max_size=300), st.integers(NARROWEST, 60))
def test_rows_fit_width_and_lose_nothing(text: str, columns: int) -> None:
    lines = list(rows(text, columns))
    whole = lines[0] + "".join(line.removeprefix(MARK) for line in lines[1:])
    assert whole.replace(" ", "") == text.replace(" ", "")
    wide = {"漢": 2, "👍": 2}
    assert all(sum(wide.get(char, 1) for char in line) <= columns for line in lines)


def test_padding_forges_no_first_column() -> None:
    forged = "CALL 7: your agent asks to use calculate"
    for blanks in range(120):
        entry = f"[6] eve: hi{' ' * blanks}{forged}"
        assert not any(line.startswith("CALL") for line in rows(entry, 80))


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    yield master, slave
    os.close(master)
    os.close(slave)


async def test_only_terminal_output_wraps(terminal: tuple[int, int]) -> None:
    entry = "[6] bob: one two three four five six"
    await Output(terminal[1], "utf-8").write([entry])
    shown = os.read(terminal[0], 1_000).decode().splitlines()
    assert shown == ["[6] bob: one two three four", "> five six"]
    source, end = os.pipe()
    await Output(end, "ascii").write([f"{entry} \u00e9\nand more"])
    assert os.read(source, 1_000).decode() == f"{entry} \\xe9\n> and more\n"
    os.close(end)
    os.close(source)


async def test_slow_reader_blocks_nothing() -> None:
    source, end = os.pipe()
    writing = asyncio.ensure_future(Output(end).write(["x" * 1_000_000]))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    os.close(source)


async def test_closed_reader_is_noticed_early() -> None:
    source, end = os.pipe()
    closed = asyncio.Event()
    loop = asyncio.get_running_loop()
    output = Output(end)
    output.when_closed(closed.set, loop.add_reader)
    os.close(source)
    async with asyncio.timeout(scaled(60)):
        await closed.wait()
    loop.remove_reader(end)
    with pytest.raises(BrokenPipeError):
        await output.write(["more"])
    os.close(end)
