"""The gateway at a socket on loopback, before a real room over TLS."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.genie_core.room.live_room import Ear, loader
from tests.limits import scaled
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom
from genie_core.room.open.route import route_of
from genie_core.room.participant.receipt import Receipt
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import MemberJoined
from genie_core.room.security.certificate import load_certificate
from genie_core.room.transport.hardening import PINGS_AT_ONCE
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_serve import asgi
from genie_serve.config import ServeConfig, WebTable
from genie_serve.errors import CannotServe, RoomUnavailable
from genie_serve.service import Service
from genie_serve.web import gateway as module
from genie_serve.web import visitor
from genie_serve.web.gateway import WebGateway
from genie_serve.web.hardening import HEADERS
from genie_serve.web.links import LONGEST_VISIT
from genie_serve.web.visitor import WebRoom
from genie_testing.scripted import Emit

DEADLINE = scaled(30.0)
LOCAL = WebTable()


def places(home: Path) -> Locations:
    return Locations(home / "config", home / "data", home / "log")


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Site:
    """A gateway, the room behind it and its host."""

    ann: JoinedRoom
    ear: Ear
    gateway: WebGateway
    room: WebRoom
    clock: Clock


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with a_site(tmp_path) as opened:
        yield opened


@asynccontextmanager
async def a_site(home: Path, table: WebTable = LOCAL) -> AsyncIterator[Site]:
    ear, clock = Ear(), Clock()
    opener = RoomOpener("ann", Settings(local=True), places(home))
    ann = await opener.enter(NewRoom("Standup"), ear)
    gateway = WebGateway(table, clock=clock)
    await gateway.start()
    try:
        yield Site(ann, ear, gateway, WebRoom(route_of(ann.hosting.address)), clock)
    finally:
        await gateway.stop()
        await ann.leave()


@dataclass
class Browser:
    """What a browser does: keeps cookies by path, and names its page as origin."""

    link: str
    origin: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return self.link.partition("/#")[0]

    @property
    def id(self) -> str:
        return self.link.partition("#")[2].partition(".")[0]

    @property
    def secret(self) -> str:
        return self.link.partition("#")[2].partition(".")[2]

    async def ask(self, what: str, body: Any = None, **headers: str) -> httpx2.Response:
        path = f"{self.base}/v/{self.id}/{what}"
        given = {"origin": self.origin or self.base, "cookie": self.cookie, **headers}
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
            if body is None:
                return await client.get(path, headers=given)
            given.setdefault("content-type", "application/json")
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            answer = await client.post(path, content=content, headers=given)
        for name, value in answer.cookies.items():
            self.cookies[name] = value
        return answer

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    async def enter(self, name: str) -> httpx2.Response:
        return await self.ask("enter", {"secret": self.secret, "name": name})

    def tab(self, **position: Any) -> connect:
        query = "&".join(f"{name}={value}" for name, value in position.items())
        return connect(
            f"{self.base.replace('http', 'ws', 1)}/v/{self.id}/socket?{query}",
            additional_headers={"cookie": self.cookie},
            origin=self.origin or self.base,  # type: ignore[arg-type]
            proxy=None,
        )


async def until(
    socket: ClientConnection, holds: Callable[[list[dict[str, Any]]], object]
) -> list[dict[str, Any]]:
    """Receive updates until they fulfil a condition."""
    updates: list[dict[str, Any]] = []
    async with asyncio.timeout(DEADLINE):
        while not holds(updates):
            updates.append(json.loads(await socket.recv()))
    return updates


def texts(updates: list[dict[str, Any]]) -> list[str]:
    entries = (each for update in updates for each in update.get("entries", ()))
    return list(dict.fromkeys(each["text"] for each in entries if each["type"] == "message"))


def answers(updates: list[dict[str, Any]]) -> list[str]:
    entries = (each for update in updates for each in update.get("entries", ()))
    return [each["text"] for each in entries if each["type"] == "answer"]


def streamed(updates: list[dict[str, Any]]) -> str:
    return "".join(each["text"] for update in updates for each in update.get("streams", ()))


async def test_all_responses_have_safe_headers(site: Site) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        for path in ("/", "/app.js", "/style.css", "/icon.svg", "/v/x/visit", "/nothing"):
            answer = await client.get(f"{site.gateway.url}{path}")
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        page = (await client.get(f"{site.gateway.url}/")).text
    for forbidden in ("http://", "https://", "style=", "onclick", "<style", "//cdn"):
        assert forbidden not in page


async def test_guest_reads_writes_and_leaves(site: Site) -> None:
    site.ann.messages.send("before")
    bob = Browser(site.gateway.link(site.room))
    entered = await bob.enter("bob")
    assert entered.status_code == 200
    cookie = entered.headers["set-cookie"]
    assert f"Path=/v/{bob.id}/" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    async with bob.tab() as tab:
        await until(tab, lambda seen: "before" in texts(seen))
        await tab.send(json.dumps({"type": "say", "id": "1", "text": "from a browser"}))
        seen = await until(tab, lambda seen: any(each.get("sent") for each in seen))
        assert {"id": "1"} in [each for update in seen for each in update.get("sent", ())]
        person = site.ann.state.people["bob"]
        assert (person.role, person.engine, person.kind) == ("guest", False, "")
        (said,) = [each for each in site.ann.state.threads.values() if each.author == "bob"]
        assert said.text == "from a browser"
        assert site.ann.state.is_proven(said.seq)
    assert (await bob.ask("leave", {})).status_code == 200
    await site.ear.until(lambda: not site.ann.state.people["bob"].present)
    assert (await bob.ask("visit")).json() == {"here": False}


async def test_resent_message_is_recorded_once(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    frame = json.dumps({"type": "say", "id": "1", "text": "once"})
    for _ in range(2):
        async with bob.tab() as tab:
            await tab.send(frame)
            await until(tab, lambda seen: any(each.get("sent") for each in seen))
    assert [each.text for each in site.ann.state.threads.values()] == ["once"]


async def test_nothing_is_told_before_a_link_is_proven(site: Site) -> None:
    wrong = Browser(site.gateway.link(site.room)[:-3] + "AAA")
    assert (await wrong.enter("eve")).status_code == 403
    assert (await Browser(f"{site.gateway.url}/#none.secret").enter("eve")).status_code == 403
    with pytest.raises(InvalidStatus):
        async with wrong.tab():
            pass
    assert "eve" not in site.ann.state.people
    page = await wrong.ask("visit")
    assert "Standup" not in page.text


async def test_a_link_ends_by_time_and_by_use(site: Site) -> None:
    timed = Browser(site.gateway.link(site.room, lifetime=60.0))
    once = site.gateway.link(site.room, uses=1)
    assert (await Browser(once).enter("bob")).status_code == 200
    assert (await Browser(once).enter("cleo")).status_code == 403
    site.clock.now += 61.0
    assert (await timed.enter("dora")).status_code == 403
    await site.ear.until(lambda: set(site.ann.state.people) == {"ann", "bob"})


async def test_single_use_link_admits_one(site: Site) -> None:
    once = site.gateway.link(site.room, uses=1)
    names = [f"guest{number}" for number in range(6)]
    entered = await asyncio.gather(*(Browser(once).enter(name) for name in names))
    assert sorted(each.status_code for each in entered) == [200, *[403] * 5]
    site.ann.messages.send("done")
    await site.ear.until(lambda: bool(site.ann.state.threads))
    assert len(site.ann.state.people) == 2


async def test_a_refused_name_uses_no_link_up(site: Site) -> None:
    browser = Browser(site.gateway.link(site.room, uses=1))
    refused = await browser.enter("ann")
    assert refused.status_code == 409
    assert "ann is the host's name" in refused.json()["error"]
    assert (await browser.enter("two words")).status_code == 400
    assert (await browser.enter("bob")).status_code == 200


async def test_guesses_are_limited(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Browser(f"{site.gateway.url}/#none.secret")
    answers = [(await wrong.enter("eve")).status_code for _ in range(module.GUESSES + 2)]
    assert answers[: module.GUESSES] == [403] * module.GUESSES
    assert answers[-1] == 429


@pytest.mark.parametrize("url", ["", "https://chat.example.org"])
async def test_forwarded_addresses_evade_no_limit(tmp_path: Path, url: str) -> None:
    async with a_site(tmp_path, WebTable(url=url)) as site:
        (port,) = [each for each in site.gateway._hosts if each.startswith("127.0.0.1:")]
        wrong = Browser(f"http://{port}/#none.secret", origin=site.gateway.url)
        many = module.GUESSES * (module.PROXIED if url else 1) + 2
        answers = [
            await wrong.ask(
                "enter",
                {"secret": "s", "name": "eve"},
                **{"x-forwarded-for": f"192.0.2.{number}"},
            )
            for number in range(many)
        ]
        assert [each.status_code for each in answers].count(429) >= 1
        assert answers[-1].status_code == 429


async def test_guessing_blocks_no_right_link(site: Site) -> None:
    wrong = Browser(f"{site.gateway.url}/#none.secret")
    for _ in range(module.GUESSES + 2):
        await wrong.enter("eve")
    assert (await Browser(site.gateway.link(site.room)).enter("bob")).status_code == 200


async def test_a_tab_is_closed_when_the_visit_ends(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    site.clock.now += LONGEST_VISIT - 0.2
    async with bob.tab() as tab:
        with pytest.raises(ConnectionClosed):
            await until(tab, lambda _: False)


async def test_a_tab_that_pings_without_end_is_dropped(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        for number in range(PINGS_AT_ONCE + 10):
            _ = await tab.ping(str(number))
        with pytest.raises(ConnectionClosed):
            await until(tab, lambda _: False)


async def test_unfinished_message_closes_tab(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")

    async def fragments() -> AsyncIterator[str]:
        for _ in range(100_000):
            yield ""
            await asyncio.sleep(0)

    async with bob.tab() as tab:
        with pytest.raises(ConnectionClosed):
            await tab.send(fragments())


async def test_endless_reconnects_are_slowed(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    codes = set()
    for _ in range(visitor.TABS_AT_ONCE + 5):
        async with bob.tab() as tab:
            try:
                await tab.recv()
            except ConnectionClosed:
                codes.add(tab.close_code)
    assert codes == {1013}


async def test_half_second_request_is_dropped(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "HEAD_TIMEOUT", 0.2)
    monkeypatch.setattr(asgi, "REQUEST_TIMEOUT", 0.2)
    host = site.gateway.url.partition("//")[2]
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"GET /icon.svg HTTP/1.1\r\nHost: {host}\r\n\r\nGET /ic".encode())
    with suppress(ConnectionResetError):
        async with asyncio.timeout(DEADLINE):
            await reader.read()
    writer.close()


async def test_a_visit_logs_no_address(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await tab.recv()
    logged = [each for each in caplog.records if not each.name.startswith("httpx")]
    assert not [each for each in logged if "127.0.0.1" in each.getMessage()]


async def test_garbage_gets_400_with_headers(site: Site) -> None:
    host = site.gateway.url.partition("//")[2]
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(b"GARBAGE\r\n\r\n")
    async with asyncio.timeout(DEADLINE):
        answer = (await reader.read()).decode()
    writer.close()
    assert answer.startswith("HTTP/1.1 400 ")
    assert all(f"{name}: {value}" in answer for name, value in HEADERS.items())


async def test_cookie_opens_only_own_visit(site: Site) -> None:
    bob, cleo = Browser(site.gateway.link(site.room)), Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    await cleo.enter("cleo")
    thief = Browser(cleo.link, cookies=dict(bob.cookies))
    assert (await thief.ask("visit")).json() == {"here": False}
    assert (await thief.ask("leave", {})).status_code == 403
    with pytest.raises(InvalidStatus):
        async with thief.tab():
            pass
    await site.ear.until(lambda: "cleo" in site.ann.state.people)
    assert site.ann.state.people["cleo"].present


async def test_foreign_origin_or_host_is_refused(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    assert (await bob.ask("visit", host="evil.example")).status_code == 421
    other = Browser(bob.link, origin="https://evil.example")
    assert (await other.enter("eve")).status_code == 403
    await bob.enter("bob")
    other.cookies = bob.cookies
    with pytest.raises(InvalidStatus):
        async with other.tab():
            pass
    assert (await other.ask("leave", {})).status_code == 403


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"secret": 1, "name": "x"}', b"x" * 9_000, b'{"secret": "\xff"}']
)
async def test_anything_else_than_a_request_is_refused(site: Site, body: bytes) -> None:
    browser = Browser(site.gateway.link(site.room))
    assert (await browser.ask("enter", body)).status_code == 400
    plain = await browser.ask("enter", b"{}", **{"content-type": "text/plain"})
    assert plain.status_code == 400


@pytest.mark.parametrize(
    "frame", ["", "[]", '{"type": "answer"}', '{"type": "say", "id": ""}', b"x"]
)
async def test_invalid_frame_closes_tab(site: Site, frame: str | bytes) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await tab.send(frame)
        with pytest.raises(ConnectionClosed):
            await until(tab, lambda _: False)
        assert tab.close_code == 1008


async def test_an_observer_can_not_write(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room, "observer"))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await tab.send(json.dumps({"type": "say", "id": "1", "text": "forced"}))
        seen = await until(tab, lambda seen: any(each.get("sent") for each in seen))
        (sent,) = [each for update in seen for each in update.get("sent", ())]
        assert sent == {"id": "1", "why": visitor.ONLY_READS}
    assert not site.ann.state.threads


async def say(tab: ClientConnection, text: str) -> dict[str, Any]:
    """Type a text into the page's box; return its outcome without the id."""
    id_ = text[:40]
    await tab.send(json.dumps({"type": "say", "id": id_, "text": text}))
    sent: dict[str, Any] = {}

    def is_done(seen: list[dict[str, Any]]) -> bool:
        told = [each for update in seen for each in update.get("sent", ()) if each["id"] == id_]
        sent.update(told[0] if told else {})
        return bool(told)

    await until(tab, is_done)
    return {name: value for name, value in sent.items() if name != "id"}


async def test_visitor_types_commands(site: Site) -> None:
    site.ann.messages.send("before")
    await site.ear.until(lambda: bool(site.ann.state.threads))
    (before,) = site.ann.state.threads.values()
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: "before" in texts(seen))
        assert "bob (guest)" in (await say(tab, "/who"))["shown"]
        assert "/react N EMOJI: " in (await say(tab, "/help"))["shown"]
        assert await say(tab, "/me waves") == {}
        assert await say(tab, "//help") == {}
        assert await say(tab, f"/react {before.seq} 👍") == {}
        assert await say(tab, f"/reply {before.seq} indeed") == {}
        assert await say(tab, "/msg ann psst") == {}
        await site.ear.until(lambda: len(site.ann.state.threads) == 5 and bool(before.reactions))
        waves, slashed, reply, private = list(site.ann.state.threads.values())[1:]
        assert (waves.said.emote, waves.text, slashed.text) == (True, "waves", "/help")
        assert (reply.said.reply_to, reply.text) == (before.seq, "indeed")
        assert (private.is_private, private.text) == (True, "psst")
        assert before.reactions == {"👍": ["bob"]}
        assert await say(tab, f"/edit {waves.seq} nods") == {}
        assert await say(tab, f"/delete {reply.seq}") == {}
        await site.ear.until(lambda: waves.text == "nods" and reply.is_deleted)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/tools", "/tools needs the program genie-tui in a terminal"),
        ("/srv:prompt x", visitor.NO_PROMPTS),
        ("/edit 2 mine now", "You can change only your own messages."),
        ("/delete 99", "There is no message 99"),
        ("/msg zoe hello", "zoe has never been in this room"),
        ("hello\n/msg ann secret", "a line begins with /msg"),
    ],
)
async def test_visitor_command_is_refused(site: Site, text: str, why: str) -> None:
    site.ann.messages.send("before")
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: "before" in texts(seen))
        number = str(next(iter(site.ann.state.threads)))
        assert why in (await say(tab, text.replace("2", number)))["why"]
    assert [each.text for each in site.ann.state.threads.values()] == ["before"]


async def test_command_of_one_id_runs_once(site: Site) -> None:
    site.ann.messages.send("before")
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: "before" in texts(seen))
        (before,) = site.ann.state.threads.values()
        for _ in range(2):
            await say(tab, f"/react {before.seq} 👍")
        await say(tab, "after")
        assert before.reactions == {"👍": ["bob"]}


async def test_a_tab_continues_where_it_was(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    site.ann.messages.send("first")
    async with bob.tab() as tab:
        seen = await until(tab, lambda seen: "first" in texts(seen))
    site.ann.messages.send("second")
    async with bob.tab(feed=seen[-1]["feed"], since=seen[-1]["head"]) as tab:
        later = await until(tab, lambda seen: "second" in texts(seen))
    assert not any(each.get("reset") for each in later)
    assert not any(
        entry["text"].endswith("was opened")
        for update in later
        for entry in update.get("entries", ())
    )
    async with bob.tab(feed="another", since=3) as tab:
        assert (await until(tab, texts))[0]["reset"]


async def test_a_long_past_comes_in_parts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "MOST_BYTES", 2_000)
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    for number in range(20):
        site.ann.messages.send(f"{number} {'x' * 400}")
    async with bob.tab() as tab:
        seen = await until(tab, lambda seen: len(texts(seen)) == 20)
        assert len(seen) > 3
        assert [each.get("reset", False) for each in seen].count(True) == 1


async def test_visitor_without_tab_leaves_returns(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitor, "AWAY", 0.0)
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: any(each.get("members") for each in seen))
    await site.ear.until(lambda: not site.ann.state.people["bob"].present)
    key = site.ann.state.people["bob"].key
    site.ann.messages.send("meanwhile")
    async with bob.tab() as tab:
        await until(tab, lambda seen: "meanwhile" in texts(seen))
    assert site.ann.state.people["bob"].key == key


async def test_tabs_during_leaving_join_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    (visit,) = site.gateway._visits
    left, go_on = visit.visitor._joined, asyncio.Event()
    assert left is not None
    leave = left.leave

    async def slowly(reason: str = "", grace: float | None = None) -> Receipt:
        await go_on.wait()
        return await leave(reason, grace)

    monkeypatch.setattr(left, "leave", slowly)
    visit.visitor._go()
    async with bob.tab() as first, bob.tab() as second:
        go_on.set()
        for tab in (first, second):
            seen = await until(tab, lambda seen: any(each.get("members") for each in seen))
            states = [each["status"]["state"] for each in seen if each.get("status")]
            assert "closed" not in states
    joins = [each.by for each in site.ear.events if isinstance(each.body, MemberJoined)]
    assert joins.count("bob") == 2


async def test_another_log_begins_the_tab_again(site: Site) -> None:
    site.ann.messages.send("before")
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: "before" in texts(seen))
        (visit,) = site.gateway._visits
        joined, feed = visit.visitor._joined, site.room.feed
        assert joined is not None
        joined.give_way("the log is another one", (), "")
        seen = await until(tab, lambda seen: "before" in texts(seen))
        assert any(each.get("reset") for each in seen)
        assert site.room.feed is not feed
        assert site.room.feed.state.people["bob"].present


async def test_an_answer_is_shown_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    async def write(input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        emit("half \u202e")
        await go_on.wait()
        return "half done"

    engine = loader(tmp_path / "engine", run=write)
    monkeypatch.setattr("genie_core.room.open.host.engine_for", lambda *_, **__: engine)
    async with a_site(tmp_path) as site:
        bob = Browser(site.gateway.link(site.room))
        await bob.enter("bob")
        async with bob.tab() as first:
            await until(first, lambda seen: any(each.get("members") for each in seen))
            await first.send(json.dumps({"type": "say", "id": "1", "text": "write"}))
            await until(first, lambda seen: "half " in streamed(seen))
            async with bob.tab() as second:  # one that comes later gets all of it
                assert "half ⟨U+202E⟩" in streamed(
                    await until(second, lambda seen: "half ⟨U+202E⟩" in streamed(seen))
                )
            go_on.set()
            seen = await until(first, lambda seen: "half done" in answers(seen))
            assert "half done" not in streamed(seen)


async def test_private_message_has_one_reader(site: Site) -> None:
    bob, cleo = Browser(site.gateway.link(site.room)), Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    await cleo.enter("cleo")
    await site.ear.until(lambda: {"bob", "cleo"} <= set(site.ann.state.people))
    async with bob.tab() as one, cleo.tab() as other:
        site.ann.messages.send("for bob alone", to="bob")
        site.ann.messages.send("for all")
        assert "for bob alone" in texts(await until(one, lambda seen: "for all" in texts(seen)))
        assert texts(await until(other, lambda seen: "for all" in texts(seen))) == ["for all"]


async def test_host_role_shows_as_co_host(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: any(each.get("members") for each in seen))
        site.ann.hosting.moderate("role", "bob", role="host")

        def roles(seen: list[dict[str, Any]]) -> dict[str, str]:
            told = [each["members"] for each in seen if each.get("members")]
            return {each["name"]: each["role"] for each in told[-1]} if told else {}

        await until(tab, lambda seen: roles(seen) == {"ann": "host", "bob": "co-host"})


async def test_banned_visitor_gets_nothing_more(site: Site) -> None:
    bob, cleo = Browser(site.gateway.link(site.room)), Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    await cleo.enter("cleo")
    async with bob.tab() as tab:
        await until(tab, lambda seen: any(each.get("members") for each in seen))
        site.ann.hosting.moderate("ban", "bob")
        await until(tab, lambda seen: (seen or [{}])[-1].get("status", {}).get("state") == "closed")
        site.ann.messages.send("without bob")
        await site.ear.until(lambda: bool(site.ann.state.threads))
    async with bob.tab() as tab:
        seen = await until(
            tab, lambda seen: (seen or [{}])[-1].get("status", {}).get("state") == "closed"
        )
        assert texts(seen) == []


async def test_stopping_lets_all_visitors_leave(site: Site) -> None:
    bob = Browser(site.gateway.link(site.room))
    await bob.enter("bob")
    async with bob.tab() as tab:
        await until(tab, lambda seen: any(each.get("members") for each in seen))
        await site.gateway.stop()
        await site.ear.until(lambda: not site.ann.state.people["bob"].present)
        with pytest.raises(ConnectionClosed):
            await until(tab, lambda _: False)


async def test_stop_ignores_entering_visitors(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "LEAVING", DEADLINE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = WebGateway(LOCAL)
        await gateway.start()
        link = gateway.link(WebRoom(route_of(f":{silent.getsockname()[1]}")))
        entering = asyncio.create_task(Browser(link).enter("bob"))
        async with asyncio.timeout(DEADLINE):
            while not gateway._entering:
                await asyncio.sleep(0.01)
        async with asyncio.timeout(visitor.ENTERING / 2):
            await gateway.stop()
        assert (await entering).status_code == 403


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (WebTable(host="0.0.0.0"), "without TLS"),  # noqa: S104 - refused
        (WebTable(host="192.0.2.1", url="https://chat.example.org"), "without TLS"),
        (WebTable(url="chat.example.org"), "is no address"),
        (WebTable(url="https://chat.example.org:x"), "is no address"),
        (WebTable(url="https://ann@chat.example.org"), "is no address"),
        (WebTable(url="https://chät.example.org"), "xn--"),
        (WebTable(url="http://chat.example.org"), "without TLS"),
        (WebTable(certificate=Path("a.pem")), "needs its key"),
        (WebTable(certificate=Path("a.pem"), key=Path("b.pem")), "can't be used"),
    ],
)
async def test_beyond_loopback_it_takes_tls(table: WebTable, why: str) -> None:
    with pytest.raises(CannotServe, match=why):
        await WebGateway(table).start()


async def test_proxy_url_sets_link_and_cookie(tmp_path: Path) -> None:
    async with a_site(tmp_path, WebTable(url="https://Chat.example.org:443/")) as site:
        link = site.gateway.link(site.room)
        assert link.startswith("https://chat.example.org/#")
        (port,) = [each for each in site.gateway._hosts if each.startswith("127.0.0.1:")]
        bob = Browser(link.replace("https://chat.example.org", f"http://{port}"))
        bob.origin = "https://chat.example.org"
        entered = await bob.ask(
            "enter", {"secret": bob.secret, "name": "bob"}, host="chat.example.org"
        )
        assert "Secure" in entered.headers["set-cookie"]
        assert (await bob.ask("visit", host="chat.example.org")).json() == {"here": True}


async def test_with_tls_the_cookie_is_for_tls_only(tmp_path: Path) -> None:
    certificate = load_certificate(tmp_path / "page.pem", datetime.now(UTC)).path
    async with a_site(tmp_path, WebTable(certificate=certificate, key=certificate)) as site:
        assert site.gateway.url.startswith("https://127.0.0.1:")
        bob = Browser(site.gateway.link(site.room))
        entered = await bob.enter("bob")
        assert "Secure" in entered.headers["set-cookie"]
        assert entered.headers["set-cookie"].startswith("__Secure-")
        assert (await bob.ask("visit")).json() == {"here": True}


@asynccontextmanager
async def serving(tmp_path: Path, web: WebTable | None) -> AsyncIterator[Service]:
    service = Service(
        ServeConfig(listen="127.0.0.1", port=0, web=web), places(tmp_path / "service")
    )
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def test_service_rooms_have_own_links(tmp_path: Path) -> None:
    async with serving(tmp_path, WebTable()) as service:
        first, second = await service.create("First"), await service.create("Second")
        bob = Browser(service.web_link(first.saved.id, 60.0))
        cleo = Browser(service.web_link(second.saved.id, 60.0))
        assert (await bob.enter("bob")).status_code == 200
        assert (await cleo.enter("cleo")).status_code == 200
        assert "bob" in first.server.state.people
        assert "bob" not in second.server.state.people
        async with bob.tab() as tab:
            await until(tab, lambda seen: any(each.get("title") == "First" for each in seen))
        reading = service.web_link(second.saved.id, 60.0, "observer")
        for name in ("dora", "emil"):
            assert (await Browser(reading).enter(name)).status_code == 200
            assert second.server.state.people[name].role == "observer"
        await service.archive(first.saved.id)
        assert (await Browser(bob.link).enter("eve")).status_code == 403
        assert (await bob.ask("visit")).json() == {"here": False}
    async with serving(tmp_path, None) as service:
        with pytest.raises(RoomUnavailable, match="no page"):
            service.web_link(second.saved.id, 60.0)


async def test_links_take_few_of_a_room_s_invites(tmp_path: Path) -> None:
    async with serving(tmp_path, WebTable()) as service:
        served = await service.create("First")
        invite = served.invite(lifetime=60.0)
        links = [service.web_link(served.saved.id, 60.0) for _ in range(70)]
        kept = route_of(invite).ticket
        assert kept is not None
        assert served.tokens.get(kept.id) is not None
        for name, link in (("bob", links[0]), ("cleo", links[-1])):
            assert (await Browser(link).enter(name)).status_code == 200
        served.void_invites()
        assert (await Browser(links[1]).enter("dora")).status_code == 409
        assert (await Browser(service.web_link(served.saved.id, 60.0)).enter("dora")).is_success
