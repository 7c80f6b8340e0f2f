"""The offline helper as a reasoner."""

import json
from collections.abc import Collection
from typing import Any

from genie_core.agent.provider.reasoner_prompt import MAX_TURNS, MIN_TURNS, reasoner_prompt
from genie_core.assistant.offline import messages
from genie_core.assistant.offline.triage import decide
from genie_core.message import Message
from genie_core.reasoner import GroupReasoner, Response
from genie_core.runtime.progress import doing


class OfflineReasoner(GroupReasoner):
    """Decides by rules about the last message.

    `tools` are the tools of the owner's agent, so that no request is accepted that would then be
    declined. The latest turns are kept for a model that is chosen later, in the form of
    `DefaultGroupReasoner`.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._messages: list[messages.ModelMessage] = []
        self._processed = 0
        self._unsaved: list[dict[str, Any]] = []

    @property
    def processed(self) -> int:
        return self._processed

    def get_serialized(self) -> Any:
        return {"agent": list(self._messages), "processed": self._processed}

    def get_new_messages(self) -> list[Any]:
        lines, self._unsaved = self._unsaved, []
        return lines

    def set_serialized(self, serialized: Any) -> None:
        """Restore a state or journal lines; raises `ValueError` and changes nothing otherwise."""
        lines = [serialized] if isinstance(serialized, dict) else serialized
        try:
            kept = [each for line in lines[-MIN_TURNS:] for each in _messages_of(line)]
            processed = int(lines[-1]["processed"]) if lines else 0
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of such a reasoner: {error!r}") from error
        self._messages, self._processed, self._unsaved = kept, processed, []

    async def run(self, updates: list[Message]) -> Response:
        if not updates:
            raise ValueError("there is nothing to decide on")
        doing("asking")
        response = decide(updates[-1], self._tools)
        turn = [
            messages.prompt(reasoner_prompt(updates, self._processed)),
            messages.answered(_as_json(response)),
        ]
        self._processed += len(updates)
        self._unsaved.append({"messages": turn, "processed": self._processed})
        self._messages = [*_latest(self._messages), *turn]
        return response


def _as_json(response: Response) -> str:
    """Write a decision as a model that is held to the schema does."""
    return json.dumps(
        {
            "decision": response.decision.value,
            "reason": response.reason,
            "query": response.query,
            "receiver": response.receiver,
        }
    )


def _messages_of(line: dict[str, Any]) -> list[Any]:
    kept: list[Any] = line["agent"] if "agent" in line else line["messages"]
    return kept


def _latest(kept: list[messages.ModelMessage]) -> list[messages.ModelMessage]:
    starts = [place for place, each in enumerate(kept) if messages.is_prompt(each)]
    return kept[starts[1 - MIN_TURNS] :] if len(starts) >= MAX_TURNS else kept
