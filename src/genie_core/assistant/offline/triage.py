"""The offline helper as a reasoner: reading the update and deciding on its last message."""

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
class Heard:
    """The message to decide on."""

    sender: str
    receiver: str
    content: str


@dataclass(frozen=True, slots=True)
class OfflineDecision:
    """The decision, as the fields of the reasoner's structured response."""

    decision: str
    reason: str
    query: str | None = None
    receiver: str | None = None


def last_message(prompt: str) -> Heard | None:
    """Return the last message of the update that a group-sense reasoner prompts with."""
    messages = list(_MESSAGE.finditer(prompt))
    if not messages:
        return None
    last = messages[-1]
    content = _ATTACHMENT.sub("", last["content"])  # before unescaping: nobody can write a tag
    return Heard(unescape(last["sender"]), unescape(last["receiver"]), unescape(content).strip())


def rule_on(heard: Heard | None, tools: Collection[str]) -> OfflineDecision:
    """Decide whether a message is for the helper, and say why."""
    if heard is None or not heard.content:
        return OfflineDecision("ignore", "There is no text in this message.")
    if mentioned(heard.content):
        return _delegate(heard, "The message calls the assistant by name.")
    if heard.receiver == SYSTEM or called_by_name(heard.content):
        return _delegate(heard, "The message is addressed to the assistant.")
    if heard.receiver:
        return OfflineDecision("ignore", f"The message is addressed to {heard.receiver}.")
    if mentions_someone_else(heard.content):
        return OfflineDecision("ignore", "The message is addressed to another member.")
    if call := plain_ask(heard.content, tools):
        return _delegate(heard, f"The message plainly asks for something that {call.tool} can do.")
    return OfflineDecision(
        "ignore", "The message does not ask for anything the offline helper can do."
    )


def _delegate(heard: Heard, reason: str) -> OfflineDecision:
    return OfflineDecision(
        "delegate", reason, without_mention(heard.content) or heard.content, heard.sender
    )
