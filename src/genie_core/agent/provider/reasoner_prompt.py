"""The prompt that shows a reasoner the new messages of a chat, in the markup of group-sense.

Messages reach the model with `<`, `>`, `&` and, in names, quotes as HTML entities, so that none can
look like another. group-sense's own `user_prompt` does not escape their text, and importing it
imports pydantic-ai.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from genie_core.message import Attachment, Message, Thread

MAX_MESSAGES: Final = 200
"""How many of the latest messages the model is shown in one turn."""

_LEFT_OUT: Final = "(Before these messages came {count} more, which are not shown.)\n\n"


def reasoner_prompt(updates: Sequence[Message], processed: int, most: int = MAX_MESSAGES) -> str:
    """Show the latest `most` of some messages; `processed` is the number of those before them."""
    shown = updates[-most:]
    left_out = len(updates) - len(shown)
    parts = [_LEFT_OUT.format(count=left_out)] if left_out else []
    if threads := _threads(shown):
        parts.append(f"<threads>\n{_lines(map(_thread, threads))}\n</threads>\n\n")
    numbered = enumerate(shown, processed + left_out)
    messages = _lines(_marked(f'message seq_nr="{seq}"', each) for seq, each in numbered)
    return "".join([*parts, f"<update>\n{messages}\n</update>"])


def _threads(messages: Iterable[Message]) -> Iterable[Thread]:
    """Return the threads that messages refer to, each once."""
    threads: dict[str, Thread] = {}
    for message in messages:
        for thread in message.threads:
            threads.setdefault(thread.id, thread)
    return threads.values()


def _thread(thread: Thread) -> str:
    messages = _lines(_marked("thread-message", each) for each in thread.messages)
    return f'<thread id="{escape(thread.id)}">\n{messages}\n</thread>'


def _marked(tag: str, message: Message) -> str:
    sender, receiver = escape(message.sender), escape(message.receiver or "")
    content = _lines([*map(_attachment, message.attachments), escape(message.content, quote=False)])
    name = tag.partition(" ")[0]
    return f'<{tag} sender="{sender}" receiver="{receiver}">\n{content}\n</{name}>'


def _attachment(attachment: Attachment) -> str:
    name, media_type = escape(attachment.name), escape(attachment.media_type)
    path = escape(attachment.path, quote=False)
    return f'<attachment name="{name}" media_type="{media_type}">\n{path}\n</attachment>'


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(parts)
