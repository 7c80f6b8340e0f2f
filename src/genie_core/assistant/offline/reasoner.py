"""The offline helper as a reasoner."""

import json
from collections.abc import Collection
from typing import Any

from genie_core.agent.provider.reasoner_history import latest_turns, read_history
from genie_core.agent.provider.reasoner_prompt import reasoner_prompt
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
        kept, processed = read_history(serialized)
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
        self._messages = [*latest_turns(self._messages, messages.is_prompt), *turn]
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
