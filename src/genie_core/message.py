"""Messages of people and agents, with their attachments."""

import builtins
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SYSTEM: Final = "system"
"""The sender of all agents' messages. No person can have this name."""


class Content(builtins.bytes):
    """A file's bytes, which can also be awaited.

    Programs written for group-genie await them, since reading is asynchronous there.
    """

    def __await__(self) -> Generator[None, None, "Content"]:
        yield from ()
        return self


@dataclass(slots=True)
class Attachment:
    """A local file of a message.

    Only its description is sent and stored; the agent reads the file when it needs it.
    """

    path: str
    name: str
    media_type: str

    def bytes(self) -> Content:
        """Read the file; raises `FileNotFoundError`. The result can also be awaited."""
        return Content(Path(self.path).read_bytes())

    def serialize(self) -> dict[str, Any]:
        """Return the fields as JSON values, for `deserialize`."""
        return {"path": self.path, "name": self.name, "media_type": self.media_type}

    @staticmethod
    def deserialize(attachment_dict: dict[str, Any]) -> "Attachment":
        """Create an attachment from the fields of `dataclasses.asdict`."""
        return Attachment(
            path=attachment_dict["path"],
            name=attachment_dict["name"],
            media_type=attachment_dict["media_type"],
        )


@dataclass(slots=True)
class Message:
    """One message of a group chat.

    `receiver` is the person it is meant for, `threads` are other conversations it refers to, and
    `request_id` is an application's own id, copied to the answer.
    """

    content: str
    sender: str
    receiver: str | None = None
    threads: list["Thread"] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    request_id: str | None = None

    def serialize(self) -> dict[str, Any]:
        """Return the fields as JSON values, for `deserialize`."""
        return {
            "content": self.content,
            "sender": self.sender,
            "receiver": self.receiver,
            "threads": [thread.serialize() for thread in self.threads],
            "attachments": [attachment.serialize() for attachment in self.attachments],
            "request_id": self.request_id,
        }

    @staticmethod
    def deserialize(message_dict: dict[str, Any]) -> "Message":
        """Create a message, with everything nested in it, from the fields of `asdict`.

        Fields with a default may be missing.
        """
        return Message(
            content=message_dict["content"],
            sender=message_dict["sender"],
            receiver=message_dict.get("receiver"),
            threads=[Thread.deserialize(thread) for thread in message_dict.get("threads", ())],
            attachments=[
                Attachment.deserialize(attachment)
                for attachment in message_dict.get("attachments", ())
            ],
            request_id=message_dict.get("request_id"),
        )


@dataclass(slots=True)
class Thread:
    """Messages of another group chat, quoted as context."""

    id: str
    messages: list[Message]

    def serialize(self) -> dict[str, Any]:
        """Return the fields as JSON values, for `deserialize`."""
        return {"id": self.id, "messages": [message.serialize() for message in self.messages]}

    @staticmethod
    def deserialize(thread_dict: dict[str, Any]) -> "Thread":
        """Create a thread and its messages from the fields of `asdict`."""
        return Thread(
            id=thread_dict["id"],
            messages=[Message.deserialize(message) for message in thread_dict["messages"]],
        )
