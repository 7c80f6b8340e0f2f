"""What is searched, and what is found."""

from dataclasses import dataclass
from pathlib import Path

from genie_core.archive.search_entries import EntryKind
from genie_core.archive.search_words import Snippet


@dataclass(frozen=True, slots=True)
class Searched:
    """A session to search: the name of its folder, its title, its log, and its last activity."""

    id: str
    title: str
    log: Path
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found in the session whose folder has this name.

    It stands in event `seq`, which is 0 for the title itself, and is about the message `message`.
    Both times and numbers are as in the log; by an agent is `by` "genie".
    """

    session: str
    title: str
    seq: int
    message: int
    at: float
    by: str
    kind: EntryKind
    snippet: Snippet
