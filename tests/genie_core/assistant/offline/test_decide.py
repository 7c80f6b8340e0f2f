import pytest

from genie_core.assistant.offline.reasoner import decide
from genie_core.assistant.tools.catalog import TOOL_NAMES, available
from genie_core.message import Message
from genie_core.reasoner import Decision


def message(content: str, receiver: str = "") -> Message:
    return Message(content, "alice", receiver or None)


@pytest.mark.parametrize(
    ("content", "receiver"),
    [
        ("@genie tell us a story", ""),
        ("genie, tell us a story", ""),
        ("tell us a story", "system"),
        ("what is 12*7?", ""),
    ],
)
def test_message_to_helper_is_delegated(content: str, receiver: str) -> None:
    ruling = decide(message(content, receiver), TOOL_NAMES)
    assert ruling.decision is Decision.DELEGATE
    assert ruling.receiver == "alice"
    assert ruling.query
    assert "@genie" not in (ruling.query or "")


@pytest.mark.parametrize(
    ("content", "receiver", "reason"),
    [
        ("what is 12*7?", "bob", "The message is addressed to bob."),
        ("@bob what is 12*7?", "", "Addressed to someone else."),
        ("see you at 3", "", "The message does not ask for anything the offline helper can do."),
        ("", "", "There is no text in this message."),
    ],
)
def test_other_message_is_ignored(content: str, receiver: str, reason: str) -> None:
    ruling = decide(message(content, receiver), TOOL_NAMES)
    assert ruling.decision is Decision.IGNORE
    assert ruling.reason == reason
    assert ruling.query is None


def test_files_need_workspace() -> None:
    assert decide(message("list the files"), available(None)).decision is Decision.IGNORE
    assert "list_files" in str(decide(message("list the files"), TOOL_NAMES).reason)
