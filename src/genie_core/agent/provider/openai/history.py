"""An agent's conversation with its model, and the part that is not saved yet."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from agents.models.fake_id import FAKE_RESPONSES_ID
from pydantic_core import to_jsonable_python

from genie_core.agent.provider.openai.attachments import Item

INTERRUPTED: Final = "The run was interrupted before this tool call ended."
"""The result that the model reads for a call without one."""

_RESULT_OF: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
_LEFT: Final = "genie_items_left"
"""The type of a journal line that is no item but the number of earlier items kept."""

_USER: Final[Item] = {"role": "user"}
_CALL_OF: Final = {result: call for call, result in _RESULT_OF.items()}
_ONLY_REFERRED_TO: Final = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "item_reference",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "program",
        "program_output",
        "web_search_call",
    }
)
"""Items that refer to the service's storage by an id only."""


class OpenAIHistory:
    """Input and output items of the SDK, oldest first.

    As JSON this is the list of items. A journal has one item per line, so that both are restored
    alike, and lines that record how many of the oldest items were dropped. Instructions are not
    included: each run has its own. Every call has a result and all reasoning a consequence, since
    providers refuse a conversation otherwise. Nothing depends on the storage of a service.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.cuts = 0
        """How often the oldest turns were dropped."""
        self._unsaved: list[Item] = []

    def add(self, items: Iterable[Any]) -> None:
        """Append a run's items, the user's message first."""
        added = closed(self_contained(to_jsonable_python(list(items), bytes_mode="base64")))
        self.items += added
        self._unsaved += added

    def forget(self, turns: int, summary: str = "") -> None:
        """Drop the oldest turns, or replace them by a summary.

        The journal gets a line with the number of items kept and the summary.
        """
        if turns:
            self.cuts += 1
            kept = without_turns(self.items, turns)
            self.items = [*_as_items(summary), *kept]
            said = {"summary": summary} if summary else {}
            self._unsaved.append({"type": _LEFT, "items": len(kept), **said})

    def take_unsaved(self) -> list[Item]:
        """Return the journal lines added since the last call."""
        lines, self._unsaved = self._unsaved, []
        return lines

    def to_state(self) -> list[Item]:
        """Return everything as one JSON list."""
        return list(self.items)

    def restore(self, state: Sequence[Item]) -> None:
        """Restore a state or journal lines; raises `ValueError` for neither.

        Repairs calls and results without each other, from a damaged file or an unfinished run, and
        removes ids of a service's items.
        """
        if not isinstance(state, list) or not all(_is_item(each) for each in state):
            raise ValueError(
                "not the history of an agent on the OpenAI Agents SDK; use the kind of agent that "
                "saved it, or another session id"
            )
        items: list[Item] = []
        for item in state:
            if item.get("type") == _LEFT:
                items = closed(self_contained(items))
                kept = items[max(len(items) - int(item.get("items", 0)), 0) :]
                items = [*_as_items(str(item.get("summary", ""))), *kept]
            else:
                items.append(item)
        self.items = closed(self_contained(items))
        self._unsaved = []


def shortened(items: Sequence[Item], turns: int, summary: str) -> list[Item]:
    """Drop the oldest turns; a `summary` of them comes first."""
    return [*_as_items(summary), *without_turns(items, turns)]


def entries_of(items: Sequence[Item], turns: int) -> Iterator[str]:
    """Yield the requests, calls and answers of the oldest turns; see `Compaction`."""
    for item in items[: len(items) - len(without_turns(items, turns))]:
        if text := _entry(item):
            yield text


def _as_items(summary: str) -> list[Item]:
    return [{"role": "user", "content": summary}] if summary else []


def _entry(item: Item) -> str:
    if "arguments" in item:
        return f"Call: {item.get('name', '')} {item['arguments']}"
    speaker = {"user": "User", "assistant": "Assistant"}.get(str(item.get("role")), "")
    return f"{speaker}: {_texts(item.get('content'))}" if speaker else ""


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(each.get("text") or "") for each in parts if isinstance(each, dict))


def count_turns(items: Sequence[Item]) -> int:
    """Count the turns; each starts with a message from outside."""
    return sum(item.get("role") == "user" for item in items)


def without_turns(items: Sequence[Item], turns: int) -> list[Item]:
    """Drop the oldest turns. A call and its result are always in the same turn."""
    starts = [place for place, item in enumerate(items) if item.get("role") == "user"]
    if not (turns and starts):
        return list(items)
    return list(items[starts[min(turns, len(starts) - 1)] :])


def self_contained(items: Iterable[Item]) -> list[Item]:
    """Remove everything that needs the service's storage.

    A service refuses a conversation for good if it names an item that the service lost or never
    stored. Items with the SDK's placeholder id count as new; the SDK requires the placeholder but
    never sends it. Reasoning can be sent back only encrypted; reasoning without a service's id is
    another provider's and stays.
    """
    kept: list[Item] = []
    for item in items:
        kind, known_as = item.get("type"), item.get("id")
        if kind in _ONLY_REFERRED_TO:
            continue
        stored = known_as not in {None, FAKE_RESPONSES_ID}
        if kind == "reasoning" and stored and not item.get("encrypted_content"):
            continue
        kept.append({**item, "id": FAKE_RESPONSES_ID} if stored else item)
    return kept


def closed(items: Iterable[Item]) -> list[Item]:
    """Give each call a result before the next user message, and drop results without a call.

    Only function calls can get a substitute result; other calls are dropped with the reasoning that
    led to nothing else.
    """
    kept: list[Item] = []
    waiting: dict[tuple[str, str], int] = {}  # calls without a result so far, and where they stand
    lost: set[int] = set()
    for item in (*items, _USER):  # in the end it is the user's turn
        kind = str(item.get("type", "message"))
        if kind in _CALL_OF:
            if waiting.pop((_CALL_OF[kind], str(item.get("call_id"))), None) is None:
                continue
        elif kind in _RESULT_OF:
            waiting[kind, str(item.get("call_id"))] = len(kept)
        elif item.get("role") == "user":
            for (called, call_id), place in waiting.items():
                if called == "function_call":
                    kept.append(result_of(call_id, INTERRUPTED))
                else:
                    lost.add(place)
            waiting.clear()
        kept.append(item)
    return _conclusive([item for place, item in enumerate(kept[:-1]) if place not in lost])


def _conclusive(items: list[Item]) -> list[Item]:
    """Drop reasoning that no message or call of the model follows."""
    kept: list[Item] = []
    follower: Item = _USER
    for item in reversed(items):
        led_nowhere = follower.get("role") == "user" or follower.get("type") in _CALL_OF
        if item.get("type") == "reasoning" and led_nowhere:
            continue
        kept.append(item)
        follower = item
    return kept[::-1]


def says_nothing(item: Item) -> bool:
    """Whether this is an answer without content; some providers refuse those."""
    if item.get("role") != "assistant":
        return False
    content = item.get("content") or ()
    return not any(content if isinstance(content, str) else map(_words_in, content))


def _words_in(part: Item) -> bool:
    return part.get("type") != "output_text" or bool(part.get("text"))


def result_of(call_id: str, text: str) -> Item:
    """Return the item for a function call's result."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def _is_item(value: object) -> bool:
    return isinstance(value, dict) and ("role" in value or "type" in value)
