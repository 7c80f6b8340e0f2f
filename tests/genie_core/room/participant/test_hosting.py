"""The host's role, offered, accepted and handed over; and who is told of it."""

import hashlib
import hmac
from pathlib import Path

import pytest
from tests.genie_core.room.doubles import Recorder, local_connector, room_server
from tests.genie_core.room.live_room import Ear, identity_of, loader, opened

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, NextStep
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.hosting import MOST_LEARNED, Hosting
from genie_core.room.participant.presence import TOKENS_NAME, InviteTokenFile
from genie_core.room.protocol.errors import InvitesUnknown
from genie_core.room.protocol.events import ROOM, Event, HostStarted, RoomCreated, RoomSuspended
from genie_core.room.protocol.frames import InviteIssued, Welcome
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.invite import Invite, read_invite
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.websocket import ws_connector


def host_record_of(name: str, pin: str = "") -> HostRecord:
    return sign_host_record(
        identity_of(name), room="r", host=name, pin=pin, addresses=("192.0.2.7:7654",), at=1.0
    )


async def test_accepted_heir_hosts_after_leave(tmp_path: Path) -> None:
    host_record = host_record_of("ben")
    async with opened() as live:
        connector = ws_connector(str(await live.server.listen(port=0)))
        ann, heard = await live.joined("ann", None)
        desk, ear = await live.joined(
            "ben",
            loader(tmp_path),
            connector=connector,
            device="desk",
            host_record=lambda: host_record,
            saved=lambda: "c",
        )
        couch, other = await live.joined(
            "ben",
            None,
            connector=connector,
            device="couch",
            host_record=lambda: host_record_of("ben", "x" * 43),
        )
        learnt: list[HostRecord] = []
        dora, third = await live.joined("dora", None, connector=connector, learn=learnt.append)
        assert ann.hosting.offer("ben")
        await ear.until(lambda: ear.offers == ["ann"])
        assert desk.hosting.accept()
        await heard.until(lambda: heard.accepted == ["ben"])
        await ann.leave("good night")
        await ear.until(lambda: desk.connection.state is ConnectionState.CLOSED)
        assert desk.ended is not None
        assert (desk.ended.next_step, desk.ended.saved) == (NextStep.HOST, "c")
        assert desk.state.heir is not None
        await third.until(lambda: learnt == [host_record])
        await other.until(lambda: couch.connection.state is ConnectionState.RETRYING)
        assert couch.ended is None  # it is the desk that hosts
        assert dora.ended is None


async def test_only_changed_host_is_announced() -> None:
    past = [Event(1, 1.0, ROOM, RoomCreated("r", "Room"))]
    past += [Event(seq, 2.0, ROOM, HostStarted(name)) for seq, name in ((2, "ann"), (3, "ben"))]
    past.append(Event(4, 3.0, ROOM, HostStarted("carol")))
    async with opened(past) as live:  # which ann hosts, again
        _, hers = await live.joined("ann", None)
        _, new = await live.joined("dora", None)
        _, knew = await live.joined("erik", None, prepare=lambda erik: erik.replay(past[:3]))
        for ear in (hers, new, knew):
            await ear.until(lambda ear=ear: ear.events[-1].by == "erik")  # type: ignore[misc] # mypy can't infer a lambda with a default
        assert (hers.notices, new.notices) == ([], [])
        assert knew.notices == ["ann hosts this room now"]


async def test_who_has_the_hosts_role_asks_for_invites(tmp_path: Path) -> None:
    tokens, file = InviteTokens(), InviteTokenFile(tmp_path / TOKENS_NAME)
    first = tokens.issue(0.0)
    async with opened(tokens=tokens, keep_tokens=file.save) as live:
        live.server.settle(host_record_of("ann", "A" * 43))
        connector = ws_connector(str(await live.server.listen(port=0)))
        ann, _ = await live.joined("ann", None)
        ben, ear = await live.joined("ben", None, connector=connector)
        dora, other = await live.joined("dora", None, connector=connector)
        ben.hosting.ask_for_invite()
        await ear.until(lambda: "only the host may do that" in ear.notices)
        ann.hosting.moderate("role", "ben", role="host")
        await ear.until(lambda: ben.state.administers("ben"))
        ben.hosting.ask_for_invite(uses=2)
        await ear.until(lambda: invites_in(ear))
        (made,) = invites_in(ear)
        assert tokens.check(made.pass_id, proof_of(made), b"meeting", 1.0)
        ben.hosting.ask_for_invite(new=True)
        await ear.until(lambda: len(invites_in(ear)) == 2)
        newest = invites_in(ear)[-1]
        assert not tokens.check(made.pass_id, proof_of(made), b"meeting", 1.0)
        ben.hosting.moderate("kick", "dora")
        await other.until(lambda: dora.connection.state is ConnectionState.CLOSED)
        assert dora.connection.detail == "ben put you out of the room"
    await file.aclose()
    kept = InviteTokenFile(tmp_path / TOKENS_NAME).load()
    assert kept.newest(1.0, "ben") == tokens.newest(1.0, "ben")
    assert kept.check(newest.pass_id, proof_of(newest), b"meeting", 1.0)
    assert kept.get(first.id) is None


def invites_in(ear: Ear) -> list[Invite]:
    return [read_invite(each.invite) for each in ear.told if isinstance(each, InviteIssued)]


def proof_of(invite: Invite) -> bytes:
    return hmac.digest(invite.secret, b"meeting", hashlib.sha256)


async def test_older_host_gets_no_invite_request() -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", None)
        ann.hosting.on_welcome(Welcome("r", "Room", "ann", "host", "ann", 1, Limits()))
        with pytest.raises(InvitesUnknown, match="ask ann"):
            ann.hosting.ask_for_invite()
        await ann.disconnect()
        assert not ann.hosting.ask_for_invite()
        assert ear.notices == []


@pytest.mark.parametrize("text", ["\x1b[2J", "genie1-", "http://example.org", ""])
def test_invalid_invite_is_not_shown(text: str) -> None:
    heir = Heir()
    heir.hosting.on_issued(InviteIssued(text))
    assert invites_in(heir.ear) == []
    (notice,) = heir.ear.notices
    assert "invite" in notice
    assert "\x1b" not in notice


async def test_without_record_no_offer_shows(tmp_path: Path) -> None:
    async with opened() as live:
        ann, _ = await live.joined("ann", None)
        ben, ear = await live.joined("ben", loader(tmp_path))
        assert not ben.hosting.accept()
        ann.hosting.offer("ben")
        ann.messages.send("done")
        await ear.until(lambda: ben.state.threads)
        assert ear.offers == []


class Heir:
    """Somebody who is offline and has a copy of the room, which ann hosts."""

    def __init__(self, *, hosts: bool = False) -> None:
        self.learnt: list[HostRecord] = []
        self.called: list[str] = []
        self.ear = Ear()
        self.host_record = host_record_of("ben")
        self.state = RoomState()
        self.state.apply(Event(1, 1.0, ROOM, RoomCreated("r", "Room")))
        self.state.apply(Event(2, 2.0, ROOM, HostStarted("ann")))
        self.hosting = Hosting(
            RoomConfig(
                lambda _: self._client,
                self._nothing,
                host_record=lambda: self.host_record,
                learn=self.learnt.append,
                close_room=self._nothing if hosts else None,
            ),
            self._client,
            self.state,
            self.ear,
            self.called.append,
        )

    @property
    def _client(self) -> RoomConnection:
        return RoomConnection(local_connector(room_server()), Recorder(), ClientHandshake("ben"))

    async def _nothing(self, reason: str = "") -> None:
        """Put nothing away."""

    def see(self, seq: int, body: HostStarted | RoomSuspended) -> None:
        before, event = self.state.host, Event(seq, 3.0, ROOM, body)
        self.state.apply(event)
        self.hosting.on_event(event, before)


async def test_only_accepted_record_makes_heir() -> None:
    ben = Heir()
    assert not ben.hosting.accept()  # nobody hears it without a connection
    ben.see(3, RoomSuspended("", "ben", host_record_of("ben", "x" * 43)))
    assert ben.called == []
    ben.see(4, RoomSuspended("", "ben", ben.host_record))
    assert ben.called == ["the room was handed over to you"]
    assert ben.learnt == [host_record_of("ben", "x" * 43)]


async def test_a_new_host_is_told_of_once() -> None:
    ben = Heir()
    ben.hosting.begin()
    ben.state.apply(Event(3, 3.0, ROOM, HostStarted("cleo")))
    assert ben.ear.notices == []  # it is part of what is caught up with
    ben.hosting.caught_up()
    ben.hosting.caught_up()
    assert ben.ear.notices == ["cleo hosts this room now"]
    ben.see(4, HostStarted("cleo"))
    ben.see(5, HostStarted("dan"))
    assert ben.ear.notices[1:] == ["dan hosts this room now"]


async def test_host_inherits_and_hears_nothing() -> None:
    ben = Heir(hosts=True)
    ben.hosting.accept()
    ben.see(3, RoomSuspended("", "ben", ben.host_record))
    ben.see(4, HostStarted("ben"))
    assert (ben.called, ben.learnt, ben.ear.notices) == ([], [], [])


@pytest.mark.parametrize("known", [True, False])
async def test_welcome_may_name_host_record(known: bool) -> None:
    ben, host_record = Heir(), host_record_of("ann") if known else None
    ben.hosting.on_welcome(
        Welcome("r", "Room", "ben", "member", "ann", 2, Limits(), host_record=host_record)
    )
    assert ben.learnt == ([host_record] if host_record else [])


async def test_records_learned_of_a_visit_are_bounded() -> None:
    """A host may sign any number of hand-overs, to keys without number."""
    async with opened() as live:
        _, _ = await live.joined("ann", None)
        ben, _ = await live.joined("ben", None)
        for n in range(2 * MOST_LEARNED):
            host_record = host_record_of(f"heir {n}")
            ben.hosting.on_event(
                Event(9, 9.0, ROOM, RoomSuspended("", host_record.host, host_record)), "ann"
            )
        assert len(ben.hosting.records) == MOST_LEARNED
