from pathlib import Path
from typing import Any

import pytest

from genie_core.errors import InvalidMessage, InvalidSetting
from genie_core.message import Attachment, Message, Thread
from genie_core.validation import (
    DEEPEST,
    check_asker,
    check_attachments,
    check_message,
    check_number,
    check_setting,
    check_timeout,
)


def quoting(*quoted: Any) -> Message:
    return Message("hi", "alice", threads=[Thread("t", list(quoted))])


WRONG: Any = 3  # whatever it stands for, it is of no type that could be meant


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (Message("", "alice"), "empty"),
        (Message(" \n", "alice"), "empty"),
        (Message("hi", ""), "no sender"),
        (Message("hi", "  "), "no sender"),
        ("hi", "str, not Message"),
        (None, "NoneType, not Message"),
        (Message(WRONG, "alice"), "content is int"),
        (Message("hi", WRONG), "sender is int"),
        (Message("hi", "alice", receiver=WRONG), "receiver is int"),
        (Message("hi", "alice", request_id=WRONG), "request_id is int"),
        (Message("hi", "alice", attachments=WRONG), "attachments are int"),
        (Message("hi", "alice", attachments=[WRONG]), "attachments is int"),
        (Message("hi", "alice", threads=WRONG), "threads are int"),
        (Message("hi", "alice", threads=[WRONG]), "threads is int"),
        (Message("hi", "alice", threads=[Thread(WRONG, [])]), "id of a thread is int"),
        (Message("hi", "alice", threads=[Thread("t", WRONG)]), "quoted messages are int"),
        (quoting(WRONG), "quotes is int"),
        (quoting(Message("hi", "bob", request_id=WRONG)), "request_id is int"),
        (quoting(quoting(Message(WRONG, "bob"))), "content is int"),
    ],
)
def test_invalid_message_is_refused(message: Any, named: str) -> None:
    with pytest.raises(InvalidMessage, match=named):
        check_message(message)


@pytest.mark.parametrize(
    "message",
    [
        Message("", "alice", attachments=[Attachment("/a", "a", "text/plain")]),
        Message("hi", "system", "alice", request_id="r"),
        quoting(Message("", "")),
        Message("\ud800", "名前"),
    ],
)
def test_what_can_be_is_let_in(message: Message) -> None:
    check_message(message)


@pytest.mark.parametrize("field", ["path", "name", "media_type"])
def test_non_text_attachment_is_refused(field: str) -> None:
    fields: Any = {"path": "/a", "name": "a", "media_type": "text/plain", field: Path("/a")}
    with pytest.raises(InvalidMessage, match=f"the {field} of attachment"):
        check_attachments([Attachment(**fields)])


@pytest.mark.parametrize(
    "sender",
    [
        "system",
        "System",
        "SYSTEM",
        " system",
        "system\n",
        "sys\u200btem",
        "ｓｙｓｔｅｍ",
        "\ufeffsystem",
    ],
)
def test_what_reads_as_system_asks_for_nothing(sender: str) -> None:
    with pytest.raises(InvalidMessage, match="speaks for agents"):
        check_asker(sender)


@pytest.mark.parametrize("sender", ["systems", "sys tem", "alice", "ecosystem", "s"])
def test_other_names_may_ask(sender: str) -> None:
    check_asker(sender)


def test_threads_in_threads_have_an_end() -> None:
    message = Message("hi", "alice")
    for _ in range(DEEPEST):
        message = quoting(message)
    check_message(message)
    with pytest.raises(InvalidMessage, match=f"more than {DEEPEST} levels"):
        check_message(quoting(message))
    message.threads[0].messages.append(message)
    with pytest.raises(InvalidMessage, match="quote each other"):
        check_message(message)


def test_wrong_setting_type_is_named() -> None:
    with pytest.raises(InvalidSetting, match="data_store must be an Exception, not 3"):
        check_setting("data_store", 3, Exception)
    with pytest.raises(InvalidSetting):
        check_setting("id", None, str)
    check_setting("id", None, str, optional=True)


@pytest.mark.parametrize("number", [0, -1, 2.0, "3", True, None])
def test_invalid_number_is_named(number: Any) -> None:
    with pytest.raises(InvalidSetting, match="side_by_side must be a whole number of at least 1"):
        check_number("side_by_side", number)
    check_number("side_by_side", 3)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", []])
def test_invalid_timeout_is_named(timeout: Any) -> None:
    with pytest.raises(InvalidSetting, match="idle must be a positive number of seconds"):
        check_timeout("idle", timeout)


@pytest.mark.parametrize("timeout", [None, 1, 0.1, float("inf")])
def test_timeout_is_positive_or_none(timeout: Any) -> None:
    check_timeout("idle", timeout)
