"""Pass messages to group-sense so that none can look like another.

Its prompt marks messages up without escaping their text. Here `<`, `>`, `&` and, in names, quotes
become entities first.
"""

from html import escape

import group_sense  # type: ignore[import-untyped]  # it ships no type information

from genie_core.message import Attachment, Message, Thread


def quoted(message: Message) -> group_sense.Message:
    """Return a message that can't escape group-sense's delimiters."""
    return group_sense.Message(
        content=escape(message.content, quote=False),
        sender=escape(message.sender),
        receiver=escape(message.receiver) if message.receiver else None,
        threads=[_quoted_thread(thread) for thread in message.threads],
        attachments=[_quoted_attachment(attachment) for attachment in message.attachments],
    )


def _quoted_thread(thread: Thread) -> group_sense.Thread:
    return group_sense.Thread(
        id=escape(thread.id), messages=[quoted(message) for message in thread.messages]
    )


def _quoted_attachment(attachment: Attachment) -> group_sense.Attachment:
    return group_sense.Attachment(
        path=escape(attachment.path, quote=False),
        name=escape(attachment.name),
        media_type=escape(attachment.media_type),
    )
