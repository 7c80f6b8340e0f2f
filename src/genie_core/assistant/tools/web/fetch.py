"""Fetching a web page.

Resolves the host name here and connects to the checked address, so that a later change of the
name's address has no effect. Each redirect is checked like the first address.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final

from genie_core.assistant.config import ToolLimits
from genie_core.assistant.tools.output import cannot, fenced
from genie_core.assistant.tools.shell.worker_process import TookTooLong, WorkFailed, isolated
from genie_core.assistant.tools.web.addresses import is_metadata, is_public
from genie_core.assistant.tools.web.page import UnreadablePage, decoded, is_html, readable, unpacked
from genie_core.runtime.threads import in_thread, off_loop

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTIONS: Final = 5
MAX_ADDRESSES: Final = 4
"""Addresses of one host name that are tried."""

MAX_CHARS: Final = 30_000
"""Characters of a page that one call shows."""

MAX_URL_CHARS: Final = 4_000

_HEADERS: Final = {
    "User-Agent": "genie-tui",
    "Accept": "text/html, text/plain, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
_REDIRECTIONS: Final = frozenset({301, 302, 303, 307, 308})

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host name; raises `OSError` if it has none."""


class _Refused(Exception):
    """The page is not fetched; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class _Page:
    url: "httpx2.URL"
    status: str
    content_type: str
    body: bytes
    more: bool


async def look_up(name: str, port: int) -> list[str]:
    """Resolve a host name. Cancelling returns immediately, however long the system call takes."""
    find = partial(socket.getaddrinfo, name, port, type=socket.SOCK_STREAM)
    found = await off_loop(find, "genie-lookup")
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True)
class Web:
    """The web tool. `is_public` decides which addresses it may connect to.

    A redirect is followed at the same host only, unless its address matches a `denied` pattern:
    another host is another call.
    """

    limits: ToolLimits = field(default_factory=ToolLimits)
    resolve: Resolve = look_up
    is_public: Callable[[str], bool] = is_public
    denied: tuple[str, ...] = ()

    async def fetch_url(self, url: str, start: int = 0) -> str:
        """Read a web page or text file from the internet.

        Args:
            url: The address, beginning with https:// or http://.
            start: The number of characters to skip, to continue reading a long text.
        """
        try:
            async with asyncio.timeout(self.limits.fetch_seconds):
                page = await self._fetch(url)
        except TimeoutError:
            return cannot(f"{url[:200]!r} took more than {self.limits.fetch_seconds:g} seconds")
        except _Refused as refusal:
            return cannot(str(refusal))
        return await self._report(page, max(0, start))

    async def _fetch(self, url: str) -> _Page:
        import httpx2

        certificates = await in_thread(httpx2.create_ssl_context)
        async with httpx2.AsyncClient(
            trust_env=False,
            verify=certificates,
            timeout=self.limits.fetch_seconds,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers=_HEADERS,
        ) as client:
            at = _parsed(url)
            for _ in range(MAX_REDIRECTIONS + 1):
                page = await self._visit(client, at)
                if isinstance(page, _Page):
                    return page
                self._check_redirect(at, page)
                at = page
        raise _Refused(f"{url[:200]!r} redirects more than {MAX_REDIRECTIONS} times")

    def _check_redirect(self, at: "httpx2.URL", to: "httpx2.URL") -> None:
        """Refuse a redirect that leads to another host or to a denied address."""
        if any(
            fnmatchcase(each, pattern) for each in (str(to), to.host) for pattern in self.denied
        ):
            raise _Refused(f"{str(at)[:200]!r} redirects to {str(to)[:200]!r}, which a rule denies")
        upgraded = at.scheme == "http" and to.scheme == "https" and not to.port
        if to.host != at.host or not (upgraded or (to.scheme, to.port) == (at.scheme, at.port)):
            raise _Refused(
                f"{str(at)[:200]!r} redirects to {str(to)[:1000]!r}, which is another host; call "
                "fetch_url with that address to read it"
            )

    async def _visit(self, client: "httpx2.AsyncClient", url: "httpx2.URL") -> "_Page | httpx2.URL":
        """Return the page at `url`, or the address that it redirects to."""
        import httpx2

        try:
            async with self._answer(client, url) as response:
                location = response.headers.get("location", "")
                if response.status_code in _REDIRECTIONS and location:
                    return _parsed(location, url)
                return await self._page(url, response)
        except httpx2.InvalidURL:
            raise _Refused(f"{str(url)[:200]!r} is not a valid address") from None
        except (httpx2.HTTPError, OSError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise _Refused(f"{url.host[:200]!r} can't be read: {why[:300]}") from error

    @asynccontextmanager
    async def _answer(
        self, client: "httpx2.AsyncClient", url: "httpx2.URL"
    ) -> "AsyncIterator[httpx2.Response]":
        """Send the request to the first checked address of the host that accepts a connection."""
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
        """Resolve the host and check that all of its addresses are allowed."""
        port = url.port or (443 if url.scheme == "https" else 80)
        host = url.raw_host.decode("ascii").strip("[]")
        try:
            found = list(await self.resolve(host, port))
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise _Refused(f"the host {url.host[:200]!r} does not exist or can't be resolved")
        if any(map(is_metadata, found)):
            raise _Refused(
                f"{url.host[:200]!r} is a cloud's metadata address, where credentials "
                "are served; it is never read"
            )
        if not self.limits.private_addresses and not all(map(self.is_public, found)):
            raise _Refused(
                f"{url.host[:200]!r} is on this machine or a private network, which is not "
                "allowed (setting: private_addresses in [tool_limits])"
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

    async def _report(self, page: _Page, start: int) -> str:
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
                return f"{heading}: {amount} of HTML that could not be parsed."
        shown = text[start : start + MAX_CHARS]
        if not shown.strip():
            return f"{heading} with no text{' after that position' if start else ''}."
        result = f"{heading}, with this text from the internet"
        if start or len(shown) < len(text):
            result += f" (characters {start:,} to {start + len(shown):,} of {len(text):,})"
        if page.more:
            result += f", only the first {len(page.body):,} bytes were read"
        return "\n".join([f"{result}:", *fenced(shown.splitlines())])


def _parsed(text: str, base: "httpx2.URL | None" = None) -> "httpx2.URL":
    """Parse a web address, relative to `base`. Raises `_Refused` if it is invalid."""
    import httpx2

    try:
        url = httpx2.URL(text.strip()[: MAX_URL_CHARS + 1])
        url = base.join(url) if base is not None else url
    except (httpx2.InvalidURL, ValueError) as error:
        raise _Refused(f"{text[:200]!r} is not a valid address: {error}") from None
    if len(text) > MAX_URL_CHARS:
        raise _Refused(f"the address has more than {MAX_URL_CHARS:,} characters")
    if url.scheme not in ("http", "https") or not url.host:
        raise _Refused(f"{text[:200]!r} does not begin with https:// or http://")
    if url.port is not None and not 0 < url.port < 65_536:
        raise _Refused(f"port {url.port} is out of range")
    if url.userinfo:
        raise _Refused("the address contains a user name or password, and these are never sent")
    return url
