"""Logging in at tool servers on HTTP by OAuth: authorization code with PKCE, as MCP describes it.

A person logs in by a command, in their browser; the tokens are kept with the secrets. Runs use and
refresh them, and never open a browser.
"""

import asyncio
import hashlib
import logging
import re
import time
from asyncio import Future, StreamReader, StreamWriter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from genie_core.assistant.secrets import OwnSecrets
from genie_core.assistant.servers.client import connected
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import LoginFailed, LoginNeeded
from genie_core.errors import first_of, summary
from genie_core.privacy.redaction import hide_secrets, know

log = logging.getLogger(__name__)

LOGIN_TIMEOUT: Final = 300.0
"""Seconds that a person has to log in in the browser."""

_MOST_REQUEST: Final = 16_384
_PAGE: Final = "<!doctype html><meta charset=utf-8><title>genie-tui</title><p>{0}</p>"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

ShowAddress: TypeAlias = Callable[[str], Awaitable[None]]
"""Shows a person the address at which to log in, and may open it."""


class _Login(msgspec.Struct, frozen=True, omit_defaults=True):
    """A login as it is kept. It counts only for the address `url`; `expires` is since the epoch.

    The other fields are those of the SDK, as JSON.
    """

    url: str
    tokens: str
    client: str
    expires: float = 0.0
    metadata: str = ""
    resource: str = ""


class LoginStore:
    """The login of one server, among a person's secrets. Its methods block."""

    def __init__(self, server: str, secrets: OwnSecrets) -> None:
        self.name = secret_name(server)
        self._secrets = secrets

    @property
    def exists(self) -> bool:
        """Whether there is a login. Does not ask the keyring."""
        return any(each.name == self.name for each in self._secrets.entries())

    def read(self, url: str) -> _Login | None:
        """Return the login at this address; its tokens are redacted from now on."""
        value = self._secrets.kept().get(self.name) if self.exists else None
        try:
            login = msgspec.json.decode(value, type=_Login) if value else None
        except (ValueError, RecursionError):
            return None
        if login is None or not _is_same(login.url, url):
            return None
        _hide(login)
        return login

    def write(self, login: _Login) -> str:
        """Keep a login; returns where."""
        _hide(login)
        return self._secrets.set(self.name, msgspec.json.encode(login).decode())

    def delete(self) -> str:
        """Forget the login; returns where it was."""
        return self._secrets.delete(self.name)


def secret_name(server: str) -> str:
    """Return the name of the secret that has a server's login; no two servers share one."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", server)
    mark = "" if plain == server else f"_{hashlib.sha256(server.encode()).hexdigest()[:8]}"
    return f"MCP_LOGIN_{plain}{mark}"


def can_log_in(spec: ServerSpec) -> bool:
    """Whether a server takes a login: one on HTTP without a header for that."""
    return bool(spec.url) and not any(each.lower() == "authorization" for each in spec.headers)


class KeptLogin(OAuthClientProvider):
    """Sends the kept tokens of a server's login, and refreshes them.

    A server that wants another login than the kept one, or any, gets none: requests then raise
    `LoginNeeded`.
    """

    def __init__(self, server: str, store: LoginStore) -> None:
        self._store = store
        self._server = server
        keeper = _Keeper(store)
        super().__init__("", _metadata(()), keeper)
        keeper.provider = self

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        context = self.context
        async with context.lock:
            if not self._initialized:
                await self._load(str(request.url))
            if not context.is_token_valid() and context.can_refresh_token():
                await self._take((yield await self._refresh_token()))
            self._add_auth_header(request)
        response = yield request
        if response.status_code != 401:
            return
        used = request.headers.get("Authorization")
        async with context.lock:
            await self._load(context.server_url)  # another process or agent may have refreshed it
            if self._bearer in ("", used) and context.can_refresh_token():
                await self._take((yield await self._refresh_token()))
            if self._bearer in ("", used):
                raise LoginNeeded(self._server)
            self._add_auth_header(request)
        yield request

    @property
    def _bearer(self) -> str:
        tokens = self.context.current_tokens
        return f"Bearer {tokens.access_token}" if tokens else ""

    async def _take(self, response: httpx2.Response) -> None:
        """Take refreshed tokens; if they were refused, those that another one has got meanwhile."""
        if not await self._handle_refresh_response(response):
            await self._load(self.context.server_url)

    async def _load(self, url: str) -> None:
        context, login = self.context, await asyncio.to_thread(self._store.read, url)
        context.server_url = url
        self._initialized = True
        if login is None:
            context.clear_tokens()
            return
        context.current_tokens = OAuthToken.model_validate_json(login.tokens)
        context.token_expiry_time = login.expires or None
        context.client_info = OAuthClientInformationFull.model_validate_json(login.client)
        if login.metadata:
            context.oauth_metadata = OAuthMetadata.model_validate_json(login.metadata)
        if login.resource:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate_json(
                login.resource
            )


class _Keeper:
    """Keeps the tokens of a provider, as its `TokenStorage`."""

    provider: OAuthClientProvider

    def __init__(self, store: LoginStore) -> None:
        self._store = store
        self.where = ""

    async def get_tokens(self) -> None:
        """Return none: a login begins again, and `KeptLogin` loads by itself."""

    async def get_client_info(self) -> None:
        """Return none; see above."""

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Wait for the tokens: a registration alone is of no use."""
        know([client_info.client_secret or ""])

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self.provider.context
        assert context.client_info is not None, "tokens are given to a client"  # noqa: S101 - an invariant
        metadata, resource = context.oauth_metadata, context.protected_resource_metadata
        login = _Login(
            context.server_url,
            tokens.model_dump_json(exclude_none=True),
            context.client_info.model_dump_json(exclude_none=True),
            time.time() + tokens.expires_in if tokens.expires_in else 0.0,
            metadata.model_dump_json(include=_ENDPOINTS, exclude_none=True) if metadata else "",
            resource.model_dump_json(include=_RESOURCE, exclude_none=True) if resource else "",
        )
        self.where = await asyncio.to_thread(self._store.write, login)


_ENDPOINTS: Final = {"issuer", "authorization_endpoint", "token_endpoint"}
_RESOURCE: Final = {"resource", "authorization_servers"}


async def log_in(spec: ServerSpec, store: LoginStore, show: ShowAddress) -> str:
    """Let a person log in at a server in their browser; returns where the login is kept.

    Empty if the server needs none. `spec` is ready to start. Raises `LoginFailed`, also for an
    address on which others could read the login.
    """
    if not _is_safe(spec.url):
        raise LoginFailed(spec.name, "its address is neither https nor local")
    try:
        async with asyncio.timeout(LOGIN_TIMEOUT), _Callback.listening() as callback:
            keeper = _Keeper(store)

            async def begin(address: str) -> None:
                found = keeper.provider.context.oauth_metadata
                await callback.begin(address, show, str(found.token_endpoint) if found else "")

            keeper.provider = OAuthClientProvider(
                spec.url,
                _metadata((callback.address,)),
                keeper,
                begin,
                callback.result,
            )
            async with connected(spec, keeper.provider) as client:
                await client.list_tools()
            return keeper.where
    except TimeoutError:
        raise LoginFailed(spec.name, f"not completed in {LOGIN_TIMEOUT:.0f} seconds") from None
    except Exception as error:
        failed = first_of(error)
        if isinstance(failed, LoginFailed):
            raise failed from error
        why = str(failed) if isinstance(failed, _LoginRefused) else summary(failed)
        raise LoginFailed(spec.name, hide_secrets(why)) from error


def _metadata(addresses: tuple[str, ...]) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="genie-tui",
        redirect_uris=[AnyUrl(each) for each in addresses] or None,
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 - a public client has no secret
    )


class _LoginRefused(OAuthFlowError):
    """A login that the server refused, or that is not safe."""


class _Callback:
    """Listens on loopback for the browser, which brings the code of one authorization."""

    def __init__(self) -> None:
        self.address = ""
        self._state = ""
        self._arrived: Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._connections: set[StreamWriter] = set()

    @classmethod
    @asynccontextmanager
    async def listening(cls) -> AsyncIterator["_Callback"]:
        callback = cls()
        server = await asyncio.start_server(callback._serve, "127.0.0.1", 0, limit=_MOST_REQUEST)
        callback.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"
        async with server:
            try:
                yield callback
            finally:  # browsers open connections in advance, and leaving waits for all of them
                for writer in callback._connections:
                    writer.close()

    async def begin(self, address: str, show: ShowAddress, token_endpoint: str = "") -> None:
        """Show the address at which to log in.

        Raises `_LoginRefused` if a browser must not open it, or the code would be sent openly.
        """
        if not _is_safe(address):
            raise _LoginRefused("the server's address for logging in is neither https nor local")
        if token_endpoint and not _is_safe(token_endpoint):
            raise _LoginRefused("the server's address for tokens is neither https nor local")
        self._state = parse_qs(urlsplit(address).query).get("state", [""])[0]
        await show(address)

    async def result(self) -> AuthorizationCodeResult:
        return await self._arrived

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._connections.add(writer)
        try:
            line = await reader.readline()
            status, text = self._answer(line.decode("latin-1").split(" "))
            body = _PAGE.format(text).encode()
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
            )
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, ValueError):
            log.debug("a request to the callback was not answered", exc_info=True)
        finally:
            self._connections.discard(writer)
            writer.close()

    def _answer(self, words: list[str]) -> tuple[str, str]:
        """Take the browser's answer; only the one with the right state counts."""
        target = urlsplit(words[1] if len(words) > 1 else "")
        given = {name: values[0] for name, values in parse_qs(target.query).items()}
        if words[0] != "GET" or target.path != "/callback":
            return "404 Not Found", "There is nothing here."
        if not self._state or given.get("state") != self._state or self._arrived.done():
            return "400 Bad Request", "This is not the login that genie-tui waits for."
        if "code" not in given:
            why = re.sub(r"[^a-z_]", "", given.get("error", ""))[:60] or "no code was sent"
            self._arrived.set_exception(_LoginRefused(f"the server has refused: {why}"))
            return "200 OK", "You are not logged in. Close this page and look at genie-tui."
        known = {name: given.get(name) for name in ("code", "state", "iss")}
        self._arrived.set_result(AuthorizationCodeResult.model_validate(known))
        return "200 OK", "You are logged in. Close this page and go back to genie-tui."


def _is_same(one: str, other: str) -> bool:
    """Compare addresses as they are sent: a request's is written in the usual form."""
    return httpx2.URL(one) == httpx2.URL(other)


def _is_safe(address: str) -> bool:
    """Whether an address is plain to read, and its traffic reaches only its host."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    return (is_local or parts.scheme == "https") and address.isascii() and address.isprintable()


def _hide(login: _Login) -> None:
    tokens = OAuthToken.model_validate_json(login.tokens)
    client = OAuthClientInformationFull.model_validate_json(login.client)
    know([tokens.access_token, tokens.refresh_token or "", client.client_secret or ""])
