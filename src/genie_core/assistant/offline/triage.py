"""The offline helper's decision about a message."""

from collections.abc import Collection

from genie_core.assistant.offline.ask import called_by_name
from genie_core.assistant.offline.intent import plain_ask
from genie_core.assistant.reasoners.mention import mentioned, mentions_someone_else, without_mention
from genie_core.message import SYSTEM, Message
from genie_core.reasoner import Response
from genie_core.reasoner.decision import decision


def decide(message: Message, tools: Collection[str]) -> Response:
    """Decide whether a message is for the helper, with a reason."""
    content = message.content.strip()
    if not content:
        return _ignore("There is no text in this message.")
    if mentioned(content):
        return _delegate(message, "The message calls the assistant by name.")
    if message.receiver == SYSTEM or called_by_name(content):
        return _delegate(message, "The message is addressed to the assistant.")
    if message.receiver:
        return _ignore(f"The message is addressed to {message.receiver}.")
    if mentions_someone_else(content):
        return _ignore("Addressed to someone else.")
    if call := plain_ask(content, tools):
        return _delegate(
            message, f"The message plainly asks for something that {call.tool} can do."
        )
    return _ignore("The message does not ask for anything the offline helper can do.")


def _ignore(reason: str) -> Response:
    return Response(decision("ignore"), reason=reason)


def _delegate(message: Message, reason: str) -> Response:
    content = message.content.strip()
    query = without_mention(content) or content
    return Response(decision("delegate"), query, message.sender or None, reason)
