import pytest

from genie_core.assistant.offline.triage import IncomingMessage, decide, last_message
from genie_core.assistant.tools.catalog import TOOL_NAMES, available


def message(content: str, receiver: str = "") -> IncomingMessage:
    return IncomingMessage("alice", receiver, content)


UPDATE = """<update>
<message seq_nr="7" sender="bob" receiver="">
first
</message>
<message seq_nr="8" sender="alice" receiver="bob">
<attachment name="a.txt" media_type="text/plain">
/tmp/a.txt
</attachment>
two &lt;attachment&gt;
lines
</message>
</update>"""


def test_the_last_message_of_an_update_is_read() -> None:
    assert last_message(UPDATE) == IncomingMessage("alice", "bob", "two <attachment>\nlines")


def test_text_that_is_no_update_has_no_message() -> None:
    assert last_message("hello") is None
    assert decide(None, TOOL_NAMES).decision == "ignore"


@pytest.mark.parametrize(
    ("content", "receiver"),
    [
        ("@genie tell us a story", ""),
        ("genie, tell us a story", ""),
        ("tell us a story", "system"),
        ("what is 12*7?", ""),
    ],
)
def test_what_is_meant_for_the_helper_is_delegated(content: str, receiver: str) -> None:
    ruling = decide(message(content, receiver), TOOL_NAMES)
    assert ruling.decision == "delegate"
    assert ruling.receiver == "alice"
    assert ruling.query
    assert "@genie" not in ruling.query


@pytest.mark.parametrize(
    ("content", "receiver", "reason"),
    [
        ("what is 12*7?", "bob", "The message is addressed to bob."),
        ("@bob what is 12*7?", "", "Addressed to someone else."),
        ("see you at 3", "", "The message does not ask for anything the offline helper can do."),
        ("", "", "There is no text in this message."),
    ],
)
def test_everything_else_is_ignored_with_the_reason(
    content: str, receiver: str, reason: str
) -> None:
    ruling = decide(message(content, receiver), TOOL_NAMES)
    assert ruling.decision == "ignore"
    assert ruling.reason == reason
    assert ruling.query is None


def test_files_are_not_offered_without_a_workspace() -> None:
    assert decide(message("list the files"), available(None)).decision == "ignore"
    assert "list_files" in decide(message("list the files"), TOOL_NAMES).reason
