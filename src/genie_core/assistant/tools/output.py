"""Formatting the results of tools: refusals, excerpts, and bounded command output."""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, ParamSpec

from genie_core.assistant.tools.files.workspace import AccessRefused
from genie_core.runtime.progress import doing
from genie_core.runtime.threads import in_thread
from genie_core.storage.atomic import reason

P = ParamSpec("P")

STOPPED: Final = "The search stopped at "

_REFUSED: Final = "Cannot do that: "


async def refusing(work: Callable[P, str], *arguments: P.args, **named: P.kwargs) -> str:
    """Run file work in a thread. Returns a sentence if the work is refused or the system fails."""
    try:
        return await in_thread(work, *arguments, **named)
    except AccessRefused as refusal:
        return cannot(str(refusal))
    except OSError as error:
        return cannot(reason(error))


def or_refusal(work: Callable[P, str]) -> Callable[P, str]:
    """Decorate work of another process, so that it returns a sentence if it is refused."""

    @wraps(work)
    def answer(*arguments: P.args, **named: P.kwargs) -> str:
        try:
            return work(*arguments, **named)
        except AccessRefused as refusal:
            return cannot(str(refusal))

    return answer


def cannot(why: str) -> str:
    """Return a refusal and show its reason in the agent's progress. `why` is a clause."""
    doing("note", why)
    return f"{_REFUSED}{why}."


def noted(result: str) -> str:
    """Show the refusal or early stop in a subprocess's result in the agent's progress."""
    if result.startswith(_REFUSED):
        doing("note", result.removeprefix(_REFUSED).removesuffix("."))
    for line in result.rpartition("```")[2].splitlines():  # below the matches
        if line.startswith(STOPPED):
            doing("note", line.removesuffix("."))
    return result


def fenced(lines: Sequence[str]) -> list[str]:
    """Wrap lines in a Markdown fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def size(count: int) -> str:
    """Format a number of bytes, rounded down."""
    if count == 1:
        return "1 byte"
    for unit in ("bytes", "kB", "MB"):
        if count < 1_000:
            return f"{count} {unit}"
        count //= 1_000
    return f"{count} GB"


_NOT_TEXT: Final = 0.05
"""With a larger share of undecodable characters, bytes don't count as text."""

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)


class Clip:
    """Collects output and keeps at most `limit` bytes: the first and the last ones."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def text(self) -> str:
        """Return the kept output as text for a model, with a note in place of omitted bytes."""
        if not self.total:
            return "No output."
        texts, left_out = self._kept()
        lines = [line for text in texts if text is not None for line in text.splitlines()]
        if None in texts:
            return f"The output is {self.problem}."
        if left_out:
            first = len((texts[0] or "").splitlines())
            lines.insert(first, f"[… {left_out:,} of {self.total:,} bytes omitted …]")
        return "\n".join(["Output:", *fenced(lines)])

    @property
    def end(self) -> str:
        """The last part of the output, empty if it is no text."""
        texts, _ = self._kept()
        return texts[-1] or ""

    @property
    def problem(self) -> str:
        """Why the output is incomplete, to follow "printed"; empty if it is complete."""
        texts, left_out = self._kept()
        if None in texts:
            return f"{self.total:,} bytes that are not text"
        return f"{self.total:,} bytes, too many to keep them all" if left_out else ""

    def _kept(self) -> tuple[list[str | None], int]:
        """Return the kept pieces as text and the number of bytes omitted between them."""
        tail = bytes(self._tail[-self._half :])
        left_out = self.total - len(self._head) - len(tail)
        pieces = [bytes(self._head) + tail] if not left_out else [bytes(self._head), tail]
        return [_text(piece) for piece in pieces], left_out


def _text(data: bytes) -> str | None:
    """Decode text and remove terminal escapes; None if it is binary."""
    text = data.decode("utf-8", "replace")
    if "\0" in text or text.count("\ufffd") > max(3, _NOT_TEXT * len(text)):
        return None
    return _ESCAPES.sub("", text)


MAX_EXCERPT: Final = 240


def terms_of(words: str) -> list[str]:
    """Split a query into words and quoted phrases, case-folded."""
    pairs = re.findall(r'"([^"]+)"|(\S+)', words)
    return [(phrase or word).casefold() for phrase, word in pairs if (phrase or word).strip('"')]


def contains(content: str, terms: list[str]) -> bool:
    folded = content.casefold()
    return all(term in folded for term in terms)


def listed(terms: list[str]) -> str:
    """Join search terms for a sentence."""
    return " and ".join(f'"{term}"' for term in terms)


def excerpt(content: str, term: str) -> str:
    """Cut a long message down to the surroundings of the first match."""
    text = " ".join(content.split())
    at = max(0, text.casefold().find(term) - MAX_EXCERPT // 3)
    return f"{'…' if at else ''}{shortened(text[at:])}"


def shortened(text: str) -> str:
    return text if len(text) <= MAX_EXCERPT else f"{text[:MAX_EXCERPT]}…"
