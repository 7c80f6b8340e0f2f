"""A secret is used everywhere and seen nowhere: not in files, not in frames, not on the screen."""

import asyncio
import base64
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from keyring.backends import fail
from tests.genie_core.room.live_room import Ear
from tests.limits import scaled
from textual.pilot import Pilot

from genie_core.assistant.config import Library
from genie_core.assistant.secrets import SHARED
from genie_core.logging import DiscreetFormatter
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.room.client.model import Answer, EngineState
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, NewRoom
from genie_core.room.open.service import RoomService
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol import codec
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import AgentTable, Settings
from genie_core.settings.preferences import keep_preferences, preferences_file
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Refuse, Say
from genie_tui.app import GenieApp
from genie_tui.cli.main import main
from genie_tui.screens.room import RoomScreen

KEY = "sk-scripted-zq81kd03mv"
VALUE = 'correct horse/"bättery" 7'
CODED = base64.b64encode(VALUE.encode()).decode()
FORMS = (
    KEY,
    VALUE,
    CODED.rstrip("="),
    base64.b64encode(f"key:{VALUE}".encode()).decode()[8:-4],
    json.dumps(VALUE)[1:-1],
    json.dumps(VALUE, ensure_ascii=False)[1:-1],
    quote(VALUE),
    "horse/",
)
DEADLINE = scaled(60.0)
SERVER = Path(__file__).with_name("echoing_server.py")


@pytest.fixture
def locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Locations]:
    """A home with two secrets, a tool server that is given one of them, and a log."""
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    monkeypatch.setattr("keyring.get_keyring", fail.Keyring)
    monkeypatch.setenv("GENIE_HOME", str(tmp_path / "ann"))
    for name, value in (("OPENAI_API_KEY", KEY), ("ECHO_SECRET", VALUE)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{value}\n"))
        assert main(["secrets", "set", name]) == 0
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())  # as in the next process
    found = find_locations(os.environ)
    found.config.mkdir()
    server = {"command": sys.executable, "args": [str(SERVER)], "env": {"ECHOED": "${ECHO_SECRET}"}}
    found.servers_file.write_text(json.dumps({"mcpServers": {"echo": server}}))
    keep_preferences(preferences_file(found.preferences, "ann"), "in rhymes")
    found.log.mkdir()
    log = logging.FileHandler(found.log_file)
    log.setFormatter(DiscreetFormatter())
    logging.getLogger().addHandler(log)
    yield found
    logging.getLogger().removeHandler(log)
    log.close()


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All that goes over connections, as it is written."""
    sent: list[bytes] = []
    encode = codec._encode

    def noted(part: Any) -> bytes:
        sent.append(encode(part))
        return sent[-1]

    monkeypatch.setattr(codec, "_encode", noted)
    return sent


async def files_in(folder: Path) -> list[Path]:
    """All files, once the closed room is indexed."""
    while any(folder.rglob("search.sqlite3-*")):
        await asyncio.sleep(0.02)
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_repeated_secret_leaks_nowhere(
    runtime: Library, locations: Locations, frames: list[bytes], tmp_path: Path
) -> None:
    """The model's replies are scripted; it knows the secret by magic."""
    turns = (
        Call("echo_tell", {"with": VALUE}),
        Call("echo_fail", {"with": CODED}),
        Say(f"The secret is {VALUE}, which is {CODED}. The key is {KEY} now."),
        Refuse(400, message=f"no idea what {VALUE} or {KEY} is"),
    )
    screens: list[str] = []
    async with FakeOpenAI(*turns, api_key=KEY) as model:
        settings = Settings(
            model="scripted-1",
            base_url=model.base_url,
            api_key_env="OPENAI_API_KEY",
            runtime=runtime,
            local=True,
        )
        app = GenieApp(RoomService("ann", settings, locations), NewRoom("Lab"), "ann")
        async with app.run_test(size=(160, 50)) as pilot:
            ann = await joined_room_of(app, pilot)
            home = Locations(tmp_path / "c", tmp_path / "bob", tmp_path / "l")
            ear = Ear()
            entrance = RoomOpener("bob", Settings(local=True), home)
            bob = await entrance.enter(JoinRoom(ann.hosting.address, guest=True), ear)
            try:
                ann.messages.send("@genie tell and fail")
                for tool in ("echo_tell", "echo_fail"):
                    await until(pilot, lambda tool=tool: waiting(ann) == tool)  # type: ignore[misc] # mypy can't infer a lambda with a default
                    await pilot.pause()
                    screens.append(dump(app))
                    (call,) = ann.state.open.values()
                    assert call.arguments == {"with": HIDDEN}
                    edited = {"with": HIDDEN} if tool == "echo_tell" else None
                    assert ann.approvals.answer(call.id, Answer(allow=True, arguments=edited))
                await until(pilot, lambda: len(ended(ann)) == 1)
                await pilot.pause()
                screens.append(dump(app))
                ann.messages.send("@genie what is wrong?")
                await until(pilot, lambda: len(ended(ann)) == 2)
                await until(pilot, lambda: bob.state.head == ann.state.head)
                await pilot.pause()
                screens.append(dump(app))
                await app.screen.run_action("command('activity')")
                await pilot.press("end", "enter", "home", "enter")
                await pilot.pause()
                screens.append(dump(app))
                await pilot.press("f9")
                await pilot.pause()
                screens.append(dump(app))
                answer, failure = ended(ann)
                assert (
                    answer == f"The secret is {HIDDEN}, which is {HIDDEN}. The key is {HIDDEN} now."
                )
                assert f"no idea what {HIDDEN} or {HIDDEN} is" in failure
                shown = "".join(text for _, text in ear.deltas)
                assert answer.startswith(shown)  # the last words may come with the answer only
                assert bob.state.preferences == {"ann": "in rhymes"}
                assert any("in rhymes" in text for text in model.requests[0].texts)
                # The tools were called with the secret itself, and the model never saw it again.
                told, failed = model.requests[2].tool_results
                assert sha256(VALUE.encode()).hexdigest() in told
                assert sha256(CODED.encode()).hexdigest() in failed
                assert told.count(HIDDEN) == failed.count(HIDDEN) == 2
            finally:
                await bob.leave()
            await ann.leave()
    assert any(HIDDEN in screen for screen in screens)
    assert_nowhere(screens)
    assert_nowhere([repr((ear.deltas, ear.progress, ear.notices, ear.engines))])
    assert HIDDEN.encode() in b"".join(frames)
    assert_nowhere(frame.decode() for frame in frames)
    files = await files_in(tmp_path)
    names = {file.name for file in files}
    assert {"events.jsonl", "genie-tui.log", "secrets.json"} <= names
    own = locations.secrets / SHARED / "secrets.json"
    kept = [file for file in files if file != own and "-journal" not in file.name]
    assert_nowhere(file.read_bytes().decode(errors="replace") for file in kept)
    assert any("engine" in str(file) and HIDDEN in file.read_text() for file in kept)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_provider_text_reaches_only_owner(
    runtime: Library, locations: Locations, frames: list[bytes], tmp_path: Path
) -> None:
    """Bob is a guest whom ann's engine serves, and shares her room with a member's copy of it."""
    said = f"Incorrect API key provided: …{KEY[-4:]} (sk-…{KEY[-4:]}, ****{KEY[-4:]}), org-acme"
    pieces = [KEY[start : start + 5] for start in range(KEY.index("zq"), len(KEY) - 4)]
    more = (*pieces, KEY[::-1], KEY.upper(), base64.b64encode(KEY.encode()).decode(), "db.acme.lan")
    said = f"{said} http://me:{KEY}@db.acme.lan:8443/v1 {' '.join(more)}"
    refusals = [Refuse(status, f"{said}, {status}") for status in (401, 403, 400)]
    agents = {"coder": AgentTable(description="Codes.")}
    async with FakeOpenAI(api_key=KEY) as model:
        settings = Settings(
            model="scripted-1",
            base_url=model.base_url,
            api_key_env="OPENAI_API_KEY",
            runtime=runtime,
            local=True,
            agents=agents,
        )
        gateway = model.base_url.removeprefix("http://").removesuffix("/v1")
        private = (KEY[-4:], gateway, "org-acme", "Incorrect")
        app = GenieApp(RoomService("ann", settings, locations), NewRoom("Lab"), "ann")
        async with app.run_test(size=(200, 60)) as pilot:
            ann = await joined_room_of(app, pilot)
            home = Locations(tmp_path / "c", tmp_path / "bob", tmp_path / "l")
            ear = Ear()
            bob = await RoomOpener("bob", Settings(local=True), home).enter(
                JoinRoom(ann.hosting.address, guest=True), ear
            )
            try:
                for number, refusal in enumerate(refusals, 1):
                    model.script(refusal)
                    who = bob if number == 1 else ann
                    who.messages.send(f"@genie number {number}")
                    await until(pilot, lambda number=number: len(ended(ann)) == number)  # type: ignore[misc] # mypy can't infer a lambda with a default
                model.script(refusals[0])
                bob.messages.send("good morning to all")  # which the reasoner decides about
                await until(pilot, lambda: len(ended(ann)) == 4)
                ask = Call("run_subagent", {"query": "Code!", "subagent_name": "coder"})
                model.script(ask, refusals[0], Say("oh"))
                ann.messages.send("@genie code")
                await until(pilot, lambda: len(ended(ann)) == 5)
                await until(pilot, lambda: bob.state.head == ann.state.head)
                await pilot.pause()
                screen = dump(app)
                assert all(each in screen for each in private), screen
                assert ended(bob)[-1] == "oh"
                for error in ended(bob)[:4]:
                    assert "the model's provider refused" in error
                    assert error.endswith("; ann sees the details")
                assert any("refused the key" in text for *_, text in ear.progress)
                (result,) = model.requests[-1].tool_results
                assert "the model's provider refused the key" in result
            finally:
                await bob.leave()
            await ann.leave()
    told = [repr((ear.events, ear.deltas, ear.progress, ear.notices, ear.engines))]
    told += [frame.decode() for frame in frames]
    files = await files_in(tmp_path)
    own = {locations.log_file, locations.secrets / SHARED / "secrets.json"}
    assert any(file.name == "events.jsonl" for file in files)
    for file in files:
        if file not in own:
            text = file.read_bytes().decode(errors="replace")
            # What an engine remembers stays on its owner's machine, with the address of its model.
            told.append(text.replace(gateway, "") if "engine" in file.parts else text)
    for text in told:
        assert not [each for each in (*private, *more) if each in text], text


def assert_nowhere(texts: Iterable[str]) -> None:
    for text in texts:
        assert not [form for form in FORMS if form in text], text


async def joined_room_of(app: GenieApp, pilot: Pilot[Any]) -> JoinedRoom:
    """The seat in the room that the app opens, with its engine ready."""
    async with asyncio.timeout(DEADLINE):
        while not isinstance(app.screen, RoomScreen) or app.screen.joined is None:
            await pilot.pause()
    joined = app.screen.joined
    await until(pilot, lambda: joined.engine.status.state is not EngineState.LOADING)
    assert joined.engine.status.state is EngineState.READY, joined.engine.status.detail
    return joined


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await pilot.pause()


def waiting(joined: JoinedRoom) -> str:
    """The tool that waits for the person, if one does."""
    return next((call.tool for call in joined.state.pending_for(joined.name)), "")


def ended(joined: JoinedRoom) -> list[str]:
    """How the messages ended, in order."""
    threads = joined.state.threads.values()
    answers = [e.answer.text if e.answer else e.error.error if e.error else "" for e in threads]
    return [answer for answer in answers if answer]


def dump(app: GenieApp) -> str:
    """What is on the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
