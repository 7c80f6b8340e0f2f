"""Reading what is at an address of the web.

The names in an address are looked up here, and the connection is made to the address that was
checked: what a name means a moment later makes no difference. Each redirection is another address,
which is checked like the first.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final

from genie_core.assistant.config import ToolLimits
from genie_core.assistant.tools.output import cannot, fenced
from genie_core.assistant.tools.shell.sandbox import TookTooLong, WorkFailed, isolated
from genie_core.assistant.tools.web.addresses import is_metadata, is_public
from genie_core.assistant.tools.web.page import UnreadablePage, decoded, is_html, readable, unpacked
from genie_core.runtime.threads import off_loop

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTIONS: Final = 5
MAX_ADDRESSES: Final = 4
"""How many addresses of one name are tried."""

MAX_CHARS: Final = 30_000
"""Characters of a page that are shown at once."""

MAX_URL_CHARS: Final = 4_000

_HEADERS: Final = {
    "User-Agent": "genie-tui",
    "Accept": "text/html, text/plain, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
_REDIRECTIONS: Final = frozenset({301, 302, 303, 307, 308})

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Finds the addresses of a name; raises `OSError` if it has none."""


class _Refused(Exception):
    """It is not fetched; the text says why."""


@dataclass(frozen=True, slots=True)
class _Page:
    url: "httpx2.URL"
    status: str
    content_type: str
    body: bytes
    more: bool


async def look_up(name: str, port: int) -> list[str]:
    """Find the addresses of a name. Waiting can be cancelled, however long the system takes."""
    find = partial(socket.getaddrinfo, name, port, type=socket.SOCK_STREAM)
    found = await off_loop(find, "genie-lookup")
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True)
class Web:
    """The tool that reads the web. `is_public` tells which addresses it may connect to."""

    limits: ToolLimits = field(default_factory=ToolLimits)
    resolve: Resolve = look_up
    is_public: Callable[[str], bool] = is_public

    async def fetch_url(self, url: str, start: int = 0) -> str:
        """Read a web page or text file from the internet.

        Args:
            url: The address, beginning with https:// or http://.
            start: How many characters of the text to skip, to read on in a long one.

        """
        try:
            async with asyncio.timeout(self.limits.fetch_seconds):
                page = await self._fetched(url)
        except TimeoutError:
            return cannot(f"{url[:200]!r} took more than {self.limits.fetch_seconds:g} seconds")
        except _Refused as refusal:
            return cannot(str(refusal))
        return await self._told(page, max(0, start))

    async def _fetched(self, url: str) -> _Page:
        import httpx2

        certificates = await asyncio.to_thread(httpx2.create_ssl_context)
        async with httpx2.AsyncClient(
            trust_env=False,
            verify=certificates,
            timeout=self.limits.fetch_seconds,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers=_HEADERS,
        ) as client:
            at = _parsed(url)
            for _ in range(MAX_REDIRECTIONS + 1):
                page = await self._visited(client, at)
                if isinstance(page, _Page):
                    return page
                at = page
        raise _Refused(f"{url[:200]!r} leads on and on, more than {MAX_REDIRECTIONS} times")

    async def _visited(
        self, client: "httpx2.AsyncClient", url: "httpx2.URL"
    ) -> "_Page | httpx2.URL":
        """Fetch what is there, or find where it leads."""
        import httpx2

        try:
            async with self._answer(client, url) as response:
                location = response.headers.get("location", "")
                if response.status_code in _REDIRECTIONS and location:
                    return _parsed(location, url)
                return await self._page(url, response)
        except httpx2.InvalidURL:
            raise _Refused(f"{str(url)[:200]!r} is no address") from None
        except (httpx2.HTTPError, OSError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise _Refused(f"{url.host[:200]!r} can't be read: {why[:300]}") from error

    @asynccontextmanager
    async def _answer(
        self, client: "httpx2.AsyncClient", url: "httpx2.URL"
    ) -> "AsyncIterator[httpx2.Response]":
        """Ask one of the checked addresses of a host, as if by its name."""
        import httpx2

        addresses = await self._addresses(url)
        for place, address in enumerate(addresses, 1):
            request = client.build_request(
                "GET",
                url.copy_with(host=address, fragment=None),
                headers={"Host": url.netloc.decode("ascii")},
                extensions={"sni_hostname": url.raw_host.decode("ascii").strip("[]")},
            )
            try:
                response = await client.send(request, stream=True, follow_redirects=False)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if place == len(addresses):
                    raise
                continue
            try:
                yield response
            finally:
                await response.aclose()
            return

    async def _addresses(self, url: "httpx2.URL") -> list[str]:
        """Look a host up; all of its addresses have to be allowed."""
        port = url.port or (443 if url.scheme == "https" else 80)
        host = url.raw_host.decode("ascii").strip("[]")
        try:
            found = list(await self.resolve(host, port))
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise _Refused(f"there is no host called {url.host[:200]!r}, or it can't be looked up")
        if any(map(is_metadata, found)):
            raise _Refused(
                f"{url.host[:200]!r} is where a cloud gives its machines their credentials, which "
                "is never read"
            )
        if not self.limits.private_addresses and not all(map(self.is_public, found)):
            raise _Refused(
                f"{url.host[:200]!r} is on this machine or a private network, which is not "
                "allowed (the setting for it is private_addresses under tool_limits)"
            )
        return found[:MAX_ADDRESSES]

    async def _page(self, url: "httpx2.URL", response: "httpx2.Response") -> _Page:
        limit = self.limits.fetch_bytes
        packed = bytearray()
        async for chunk in response.aiter_raw():
            packed += chunk
            if len(packed) > limit:
                break
        try:
            body = unpacked(bytes(packed), response.headers.get("content-encoding", ""), limit + 1)
        except UnreadablePage as error:
            raise _Refused(f"{str(url)[:200]!r} can't be read: {error}") from None
        return _Page(
            url,
            f"{response.status_code} {response.reason_phrase}".strip(),
            response.headers.get("content-type", ""),
            body[:limit],
            more=len(body) > limit or len(packed) > limit,
        )

    async def _told(self, page: _Page, start: int) -> str:
        heading = f"{page.url} answered {page.status}"
        text = decoded(page.body, page.content_type)
        amount = f"{'more than ' if page.more else ''}{len(page.body):,} bytes"
        if text is None:
            media = page.content_type.partition(";")[0].strip() or "an unknown type"
            return f"{heading}: {amount} of {media[:80]}, which is not text."
        if is_html(text, page.content_type):
            try:
                text = await isolated(self.limits.fetch_seconds, readable, text)
            except (TookTooLong, WorkFailed):
                return f"{heading}: {amount} of HTML that is too tangled to be read."
        shown = text[start : start + MAX_CHARS]
        if not shown.strip():
            return f"{heading}, without any text{' from there on' if start else ''}."
        told = f"{heading}, with this text from the internet"
        if start or len(shown) < len(text):
            told += f" (characters {start:,} to {start + len(shown):,} of {len(text):,})"
        if page.more:
            told += f", of which only the first {len(page.body):,} bytes were read"
        return "\n".join([f"{told}:", *fenced(shown.splitlines())])


def _parsed(text: str, base: "httpx2.URL | None" = None) -> "httpx2.URL":
    """Read an address, relative to another. Raises `_Refused` if it is none of the web's."""
    import httpx2

    try:
        url = httpx2.URL(text.strip()[: MAX_URL_CHARS + 1])
        url = base.join(url) if base is not None else url
    except (httpx2.InvalidURL, ValueError) as error:
        raise _Refused(f"{text[:200]!r} is no address: {error}") from None
    if len(text) > MAX_URL_CHARS:
        raise _Refused(f"the address has more than {MAX_URL_CHARS:,} characters")
    if url.scheme not in ("http", "https") or not url.host:
        raise _Refused(f"{text[:200]!r} does not begin with https:// or http://")
    if url.port is not None and not 0 < url.port < 65_536:
        raise _Refused(f"there is no port {url.port}")
    if url.userinfo:
        raise _Refused("the address contains a user or a password, which are never sent")
    return url
