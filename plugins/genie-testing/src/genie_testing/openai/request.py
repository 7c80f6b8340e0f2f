"""The input of a model, read alike from both of the interfaces."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from genie_testing.shown import ShownExchange

ApiName: TypeAlias = Literal["chat", "responses"]
Role: TypeAlias = Literal["system", "user", "assistant", "call", "tool"]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One piece of the conversation that a request repeats to the model.

    A "call" is the model's wish to use the tool `name`, and a "tool" entry the result; `call_id`
    ties them together. `files` are media types, or addresses of files that don't come along.
    """

    role: Role
    texts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    call_id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True)
class ModelRequest:
    """One request to the model, as it came and as it reads.

    `key` is the credential the client sent, `structured` whether it wants JSON for an answer, and
    `tools` are the names of the tools for the model.
    """

    api: ApiName
    body: dict[str, Any]
    key: str
    entries: tuple[HistoryEntry, ...]
    tools: list[str]
    structured: bool
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def streamed(self) -> bool:
        """Whether the client wants a stream."""
        return bool(self.body.get("stream"))

    @property
    def instructions(self) -> str:
        """All system text, one paragraph per part."""
        return "\n\n".join(self._texts("system"))

    @property
    def texts(self) -> list[str]:
        """Everything the model reads, in order, instructions and tool results included."""
        return [text for entry in self.entries for text in entry.texts]

    @property
    def files(self) -> list[str]:
        """Media types of the files for the model, in order."""
        return [file for entry in self.entries for file in entry.files]

    @property
    def tool_results(self) -> list[str]:
        """Tool results of the whole conversation, in order."""
        return self._texts("tool")

    @property
    def exchanges(self) -> list[ShownExchange]:
        """Calls with the results of the same id, in the order of the calls."""
        results = {entry.call_id: entry.texts for entry in self.entries if entry.role == "tool"}
        return [
            ShownExchange(entry.name, entry.arguments, " ".join(results[entry.call_id]))
            for entry in self.entries
            if entry.role == "call" and entry.call_id in results
        ]

    @property
    def query(self) -> str:
        """The user's last message."""
        last: Iterable[str] = ()
        for entry in self.entries:
            if entry.role == "user":
                last = entry.texts
        return " ".join(last)

    def _texts(self, role: Role) -> list[str]:
        return [text for entry in self.entries if entry.role == role for text in entry.texts]


def unmatched(entries: Iterable[HistoryEntry], *, adjacent: bool) -> list[str]:
    """List the calls without a result and the results without a call.

    With `adjacent` the results must come before any other text.
    """
    waiting: list[str] = []
    strays: list[str] = []
    for entry in entries:
        if entry.role == "call":
            waiting.append(entry.call_id)
        elif entry.role == "tool":
            (waiting.remove if entry.call_id in waiting else strays.append)(entry.call_id)
        elif waiting and adjacent:
            break
    return waiting + strays
