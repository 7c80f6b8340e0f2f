"""The connection to the servers of NATS, and their errors."""

import asyncio
import base64
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import nats.errors
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError, ServiceUnavailableError

from genie_serve.config import StoreTable
from genie_serve.stores.store import StoreUnavailable, cause

ANSWER: Final = 2.0
"""Seconds to wait for one answer; electing a new leader takes about as long."""

CONNECTING: Final = 10.0
"""Seconds until the first connection must stand."""

PAUSE: Final = 0.1
"""Seconds until a failed request is repeated."""

FETCHED: Final = 32
"""Messages that are held together while many are read."""

UNANSWERED: Final = (nats.errors.Error, OSError)
"""All that nats-py raises if a request fails; timeouts are both."""

_BLOCK: Final = re.compile(r"-----BEGIN [^\n]*-----\s*([\w.=-]+)\s*-----*END", re.ASCII)

logger = logging.getLogger(__name__)


@contextmanager
def answering(what: str) -> Iterator[None]:
    """Raise each failure of a request in the block as `StoreUnavailable`."""
    try:
        yield
    except StoreUnavailable:
        raise
    except UNANSWERED as error:
        raise unavailable(what, error) from error


def unavailable(what: str, error: Exception) -> StoreUnavailable:
    """Return the error for a request that failed, in one line."""
    if isinstance(error, APIError):
        why = error.description or str(error.code or "no server is responsible now")
    elif isinstance(error, TimeoutError):
        why = "no answer in time"
    elif isinstance(error, OSError):
        why = cause(error)
    else:
        why = str(error).removeprefix("nats: ") or type(error).__name__
    return StoreUnavailable(f"NATS can't {what}: {why}")


async def connect(table: StoreTable) -> Client:
    """Connect to any of the servers; from then on it reconnects by itself, without end.

    Raises:
        StoreUnavailable: none of them answers or lets this program in.
    """
    told: list[Exception] = []

    async def failed(error: Exception) -> None:
        known = isinstance(error, OSError)
        if not told or (isinstance(told[0], OSError) and not known):
            told[:] = [error]  # a server's words say more than that it hung up
        logger.warning("NATS: %s", cause(error) if known else str(error) or type(error).__name__)

    client = Client()
    with answering("be reached"):
        proofs = _secrets(table)
    try:
        async with asyncio.timeout(CONNECTING):
            await client.connect(
                list(table.urls),
                name="genie-tui serve",
                error_cb=failed,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,  # type: ignore[arg-type]  # any seconds do
                connect_timeout=2,
                ping_interval=2,
                max_outstanding_pings=2,
                **proofs,
            )
    except UNANSWERED as error:
        await client.close()
        last = told[0] if told and isinstance(error, TimeoutError) else error
        hosts = ", ".join(url.rpartition("@")[2].rpartition("//")[2] for url in table.urls)
        raise StoreUnavailable(f"{unavailable('be reached', last)} (at {hosts})") from error
    return client


async def read_messages(
    js: JetStreamContext, stream: str, subject: str, first: int, last: int
) -> AsyncGenerator[Msg]:
    """Iterate over a subject's messages between two places in a stream, both included.

    Raises:
        StoreUnavailable: the servers don't answer, or the last message is missing.
    """
    config = ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=first,
        ack_policy=AckPolicy.NONE,
        inactive_threshold=60.0,
        num_replicas=1,
        mem_storage=True,
    )
    with answering(f"read {stream}"):
        messages = await js.pull_subscribe(subject, stream=stream, config=config)
    try:
        place = first - 1
        while place < last:
            with answering(f"read {stream}"):
                fetched = await _fetch(messages)
            if not fetched:
                raise StoreUnavailable(f"NATS can't read {stream}: it ends too early")
            for message in fetched:
                place = message.metadata.sequence.stream
                if place > last:
                    return
                yield message
    finally:
        with suppress(*UNANSWERED):
            await messages.unsubscribe()


async def _fetch(messages: JetStreamContext.PullSubscription) -> list[Msg]:
    """Fetch some messages; a consumer that was just created may not be known everywhere yet."""
    until = asyncio.get_running_loop().time() + ANSWER
    while True:
        try:
            return await messages.fetch(FETCHED, timeout=ANSWER)
        except ServiceUnavailableError:
            if asyncio.get_running_loop().time() >= until:
                raise
            await asyncio.sleep(PAUSE)


def _secrets(table: StoreTable) -> dict[str, Any]:
    """Return the options by which the servers know this program, and this program them."""
    given: dict[str, Any] = {}
    if table.credentials is not None:
        given |= _credentials(table.credentials)
    if table.ca is not None or table.certificate is not None:
        context = ssl.create_default_context(cafile=table.ca)
        if table.certificate is not None:
            context.load_cert_chain(table.certificate)
        given["tls"] = context
    return given


def _credentials(path: Path) -> dict[str, Any]:
    """Return the options that prove who this program is, from a file of NATS: a token and a key.

    nats-py reads such files only with one more package, for the signature that we make anyway.
    """
    blocks = _BLOCK.findall(path.read_text())
    try:
        token, seed = (block.encode() for block in blocks)
        decoded = base64.b32decode(seed + b"=" * (-len(seed) % 8))
        key = Ed25519PrivateKey.from_private_bytes(decoded[2:34])
    except ValueError as error:
        raise StoreUnavailable(f"{path} holds no credentials of NATS") from error
    return {
        "user_jwt_cb": lambda: token,
        "signature_cb": lambda nonce: base64.b64encode(key.sign(nonce.encode())),
        "token": lambda: "",  # without one of its own options, nats-py asks no callback
    }
