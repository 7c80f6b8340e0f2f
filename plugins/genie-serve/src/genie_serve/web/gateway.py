"""Serves a page on which guests and observers join rooms in a browser.

The gateway speaks the rooms' protocol for its visitors: it holds a key for each, signs their
messages, and shows them the entries for guests. It has no engine, and answers no approvals.
"""

import asyncio
import ipaddress
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.resources import files
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from genie_core.privacy.redaction import mask_known
from genie_core.room.protocol.errors import InvalidName, RoomError
from genie_core.room.protocol.names import check_name
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.transport.hardening import HalfOpenLimiter
from genie_core.room.transport.origin import client_origin, site_of
from genie_core.room.transport.rate import Rates
from genie_core.runtime.tasks import start_task
from genie_core.storage.atomic import reason
from genie_core.text.safe import visible_line
from genie_serve.asgi import HEAD_TIMEOUT, AsgiServer
from genie_serve.config import WebTable
from genie_serve.errors import CannotServe
from genie_serve.web.hardening import HEADERS, PageHttp, TabSocket
from genie_serve.web.links import LONGEST_VISIT, Visit, Visits, WebLink, WebLinks
from genie_serve.web.visitor import Tab, Visitor, WebRole, WebRoom

PAGE: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}

USUAL_PORTS: Final = {"http": 80, "https": 443}

COOKIE: Final = "genie-visit"

GUESSES: Final = 10
"""Wrong links from one network in one go; then as many in `GUESS_PERIOD` seconds."""

GUESS_PERIOD: Final = 60.0

PROXIED: Final = 5
"""Behind a proxy all browsers are one network, which has so many times as much."""

ENTRIES: Final = 20
ENTRIES_PER_SECOND: Final = 1.0
"""How many people may try to come in by one link, in one go and in the long run."""

MOST_CONNECTIONS: Final = 1_024
LARGEST_REQUEST: Final = 4_096
LARGEST_FRAME: Final = 256 * 1024

MOST_STRANGERS: Final = 512
"""Connections that are not tabs of visitors; beyond, the largest network loses its oldest ones."""

STALLED: Final = 20.0
"""Seconds that a tab may take to receive an update before it is dropped; it then reconnects."""

PACE: Final = 0.03
"""Seconds between updates of a tab: events from meanwhile come together."""

LEAVING: Final = 5.0

NO_LINK: Final = "This link is not valid (any more). Ask for a new one."
NO_VISIT: Final = "You are not in the room. Open your link again."
TOO_OFTEN: Final = "Too many tries; wait a minute and try again."
FULL: Final = "Too many people are here already; try again later."

logger = logging.getLogger(__name__)


class Enter(msgspec.Struct, forbid_unknown_fields=True):
    """Asks to come in by a link."""

    secret: Annotated[str, msgspec.Meta(max_length=100)]
    name: Annotated[str, msgspec.Meta(max_length=200)]


class Say(msgspec.Struct, tag="say", forbid_unknown_fields=True):
    """Posts a message or a command; `id` is the page's own, `reply` the number of its original."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
    text: str
    reply: Annotated[int, msgspec.Meta(ge=0, lt=2**53)] = 0


class Typing(msgspec.Struct, tag="typing", forbid_unknown_fields=True):
    """The person is typing."""


_FRAME: Final = msgspec.json.Decoder(Say | Typing)


class WebGateway:
    """Serves the page for the rooms that are given to `link`.

    It listens on loopback only, unless there is a certificate. `table.url` is the address that
    people open, where a proxy on this machine adds TLS.
    """

    def __init__(self, table: WebTable, *, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._clock = clock
        self._links = WebLinks()
        self._visits = Visits()
        self._entering: set[Visitor] = set()
        guesses = GUESSES * (PROXIED if table.url else 1)
        self._guesses = Rates(guesses, guesses / GUESS_PERIOD)
        self._entries = Rates(ENTRIES, ENTRIES_PER_SECOND)
        self._origins: frozenset[str] = frozenset()
        self._hosts: frozenset[str] = frozenset()
        self._url = ""
        self._page = {path: (_read(name), media) for path, (name, media) in PAGE.items()}
        self._server: AsgiServer | None = None

    @property
    def url(self) -> str:
        """The address that people open, without a link."""
        return self._url

    async def start(self) -> None:
        """Listen.

        Raises:
            CannotServe: the address or the certificate can't be used.
        """
        table = self._table
        _check_reach(table)
        limiter = HalfOpenLimiter(MOST_STRANGERS)
        try:
            server = AsgiServer(
                self._app(),
                http=PageHttp,
                ws=partial(TabSocket, limiter),
                headers=list(HEADERS.items()),
                ws_max_size=LARGEST_FRAME,
                ws_per_message_deflate=False,
                proxy_headers=False,  # any program on this machine could write them
                limit_concurrency=MOST_CONNECTIONS,
                ssl_certfile=table.certificate,
                ssl_keyfile=table.key,
            )
        except OSError as error:
            raise CannotServe(f"{table.certificate} can't be used: {error}") from error
        sock = _bind(table)
        self._set_origins(int(sock.getsockname()[1]))
        await server.listen(limiter.guard(sock))
        self._server = server

    async def stop(self, reason: str = "the page was closed") -> None:
        """Let the visitors leave their rooms, and disconnect."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shut()
        here = [*(each.visitor for each in self._visits), *self._entering]
        if here:
            leaving = [start_task(each.leave(reason)) for each in here]
            await asyncio.wait(leaving)
        await server.close(LEAVING)

    def link(
        self,
        room: WebRoom,
        role: WebRole = "guest",
        *,
        lifetime: float | None = None,
        uses: int | None = None,
        ticket: InviteSecret | None = None,
    ) -> str:
        """Make a link to a room; `lifetime` is in seconds.

        The room lets its visitors in by `ticket`, or by that of its route.

        Raises:
            TooManyLinks: there are too many that have not ended.
        """
        ticket = ticket or room.route.ticket
        made = self._links.issue(
            room, role, self._clock(), ticket=ticket, lifetime=lifetime, uses=uses
        )
        return f"{self._url}/#{made}"

    async def close(self, room: WebRoom, reason: str = "the room was closed") -> None:
        """Void the links to a room and end its visits."""
        self._links.forget(room)
        ended = self._visits.end_all(room)
        if ended:
            await asyncio.wait([start_task(each.visitor.leave(reason)) for each in ended])

    def _set_origins(self, port: int) -> None:
        scheme = "https" if self._table.certificate is not None else "http"
        hosts = ("127.0.0.1", "localhost", "::1", *([] if self._table.url else [self._table.host]))
        names = [_authority(scheme, each, port) for each in hosts]
        if self._table.url:
            outside = urlsplit(self._table.url)
            name = _authority(outside.scheme, outside.hostname or "", outside.port)
            self._url = f"{outside.scheme}://{name}"
            self._origins, self._hosts = frozenset({self._url}), frozenset({name, *names})
        else:
            self._url = f"{scheme}://{names[-1]}"
            self._origins = frozenset(f"{scheme}://{each}" for each in names)
            self._hosts = frozenset(names)

    # -- requests

    def _app(self) -> ASGIApp:
        pages = [Route(path, self._serve_page) for path in PAGE]
        app = Starlette(
            routes=[
                *pages,
                Route("/v/{link}/visit", self._tell_visit),
                Route("/v/{link}/enter", self._enter, methods=["POST"]),
                Route("/v/{link}/leave", self._leave, methods=["POST"]),
                WebSocketRoute("/v/{link}/socket", self._serve_tab),
            ]
        )
        app.router.redirect_slashes = False
        return Guard(app, lambda host: host in self._hosts)

    async def _serve_page(self, request: Request) -> Response:
        content, media = self._page[request.url.path]
        return Response(content, media_type=media)

    async def _tell_visit(self, request: Request) -> Response:
        """Say whether the browser's visit by this link goes on."""
        return JSONResponse({"here": self._visit_of(request) is not None})

    async def _enter(self, request: Request) -> Response:
        """Exchange a link and a name for a visit."""
        if not self._is_from_page(request):
            return _error(403, "Only the page itself may ask for this.")
        source = site_of(client_origin(request.client.host if request.client else ""))
        now = asyncio.get_running_loop().time()
        wanted = await _read_enter(request)
        if wanted is None:
            return _error(400, "The page sent something that can't be understood; reload it.")
        link = self._links.check(request.path_params["link"], wanted.secret, self._clock())
        if link is None:  # a right one is always taken: others share a network with who guesses
            is_guessing = not self._guesses.take(source, now)
            return _error(429, TOO_OFTEN) if is_guessing else _error(403, NO_LINK)
        if not self._entries.take(link.id, now):
            return _error(429, TOO_OFTEN)
        try:
            name = check_name(wanted.name)
        except InvalidName as error:
            return _error(400, str(error))
        return await self._let_in(link, name)

    async def _let_in(self, link: WebLink, name: str) -> Response:
        """Join the room for a person with a valid link."""
        if not self._visits.has_space(self._clock()):
            return _error(503, FULL)
        if not self._links.take(link, self._clock()):
            return _error(403, NO_LINK)
        visitor = Visitor(link.room, name, link.role, link.ticket)
        self._entering.add(visitor)
        try:
            await visitor.enter()
        except RoomError as error:
            self._links.give_back(link)
            return _error(409, str(error))
        finally:
            self._entering.discard(visitor)
        if not self._links.keep(link) or self._server is None:
            await visitor.leave()
            return _error(403, NO_LINK)
        secret = self._visits.begin(link, visitor, self._clock())
        visitor.expect()
        response = JSONResponse({})
        self._set_cookie(response, link.id, secret, int(LONGEST_VISIT))
        return response

    async def _leave(self, request: Request) -> Response:
        visit = self._visit_of(request)
        if not self._is_from_page(request) or visit is None:
            return _error(403, NO_VISIT)
        self._visits.end(request.cookies[self._cookie])
        await visit.visitor.leave()
        response = JSONResponse({})
        self._set_cookie(response, visit.link.id, "", 0)
        return response

    def _set_cookie(self, response: Response, link: str, value: str, seconds: int) -> None:
        response.set_cookie(
            self._cookie,
            value,
            max_age=seconds,
            path=f"/v/{link}/",
            secure=self._is_secure,
            httponly=True,
            samesite="strict",
        )

    @property
    def _is_secure(self) -> bool:
        return self._url.startswith("https:")

    @property
    def _cookie(self) -> str:
        return f"__Secure-{COOKIE}" if self._is_secure else COOKIE

    def _is_from_page(self, connection: HTTPConnection) -> bool:
        return connection.headers.get("origin") in self._origins

    def _visit_of(self, connection: HTTPConnection) -> Visit | None:
        secret = connection.cookies.get(self._cookie, "")
        return self._visits.find(connection.path_params["link"], secret, self._clock())

    # -- tabs

    async def _serve_tab(self, socket: WebSocket) -> None:
        visit = self._visit_of(socket)
        if not self._is_from_page(socket) or visit is None:
            await socket.close()  # before it is accepted: the browser gets a 403
            return
        await socket.accept()
        tab = Tab(*_position(socket))
        if not visit.visitor.attach(tab):
            await socket.close(1013, "too many tabs")
            return
        tasks = [
            start_task(_send_updates(socket, visit.visitor, tab), name="to a tab"),
            start_task(_receive_frames(socket, visit.visitor, tab), name="from a tab"),
        ]
        try:
            left = visit.ends - self._clock()
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            visit.visitor.detach(tab)
        for task in tasks:
            if not task.cancelled():
                task.result()


async def _send_updates(socket: WebSocket, visitor: Visitor, tab: Tab) -> None:
    """Send a tab the missing entries, until it is gone or stalls."""
    with suppress(WebSocketDisconnect, TimeoutError):
        while True:
            await tab.changed.wait()
            tab.changed.clear()
            update = visitor.update(tab)
            if update.is_empty:
                continue
            text = msgspec.json.encode(update).decode()
            async with asyncio.timeout(STALLED):
                await socket.send_text(text)
            await asyncio.sleep(PACE)


async def _receive_frames(socket: WebSocket, visitor: Visitor, tab: Tab) -> None:
    """Act on frames of a tab.

    One that is too fast waits, one that sends anything else is closed.
    """
    loop = asyncio.get_running_loop()
    with suppress(WebSocketDisconnect):
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await asyncio.sleep(tab.pace.wait(loop.time()))
            tab.pace.take(loop.time())
            try:
                frame = _FRAME.decode(message.get("text") or "")
            except msgspec.DecodeError:
                await socket.close(1008, "not a frame of this page")
                return
            match frame:
                case Say(id=id_, text=said, reply=reply):
                    visitor.say(tab, id_, said, reply)
                case Typing():
                    visitor.types()


def _position(socket: WebSocket) -> tuple[str, int]:
    """Return the feed and the event up to which a page knows the room."""
    since = socket.query_params.get("since", "")
    is_number = since.isascii() and since.isdigit() and len(since) < 16
    return socket.query_params.get("feed", "")[:32], int(since) if is_number else 0


async def _read_enter(request: Request) -> Enter | None:
    """Return the body of a request to enter; None if it is none, too large or too slow."""
    if request.headers.get("content-type") != "application/json":
        return None
    body = b""
    with suppress(TimeoutError, msgspec.DecodeError, UnicodeDecodeError):
        async with asyncio.timeout(HEAD_TIMEOUT):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_REQUEST:
                    return None
        return msgspec.json.decode(body, type=Enter)
    return None


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": visible_line(mask_known(text))}, status)


class Guard:
    """Refuses requests for other hosts (DNS rebinding)."""

    def __init__(self, app: ASGIApp, is_host: Callable[[str], bool]) -> None:
        self._app = app
        self._is_host = is_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_host(HTTPConnection(scope).headers.get("host", "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            refused = _error(421, "No such page is served under this name.")
            await refused(scope, receive, send)


def _authority(scheme: str, host: str, port: int | None) -> str:
    """Return a host and port as browsers write them: without the port that is usual."""
    name = f"[{host}]" if ":" in host else host
    return name if port in (None, USUAL_PORTS[scheme]) else f"{name}:{port}"


def _check_url(text: str) -> None:
    """Refuse an address of no page, or is one without TLS beyond this machine."""
    try:
        url = urlsplit(text)
        is_whole = url.scheme in USUAL_PORTS and url.hostname and (url.port is None or url.port)
    except ValueError:
        is_whole = False
    if not is_whole or "@" in url.netloc or url.path.strip("/") or url.query or url.fragment:
        raise CannotServe(f"{text!r} is no address such as https://chat.example.org")
    if not text.isascii():
        raise CannotServe(f"write {text!r} as browsers send it, with xn-- for other letters")
    if url.scheme == "http" and not _is_loopback(url.hostname or ""):
        raise CannotServe(f"{text} is without TLS: people beyond this machine need https")


def _check_reach(table: WebTable) -> None:
    """Refuse to listen beyond loopback without TLS."""
    if table.url:
        _check_url(table.url)
    if (table.certificate is None) != (table.key is None):
        raise CannotServe("a certificate needs its key, and a key its certificate")
    if _is_loopback(table.host):
        return
    if table.certificate is None:
        raise CannotServe(
            f"the page can't be served at {table.host or 'all addresses'} without TLS: give a "
            "certificate and key, or serve it on 127.0.0.1 behind a proxy that has them"
        )
    if not table.url:
        raise CannotServe("say with the url what people open, such as https://chat.example.org")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(table: WebTable) -> socket.socket:
    family = socket.AF_INET6 if ":" in table.host else socket.AF_INET
    try:
        return socket.create_server((table.host, table.port), family=family)
    except OSError as error:
        where = f"{table.host}:{table.port}"
        raise CannotServe(f"the page can't be served at {where}: {reason(error)}") from error


def _read(name: str) -> bytes:
    return files("genie_serve.web").joinpath("page", name).read_bytes()
