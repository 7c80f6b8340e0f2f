import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import httpx2
import pytest

from genie_core.assistant.config import ToolLimits
from genie_core.assistant.tools.web.fetch import MAX_CHARS, MAX_REDIRECTIONS, Web, look_up

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> Answer:
    async def write(writer: asyncio.StreamWriter) -> None:
        named = {"Content_Type": "text/plain", "Content_Length": str(len(body)), **headers}
        fields = [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
        lines = [f"HTTP/1.1 {status}", *fields]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()

    return write


def to(location: str) -> Answer:
    return answer(status="302 Found", Location=location, Set_Cookie="a=b")


@dataclass
class Site:
    """A server on loopback with an answer for each path, which keeps what it was asked."""

    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0
    looked_up: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head)
            await self.pages.get(head.split()[1], answer(b"none", "404 Not Found"))(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has gone, as it may
        finally:
            writer.close()

    async def resolve(self, name: str, _port: int) -> list[str]:
        """Every name leads here, the first time at least, as a hostile name server would do it."""
        self.looked_up.append(name)
        if name.replace(".", "").isdigit() or ":" in name:
            return [name]
        if name == "gone.example":
            raise OSError("no such name")
        if name == "inside.example":
            return ["127.0.0.1", "10.0.0.1"]
        return ["127.0.0.1"] if self.looked_up.count(name) == 1 else ["10.0.0.1"]

    def web(self, seconds: float = 60.0, size: int = 100_000) -> Web:
        """A tool for which the server's address is one of the internet's."""
        limits = ToolLimits(fetch_seconds=seconds, fetch_bytes=size)
        return Web(limits, self.resolve, lambda address: address == "127.0.0.1")

    def url(self, path: str, host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    async def fetched(self, path: str, host: str = "site.example", size: int = 100_000) -> str:
        return await self.web(size=size).fetch_url(self.url(path, host))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as site:
        yield site


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


async def test_text_is_read_at_checked_address(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    site.pages["/a?b=c"] = answer(b"green tea")
    said = await site.web().fetch_url(site.url("/a?b=c#part"))
    assert said == (
        f"http://site.example:{site.port}/a?b=c#part answered 200 OK, with this text from the "
        "internet:\n```\ngreen tea\n```"
    )
    [asked] = [each.lower() for each in site.asked]
    assert asked.startswith("get /a?b=c http/1.1\r\n")
    assert f"host: site.example:{site.port}\r\n" in asked
    assert "user-agent: genie-tui\r\n" in asked
    assert "cookie" not in asked
    assert "authorization" not in asked
    assert site.looked_up == ["site.example"]


async def test_a_page_becomes_text_and_can_be_read_on(site: Site) -> None:
    site.pages["/"] = answer(b"<title>Tea</title><p>a <b>cup</b>", Content_Type="text/html")
    assert "```\nTea\n\na cup\n```" in await site.fetched("/")
    site.pages["/long"] = answer(b"x" * MAX_CHARS + b"the end")
    said = await site.fetched("/long", "long.example")
    assert f"characters 0 to {MAX_CHARS:,} of {MAX_CHARS + 7:,}" in said
    assert "the end" not in said
    assert "\nthe end\n" in await site.web().fetch_url(site.url("/long", "a.example"), MAX_CHARS)
    said = await site.web().fetch_url(site.url("/long", "b.example"), 10**9)
    assert "no text after that position" in said


async def test_non_text_and_absence_are_reported(site: Site) -> None:
    site.pages["/photo"] = answer(b"\x89PNG\0", Content_Type="image/png")
    assert "5 bytes of image/png, which is not text" in await site.fetched("/photo")
    assert "answered 404 Not Found" in await site.fetched("/nope", "b.example")
    site.pages["/br"] = answer(b"x", Content_Encoding="br")
    assert "not supported" in await site.fetched("/br", "c.example")
    site.pages["/odd"] = answer(b"", "banana")
    assert "can't be read" in await site.fetched("/odd", "d.example")


async def test_redirects_carry_no_cookies(site: Site) -> None:
    site.pages["/one"] = to("/two")
    site.pages["/two"] = to("three")
    site.pages["/three"] = answer(b"arrived")
    said = await site.web().fetch_url(site.url("/one", "127.0.0.1"))
    assert "/three answered" in said
    assert "arrived" in said
    assert not any("cookie" in each.lower() for each in site.asked)


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://10.0.0.1/x", "which is another host"),
        ("http://[::ffff:10.0.0.1]/", "which is another host"),
        ("http://inside.example/", "which is another host"),
        ("//site.example/again", "which is another host"),  # another port
        ("/again", "private network"),  # the second look-up leads elsewhere
        ("file:///etc/passwd", "does not begin with"),
        ("http://user:word@other.example/", "user name or password"),
        ("http://[::1", "not a valid address"),
        ("/start", "redirects more than"),
    ],
)
async def test_where_a_redirection_must_not_lead(site: Site, location: str, why: str) -> None:
    host = "127.0.0.1" if location == "/start" else "site.example"
    site.pages["/start"] = to(location)
    said = await site.fetched("/start", host)
    assert said.startswith("Cannot do that: ")
    assert why in said
    assert len(site.asked) == (MAX_REDIRECTIONS + 1 if location == "/start" else 1)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{}/", "http://localhost:{}/", "http://2130706433:{}/", "http://127.1:{}/",
     "http://0x7f.1:{}/", "http://[::ffff:127.0.0.1]:{}/", "http://0.0.0.0:{}/",
     "http://[::ffff:7f00:1]:{}/", "http://169.254.169.254/"],
)  # fmt: skip
async def test_own_machine_is_never_reached(site: Site, url: str) -> None:
    said = await Web(ToolLimits(fetch_seconds=60.0)).fetch_url(url.format(site.port))
    assert said.startswith("Cannot do that: ")
    assert site.asked == []


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "168.63.129.16",
     "[fd00:ec2::254]", "100.100.100.200", "2852039166"],
)  # fmt: skip
async def test_credentials_of_a_cloud_are_never_read(host: str) -> None:
    web = Web(ToolLimits(fetch_seconds=60.0, private_addresses=True))
    assert "is never read" in await web.fetch_url(f"http://{host}/latest/meta-data/")


async def test_redirect_to_cloud_is_refused(site: Site) -> None:
    site.pages["/"] = to("http://[::ffff:a9fe:a9fe]/latest/meta-data/")
    web = Web(ToolLimits(fetch_seconds=60.0, private_addresses=True), site.resolve)
    assert "which is another host" in await web.fetch_url(site.url("/"))
    assert len(site.asked) == 1
    assert "is never read" in await web.fetch_url("http://[::ffff:a9fe:a9fe]/latest/meta-data/")


async def test_redirect_to_denied_is_refused(site: Site) -> None:
    site.pages["/open"] = to("/private/x")
    site.pages["/private/x"] = answer(b"secret")
    web = replace(site.web(), denied=("*/private/*",))
    assert "which a rule denies" in await web.fetch_url(site.url("/open", "127.0.0.1"))
    assert len(site.asked) == 1


async def test_same_host_upgrade_is_followed() -> None:
    web, at = Web(), httpx2.URL("http://docs.example/page")
    web._check_redirect(at, httpx2.URL("https://docs.example/page"))
    with pytest.raises(Exception, match="another host"):
        web._check_redirect(httpx2.URL("https://docs.example/"), at)


async def test_allowed_own_machine_is_reached(site: Site) -> None:
    site.pages["/"] = answer(b"mine")
    web = Web(ToolLimits(fetch_seconds=60.0, private_addresses=True))
    assert "mine" in await web.fetch_url(f"http://localhost:{site.port}/")
    assert "127.0.0.1" in await look_up("127.0.0.1", 80)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://site.example/", "does not begin with"),
        ("site.example", "does not begin with"),
        ("http://", "does not begin with"),
        ("http://a b/", "Cannot do that"),
        ("http://site.example:99999999/", "Cannot do that"),
        ("http://site.example/\ud800", "Cannot do that"),
        ("http://" + "x" * 5_000, "more than 4,000"),
        ("http://me@site.example/", "user name or password"),
        ("http://gone.example/", "can't be resolved"),
    ],
)
async def test_what_is_no_address_of_the_web_is_said(site: Site, url: str, why: str) -> None:
    said = await site.web().fetch_url(url)
    assert said.startswith("Cannot do that: ")
    assert why in said


async def test_no_more_is_read_than_the_limit(site: Site) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    site.pages["/endless"] = endless
    assert "only the first 5,000 bytes were read" in await site.fetched("/endless", size=5_000)
    bomb = gzip.compress(b"y" * 10_000_000)
    site.pages["/bomb"] = answer(bomb, Content_Encoding="gzip")
    said = await site.fetched("/bomb", "b.example", size=50_000)
    assert "only the first 50,000 bytes were read" in said


async def test_a_server_that_takes_forever_is_left(site: Site) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not writer.is_closing():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    site.pages["/drip"] = drip
    said = await site.web(seconds=0.5).fetch_url(site.url("/drip"))
    assert "took more than 0.5 seconds" in said


async def test_a_page_too_tangled_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from genie_core.assistant.tools.shell.worker_process import TookTooLong
    from genie_core.assistant.tools.web import fetch

    async def never(*_: object) -> str:
        raise TookTooLong

    monkeypatch.setattr(fetch, "isolated", never)
    site.pages["/"] = answer(b"<p>", Content_Type="text/html")
    assert "could not be parsed" in await site.fetched("/")


async def test_a_host_must_prove_its_name(site: Site) -> None:
    """The name is what the certificate is checked for, also if the connection goes to an address."""
    greeted: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _socket, name, _context: greeted.append(name)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        said = await site.web().fetch_url(f"https://site.example:{port}/")
    assert said.startswith("Cannot do that: 'site.example' can't be read: ")
    assert greeted == ["site.example"]
