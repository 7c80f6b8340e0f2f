"""Log records are shown, once and in order, and hold up nobody."""

import io
import logging
import threading
from collections.abc import Iterator

import pytest

from genie_core.logging import BACKLOG, configure_logging
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets

PLAIN = "%(levelname)s %(name)s: %(message)s"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """Give a logger that nobody has configured."""
    logger = logging.getLogger("shown")
    yield logger
    assert logger.handlers == []
    assert logger.level == logging.NOTSET


def lines(captured: pytest.CaptureFixture[str]) -> list[str]:
    return captured.readouterr().err.splitlines()


def test_logger_level_covers_children(
    capsys: pytest.CaptureFixture[str], logger: logging.Logger
) -> None:
    below = logging.getLogger("shown.below")
    with configure_logging(PLAIN, levels={"shown": logging.INFO}):
        logger.info("one")
        logger.debug("hidden")
        below.warning("two")
        logging.getLogger("shownot").warning("of somebody else")
    logger.error("afterwards")
    assert lines(capsys) == ["INFO shown: one", "WARNING shown.below: two"]


def test_tracebacks_hide_keys(capsys: pytest.CaptureFixture[str], logger: logging.Logger) -> None:
    with configure_logging(PLAIN, levels={"shown": logging.INFO}):
        try:
            raise ConnectionError(f"refused: sk-{12345678}")
        except ConnectionError:
            logger.warning("asked https://host/?token=%s", 12345678, exc_info=True)
    shown = lines(capsys)
    assert shown[0] == "WARNING shown: asked https://host/?token=[hidden]"
    assert shown[-1] == "ConnectionError: refused: [hidden]"
    assert "12345678" not in "".join(each for each in shown if "raise" not in each)


def test_child_logger_keeps_own_level(
    capsys: pytest.CaptureFixture[str], logger: logging.Logger
) -> None:
    below = logging.getLogger("shown.below")
    with configure_logging(PLAIN, levels={"shown.below": logging.DEBUG, "shown": logging.INFO}):
        logger.debug("hidden")
        below.debug("once")
    assert lines(capsys) == ["DEBUG shown.below: once"]
    assert below.level == logging.NOTSET


def test_non_propagating_logger_is_shown(
    capsys: pytest.CaptureFixture[str], logger: logging.Logger
) -> None:
    private = logging.getLogger("shown.private")
    private.propagate = False
    with configure_logging(PLAIN, levels={"shown": logging.INFO, "shown.private": logging.INFO}):
        private.info("seen")
    assert lines(capsys) == ["INFO shown.private: seen"]
    assert private.handlers == []


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        (None, ["INFO genie_core.any: said"]),
        ({"genie_core": logging.DEBUG}, ["DEBUG genie_core.any: whispered", "INFO genie_core.any: said"]),
        ({"genie_core": logging.ERROR}, []),
    ],
)  # fmt: skip
def test_engine_is_shown_by_default(
    levels: dict[str, int] | None, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = logging.getLogger("genie_core.any")
    with configure_logging(PLAIN, levels=levels):
        engine.debug("whispered")
        engine.info("said")
    assert lines(capsys) == shown


def test_whatever_is_logged_becomes_text_at_once(
    capsys: pytest.CaptureFixture[str], logger: logging.Logger
) -> None:
    values = ["then"]
    with configure_logging(levels={"shown": logging.DEBUG}):
        logger.debug(values)
        values[0] = "later"
        try:
            raise LookupError("no such thing")
        except LookupError:
            logger.exception("failed")
    first, *rest = lines(capsys)
    assert first.endswith("DEBUG shown: ['then']")
    assert rest[-1] == "LookupError: no such thing"


def test_an_error_inside_puts_the_loggers_back(logger: logging.Logger) -> None:
    threads = set(threading.enumerate())
    with pytest.raises(LookupError), configure_logging(levels={logger.name: logging.DEBUG}):
        raise LookupError
    assert logger.handlers == []
    assert set(threading.enumerate()) <= threads  # another's may end meanwhile


class Stalled(io.StringIO):
    """A terminal that takes nothing until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.going_on = threading.Event()

    def write(self, text: str) -> int:
        self.asked.set()
        assert self.going_on.wait(60)
        return super().write(text)


def test_stalled_terminal_drops_and_counts(
    monkeypatch: pytest.MonkeyPatch, logger: logging.Logger
) -> None:
    terminal = Stalled()
    monkeypatch.setattr("sys.stderr", terminal)
    with configure_logging("%(message)s", levels={"shown": logging.INFO}):
        logger.info("first")
        assert terminal.asked.wait(60)
        for number in range(BACKLOG + 3):
            logger.info("%d", number)
        terminal.going_on.set()
    shown = terminal.getvalue().splitlines()
    assert shown[:-1] == ["first", *map(str, range(BACKLOG))]
    assert shown[-1].startswith("3 records were left out")


def test_known_secrets_are_hidden(
    capsys: pytest.CaptureFixture[str], logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know(["correct horse battery"])
    with configure_logging(PLAIN, {"shown": logging.INFO}):
        try:
            raise ValueError("it is correct horse battery")
        except ValueError:
            logger.exception("with %s", "correct horse battery")
    shown = "\n".join(lines(capsys))
    assert "correct horse battery" not in shown
    assert f"with {HIDDEN}" in shown
    assert f"ValueError: it is {HIDDEN}" in shown
