"""A room in typed and printed lines, and what can't be answered in it."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.genie_core.room.bench import identity
from tests.genie_tui.cli.plain.conftest import Scene
from tests.genie_tui.scripted_room import ScriptedInvites
from tests.limits import scaled

from genie_core.privacy.redaction import know
from genie_core.room.client.events import (
    ContinuationsChanged,
    MessageRejected,
    Notice,
    OtherHostsChanged,
    RoomEvent,
    RoomRenamed,
)
from genie_core.room.client.model import (
    Answer,
    ConnectionState,
    ConnectionStatus,
    Continuation,
    EngineState,
    EngineStatus,
    NextStep,
    PendingMessage,
    SessionEnded,
    Severity,
)
from genie_core.room.commands.outcome import NotDone, Outcome
from genie_core.room.commands.table import Surface, commands
from genie_core.room.open.requests import NewRoom
from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    HostStarted,
    MemberJoined,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
)
from genie_core.room.protocol.frames import HostingOffered, InviteIssued, JoinRequested
from genie_core.sessions.catalog import Catalog
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_tui.cli.plain import chat as module
from genie_tui.cli.plain.chat import PlainRoom, chat, run_plain
from genie_tui.cli.plain.visit import Finished

Typing = Callable[[str], list[str]]


@pytest.fixture
def room(scene: Scene) -> PlainRoom:
    return PlainRoom(scene.joined, lambda _: None)


@pytest.fixture
def typing(room: PlainRoom) -> Typing:
    """What a typed line leads to."""
    return lambda line: [*room.take(line), *room.questions()]


def test_unprinted_call_cannot_be_allowed(scene: Scene, room: PlainRoom, typing: Typing) -> None:
    command = "rm -rf ~\n" + "\n".join(f"echo {number}" for number in range(40))
    approval = scene.joined.ask("run_command", command=command)
    assert list(room.take("/allow 7")) == ["Which one? Tool calls that wait for you: none."]
    assert scene.joined.answers == []
    question = "\n".join(room.questions())
    assert f"Argument command: {command}" in question
    assert list(room.questions()) == []
    assert typing("/allow") == ["Which one? Tool calls that wait for you: 7."]
    assert typing("/allow 5") == ["Which one? Tool calls that wait for you: 7."]
    assert typing("/allow 7 yes please") == ["Not done: /allow takes a number only."]
    assert scene.joined.answers == []
    assert typing("/allow 7") == ["Allowed run_command (7)."]
    assert typing("/deny 7  not today") == ["Denied run_command (7)."]
    assert [answer for _, answer in scene.joined.answers] == [
        Answer(allow=True),
        Answer(allow=False, reason="not today"),
    ]
    assert scene.joined.answers[0][0] == approval


def test_changed_call_must_be_printed_again(scene: Scene, room: PlainRoom, typing: Typing) -> None:
    scene.joined.ask("run_command", command="ls")
    list(room.questions())
    scene.joined.state.pending_for("ann")[0].arguments = {"command": "rm -rf ~"}
    assert typing("/allow 7") == ["Not done: call 7 has changed; /show 7 prints it again."]
    assert "Argument command: rm -rf ~" in typing("/show 7")
    assert typing("/allow 7") == ["Allowed run_command (7)."]


def test_parked_call_is_asked_when_ready(scene: Scene, room: PlainRoom, typing: Typing) -> None:
    joined = scene.joined
    approval = joined.ask("run_command", command="ls")
    joined.feed(ApprovalResolved(5, approval, "parked"))
    ready, joined.engine_status = joined.engine_status, EngineStatus(EngineState.LOADING)
    assert list(room.questions()) == []
    joined.engine_status = ready
    assert next(room.questions()).startswith("CALL 7, kept from before: ")
    assert typing("/calls")[0].startswith("CALL 7, kept from before: ")
    assert typing("/allow 7") == ["Allowed run_command (7)."]
    assert joined.answers == [(approval, Answer(allow=True))]


def test_an_answer_that_comes_too_late_says_so(
    scene: Scene, room: PlainRoom, typing: Typing
) -> None:
    scene.joined.ask("run_command")
    list(room.questions())
    scene.joined.takes_answers = False
    assert typing("/allow 7") == ["Not done: call 7 no longer waits, or it can't be answered here."]
    scene.joined.feed(ApprovalResolved(5, "approval-5", "denied"))
    assert typing("/allow 7") == ["Which one? Tool calls that wait for you: none."]
    assert typing("/calls") == ["No tool call waits for you."]


def test_join_requests_are_answered_by_number(
    scene: Scene, room: PlainRoom, typing: Typing
) -> None:
    keys = identity("bob").key, identity("eve").key
    entries = [
        *room.take(JoinRequested(5, "bob", keys[0], "10.0.0.5")),
        *room.take(JoinRequested(6, "bob", keys[1], "10.0.0.66")),
    ]
    assert entries[0] != entries[1]
    assert typing("/admit bob") == ["Which one? Join requests that wait for you: 5, 6."]
    assert typing("/admit 5") == ["Admitted bob (5)."]
    over = JoinRequested(6, "bob", keys[1], "10.0.0.66", over=True)
    assert list(room.take(over)) == ["Join request 6 of bob is over."]
    assert list(room.take(over)) == []
    assert typing("/refuse 6") == ["Which one? Join requests that wait for you: none."]
    assert scene.joined.admissions == [(5, True)]


def test_the_host_moderates_and_invites(scene: Scene, typing: Typing) -> None:
    joined = scene.joined
    assert typing("/kick bob too loud") == typing("/role @bob host") == []
    assert joined.moderations == [("kick", "bob", None, "too loud"), ("role", "bob", "host", "")]
    joined.hosting.invites = invites = ScriptedInvites()
    assert typing("/invite") == ["Invite: genie1-first"]
    assert typing("/invite --as host") == ["Invite: genie1-another1"]
    assert (invites.issued, invites.roles) == ([(1, None)], ["host"])
    assert typing("/invite --new") == ["Invite: genie1-number1"]
    (why,) = typing("/role bob king")
    assert why.startswith("Not done: /role NAME host|member|guest|observer: the roles are host,")
    joined.connected = False
    assert typing("/mute bob") == ["Not done. Not connected: nothing was changed."]


def test_moderation_needs_host_role(scene: Scene, room: PlainRoom, typing: Typing) -> None:
    joined = scene.joined
    joined.feed(HostStarted("bob"))
    for line in ("/kick eve", "/invite", "/role eve guest"):
        assert typing(line) == ["Not done. Only the host may do that, and bob is hosting."]
    joined.feed(MemberJoined("member"), by="ann")
    joined.feed(MemberModerated("role", "ann", "host"), by="bob")
    assert typing("/ban eve") == typing("/invite --for 1h") == []
    assert joined.moderations == [("ban", "eve", None, "")]
    assert joined.invites_asked == [(None, 3600.0, None, False)]
    assert list(room.take(InviteIssued("genie1-made"))) == ["Invite: genie1-made"]
    assert "Here: ann (co-host)" in typing("/who")


def test_messages_get_replies_and_edits(scene: Scene, typing: Typing) -> None:
    joined = scene.joined
    joined.feed(MessagePosted("1", "lunch?"), by="bob")
    joined.feed(MessagePosted("2", "yes"))
    joined.feed(MessagePosted("3", "psst", to="ann", sealed=(b"x",)), by="bob")
    for line in ("/reply 5 yes", "/reply 7 no", "//reply", "/me waves", "hello"):
        assert typing(line) == []
    assert joined.said[2:] == [("/reply", False), ("waves", True), ("hello", False)]
    assert (joined.replies[:2], joined.readers[:2]) == ([5, 7], ["", "bob"])
    assert typing("/quiet night @bob") == []
    assert (joined.said[-1], joined.quiet[-2:]) == (("night @bob", False), [False, True])
    for line in ("/edit 6 no", "/delete 6", "/react 5 👍"):
        assert typing(line) == []
    assert joined.changes == [MessageEdited(6, "no"), MessageDeleted(6), ReactionChanged(5, "👍")]
    assert typing("/show 6") == ["[6] ann: yes", typing("/show 6")[1]]
    joined.connected = False
    assert typing("/delete 6") == ["Not done. Not connected: nothing was changed."]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/edit 5 mine", ". You can change only your own messages."),
        ("/delete 5", ". You can change only your own messages."),
        ("/edit 6", ": /edit N TEXT: the text is missing"),
        ("/quiet", ": /quiet TEXT: the text is missing"),
        ("/reply 99 x", ". There is no message 99, or it is too old."),
        ("/reply", ": /reply N TEXT: say which number, as in brackets before an entry"),
        ("/react 7 👍", ". All members would see a reaction to a private message."),
        ("/msg bob", ": /msg NAME TEXT: the text is missing"),
        ("/me", ": Say what you do: /me waves"),
        ("/ask", ": /ask TEXT: the text is missing"),
    ],
)
def test_what_can_not_be_done_says_why(scene: Scene, typing: Typing, line: str, why: str) -> None:
    joined = scene.joined
    joined.feed(MessagePosted("1", "lunch?"), by="bob")
    joined.feed(MessagePosted("2", "yes"))
    joined.feed(MessagePosted("3", "psst", to="ann", sealed=(b"x",)), by="bob")
    assert typing(line) == [f"Not done{why}"]
    assert (joined.said, joined.changes) == ([], [])


def test_a_secret_is_not_sent(scene: Scene, typing: Typing) -> None:
    know({"OPENAI_API_KEY": "sk-0123456789abcdef"})
    for line in ("use sk-0123456789abcdef", "/msg bob sk-0123456789abcdef"):
        assert typing(line) == ["Not sent: it contains your secret OPENAI_API_KEY."]
    assert scene.joined.said == []


@pytest.mark.parametrize(
    ("event", "entry"),
    [
        (Notice(Severity.INFO, "a\n[9] ann: yes"), "Note: a␤[9] ann: yes"),
        (RoomRenamed("New"), "Note: the room is now called New"),
        (
            MessageRejected(PendingMessage("1", "hi", emote=False, at=0.0), "muted"),
            "Not sent: muted: hi",
        ),
        (
            EngineStatus(EngineState.FAILED, detail="no key"),
            "Note: your agent could not be loaded: no key",
        ),
        (
            OtherHostsChanged(("eve",)),
            "Note: also hosted by eve; people see only what is said at their own host",
        ),
        (
            HostingOffered("bob"),
            "Note: bob asks you to host this room; that needs the full program",
        ),
        (
            ConnectionStatus(ConnectionState.ONLINE, closing_in=9.6),
            "Connection: the host suspends the room in 10 s.",
        ),
    ],
)
def test_unlogged_event_has_program_prefix(room: PlainRoom, event: RoomEvent, entry: str) -> None:
    assert list(room.take(event)) == [entry]


def test_continuation_prints_join_command(room: PlainRoom) -> None:
    found = Continuation("r2", "Standup", "bob", "ann", "p", ("10.0.0.7:7",), ("eve",))
    note, command = room.take(ContinuationsChanged((found,)))
    assert note.startswith("Note: bob continues this room as a new one, “Standup”")
    assert "also there: eve" in note
    assert command.startswith("To follow: genie-tui join --follow bob ")


def test_a_connection_that_is_lost_comes_back(room: PlainRoom) -> None:
    online = ConnectionStatus(ConnectionState.ONLINE)
    assert list(room.take(online)) == []
    lost = ConnectionStatus(ConnectionState.RETRYING, "timeout")
    assert list(room.take(lost)) == ["Connection: lost, and tried again: timeout"]
    assert list(room.take(lost)) == []
    assert list(room.take(online)) == ["Connection: there again."]


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Types lines; an empty text ends the input."""
    source, end = os.pipe()
    ends = [end]

    def listen(put: Callable[[object], None]) -> None:
        loop = asyncio.get_running_loop()

        def read() -> None:
            text = os.read(source, 1_000).decode()
            for line in text.splitlines():
                put(line)
            if not text:
                loop.remove_reader(source)
                put(None)

        loop.add_reader(source, read)

    def type_(text: str) -> None:
        if text:
            os.write(end, text.encode())
        else:
            os.close(ends.pop())

    monkeypatch.setattr(module, "listen", listen)
    yield type_
    for each in ends:
        os.close(each)
    os.close(source)


def test_a_guest_whom_no_agent_answers_is_told(scene: Scene) -> None:
    scene.joined.name = "eve"
    scene.joined.feed(HostStarted("service"), MemberJoined("guest"), by="eve")
    assert (
        list(PlainRoom(scene.joined, lambda _: None).welcome())[1]
        == "No agent answers guests here."
    )


async def test_chat_starts_with_recent_entries(
    scene: Scene, keyboard: Callable[[str], None]
) -> None:
    scene.joined.ask("run_command", command="rm\n" + "echo\n" * 60)
    for number in range(30):
        scene.joined.feed(MessagePosted(str(number), f"old {number}"), by="bob")
    keyboard("/who\n")
    keyboard("")
    assert await chat(scene.visit) == 0
    lines = scene.printed.read().splitlines()
    assert lines[0] == "Room: Garden, as ann. /help lists commands."
    assert next(line for line in lines if line.startswith("[")).endswith("old 10")
    asked = lines.index("CALL 7: your agent asks to use run_command")
    assert asked > lines.index("[37] bob: old 29")
    assert "Argument command: rm" in lines
    assert lines[-2:] == ["Here: ann (host)", "> bob (member)"]


async def test_lost_connection_ends_with_command(
    scene: Scene, keyboard: Callable[[str], None]
) -> None:
    joined = scene.joined
    joined.ended = SessionEnded(NextStep.REJOIN, "garden-1", "another host is right")
    joined.connection = ConnectionStatus(ConnectionState.CLOSED, "another host is right")
    joined.emit = lambda _: None
    chatting = asyncio.ensure_future(chat(scene.visit))
    await scene.printed.until("Room: ")
    scene.opener.emit(joined.connection)
    assert await chatting == 1
    assert scene.printed.read().splitlines()[-2:] == [
        "Connection: ended: another host is right",
        "To go on: genie-tui join garden-1 --plain",
    ]


async def test_end_of_input_awaits_pending(
    scene: Scene, keyboard: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    message = PendingMessage("1", "hello", emote=False, at=0.0)
    scene.joined.pending = (message,)
    keyboard("hello\n/quit\n")
    chatting = asyncio.ensure_future(chat(scene.visit))
    while not scene.joined.said:
        await asyncio.sleep(0)
    scene.joined.pending = ()
    scene.opener.emit(MessageRejected(message, "you are muted"))
    assert await chatting == 1
    assert "not sent: you are muted: hello" in capsys.readouterr().err


def test_help_names_all_commands(typing: Typing) -> None:
    shown = "\n".join(typing("/help"))
    assert all(f"/{name}" in shown for name in commands(Surface.LINES))
    (why,) = typing("/nonsense")
    assert why.startswith("Not done: There is no command /nonsense; /help lists all commands.")


def test_every_command_acts(typing: Typing) -> None:
    for name, spec in commands(Surface.LINES).items():
        if spec.effect is None and spec.read is None and name not in ("me", "quit"):
            assert typing(f"/{name}")


def test_question_waits_for_yes(scene: Scene, typing: Typing) -> None:
    (question,) = typing("/auto on")
    assert question.startswith("QUESTION: Allow all calls without asking you? /yes to turn it on")
    assert typing("/yes") == []
    assert scene.joined.engine_status.auto
    assert typing("/yes") == ["Not done: no question waits for you."]


def test_other_line_turns_a_question_down(scene: Scene, typing: Typing) -> None:
    typing("/auto on")
    typing("/who")
    assert typing("/yes") == ["Not done: no question waits for you."]
    assert not scene.joined.engine_status.auto


def test_line_waits_for_a_slow_command(scene: Scene) -> None:
    slow: list[Awaitable[Outcome]] = []
    room = PlainRoom(scene.joined, slow.append)
    assert list(room.take("/jobs stop 3")) == list(room.take("/who")) == list(room.take(None)) == []
    assert not room.is_over
    for work in slow:
        work.close()  # type: ignore[attr-defined] # a coroutine
    finished = Finished(error=NotDone("No job 3 is running."))
    refusal, here = room.take(finished)
    assert (refusal, here.splitlines()[0]) == ("Not done. No job 3 is running.", "Here: ann (host)")
    assert room.is_over


def test_other_owners_decision_is_not_asked(scene: Scene, room: PlainRoom) -> None:
    (event,) = scene.joined.feed(MessagePosted("1", "dig", handler="bob"), by="bob")
    asked = ApprovalRequested(event.seq, "a", "genie", "rm", {})
    scene.joined.feed(DecisionMade(event.seq, "delegate"), asked, by="bob")
    assert list(room.questions()) == []


async def test_non_utf8_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, end = os.pipe()
    os.write(end, b"caf\xe9\r\nlast")
    os.close(end)
    before = os.dup(0)
    os.dup2(source, 0)
    monkeypatch.setattr(sys, "stdin", open(0, closefd=False, encoding="utf-8"))  # noqa: SIM115
    try:
        items: asyncio.Queue[object] = asyncio.Queue()
        module.listen(items.put_nowait)
        async with asyncio.timeout(scaled(60)):
            assert [await items.get() for _ in range(3)] == ["caf\ufffd", "last", None]
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(source)


@pytest.mark.parametrize("title", ["Garden", "Shed"])
def test_existing_title_hints_at_resume(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    title: str,
) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")
    saved = Catalog(locations.sessions).create("Garden", 1.0, name="ann", messages=3)
    monkeypatch.setattr("genie_tui.cli.plain.chat.visit_room", lambda *_: 0)
    source = SettingsSource(locations.settings_file, {"GENIE_NAME": "ann"})
    assert run_plain(NewRoom(title), source, locations) == 0
    said = capsys.readouterr().err
    assert (f"genie-tui resume {saved.id} --plain" in said) is (title == "Garden")
