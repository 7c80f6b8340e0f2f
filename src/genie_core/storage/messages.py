"""The messages of one group chat, in memory and on disk."""

import asyncio
import json
import logging
from asyncio import Future, Task
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeAlias, overload

from genie_core.datastore import DataStore
from genie_core.errors import GenieError, MissingKey, summary
from genie_core.message import Message
from genie_core.runtime.tasks import settled, start_task
from genie_core.runtime.threads import in_thread
from genie_core.storage.executions import ExecutionRecord, ExecutionRecords, is_note
from genie_core.storage.group_genie import carry_over
from genie_core.storage.store import Store
from genie_core.validation import check_parts

log = logging.getLogger(__name__)

_Read: TypeAlias = tuple[list[Message], dict[str, ExecutionRecord]]

_KEY: Final = "session"
_NO_MARKS: Final[dict[str, str]] = {}
_AT_ONCE: Final = 500  # messages encoded in one go: the event loop gets its turn in between


class MessageView(Sequence[Message]):
    """The messages of a log as they are now, to read only."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._messages!r})"


class MessageLog:
    """Messages in order, each written to disk once.

    `messages` is the live list: share it, do not change it. Nothing may be added before the
    messages on disk are loaded; `when_open` waits for that and keeps the order.

    `unfinished` are the executions without outcome on disk; ending or resuming one removes it.
    """

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self.messages: list[Message] = []
        self.view = MessageView(self.messages)
        self.unfinished: dict[str, ExecutionRecord] = {}
        self.request_ids: set[str] = set()
        self.restored = 0
        self._is_open = store is None
        self._opening: Task[None] | None = None
        self._deferred: list[Callable[[], object]] = []

    def open(self) -> None:
        """Start to load the messages on disk. Unreadable ones are reported and left there.

        After an interruption, the next call starts over.
        """
        if not self._is_open and (self._opening is None or self._opening.done()):
            asyncio.get_running_loop()  # raises before there is anything to be awaited
            self._opening = start_task(self._load(), name="loading messages")

    def when_open(self, action: Callable[[], object]) -> None:
        """Call a function now or, in the order of the calls, once everything is loaded.

        It always runs with the current context variables.
        """
        if self._is_open:
            action()
            return
        self.open()  # first: outside an event loop it raises, and nothing may be left to be done
        self._deferred.append(partial(copy_context().run, action))

    async def opened(self) -> None:
        """Wait until the messages are loaded. Cancelling is safe."""
        self.open()
        if self._opening is not None:
            await asyncio.wait({self._opening})

    def add(self, message: Message, marks: dict[str, str] = _NO_MARKS) -> "Future[None]":
        """Add a message; the future completes once it is on disk, or fails.

        `marks` are further fields of its line.
        """
        self._keep(message)
        return self._append(message.serialize() | marks, sync=True)

    def note(self, line: dict[str, Any]) -> "Future[None]":
        """Write a line about an execution; the future completes once the system has it."""
        return self._append(line, sync=False)

    def _append(self, line: dict[str, Any], *, sync: bool) -> "Future[None]":
        try:
            if self._store is not None:
                return self._store.append(_KEY, [line], sync=sync)
        except Exception as error:  # noqa: BLE001 - a closed store, or no text; passed on
            return settled(error)
        return settled()

    async def to_json(self) -> str:
        """Return the current messages as a JSON list, without blocking the event loop."""
        return await in_thread(_as_json, list(self.messages))

    async def remembered(self) -> list[Message]:
        """Wait for the messages from disk and return them."""
        await self.opened()
        return self.messages[: self.restored]

    async def _load(self) -> None:
        try:
            if self._store is not None:
                await self._take_over(self._store)
        except Exception as error:
            # Those who wait must be served after any failure: the chat begins without a past.
            log.warning("the chat begins without its saved messages: %s", summary(error))
            log.debug("loading messages failed", exc_info=True)
            if self._store is not None and not isinstance(error, GenieError):
                self._store.report(f"the saved messages can't be read: {summary(error)}")
        self._is_open = True
        for action in self._deferred:
            try:
                action()
            except Exception:
                # The others have nothing to do with it.
                log.exception("something that waited for the messages failed")
        self._deferred.clear()

    async def _take_over(self, store: Store) -> None:
        if isinstance(store, DataStore):
            await carry_over(store)
        stored, self.unfinished = await _read(store) or ([], {})
        ids = await in_thread(lambda: {message.request_id for message in stored})
        self.messages += stored
        self.request_ids |= {each for each in ids if each is not None}
        self.restored = len(self.messages)

    def _keep(self, message: Message) -> None:
        self.messages.append(message)
        if message.request_id is not None:
            self.request_ids.add(message.request_id)


async def load_messages(store: Store) -> list[Message] | None:
    """Read the messages of the session in a store; None if there are none.

    The store is either narrowed to the session's id, or the one given to the session if it holds no
    other session.
    """
    if isinstance(store, DataStore) and store.earlier_path != store.root_path:
        await carry_over(store)
    if (found := await _read(store)) is not None:
        return found[0]
    sessions = await store.parts_with(_KEY)
    if len(sessions) > 1:
        store.report(f"the store holds {len(sessions)} sessions: narrow it to the id of one")
        return None
    found = await _read(sessions[0]) if sessions else None
    return None if found is None else found[0]


async def _read(store: Store) -> _Read | None:
    if lines := await store.load_lines(_KEY):
        return await in_thread(_understood, lines, store)
    try:
        state = await store.load(_KEY)
    except MissingKey:
        return None
    listed = state.get("messages") if isinstance(state, dict) else state
    if not isinstance(listed, list):
        store.report("the saved session has no list of messages and was left out")
        return None
    return await in_thread(_understood, listed, store)


def _understood(lines: list[Any], store: Store) -> _Read:
    """Build messages and unfinished executions from lines; invalid ones are one report."""
    messages: list[Message] = []
    records = ExecutionRecords()
    strange: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            if is_note(line):
                records.note(line)
                continue
            message = _message(line)
            records.message(line, message, len(messages))
            messages.append(message)
        except (TypeError, LookupError, AttributeError, RecursionError, ValueError) as error:
            strange.append(f"number {number}: {error!r}")
    if strange:
        store.report(f"{len(strange)} saved messages were left out, first {strange[0]}")
    return messages, records.unfinished


def _message(line: Any) -> Message:
    message = Message.deserialize(line)
    check_parts(message)
    return message


def _as_json(messages: list[Message]) -> str:
    parts = []
    for start in range(0, len(messages), _AT_ONCE):
        some = [message.serialize() for message in messages[start : start + _AT_ONCE]]
        parts.append(json.dumps(some, ensure_ascii=False)[1:-1])
    return f"[{', '.join(parts)}]"
