"""The messages of one group chat, in memory and on disk."""

import asyncio
import json
from asyncio import Future, Task
from collections.abc import Callable
from typing import Any, Final

from genie_core.datastore import DataStore
from genie_core.errors import GenieError, InvalidMessage, MissingKey
from genie_core.message import Message

_KEY: Final = "session"


class Conversation:
    """Messages in the order they were added, each written to disk once.

    `messages` is the live list: share it, do not change it. Nothing may be added before what is
    on disk has been taken over; `when_open` waits for that and keeps the order.
    """

    def __init__(self, store: DataStore | None) -> None:
        self._store = store
        self.messages: list[Message] = []
        self.request_ids: set[str] = set()
        self.restored = 0
        self._is_open = store is None
        self._opening: Task[None] | None = None
        self._deferred: list[Callable[[], object]] = []

    def open(self) -> None:
        """Begin to take over what is on disk. What cannot be read is reported and left there."""
        if not self._is_open and self._opening is None:
            self._opening = asyncio.create_task(self._load(), name="loading messages")

    def when_open(self, action: Callable[[], object]) -> None:
        """Do something now or, in the order of the calls, once everything is taken over."""
        if self._is_open:
            action()
            return
        self._deferred.append(action)
        self.open()

    async def opened(self) -> None:
        """Wait until everything is taken over. Cancelling the wait is safe."""
        self.open()
        if self._opening is not None:
            await asyncio.wait({self._opening})

    def add(self, message: Message) -> "Future[None]":
        """Add a message; the future is done when it is on disk, or says why it is not."""
        self._keep(message)
        saved: Future[None] = asyncio.get_running_loop().create_future()
        saved.add_done_callback(lambda promise: promise.cancelled() or promise.exception())
        if self._store is None:
            saved.set_result(None)
            return saved
        try:
            return self._store.append(_KEY, [message.serialize()])
        except GenieError as error:  # a closed store, or something that is no text
            saved.set_exception(error)
            return saved

    def to_json(self) -> str:
        """Write all messages as one JSON list."""
        return json.dumps([message.serialize() for message in self.messages], ensure_ascii=False)

    async def _load(self) -> None:
        try:
            stored = await load_messages(self._store) if self._store else None
        except GenieError:
            stored = None  # the store has reported it
        for message in stored or ():
            self._keep(message)
        self.restored = len(self.messages)
        self._is_open = True
        for action in self._deferred:
            action()
        self._deferred.clear()

    def _keep(self, message: Message) -> None:
        self.messages.append(message)
        if message.request_id is not None:
            self.request_ids.add(message.request_id)


async def load_messages(store: DataStore) -> list[Message] | None:
    """Read the messages in a store, or None if it has never held any."""
    lines = await store.load_lines(_KEY)
    if not lines:
        try:
            lines = (await store.load(_KEY))["messages"]
        except MissingKey:
            return None
        except (TypeError, LookupError):
            store.report("the saved session has no list of messages and was left out")
            return None
    messages = []
    for number, line in enumerate(lines, start=1):
        try:
            messages.append(Message.deserialize(line))
        except (TypeError, LookupError) as error:
            store.report(f"saved message {number} was left out: {error!r}")
    return messages


def check_message(message: Any) -> None:
    """Refuse what could not be shown, stored or answered."""
    if not isinstance(message, Message):
        raise InvalidMessage(f"{type(message).__name__} is not a Message")
    sender: object = message.sender
    content: object = message.content
    if not isinstance(sender, str) or not sender.strip():
        raise InvalidMessage("it has no sender")
    if not isinstance(content, str):
        raise InvalidMessage(f"its content is {type(content).__name__}, not text")
    if not content.strip() and not message.attachments:
        raise InvalidMessage("it is empty")
