import logging
import os

import pytest

from genie_core.agent.provider.stderr import LONGEST_LINE, MOST_LINES, ErrorLog


def write(errors: ErrorLog, text: str) -> None:
    os.write(errors.open().fileno(), text.encode())


def texts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.endswith("stderr")]


async def test_log_lines_hide_keys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    errors = ErrorLog("tool server 'git'")
    write(errors, "starting\n\nusing sk-0123456789abcdef\nno line ")
    assert errors.last_line == "using [hidden]"
    write(errors, "end")
    errors.close()
    assert texts(caplog) == [
        "tool server 'git': starting",
        "tool server 'git': using [hidden]",
        "tool server 'git': no line end",
    ]
    assert errors.last_line == "no line end"


async def test_however_much_is_written_little_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    errors = ErrorLog("tool server 'git'")
    for number in range(MOST_LINES * 2):
        write(errors, f"{number} {'x' * 2000}\n")
        assert errors.last_line.startswith(f"{number} ")
    errors.close()
    assert len(texts(caplog)) == MOST_LINES + 1
    assert max(map(len, texts(caplog))) <= LONGEST_LINE + 30


async def test_it_can_be_opened_again_and_closed_twice() -> None:
    errors = ErrorLog("tool server 'git'")
    errors.close()
    write(errors, "one\n")
    assert errors.last_line == "one"
    errors.close()
    errors.close()
    write(errors, "two\n")
    assert errors.last_line == "two"
    errors.close()
