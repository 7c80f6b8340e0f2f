from tests.genie_core.room.doubles import local_connector, participant, room_server

from genie_core.room.event import Answered, Decided
from genie_core.room.websocket import ws_connector


async def test_two_people_talk_and_the_hosts_engine_answers() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        async with (
            participant(
                local_connector(server), "hana", token=server.host_token, engine=True
            ) as host,
            participant(ws_connector(str(address)), "bob") as bob,
        ):
            await bob.seen.online()
            bob.client.say("hello")
            await host.seen.until(lambda r: r.texts == ["hello"])
            await bob.seen.until(lambda r: r.texts == ["hello"] and not r.unsent)
            seq = host.seen.events[-1].seq
            host.client.publish(Decided(seq, "delegate", query="hi"))
            host.client.publish(Answered(seq, "hi bob"))
            await bob.seen.until(lambda r: isinstance(r.events[-1].body, Answered))
            assert bob.seen.events == host.seen.events
            assert host.seen.welcomes[0].role == "host"
            await bob.client.bye("lunch")
            await host.seen.until(lambda r: not r.state.people["bob"].present)
            assert await server.suspend("good night")
            await host.seen.until(lambda r: r.links[-1].detail.startswith("the host suspended"))
