"""The beginning and the end of output of any length."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec

from genie_core.assistant.tools.files.workspace import AccessRefused
from genie_core.runtime.progress import doing
from genie_core.storage.atomic import reason

P = ParamSpec("P")

STOPPED: Final = "The search stopped at "

_REFUSED: Final = "Cannot do that: "


async def refusing(work: Callable[P, str], *arguments: P.args, **named: P.kwargs) -> str:
    """Do work on files in a thread, since disks may be slow; what it refuses is a sentence."""
    try:
        return await asyncio.to_thread(work, *arguments, **named)
    except AccessRefused as refusal:
        return cannot(str(refusal))
    except OSError as error:
        return cannot(reason(error))


def cannot(why: str) -> str:
    """Say that something is not done, and why, to people as well; `why` is a clause."""
    doing("note", why)
    return f"{_REFUSED}{why}."


def noted(told: str) -> str:
    """Tell people as well what another process refused, or where it stopped searching."""
    if told.startswith(_REFUSED):
        doing("note", told.removeprefix(_REFUSED).removesuffix("."))
    for line in told.rpartition("```")[2].splitlines():  # below what was found
        if line.startswith(STOPPED):
            doing("note", line.removesuffix("."))
    return told


def fenced(lines: Sequence[str]) -> list[str]:
    """Put lines in a Markdown fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def counted(number: int, noun: str) -> str:
    """A number of things, as in "1 line" or "2,000 lines"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(count: int) -> str:
    """A number of bytes, roughly."""
    if count == 1:
        return "1 byte"
    for unit in ("bytes", "kB", "MB"):
        if count < 1_000:
            return f"{count} {unit}"
        count //= 1_000
    return f"{count} GB"


_NOT_TEXT: Final = 0.05
"""With a larger part of undecodable characters, bytes are no text."""

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)


class Clip:
    """Takes bytes as they come and keeps at most `limit` of them: the first and the last."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def told(self) -> str:
        """What was kept, for a model to read, saying what is left out."""
        if not self.total:
            return "It printed nothing."
        texts, left_out = self._kept()
        lines = [line for text in texts if text is not None for line in text.splitlines()]
        if None in texts:
            return f"It printed {self.trouble}."
        if left_out:
            first = len((texts[0] or "").splitlines())
            lines.insert(first, f"[… {left_out:,} of {self.total:,} bytes are left out here …]")
        return "\n".join(["It printed:", *fenced(lines)])

    @property
    def trouble(self) -> str:
        """What keeps the output from being told as it is, as in "printed …"; empty if nothing."""
        texts, left_out = self._kept()
        if None in texts:
            return f"{self.total:,} bytes that are not text"
        return f"{self.total:,} bytes, too many to keep them all" if left_out else ""

    def _kept(self) -> tuple[list[str | None], int]:
        """The texts of what was kept, and how many bytes are missing between them."""
        tail = bytes(self._tail[-self._half :])
        left_out = self.total - len(self._head) - len(tail)
        pieces = [bytes(self._head) + tail] if not left_out else [bytes(self._head), tail]
        return [_text(piece) for piece in pieces], left_out


def _text(data: bytes) -> str | None:
    """Decode text without what steers terminals; None for what is no text."""
    text = data.decode("utf-8", "replace")
    if "\0" in text or text.count("\ufffd") > max(3, _NOT_TEXT * len(text)):
        return None
    return _ESCAPES.sub("", text)


MAX_EXCERPT: Final = 240


def terms_of(words: str) -> list[str]:
    """The words to look for, and phrases in quotes as they are; without regard to case."""
    pairs = re.findall(r'"([^"]+)"|(\S+)', words)
    return [(phrase or word).casefold() for phrase, word in pairs if (phrase or word).strip('"')]


def contains(content: str, terms: list[str]) -> bool:
    """Whether all terms occur."""
    folded = content.casefold()
    return all(term in folded for term in terms)


def listed(terms: list[str]) -> str:
    """The terms, for a sentence."""
    return " and ".join(f'"{term}"' for term in terms)


def excerpt(content: str, term: str) -> str:
    """Cut a long message down to the surroundings of the first hit."""
    text = " ".join(content.split())
    at = max(0, text.casefold().find(term) - MAX_EXCERPT // 3)
    return f"{'…' if at else ''}{shortened(text[at:])}"


def shortened(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= MAX_EXCERPT else f"{text[:MAX_EXCERPT]}…"
