"""The offline helper as a reasoner: parsing the update and deciding about its last message."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from html import unescape

from genie_core.assistant.offline.ask import called_by_name
from genie_core.assistant.offline.intent import plain_ask
from genie_core.assistant.reasoners.mention import mentioned, mentions_someone_else, without_mention
from genie_core.message import SYSTEM

_MESSAGE = re.compile(
    r'^<message seq_nr="\d+" sender="(?P<sender>[^"]*)" receiver="(?P<receiver>[^"]*)">\n'
    r"(?P<content>.*?)\n</message>$",
    re.MULTILINE | re.DOTALL,
)
_ATTACHMENT = re.compile(r"^<attachment [^>]*>\n.*?\n</attachment>\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """The message to decide about."""

    sender: str
    receiver: str
    content: str


@dataclass(frozen=True, slots=True)
class OfflineDecision:
    """The decision, with the fields of the reasoner's structured response."""

    decision: str
    reason: str
    query: str | None = None
    receiver: str | None = None


def last_message(prompt: str) -> IncomingMessage | None:
    """Return the last message of a group-sense reasoner's prompt."""
    messages = list(_MESSAGE.finditer(prompt))
    if not messages:
        return None
    last = messages[-1]
    content = _ATTACHMENT.sub(
        "", last["content"]
    )  # before unescaping, so that text can't forge a tag
    return IncomingMessage(
        unescape(last["sender"]), unescape(last["receiver"]), unescape(content).strip()
    )


def decide(message: IncomingMessage | None, tools: Collection[str]) -> OfflineDecision:
    """Decide whether a message is for the helper, with a reason."""
    if message is None or not message.content:
        return OfflineDecision("ignore", "There is no text in this message.")
    if mentioned(message.content):
        return _delegate(message, "The message calls the assistant by name.")
    if message.receiver == SYSTEM or called_by_name(message.content):
        return _delegate(message, "The message is addressed to the assistant.")
    if message.receiver:
        return OfflineDecision("ignore", f"The message is addressed to {message.receiver}.")
    if mentions_someone_else(message.content):
        return OfflineDecision("ignore", "Addressed to someone else.")
    if call := plain_ask(message.content, tools):
        return _delegate(
            message, f"The message plainly asks for something that {call.tool} can do."
        )
    return OfflineDecision(
        "ignore", "The message does not ask for anything the offline helper can do."
    )


def _delegate(message: IncomingMessage, reason: str) -> OfflineDecision:
    return OfflineDecision(
        "delegate", reason, without_mention(message.content) or message.content, message.sender
    )
