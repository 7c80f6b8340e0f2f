"""The metrics of a service say what happens in its rooms, and to no one whose rooms they are."""

import json
from contextlib import suppress
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.genie_core.room.doubles import tls_connector

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import Typing
from genie_core.room.security.invite import read_invite
from genie_serve.http import serve_ops
from genie_serve.service import Service
from serve_tests.test_http import ANYWHERE, ask
from serve_tests.test_service import LOCAL, ended, is_online, joining, places, serving
from serve_tests.test_shards import hosting_all, machines


async def scrape(ops: Address) -> dict[str, float]:
    """Return all samples by name and label."""
    _, text = await ask(ops, "/metrics")
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_members_and_refusals_are_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        room, other = await service.create("Secret plans"), await service.create("Other")
        await service.archive(other.saved.id)
        invite = room.invite()
        before = await scrape(ops)
        async with joining(invite, "ann") as ann, joining(invite, "bob", device="d1") as bob:
            await ann.seen.online()
            await bob.seen.online()
            ann.client.messages.send("hello")
            await bob.seen.until(lambda seen: seen.texts)
            async with joining(invite, "eve", ticket=None) as eve:
                await eve.seen.until(ended)
            found = read_invite(invite)
            link = await tls_connector(found.addresses[0], found.pin)()
            await link.send([Typing()])
            with suppress(ConnectionLost):
                while True:
                    await link.receive()
            async with joining(invite, "bob", identity=bob.identity, device="d1") as again:
                await again.seen.online()
                await bob.seen.until(ended)
                now = await scrape(ops)
        assert (now["genie_rooms open"], now["genie_rooms archived"]) == (1, 1)
        assert now["genie_members"] == 2
        assert now["genie_connections authenticated"] >= 2  # ended ones may not be closed yet
        assert now["genie_connections unauthenticated"] >= 0
        assert now["genie_joins_total"] == 3
        assert now["genie_refusals_total no_invite"] == 1
        assert now["genie_refusals_total out_of_state"] == 1
        assert now["genie_refusals_total crowded_out"] == 0
        assert now["genie_evictions_total replaced"] == 1
        assert now["genie_evictions_total slow"] == 0
        events = now["genie_events_total"] - before["genie_events_total"]
        assert events >= 3
        assert now["genie_append_seconds_count"] <= now["genie_events_total"]
        assert now["genie_append_seconds_count"] == now["genie_append_seconds_bucket +Inf"]
        assert now["genie_append_seconds_sum"] > 0
        assert 0 < before["genie_disk_bytes"] < now["genie_disk_bytes"]
        assert now["genie_disk_bytes"] < now["genie_disk_limit_bytes"]
        assert now["genie_disk_free_bytes"] > 0
        assert now["process_open_fds"] > 0


async def test_no_room_and_no_person_is_named(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        room = await service.create("Secret plans")
        async with joining(room.invite(), "annabel") as ann:
            await ann.seen.online()
            _, text = await ask(ops, "/metrics")
    assert "genie_members 1.0" in text
    for name in ("annabel", "Secret", room.saved.id, *room.ids):
        assert name not in text


async def test_members_count_until_they_leave(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        room = await service.create("Standup")
        async with joining(room.invite(), "ann") as ann, joining(room.invite(), "bob") as bob:
            await ann.seen.online()
            await bob.seen.online()
            assert is_online(bob.seen)
            assert (await scrape(ops))["genie_members"] == 2
        await service.archive(room.saved.id)
        now = await scrape(ops)
        assert (now["genie_members"], now["genie_connections_behind"]) == (0, 0)


async def test_full_room_is_counted_and_ready(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        room, _ = await service.create("Standup"), await service.create("Other")
        service.quota.share(room.saved.id).note_files(service.config.limits.room_disk)
        now = await scrape(ops)
        assert (now["genie_rooms full"], now["genie_rooms open"]) == (1, 1)
        assert (await ask(ops, "/readyz"))[0] == 200


async def test_a_stand_by_is_ready_and_hosts_no_shard(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, both.serving("a") as first:
        await hosting_all(first)
        async with (
            both.serving("b") as second,
            serve_ops(first, ANYWHERE) as first_ops,
            serve_ops(second, ANYWHERE) as second_ops,
        ):
            hosting, waiting = await scrape(first_ops), await scrape(second_ops)
            ready = json.loads((await ask(second_ops, "/readyz"))[1])
    assert (hosting["genie_shards_held"], waiting["genie_shards_held"]) == (4, 0)
    assert hosting["genie_store_up"] == waiting["genie_store_up"] == 1
    assert ready == {
        "ready": True,
        "reasons": [],
        "rooms": 0,
        "idle": 0,
        "unopened": 0,
        "shards": 0,
    }


async def test_metrics_exist_before_start(tmp_path: Path) -> None:
    async with serve_ops(Service(LOCAL, places(tmp_path)), ANYWHERE) as ops:
        now = await scrape(ops)
    assert (
        now["genie_rooms open"]
        == now["genie_connections authenticated"]
        == now["genie_events_total"]
        == 0
    )
