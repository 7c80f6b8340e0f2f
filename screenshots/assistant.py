"""The assistant's scenes: the real app and the real client libraries, a model that follows a script."""

import json
import os
from pathlib import Path

from genie_core.room.client.model import EngineState
from genie_core.room.open.requests import NewRoom
from genie_core.room.open.service import RoomService
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import AgentTable, BudgetTable, Settings
from genie_testing.openai import FakeOpenAI
from genie_testing.openai.request import ModelRequest
from genie_testing.turns import Call, Calls, Say, Turn
from genie_tui.app import GenieApp
from genie_tui.screens.dialogs.edit_call import EditCallScreen
from genie_tui.screens.settings import SettingsForm
from screenshots.stage import WIDE, app_for, room_of, seated, shoot, until, visitor

REPORT = """# Quarter

| month | tickets |
|---|--:|
| July | 412 |
| August | 388 |
| September | 451 |
| total | 1,215 |
"""

QUESTION = "@genie is the total in quarter.md right? Put it right if not."
EDIT = {"path": "quarter.md", "old": "| total | 1,215 |", "new": "| total | 1251 |"}

KEY = "sk-scripted-key"
SETTINGS = """# What I use for work.
model = "openai:gpt-5"
reasoner_model = "openai:gpt-5-mini"  # it only decides
workspace = "~/report"
"""

TEAM = {
    "researcher": AgentTable("Looks things up and reports where they stand.", emoji="🔎"),
    "coder": AgentTable("Writes and changes files.", emoji="🔧"),
}


class Script(FakeOpenAI):
    """A model that says what its part in the scene is, whoever of the team asks it."""

    def _next_turn(self, request: ModelRequest) -> Turn:
        if request.structured:
            return Say(json.dumps({"decision": "ignore", "reason": "The two of them talk."}))
        results = [entry for entry in request.entries if entry.role == "tool"]
        if "You look things up" in request.instructions:
            return (
                Say("412 + 388 + 451 is 1,251; line 8 says 1,215.")
                if results
                else Call("read_file", {"path": "quarter.md"})
            )
        if "You write and change code" in request.instructions:
            return Say("Line 8 is right now.") if results else Call("edit_file", EDIT)
        if results:
            return Say("No: the months add up to **1,251**. I have put line 8 right.")
        return Calls(
            Call("run_subagent", {"subagent_name": "researcher", "query": "Add up quarter.md."}),
            Call("run_subagent", {"subagent_name": "coder", "query": "Put the total right."}),
        )


async def assistant(folder: Path) -> None:
    """Take the pictures of settings, team, an edited call, and costs."""
    workspace = folder / "report"
    workspace.mkdir()
    (workspace / "quarter.md").write_text(REPORT, "utf-8")
    os.environ["OPENAI_API_KEY"] = KEY
    async with Script(api_key=KEY) as server:
        settings = Settings(
            model="openai:gpt-5",
            reasoner_model="openai:gpt-5-mini",
            base_url=server.base_url,
            api_key_env="OPENAI_API_KEY",
            reasoner_base_url=server.base_url,
            reasoner_api_key_env="OPENAI_API_KEY",
            workspace=str(workspace),
            local=True,
            agents=TEAM,
            budget=BudgetTable(money=2.0),
        )
        await _in_room(folder, server, settings)
    await _settings(folder)


async def _in_room(folder: Path, server: FakeOpenAI, settings: Settings) -> None:
    app = app_for(folder, NewRoom("Quarter"), settings)
    async with app.run_test(size=WIDE) as pilot:
        ann = await seated(app, pilot)
        ben = await visitor("ben", folder, ann.hosting.address)
        await until(lambda: ben.engine.status.state is EngineState.READY, pilot)
        ann.messages.send("I have put the numbers of the quarter into quarter.md.")
        ben.messages.send("Thanks, I will have a look.")
        await until(lambda: len(ann.state.threads) == 2 and not ann.state.running, pilot)
        ann.messages.send(QUESTION)
        await until(lambda: bool(ann.state.pending_for("ann")), pilot)
        await until(lambda: len(server.requests) >= 5, pilot)
        await pilot.press("f2")
        await pilot.pause(1.0)
        shoot(app, "team")

        await pilot.press("escape", "ctrl+g")
        await pilot.pause(1.5)
        await pilot.press("e")
        await until(lambda: isinstance(app.screen, EditCallScreen), pilot)
        await pilot.press("ctrl+home", *["down"] * 3, "end", *["left"] * 7, "comma")
        await pilot.press("ctrl+s")
        await pilot.pause(1.5)
        shoot(app, "edit")
        await pilot.press("enter")
        await until(lambda: not ann.state.running, pilot)
        await pilot.press("escape")
        room_of(app).draft = "/cost"
        await pilot.press("enter")
        await pilot.pause(1.0)
        shoot(app, "cost")
        await pilot.press("escape")
        await ben.leave()
        await ann.leave()


async def _settings(folder: Path) -> None:
    os.environ["HOME"] = str(folder / "ann")  # so that no picture names a folder of this machine
    home = Locations(folder / "ann/.config/genie-tui", folder / "ann/data", folder / "ann/log")
    home.config.mkdir(parents=True, exist_ok=True)
    home.settings_file.write_text(SETTINGS, "utf-8")
    source = SettingsSource(home.settings_file, {}, {})
    service = RoomService("ann", Settings(local=True), home)
    app = GenieApp(service, None, "ann", form=SettingsForm(source, home, "ann", service.use))
    async with app.run_test(size=(110, 34)) as pilot:
        await pilot.pause(0.5)
        await pilot.press("f12")
        await pilot.pause(1.0)
        shoot(app, "settings")
