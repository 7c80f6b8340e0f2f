import time
from collections.abc import Callable

from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.app import App, ComposeResult

from genie_core.room.protocol.events import (
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    RoomCreated,
)
from genie_tui.widgets.roster import Roster


class Host(App[None]):
    """Shows only the roster."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock

    def compose(self) -> ComposeResult:
        yield Roster(self._clock)


def lines(roster: Roster) -> list[str]:
    return str(roster.render()).splitlines()


async def test_shows_who_is_here_before_who_left() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.feed(MemberJoined("guest"), by="cleo")
    joined.feed(MemberLeft("bob"))
    app = Host()
    async with app.run_test():
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        ann, cleo, bob = lines(roster)
        assert "ann" in ann
        assert "host" in ann
        assert "host's agent" in cleo
        assert "away" in bob
        assert "bob" not in roster.as_text()


async def test_an_agent_that_works_is_seen_to() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    app = Host()
    async with app.run_test():
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        assert "idle" in lines(roster)[0]
        joined.say_here("hello")
        roster.refresh_people()
        assert "working" in lines(roster)[0]
        joined.ask()
        roster.refresh_people()
        assert "needs approval" in lines(roster)[0]


async def test_names_are_cut_and_escaped() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.feed(MemberJoined("member"), by="[/red]\x1b")
    joined.feed(MemberJoined("member"), by="n" * 32)
    app = Host()
    async with app.run_test(size=(48, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        text = str(roster.render())
        assert "[/red]␛" in text
        assert all(len(line) <= 48 for line in lines(roster))


async def test_roles_agents_and_terminals_are_told() -> None:
    joined = ScriptedJoinedRoom()
    joined.feed(RoomCreated("r1", "Garden"), HostStarted("ann"))
    joined.feed(MemberJoined("host", engine=True, agent="openai:big", device="one"))
    for device in ("two", "three"):
        joined.feed(MemberJoined("member", engine=True, agent="small", device=device), by="bob")
    joined.feed(MemberJoined("guest"), by="cleo")
    joined.feed(MemberJoined("observer"), by="dan")
    joined.feed(MemberModerated("mute", "cleo"))
    app = Host()
    async with app.run_test(size=(70, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        ann, bob, cleo, dan = lines(roster)
        assert "host" in ann
        assert "openai:big" in ann
        assert "×" not in ann
        assert "small" in bob
        assert bob.rstrip().endswith("×2")
        assert "muted" in cleo
        assert "host's agent" in cleo
        assert "observer" in dan
        assert "no agent" in dan
        assert "cleo (guest, muted) · host's agent" in roster.as_text()
        assert "at 2 terminals" in roster.about("BOB")
        assert "agent: small" in roster.about("bob")
        assert roster.about("zoe") == ""


async def test_guest_without_host_agent_has_none() -> None:
    joined = ScriptedJoinedRoom()
    joined.feed(RoomCreated("r1", "Garden"), HostStarted("ann"), MemberJoined("host"))
    joined.feed(MemberJoined("guest"), by="cleo")
    joined.feed(MemberModerated("ban", "cleo"))
    app = Host()
    async with app.run_test(size=(70, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        assert "no agent" in lines(roster)[1]
        assert "banned" in roster.about("cleo")
        assert "(guest, banned) · here\n" in roster.about("cleo")


async def test_long_labels_fit_the_narrowest_panel() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    for device in ("two", "three"):
        joined.feed(MemberJoined("member", engine=True, agent="m" * 80, device=device), by="b" * 32)
    app = Host()
    async with app.run_test(size=(44, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        assert all(len(line) <= 44 for line in lines(roster))
        assert lines(roster)[2].rstrip().endswith("×2")


async def test_narrow_roster_drops_provider() -> None:
    joined = ScriptedJoinedRoom()
    joined.feed(RoomCreated("r1", "Garden"), HostStarted("ann"))
    joined.feed(MemberJoined("host", engine=True, agent="anthropic:claude"))
    for width, label in ((40, "claude"), (80, "anthropic:claude")):
        app = Host()
        async with app.run_test(size=(width, 20)):
            roster = app.query_one(Roster)
            roster.bind_state(joined.state, "ann")
            assert lines(roster)[0].split()[-1] == label


async def test_subagents_stand_below_person() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    app = Host()
    async with app.run_test(size=(60, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        seq = joined.say_here("hello")
        roster.show_progress(seq, "system", "calling", "run_subagent")
        assert len(lines(roster)) == len(joined.state.people)
        roster.show_progress(seq, "[red]:1\x1b", "thinking", "")
        tree = lines(roster)[1:3]
        assert tree == ["  genie ◐ waiting for another agent…", "  └ [red]:1␛ ◐ thinking…"]


async def test_silent_agent_shows_duration() -> None:
    joined, clock = ScriptedJoinedRoom(), HandClock()
    joined.open_room()
    app = Host(clock)
    async with app.run_test(size=(60, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        seq = joined.say_here("hello")
        roster.show_progress(seq, "system", "asking", "")
        assert len(lines(roster)) == len(joined.state.people)
        clock.rest(12)
        roster.refresh_people()
        silent = "genie ◐ waiting for the model, 12 s"
        assert lines(roster)[1].strip() == silent
        assert silent in roster.as_text()
        assert silent in roster.about("ann")


async def test_agent_member_is_marked() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.feed(MemberJoined("guest", kind="agent"), by="bot")
    app = Host()
    async with app.run_test():
        roster = app.query_one(Roster)
        roster.bind_state(joined.state, "ann")
        (line,) = [line for line in lines(roster) if "bot" in line]
        assert line.split()[1:] == ["bot", "agent", "·", "here"]
        assert "bot (agent) · here" in roster.as_text()
        assert "agent: none" in roster.about("bot")
        joined.feed(MemberModerated("role", "bot", "observer"), by="ann")
        assert "bot (observer)" in roster.as_text()


async def test_resizing_leaves_no_empty_lines() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    label = "a label of a model that is too long for a narrow panel"
    joined.feed(MemberJoined("member", engine=True, agent=label, device="z"), by="zoe")
    async with in_room(joined, size=(80, 24)) as (screen, pilot):
        await pilot.press("f2")
        await pilot.resize_terminal(120, 36)
        roster = screen.query_one(Roster)
        await until(pilot, lambda: roster.content_size.width < 60)
        await pilot.pause()
        assert roster.content_size.height == len(lines(roster)) == 3
