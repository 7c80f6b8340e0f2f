"""`genie-tui acp`, a real process, driven by the ACP SDK's client, in a room on loopback."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.helpers import (
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
)
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from tests.contract.test_agent_member import hosted, said
from tests.genie_core.room.live_room import DEADLINE, Ear
from tests.limits import scaled

from genie_core.room.client.model import Answer
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import DecisionMade
from genie_core.runtime.tasks import start_task
from genie_core.settings.locations import find_locations
from genie_core.settings.model import Settings

REPOSITORY = Path(__file__).parents[2]
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY / "src")}
LIMIT = 50 * 1024 * 1024


class Editor:
    """The client side: what an editor shows, and what its person answers."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.questions: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self._changed = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self._changed.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.questions.append((tool_call, options))
        self._changed.set()
        answer = await self.answers.get()
        if not answer:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(each for each in options if each.kind == answer)
        outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: object) -> None:
        """Nothing to keep."""

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def text(self, session: str = "", kind: str = "agent_message_chunk") -> str:
        return "".join(
            update.content.text
            for of, update in self.updates
            if update.session_update == kind and session in ("", of)
        )

    def calls(self, kind: str = "tool_call") -> list[Any]:
        return [update for _, update in self.updates if update.session_update == kind]

    async def asked(self, times: int) -> None:
        await self.until(lambda: len(self.questions) == times)


class Seat:
    """A process, the connection to it, and the editor on this side."""

    def __init__(
        self, process: asyncio.subprocess.Process, conn: ClientSideConnection, editor: Editor
    ) -> None:
        self.process, self.conn, self.editor = process, conn, editor

    async def joined(self, folder: Path) -> str:
        return (await self.conn.new_session(cwd=str(folder), mcp_servers=[])).session_id

    async def prompt(self, session: str, text: str) -> str:
        async with asyncio.timeout(DEADLINE):
            done = await self.conn.prompt(session_id=session, prompt=[text_block(text)])
        return str(done.stop_reason)


@asynccontextmanager
async def editor(way: str, home: Path, *more: str, name: str = "ben") -> AsyncIterator[Seat]:
    """An editor that has started the agent, and ends it by closing its input."""
    folder = home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    with (home / "stderr").open("w") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "genie_tui", "acp", way, "--name", name),
            *("--set", "local=true", *more),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**ENV, "GENIE_HOME": str(home)},
            cwd=folder,
            limit=LIMIT,
        )
    shown = Editor()
    conn = connect_to_agent(cast("Client", shown), process.stdin, process.stdout)
    try:
        hello = await conn.initialize(protocol_version=PROTOCOL_VERSION)
        assert hello.protocol_version == PROTOCOL_VERSION
        assert not hello.agent_capabilities.load_session  # type: ignore[union-attr]
        yield Seat(process, conn, shown)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(DEADLINE):
            await process.wait()
        await conn.close()


def with_engine(home: Path) -> tuple[str, str]:
    return "--workspace", str(home / "work")


async def failure(work: Any) -> str:
    with pytest.raises(RequestError) as told:
        async with asyncio.timeout(DEADLINE):
            await work
    return str(told.value)


async def test_prompt_is_message_and_streams(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with hosted(tmp_path / "ann") as (ann, ear):
        await said(ear, ann, "hello\n\x1b[31mred ![x](http://tracker)")
        async with editor(ann.hosting.address, home, *with_engine(home)) as seat:
            session = await seat.joined(home / "work")
            assert ann.state.people["ben"].kind == ""
            assert await seat.prompt(session, "@genie what is 6*7?") == "end_turn"
            shown = seat.editor.text()
            assert "> ◇ Standup: you are here as ben, with ann" in shown
            assert "\n> ann: hello\n>   ␛[31mred \\![x](http://tracker)\n" in shown
            assert shown.count("42") == 1
            assert "what is 6*7" not in shown
            (message,) = [each for each in ann.state.threads.values() if each.author == "ben"]
            assert message.handler == "ben"
            await said(ear, ann, "and between turns")
            await seat.editor.until(lambda: "> ann: and between turns" in seat.editor.text())
        await ear.until(lambda: not ann.state.people["ben"].present)
        assert seat.process.returncode == 0
    assert (home / "stderr").read_text() == ""


async def test_ignored_message_ends_turn(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with (
        hosted(tmp_path / "ann") as (ann, _),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        session = await seat.joined(home)
        assert await seat.prompt(session, "I like trains.") == "end_turn"
        assert "> · genie stayed silent: " in seat.editor.text()
        assert "a message needs a text" in await failure(seat.prompt(session, " "))
        assert "no such session" in await failure(seat.prompt("x", "hi"))


async def test_a_guest_is_answered_by_the_host(tmp_path: Path) -> None:
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        editor(ann.hosting.address, tmp_path / "ben", "--guest") as seat,
    ):
        session = await seat.joined(tmp_path)
        turn = start_task(seat.prompt(session, "@genie what is 6*7?"))
        await ear.until(lambda: ann.state.pending_for("ann"))
        await seat.editor.until(seat.editor.calls)
        (call,) = seat.editor.calls()
        assert call.title == "`calculate: what it is called with is the host's alone`"
        ann.approvals.answer(call.tool_call_id, Answer(allow=True))
        assert await turn == "end_turn"
        assert seat.editor.text().count("42") == 1
        assert seat.editor.questions == []  # only the host may answer
        assert ann.state.people["ben"].role == "guest"


async def test_calls_are_asked_about_and_answered(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        session = await seat.joined(home)
        shown = seat.editor
        shown.answers.put_nowait("reject_once")
        assert await seat.prompt(session, "@genie write `a` b to notes.md") == "end_turn"
        call, options = shown.questions[-1]
        assert call.title == "`` write_file: path notes.md, content `a` b ``"
        assert call.kind == "edit"
        diff = next(each for each in call.content or [] if each.type == "diff")
        assert (diff.path, diff.new_text) == (str(home / "work" / "notes.md"), "`a` b")
        assert diff.old_text is None
        assert [each.name for each in options] == [
            "Allow",
            "Allow this same call for the session",
            "Deny",
        ]
        assert not (home / "work" / "notes.md").exists()
        assert [each.status for each in shown.calls()] == ["pending"]
        assert [each.status for each in shown.calls("tool_call_update")] == ["failed"]

        shown.answers.put_nowait("allow_once")
        assert await seat.prompt(session, "@genie run echo one") == "end_turn"
        assert "one" in shown.text()
        statuses = [each.status for each in shown.calls("tool_call_update")]
        assert statuses == ["failed", "in_progress", "completed"]

        shown.answers.put_nowait("allow_always")
        await seat.prompt(session, "@genie run echo two")
        assert len(shown.questions) == 3
        await seat.prompt(session, "@genie run echo two")
        assert len(shown.questions) == 3  # exactly the same call again
        shown.answers.put_nowait("reject_once")
        await seat.prompt(session, "@genie run echo three")
        assert len(shown.questions) == 4
        scopes = [each.scope for each in ann.state.calls.values()]
        assert scopes == ["once", "once", "session", "once", "once"]
        await ear.until(lambda: not ann.state.running)


@asynccontextmanager
async def other_terminal(
    way: str, home: Path, name: str = "ben"
) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    ear = Ear()
    places = find_locations({"GENIE_HOME": str(home)})
    opener = RoomOpener(name, Settings(local=True), places)
    ben = await opener.enter(JoinRoom(way, guest=True), ear)
    try:
        yield ben, ear
    finally:
        await ben.leave()


async def test_cancelled_question_stays_open(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with (
        hosted(tmp_path / "ann") as (ann, _),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        session = await seat.joined(home)
        async with other_terminal(ann.hosting.address, home) as (ben, ear):
            for number, is_cancelled in enumerate((True, False), 1):
                turn = start_task(seat.prompt(session, f"@genie run echo {number}"))
                if is_cancelled:
                    seat.editor.answers.put_nowait("")
                    await seat.editor.until(lambda: "still waits" in seat.editor.text())
                await seat.editor.asked(number)
                await ear.until(lambda: ben.state.pending_for("ben"))
                assert not turn.done()
                (call,) = ben.state.pending_for("ben")
                assert ben.approvals.answer(call.id, Answer(allow=True))
                assert await turn == "end_turn"
            # An answer after that changes nothing.
            seat.editor.answers.put_nowait("reject_once")
            assert await seat.prompt(session, "@genie what is 6*7?") == "end_turn"
            asked = [each for each in ann.state.calls.values() if not each.unasked]
            outcomes = [each.outcome for each in asked]
            assert outcomes == ["approved", "approved"]


async def test_guest_call_asks_hosts_editor(tmp_path: Path) -> None:
    home = tmp_path / "ann"
    async with (
        hosted(home, workspace=str(tmp_path)) as (ann, ear),
        editor(ann.hosting.address, home, name="ann") as seat,
        other_terminal(ann.hosting.address, tmp_path / "cy", "cy") as (cy, _),
    ):
        await seat.joined(tmp_path)
        elsewhere = "open at another terminal of yours"
        await seat.editor.until(lambda: elsewhere in seat.editor.text())
        ann.hosting.share(True)
        await ear.until(lambda: ann.state.sharing)
        cy.messages.send("@genie run echo hi")
        await seat.editor.asked(1)
        call, options = seat.editor.questions[0]
        assert call.title == "`run_command: command echo hi` for `cy`"
        assert [each.kind for each in options] == ["allow_once", "reject_once"]
        seat.editor.answers.put_nowait("allow_once")
        await ear.until(lambda: ann.state.threads and not ann.state.running)
        (call_,) = ann.state.calls.values()
        assert (call_.outcome, call_.settled_by) == ("approved", "ann")
        await seat.editor.until(lambda: "> genie to cy: " in seat.editor.text())


async def test_open_call_is_asked_after_restart(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with hosted(tmp_path / "ann") as (ann, ear):
        async with editor(ann.hosting.address, home, *with_engine(home)) as seat:
            session = await seat.joined(home)
            turn = start_task(seat.prompt(session, "@genie run echo later"))
            await seat.editor.asked(1)
        await ear.until(lambda: not ann.state.people["ben"].present)
        turn.cancel()
        await asyncio.wait([turn])
        assert len(seat.editor.questions) == 1
        assert len(ann.state.parked) == 1
        async with editor(ann.hosting.address, home, *with_engine(home)) as seat:
            await seat.joined(home)
            seat.editor.answers.put_nowait("allow_once")
            await seat.editor.until(lambda: "> genie to ben: " in seat.editor.text())
            assert "later" in seat.editor.text().partition("> genie to ben: ")[2]
            assert len(seat.editor.questions) == 1


async def test_cancelling_stops_the_work(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        session = await seat.joined(home)
        turn = start_task(seat.prompt(session, "@genie run sleep 300"))
        await seat.editor.until(lambda: seat.editor.questions)
        assert "still works on your last prompt" in await failure(seat.prompt(session, "again"))
        seat.editor.answers.put_nowait("")
        await seat.conn.cancel(session_id=session)
        assert await turn == "cancelled"
        assert seat.editor.calls("tool_call_update")[-1].status == "failed"
        await ear.until(lambda: not ann.state.running)
        assert await seat.prompt(session, "@genie what is 6*7?") == "end_turn"


async def test_sessions_are_views_of_one_room(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        first = await seat.joined(home)
        await seat.prompt(first, "@genie what is 6*7?")
        second = await seat.joined(home)
        await seat.editor.until(lambda: "> genie to ben: 6*7 = 42" in seat.editor.text(second))
        await said(ear, ann, "for the second")
        await seat.editor.until(lambda: "for the second" in seat.editor.text(second))
        assert "for the second" not in seat.editor.text(first)
        await seat.prompt(first, "@genie what is 6*8?")
        assert "> ann: for the second" in seat.editor.text(first)
        assert seat.editor.text(first).count("42") == 1
        assert [each.name for each in ann.state.present()] == ["ann", "ben"]


async def test_files_and_links_of_a_prompt(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    pixel = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    async with (
        hosted(tmp_path / "ann") as (ann, _),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        session = await seat.joined(home)
        uri = (home / "src" / "main.py").as_uri()
        blocks: list[Any] = [
            text_block("Look at "),
            resource_link_block("main.py", uri),
            text_block(" and "),
            resource_block(embedded_text_resource(f"{uri}#L1-2", "a ``` b")),
            resource_block(embedded_text_resource("file:///else/long.txt", "x" * 5_000)),
            image_block(base64.b64encode(pixel).decode(), "image/png"),
        ]
        await seat.conn.prompt(session_id=session, prompt=blocks)
        (message,) = ann.state.threads.values()
        assert message.said.text == (
            "Look at src/main.py and src/main.py#L1-2long.txt\n\n"
            "src/main.py#L1-2:\n````\na ``` b\n````"
        )
        assert [(each.name, each.size) for each in message.said.files] == [
            ("long.txt", 5_000),
            ("image.png", len(pixel)),
        ]


async def test_lost_connection_is_shown_and_back(tmp_path: Path) -> None:
    home = tmp_path / "ann"
    async with hosted(home) as (ann, _):
        way, saved = ann.hosting.address, ann.saved
        client = editor(way, tmp_path / "ben", *with_engine(tmp_path / "ben"))
        seat = await client.__aenter__()
        session = await seat.joined(tmp_path)
    await seat.editor.until(lambda: "connection to the room is lost" in seat.editor.text())
    assert "connection to the room is lost" in await failure(seat.prompt(session, "hello?"))
    async with hosted(home, saved) as (ann, _):
        assert ann.hosting.address == way
        await seat.editor.until(lambda: "you are in the room again" in seat.editor.text())
        assert await seat.prompt(session, "@genie what is 6*7?") == "end_turn"
        await client.__aexit__(None, None, None)


async def test_who_is_put_out_is_told(tmp_path: Path) -> None:
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        editor(ann.hosting.address, tmp_path / "ben", "--guest") as seat,
    ):
        session = await seat.joined(tmp_path)
        ann.hosting.moderate("mute", "ben")
        await ear.until(lambda: ann.state.people["ben"].muted)
        assert await seat.prompt(session, "but") == "end_turn"
        assert "the room refused your message: the host has muted you" in seat.editor.text()
        ann.hosting.moderate("ban", "ben")
        await seat.editor.until(lambda: "no longer in the room" in seat.editor.text())
        assert "does not want you in this room" in await failure(seat.prompt(session, "hello?"))
        assert "no longer in the room" in await failure(seat.joined(tmp_path))


async def test_invalid_invite_fails_session(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, _):
        invites = ann.hosting.invites
        assert invites is not None
        old = invites.issue(uses=1)
        invites.renew()
        async with editor(old, tmp_path / "ben", "--guest") as seat:
            assert "not valid" in await failure(seat.joined(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_and_it_leaves_the_room(number: int, tmp_path: Path) -> None:
    home = tmp_path / "ben"
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        editor(ann.hosting.address, home, *with_engine(home)) as seat,
    ):
        await seat.joined(tmp_path)
        os.kill(seat.process.pid, number)
        await ear.until(lambda: not ann.state.people["ben"].present)


async def test_only_protocol_reaches_stdout(tmp_path: Path) -> None:
    home = tmp_path / "ben"
    (home / "work").mkdir(parents=True)
    async with hosted(tmp_path / "ann") as (ann, ear):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "genie_tui", "acp", ann.hosting.address, "--name", "ben"),
            *("--set", "local=true", *with_engine(home)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**ENV, "GENIE_HOME": str(home)},
        )
        assert process.stdin is not None
        assert process.stdout is not None

        async def ask(id_: int, method: str, **params: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            frame = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
            process.stdin.write(json.dumps(frame).encode() + b"\n")
            async with asyncio.timeout(DEADLINE):
                while (got := json.loads(await process.stdout.readline())).get("id") != id_:
                    assert got["jsonrpc"] == "2.0"
            return got["result"]

        await ask(1, "initialize", protocolVersion=1, unknown={"field": True})
        new = await ask(2, "session/new", cwd=str(home), mcpServers=[])
        prompt = [{"type": "text", "text": "@genie what is 6*7?"}]
        done = await ask(3, "session/prompt", sessionId=new["sessionId"], prompt=prompt)
        assert done["stopReason"] == "end_turn"
        process.stdin.close()
        rest, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
        assert process.returncode == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
        await ear.until(lambda: not ann.state.people["ben"].present)
        assert [
            each.decision for each in (e.body for e in ear.events) if isinstance(each, DecisionMade)
        ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["genie1-nonsense"], "this invite can't be used"),
        ([":7654", "--name", "a b"], "it contains a space"),
        ([":7654", "--model", "openai:gpt-5"], "OPENAI_API_KEY"),
        ([":7654", "--guest", "--model", "x:y"], "--model has no effect"),
        ([":7654"], "an editor starts this"),
    ],
)
def test_what_can_not_be_used_at_all_is_one_line(
    arguments: list[str], expected: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "genie_tui", "acp", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=scaled(60),
        check=False,
        env={**ENV, "GENIE_HOME": str(tmp_path)},
    )
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_loads_no_screen() -> None:
    code = (
        "import sys, genie_tui.cli.main, genie_bridges.cli.acp, genie_bridges.acp.stdio;"
        "sys.exit(' '.join({'textual', 'pydantic_ai', 'openai', 'agents'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=scaled(60), env=ENV)
