"""A conversation of another program, as readers yield it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from genie_import.fields import lacking, words_in

if TYPE_CHECKING:
    from genie_import.names import Names

T = TypeVar("T")

ME: Final = ""
"""The key of the person who imports, where a source knows it."""

NOT_UNDERSTOOD: Final = "entry that can't be understood"
NOTICE: Final = "notice, such as who joined"
EMPTY: Final = "message without text, such as a form"
OTHER_WORDS: Final = "words in other fields of a message"
BRANCH: Final = "message of another branch"
THOUGHT: Final = "thought of the model"
TOOL: Final = "tool call or its result"
INSTRUCTION: Final = "instruction of the program"
"""Reasons why a reader leaves words out."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of messages: a `key` that is unique in the source, and the name shown there."""

    key: str
    name: str = ""
    is_agent: bool = False


UNKNOWN_AUTHOR: Final = Author("\0unknown", "unknown")


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message, or with `is_answer` an assistant's answer to the message before.

    `at` is in seconds since the epoch; None if that is not known. `files` are the names of attached
    files, whose contents don't come along. `reply_to` is the `id` of another message.
    `is_answered` says that the answer comes later than directly after it.
    """

    author: Author
    text: str
    at: float | None = None
    files: tuple[str, ...] = ()
    id: str = ""
    reply_to: str = ""
    is_answer: bool = False
    is_emote: bool = False
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Words that don't become a message, and the `reason`.

    `id` is that of the message that they are in, where all of it is left out.
    """

    reason: str
    text: str = ""
    at: float | None = None
    id: str = ""


Entry: TypeAlias = HistoryMessage | LeftOut
"""An entry of a conversation. All words of an export are in one."""

Finish: TypeAlias = Callable[[Path, Sequence[int], "Names"], None]
"""Writes the memory of engines into the folder for it, which does not exist yet. It gets the
numbers of the events of all messages, in order, and the names of their authors.
"""


@dataclass(frozen=True, slots=True)
class History:
    """A conversation. `id` is unique in its `source`."""

    source: str
    id: str
    title: str
    entries: Iterable[Entry]
    finish: Finish | None = None


Found: TypeAlias = History | LeftOut
"""A conversation in an export, or words that belong to none."""


class Importer(Protocol):
    """Reads another program's exports: the interface of an entry point in `genie.importers`.

    A module with these functions has it.
    """

    def knows(self, path: Path) -> bool:
        """Whether a file or folder looks like an export of the program."""

    def opened(self, path: Path, name: str) -> AbstractContextManager[Iterator[Found]]:
        """Open an export, with its `name` in errors.

        Raises:
            NotImportable: it is damaged, also while it is read in the block.
        """


def left_out(reason: str, record: Any, at: float | None = None, id_: str = "") -> LeftOut:
    """Leave out all words of a record."""
    return LeftOut(reason, "\n".join(words_in(record)), at, id_)


def read_each(
    found: Iterable[Any], read: Callable[[dict[str, Any]], Iterable[T]], key: str = ""
) -> Iterator[T | LeftOut]:
    """Read each object that has a field `key`, if one is given; other items are left out."""
    for each in found:
        if isinstance(each, LeftOut):
            yield each
        elif isinstance(each, dict) and (not key or key in each):
            yield from read(each)
        else:
            yield left_out(NOT_UNDERSTOOD, each)


def with_rest(message: HistoryMessage, words: Iterable[str], record: Any) -> Iterator[Entry]:
    """Yield a message if it has text or files, and as left out those `words` that it lacks.

    Of an empty message all words in its `record` are left out.
    """
    shown = "\n".join((message.text, *message.files))
    rest = lacking(words, shown)
    if shown.strip():
        yield message
    elif not rest:
        yield left_out(EMPTY, record, message.at)
    if rest:
        yield LeftOut(OTHER_WORDS, "\n".join(rest), message.at)
