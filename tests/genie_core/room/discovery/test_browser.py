"""Real multicast on the loopback interface; other tests may use it at the same time."""

import asyncio
import logging
import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import msgspec
import pytest
from tests.limits import scaled
from zeroconf._dns import DNSAddress, DNSPointer, DNSRecord, DNSService, DNSText
from zeroconf._protocol.incoming import DNSIncoming
from zeroconf._protocol.outgoing import DNSOutgoing
from zeroconf.asyncio import AsyncZeroconf

from genie_core.room.discovery import browser as discovery
from genie_core.room.discovery.browser import Announcer, Browser
from genie_core.room.discovery.service_record import SERVICE, Announcement, write_announcement
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity, load_identity

LOOPBACK = ["127.0.0.1"]
NOWHERE = ["203.0.113.9"]
HANA = Identity.generate()
GROUP = ("224.0.0.251", 5353)


def announcement(
    title: str = "Garden", *, room: str = "", by: Identity = HANA, at: float = 1_790_000_000.0
) -> Announcement:
    host_record = sign_host_record(
        by,
        room=room or f"garden-{os.getpid()}",
        host="hana",
        pin="p" * 43,
        addresses=("192.0.2.7:7654", "[2001:db8::7]:7654"),
        at=at,
    )
    return Announcement(host_record, title, 7654)


class Watcher:
    """Hears of changes and lets a test wait for what it expects."""

    def __init__(self) -> None:
        self.turn = asyncio.Event()
        self.also: Callable[[], object] = lambda: None

    def __call__(self) -> None:
        self.also()
        self.turn.set()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(scaled(60)):
            while not condition():
                self.turn.clear()
                await self.turn.wait()


@asynccontextmanager
async def browsing(
    prefers: Callable[[Announcement], bool] | None = None,
) -> AsyncIterator[tuple[Browser, Watcher]]:
    watcher = Watcher()
    async with Browser(watcher, prefers=prefers, interfaces=LOOPBACK) as browser:
        assert await browser.settle()
        yield browser, watcher


def titles(browser: Browser, room: str = "") -> list[str]:
    wanted = room or announcement().host_record.room
    return [each.title for each in browser.rooms.values() if each.host_record.room == wanted]


async def test_a_room_is_found_updated_and_gone_again() -> None:
    async with browsing() as (browser, watcher):
        first = announcement()
        async with Announcer(first, interfaces=LOOPBACK) as announcer:
            assert await announcer.settle()
            await watcher.until(lambda: titles(browser) == ["Garden"])
            assert browser.found(first.host_record.room) == [
                (first.host_record, first.host_record.addresses)
            ]
            later = announcement("Garden, autumn", at=first.host_record.at + 1)
            announcer.update(later)
            await watcher.until(lambda: titles(browser) == ["Garden, autumn"])
            assert browser.found(first.host_record.room)[0][0] == later.host_record
        await watcher.until(lambda: titles(browser) == [])
    assert not browser.available


async def test_existing_room_is_found_by_asking() -> None:
    async with Announcer(announcement(), interfaces=LOOPBACK) as announcer:
        assert await announcer.settle()
        async with Browser(interfaces=LOOPBACK) as browser:
            ((host_record, addresses),) = await browser.find(announcement().host_record.room, 20)
            assert host_record == announcement().host_record
            assert addresses[0] == "192.0.2.7:7654"
            assert await browser.find("no such room", 0.1) == []


async def test_hosts_of_room_list_latest_first() -> None:
    old, new = announcement("old", at=1.0), announcement("new", by=Identity.generate(), at=2.0)
    async with (
        browsing() as (browser, watcher),
        Announcer(old, interfaces=LOOPBACK),
        Announcer(new, interfaces=LOOPBACK),
    ):
        await watcher.until(lambda: len(titles(browser)) == 2)
        assert [host_record for host_record, _ in browser.found(old.host_record.room)] == [
            new.host_record,
            old.host_record,
        ]


async def test_no_multicast_logs_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for absent in (
        Announcer(announcement(), interfaces=NOWHERE),
        Browser(interfaces=NOWHERE),
    ):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            async with absent:
                assert not await absent.settle()
                assert not absent.available
        (line,) = caplog.messages
        assert "not announced or found" in line


async def test_what_is_not_signed_is_not_announced() -> None:
    wrong = announcement()
    wrong = msgspec.structs.replace(
        wrong, host_record=msgspec.structs.replace(wrong.host_record, host="bob")
    )
    async with Announcer(wrong, interfaces=LOOPBACK) as announcer:
        assert not await announcer.settle()


async def test_only_public_data_is_broadcast(tmp_path: Path) -> None:
    owner = load_identity(tmp_path / "hana.key")
    pem = (tmp_path / "hana.key").read_bytes().splitlines()
    own = f"public-{os.getpid()}"  # others may announce rooms meanwhile
    room = announcement(room=own, by=owner)
    later = announcement("Garden, autumn", room=own, by=owner, at=1_790_000_001.0)
    packets: list[bytes] = []
    with _eavesdropper() as sock:
        async with Announcer(room, interfaces=LOOPBACK) as announcer:
            assert await announcer.settle()
            announcer.update(later)
            async with asyncio.timeout(scaled(60)):
                while not any(b"autumn" in packet and own.encode() in packet for packet in packets):
                    packets.append(await asyncio.get_running_loop().sock_recv(sock, 65_536))
    ours = [packet for packet in packets if own.encode() in packet]
    assert {name for packet in ours for name in _txt_names(packet)} == {
        *(b"v", b"id", b"title", b"host", b"pin", b"key", b"at", b"sig", b"a0", b"a1")
    }
    (private,) = (line for line in pem if line.startswith(b"MC"))
    assert not any(private in packet for packet in packets)


def _eavesdropper() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind(("", GROUP[1]))
    membership = socket.inet_aton(GROUP[0]) + socket.inet_aton("127.0.0.1")
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    sock.setblocking(False)
    return sock


def _txt_names(packet: bytes) -> list[bytes]:
    names = []
    for record in DNSIncoming(packet).answers():
        if isinstance(record, DNSText):
            text = record.text
            while text:
                names.append(text[1 : text[0] + 1].partition(b"=")[0])
                text = text[text[0] + 1 :]
    return names


class Attacker:
    """Sends multicast DNS packets of its own making on the loopback interface."""

    def __init__(self) -> None:
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        here = socket.inet_aton("127.0.0.1")
        self._sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def announce(self, name: str, said: Announcement, **changes: bytes) -> None:
        """Claim what one likes under a name of one's choice."""
        values = write_announcement(said) | changes
        strings = [f"{key}=".encode() + value for key, value in values.items()]
        text = b"".join(bytes([len(string)]) + string for string in strings)
        full = f"{name}.{SERVICE}"
        out = DNSOutgoing(0x8400)
        for record in _records(full, text):
            out.add_answer_at_time(record, 0)
        for packet in out.packets():
            self.send(packet)

    def send(self, packet: bytes) -> None:
        self._sock.sendto(packet, GROUP)


def _records(full: str, text: bytes) -> list[DNSRecord]:
    address = socket.inet_aton("192.0.2.66")
    return [
        DNSPointer(SERVICE, 12, 1, 20, full),
        DNSService(full, 33, 0x8001, 20, 0, 0, 7654, full),
        DNSText(full, 16, 0x8001, 20, text),
        DNSAddress(full, 1, 0x8001, 20, address),
    ]


async def test_room_flood_keeps_preferred_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whoever looks for rooms in another test meanwhile has still space for theirs.
    monkeypatch.setattr(discovery, "MAX_ROOMS", most := 8)
    own = announcement("mine")
    async with browsing(lambda each: each.host_record.key == HANA.key) as (browser, watcher):
        with Attacker() as attacker:
            for number in range(3 * most):
                bogus = announcement(str(number), room=f"bogus-{number}", by=Identity.generate())
                attacker.announce(f"bogus-{os.getpid()}-{number}", bogus)
                await asyncio.sleep(0)
            await watcher.until(lambda: len(browser.rooms) == most)
            assert titles(browser) == []
            async with Announcer(own, interfaces=LOOPBACK):
                await watcher.until(lambda: titles(browser) == ["mine"])
            assert len(browser.rooms) <= most


async def test_empty_names_hide_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discovery, "MAX_ROOMS", most := 4)
    monkeypatch.setattr(discovery, "MAX_UNRESOLVED", 8)
    monkeypatch.setattr(discovery, "LIFETIME", 4)
    monkeypatch.setattr(discovery, "LOOK", 0.1)
    ask, asked, seen = discovery._ask_for, set[str](), list[list[str]]()
    answered = asyncio.Event()

    def noting(network: AsyncZeroconf, name: str) -> None:
        asked.add(name)
        if name in browser.rooms:
            answered.set()
        ask(network, name)

    monkeypatch.setattr(discovery, "_ask_for", noting)
    async with browsing() as (browser, watcher):
        with Attacker() as attacker:
            for number in range(16):
                out = DNSOutgoing(0x8400)
                name = f"nothing-{os.getpid()}-{number}.{SERVICE}"
                out.add_answer_at_time(DNSPointer(SERVICE, 12, 1, 20, name), 0)
                attacker.send(*out.packets())
        async with Announcer(announcement(), interfaces=LOOPBACK):
            await watcher.until(lambda: titles(browser) == ["Garden"])
            watcher.also = lambda: seen.append(titles(browser))
            async with asyncio.timeout(scaled(60)):
                await answered.wait()
            assert all(each == ["Garden"] for each in [*seen, titles(browser)])
    assert len([name for name in asked if name.startswith("nothing-")]) <= most


async def test_garbage_on_the_network_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with browsing() as (browser, watcher):
            with Attacker() as attacker:
                for size in (0, 1, 11, 12, 13, 200, 9_000):
                    attacker.send(os.urandom(size))
                attacker.send(struct.pack("!6H", 0, 0x8400, 0, 0xFFFF, 0, 0) + b"\xc0\x0c" * 40)
                for name in ("x" * 63, "a.b.c", "\x1b[2J", "é"):
                    attacker.announce(name, announcement(room=f"r-{name}"), sig=b"\xff" * 64)
            async with Announcer(announcement(), interfaces=LOOPBACK):
                await watcher.until(lambda: titles(browser) == ["Garden"])
            assert [title for title in titles(browser) if title != "Garden"] == []
    assert caplog.messages == []


async def test_old_or_copied_record_is_ignored() -> None:
    now, before = announcement("now", at=2.0), announcement("before", at=1.0)
    marker = announcement("marker", room=f"marker-{os.getpid()}", by=Identity.generate())
    async with (
        browsing() as (browser, watcher),
        Announcer(now, interfaces=LOOPBACK) as announcer,
    ):
        assert await announcer.settle()
        await watcher.until(lambda: titles(browser) == ["now"])
        with Attacker() as attacker:
            attacker.announce(f"replay-{os.getpid()}", before)
            attacker.announce(f"copy-{os.getpid()}", now, title=b"another title")
            attacker.announce(f"marker-{os.getpid()}", marker)
        await watcher.until(lambda: titles(browser, marker.host_record.room) == ["marker"])
        assert titles(browser) == ["now"]


HOST = """
import asyncio, subprocess, sys
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.discovery.browser import Announcer
from genie_core.room.security.identity import Identity
from genie_core.room.discovery.interfaces import reachable_hosts

def ip(words):
    subprocess.run(["ip", *words.split()], check=True)

def said(identity, at):
    hosts = reachable_hosts()
    addresses = tuple(f"[{host}]:7" if ":" in host else f"{host}:7" for host in hosts)
    deed = sign_host_record(identity, room="r", host="hana", pin="", addresses=addresses, at=at)
    return Announcement(deed, "Garden", 7)

async def main():
    ip("link set lo up")
    identity = Identity.generate()
    async with Announcer(said(identity, 1.0)) as announcer:
        await announcer.settle()
        print("alone", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        ip("link set far up")
        ip("addr add 192.0.2.7/24 dev far")
        ip("addr add fd00::7/64 dev far nodad")
        announcer.update(said(identity, 2.0))
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""

GUEST = """
import asyncio, subprocess, sys
from genie_core.room.discovery.browser import Browser

def ip(words):
    subprocess.run(["ip", *words.split()], check=True)

async def main():
    ip("link set lo up")
    changed = asyncio.Event()
    async with asyncio.timeout(60), Browser(changed.set) as browser:
        assert await browser.settle()
        ip("link add near type veth peer name far")
        ip(f"link set far netns {host.pid}")
        host.stdin.write("go\\n")
        host.stdin.flush()
        ip("link set near up")
        ip("addr add 192.0.2.8/24 dev near")
        ip("addr add fd00::8/64 dev near nodad")
        while not browser.found("r"):
            changed.clear()
            await changed.wait()
        ((deed, addresses),) = browser.found("r")
        print(addresses)
        host.communicate("bye\\n")
        while browser.found("r"):
            changed.clear()
            await changed.wait()

command = ["unshare", "--net", sys.executable, "-c", sys.argv[1]]
host = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    assert host.stdout.readline() == "alone\\n"
    asyncio.run(main())
finally:
    host.kill()
    host.wait()
"""


def test_late_network_uses_both_families() -> None:
    """Two network namespaces without anything but loopback, which are then joined by a cable."""
    unshare = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        make = "ip link add near type veth peer name far"
        allowed = subprocess.run([*unshare, *make.split()], capture_output=True, timeout=scaled(60))
    except FileNotFoundError as error:
        pytest.skip(f"no network namespaces: {error}")
    if allowed.returncode:
        pytest.skip(f"no network namespaces: {allowed.stderr.decode().strip()}")
    command = [*unshare, sys.executable, "-c", GUEST, HOST]
    done = subprocess.run(command, capture_output=True, text=True, timeout=scaled(60))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "('192.0.2.7:7', '[fd00::7]:7')\n"


SHORT_LIVED = """
import asyncio, sys
from genie_core.room.discovery import browser as discovery
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity

discovery.LIFETIME = int(sys.argv[2])

async def main():
    deed = sign_host_record(Identity.generate(), room=sys.argv[1], host="hana", pin="", addresses=(), at=1.0)
    told = Announcement(deed, "Garden", 7)
    async with discovery.Announcer(told, interfaces=["127.0.0.1"]) as announcer:
        await announcer.settle()
        print("there", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


async def test_killed_host_is_unlisted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discovery, "LIFETIME", 4)
    monkeypatch.setattr(discovery, "LOOK", 0.1)
    room = f"killed-{os.getpid()}"
    command = [sys.executable, "-c", SHORT_LIVED, room, "4"]
    async with (
        Announcer(announcement("lives"), interfaces=LOOPBACK),
        browsing() as (browser, watcher),
    ):
        for _ in range(2):  # also if it comes back after it was forgotten
            host = await asyncio.to_thread(
                subprocess.Popen, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            try:
                await watcher.until(lambda: titles(browser, room) == ["Garden"])
                assert titles(browser) == ["lives"]
            finally:
                host.kill()
                await asyncio.to_thread(host.communicate)
            await watcher.until(lambda: titles(browser, room) == [])
            assert titles(browser) == ["lives"]
