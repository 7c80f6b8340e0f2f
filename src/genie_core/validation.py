"""Refuse invalid messages and arguments where they enter."""

import unicodedata
from typing import Any, Final

from genie_core.errors import InvalidMessage, InvalidSetting
from genie_core.message import SYSTEM, Attachment, Message, Thread

DEEPEST: Final = 32
"""How deeply threads may be nested; a message that quotes itself has no end."""

_UNSEEN: Final = frozenset({"Cc", "Cf"})  # control and format characters


def check_message(message: Any) -> None:
    """Refuse a message that can't be shown, stored or answered."""
    _check_kind(message, Message, "what was handed in")
    check_parts(message)
    if not message.sender.strip():
        raise InvalidMessage("it has no sender")
    if not message.content.strip() and not message.attachments:
        raise InvalidMessage("it is empty")


def check_asker(sender: str) -> None:
    """Refuse a sender that is an agent or looks like one."""
    if _as_seen(sender) == SYSTEM:
        raise InvalidMessage(
            f"{sender!r} speaks for agents and is not answered; append() takes {SYSTEM!r}"
        )


def check_attachments(attachments: Any) -> None:
    """Refuse values that don't describe files."""
    for each in _list(attachments, "attachments"):
        _check_kind(each, Attachment, "something among its attachments")
        for field in ("path", "name", "media_type"):
            _check_text(getattr(each, field), f"the {field} of attachment {each.name!r}")


def check_parts(message: Message, depth: int = 0) -> None:
    """Check the types of all fields, in quoted threads too: everything must be JSON.

    `depth` is the message's nesting.
    """
    _check_text(message.sender, "its sender")
    _check_text(message.content, "its content")
    for field in ("receiver", "request_id"):
        if getattr(message, field) is not None:
            _check_text(getattr(message, field), f"its {field}")
    check_attachments(message.attachments)
    threads = _list(message.threads, "threads")
    if threads and depth == DEEPEST:
        raise InvalidMessage(f"its threads quote each other more than {DEEPEST} levels deep")
    for thread in threads:
        _check_kind(thread, Thread, "something among its threads")
        _check_text(thread.id, "the id of a thread")
        for quoted in _list(thread.messages, "quoted messages"):
            _check_kind(quoted, Message, "something it quotes")
            check_parts(quoted, depth + 1)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidMessage(f"its {what} are {_kind(value)}, not a list")
    return list(value)


def _check_kind(value: object, kind: type[Any], what: str) -> None:
    if not isinstance(value, kind):
        raise InvalidMessage(f"{what} is {_kind(value)}, not {kind.__name__}")


def _check_text(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise InvalidMessage(f"{what} is {_kind(value)}, not text")


def _kind(value: object) -> str:
    return type(value).__name__


def _as_seen(name: str) -> str:
    """Return a name as a reader or model sees it."""
    if name.isascii() and name.isprintable():
        return name.strip().lower()
    plain = unicodedata.normalize("NFKC", name)
    return "".join(c for c in plain if unicodedata.category(c) not in _UNSEEN).strip().casefold()


def check_setting(name: str, value: object, kind: type[Any], *, optional: bool = False) -> None:
    """Refuse an argument of the wrong type, such as a path instead of a store."""
    if isinstance(value, kind) or (optional and value is None):
        return
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    raise InvalidSetting(name, value, f"{article} {kind.__name__}")


def check_timeout(name: str, value: object) -> None:
    """Refuse a timeout that is neither None nor a positive number of seconds."""
    if value is None or (isinstance(value, int | float) and value > 0):
        return
    raise InvalidSetting(name, value, "a positive number of seconds")


def check_number(name: str, value: object) -> None:
    """Refuse anything but a positive whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidSetting(name, value, "a whole number of at least 1")
