"""Attached files in a stream: a subject per file, whose message says where its parts are."""

import asyncio
import hashlib
import secrets
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Final

import msgspec
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from genie_core.storage.blobs import check_digest
from genie_serve.stores.nats.connection import ANSWER, UNANSWERED, answering, read_messages
from genie_serve.stores.nats.log import token_of
from genie_serve.stores.store import StoreUnavailable

PART_BYTES: Final = 128 * 1024


class StoredFile(msgspec.Struct, frozen=True):
    """The message that completes a file: which upload it is from, and its parts in the stream."""

    upload: str
    size: int
    first: int
    last: int


class NatsObjects:
    """Files by room and digest; see `Objects`.

    An upload writes its parts to a subject of its own and is visible once the message that names
    it is written, so that two uploads of the same file don't disturb each other. nats-py's object
    store is not used: reading from it waits without end if a server goes away, and a room's files
    could only be listed and removed one by one.
    """

    def __init__(self, js: JetStreamContext, stream: str, subjects: str) -> None:
        self._js = js
        self._stream = stream
        self._subjects = subjects

    async def put(self, room: str, digest: str, path: str) -> None:
        subject = self._subject(room, digest)
        if await self._stored(subject) is not None:
            return
        upload = secrets.token_hex(8)
        with answering(f"store the file {digest}"):
            try:
                stored = await self._upload(f"{subject}.{upload}", upload, path)
                await self._publish(subject, msgspec.json.encode(stored))
            except BaseException:
                with suppress(*UNANSWERED):
                    await self._js.purge_stream(self._stream, subject=f"{subject}.{upload}")
                raise

    async def get(self, room: str, digest: str, path: str) -> bool:
        subject = self._subject(room, digest)
        stored = await self._stored(subject)
        if stored is None:
            return False
        target = Path(path)
        fresh = target.with_name(f"{target.name}.{secrets.token_hex(8)}.new")
        try:
            if await self._download(f"{subject}.{stored.upload}", stored, fresh) != digest:
                raise StoreUnavailable(f"the file {digest} is damaged in NATS")
            await asyncio.to_thread(fresh.replace, target)
        finally:
            await asyncio.to_thread(fresh.unlink, missing_ok=True)
        return True

    async def remove(self, room: str) -> None:
        with answering("remove the room's files"):
            await self._js.purge_stream(
                self._stream, subject=f"{self._subjects}.{token_of(room)}.>"
            )

    def _subject(self, room: str, digest: str) -> str:
        return f"{self._subjects}.{token_of(room)}.{check_digest(digest)}"

    async def _stored(self, subject: str) -> StoredFile | None:
        with answering("look for a file"):
            try:
                message = await self._js.get_last_msg(self._stream, subject)
            except NotFoundError:
                return None
        try:
            return msgspec.json.decode(message.data or b"", type=StoredFile)
        except msgspec.MsgspecError as error:
            raise StoreUnavailable(f"the message {subject} in NATS is damaged") from error

    async def _upload(self, subject: str, upload: str, path: str) -> StoredFile:
        """Write the parts of a file, one after the other."""
        size = first = last = 0
        with await asyncio.to_thread(Path(path).open, "rb") as file:
            while part := await asyncio.to_thread(file.read, PART_BYTES):
                last = await self._publish(subject, part)
                first = first or last
                size += len(part)
        return StoredFile(upload, size, first, last)

    async def _download(self, subject: str, stored: StoredFile, path: Path) -> str:
        """Write the parts of a file to a new one; return its digest, "" if it has another size."""
        found, size = hashlib.sha256(), 0
        reading = read_messages(self._js, self._stream, subject, stored.first, stored.last)
        with await asyncio.to_thread(path.open, "xb") as file:
            async with aclosing(reading) as messages:
                async for message in messages:
                    size += len(message.data)
                    if size > stored.size:
                        return ""
                    found.update(message.data)
                    await asyncio.to_thread(file.write, message.data)
        return found.hexdigest() if size == stored.size else ""

    async def _publish(self, subject: str, data: bytes) -> int:
        ack = await self._js.publish(subject, data, timeout=ANSWER, stream=self._stream)
        return ack.seq
