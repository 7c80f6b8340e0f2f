"""Documents in a key-value bucket."""

from collections.abc import Sequence

from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from genie_serve.stores.nats.connection import answering


class NatsDocuments:
    """Documents under keys of letters, digits and `-_./=`; see `Documents`."""

    def __init__(self, js: JetStreamContext, bucket: KeyValue, name: str) -> None:
        self._js = js
        self._bucket = bucket
        self._stream = f"KV_{name}"
        self._subjects = f"$KV.{name}."

    async def get(self, key: str) -> bytes | None:
        with answering(f"read {key}"):
            try:
                return (await self._bucket.get(key)).value or b""
            except KeyNotFoundError:
                return None

    async def put(self, key: str, content: bytes) -> None:
        with answering(f"write {key}"):
            await self._bucket.put(key, content)

    async def remove(self, key: str) -> None:
        with answering(f"remove {key}"):
            await self._js.purge_stream(self._stream, subject=f"{self._subjects}{key}")

    async def keys(self, prefix: str = "") -> Sequence[str]:
        with answering("list what it keeps"):
            info = await self._js.stream_info(self._stream, subjects_filter=f"{self._subjects}>")
        found = (each.removeprefix(self._subjects) for each in info.state.subjects or ())
        return sorted(key for key in found if key.startswith(prefix))
