"""The offline helper as a reasoner."""

import re
from collections.abc import Collection
from typing import Final

import msgspec

from genie_core.agent.provider.reasoner_prompt import reasoner_prompt
from genie_core.agent.provider.remembering_reasoner import RememberingReasoner, latest_turns
from genie_core.assistant.offline import messages
from genie_core.assistant.offline.requests import plain_request
from genie_core.assistant.reasoners.mention import mentioned, mentions_someone_else, without_mention
from genie_core.message import SYSTEM, Message
from genie_core.reasoner import Response
from genie_core.reasoner.decision import decision
from genie_core.runtime.progress import doing

_BY_NAME: Final = re.compile(
    r"\s*(?:(?:hey|hi|hello|ok|okay)[,\s]+genie\b|genie\s*[,:])", re.IGNORECASE
)


class OfflineReasoner(RememberingReasoner[messages.ModelMessage]):
    """Decides by rules about the last message.

    `tools` are the tools of the owner's agent, so that no request is accepted that would then be
    declined. The latest turns are kept for a model that is chosen later, in the form of
    `DefaultGroupReasoner`.
    """

    def __init__(self, tools: Collection[str]) -> None:
        super().__init__()
        self._tools = frozenset(tools)

    async def run(self, updates: list[Message]) -> Response:
        if not updates:
            raise ValueError("there is nothing to decide on")
        doing("asking")
        response = decide(updates[-1], self._tools)
        turn = [
            messages.request("user-prompt", reasoner_prompt(updates, self._processed)),
            messages.response("text", content=msgspec.json.encode(response).decode()),
        ]
        kept = latest_turns(self._history, messages.is_prompt)
        self._remember([*kept, *turn], turn, len(updates))
        return response


def decide(message: Message, tools: Collection[str]) -> Response:
    """Decide whether a message is for the helper, with a reason."""
    content = message.content.strip()
    if not content:
        return _ignore("There is no text in this message.")
    if mentioned(content) or message.receiver == SYSTEM or _BY_NAME.match(content):
        return _delegate(message, "The message is addressed to the assistant.")
    if message.receiver:
        return _ignore(f"The message is addressed to {message.receiver}.")
    if mentions_someone_else(content):
        return _ignore("Addressed to someone else.")
    if call := plain_request(content, tools):
        return _delegate(message, f"The message plainly asks for {call.tool}.")
    return _ignore("The message does not ask for anything the offline helper can do.")


def _ignore(reason: str) -> Response:
    return Response(decision("ignore"), reason=reason)


def _delegate(message: Message, reason: str) -> Response:
    content = message.content.strip()
    query = without_mention(content) or content
    return Response(decision("delegate"), query, message.sender or None, reason)
