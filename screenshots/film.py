"""The animated picture of the README: a room as the program records it and exports it."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from textual.pilot import Pilot

from genie_core.room.client.model import Answer
from genie_core.room.open.requests import NewRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.settings.model import Settings
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say
from genie_tui.exit_report import ExitReport
from screenshots.stage import HERE, WIDE, app_for, seated, until, visitor

PLAN = """# Launch

- Tuesday 17:00: freeze
- Thursday 14:00: announcement
"""
EDIT = {"path": "launch.md", "old": "Tuesday 17:00: freeze", "new": "Tuesday 12:00: freeze"}
KEY = "sk-scripted-key"


def _decided(decision: str, reason: str, query: str | None = None) -> Say:
    ruling = {"decision": decision, "query": query, "receiver": None, "reason": reason}
    return Say(json.dumps(ruling))


SCRIPT = (
    _decided("ignore", "Ben tells ann something; he asks no question."),
    _decided("delegate", "Ann asks about the plan.", "When is the freeze?"),
    Call("read_file", {"path": "launch.md"}),
    Say("The freeze is on **Tuesday at 17:00**, the announcement on Thursday at 14:00."),
    _decided("ignore", "Ben asks ann, and she decides about the dates."),
    Call("edit_file", EDIT),
    Say("Done: the freeze is on **Tuesday at 12:00** now."),
    _decided("ignore", "Ben says thanks."),
)
"""The words of the model, in the order in which it is asked."""


async def film(folder: Path) -> None:
    """Record a conversation of about fifteen seconds and export it as an animated picture."""
    workspace = folder / "launch"
    workspace.mkdir()
    (workspace / "launch.md").write_text(PLAN, "utf-8")
    os.environ["OPENAI_API_KEY"] = KEY
    async with FakeOpenAI(*SCRIPT, api_key=KEY) as server:
        settings = Settings(
            model="openai:gpt-5",
            base_url=server.base_url,
            api_key_env="OPENAI_API_KEY",
            workspace=str(workspace),
            local=True,
        )
        room = await _recorded(folder, settings)
    picture = HERE / "room-animated.svg"
    export = ["sessions", "export", room, "--format", "svg", "--force", "-o", str(picture)]
    exporting = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "genie_tui",
        *export,
        env={**os.environ, "GENIE_HOME": str(folder / "ann")},
    )
    if await exporting.wait():
        raise SystemExit("the room was not exported")
    picture.chmod(0o644)  # exports are private


async def _recorded(folder: Path, settings: Settings) -> str:
    app = app_for(folder, NewRoom("Launch week"), settings)
    async with app.run_test(size=WIDE) as pilot:
        ann = await seated(app, pilot)
        ben = await visitor("ben", folder, ann.hosting.address, guest=True)
        ben.messages.send("Morning! Marketing asks about our dates.")
        await _quiet(ann, 1, pilot)
        ann.messages.send("When is the freeze? It is in launch.md.")
        await _quiet(ann, 2, pilot)
        ben.messages.send("Could it be earlier? They need half a day.")
        await _quiet(ann, 3, pilot)
        ann.messages.send("@genie move the freeze to noon, please")
        await until(lambda: bool(ann.state.pending_for("ann")), pilot)
        await pilot.pause(2.0)
        ann.approvals.answer(ann.state.pending_for("ann")[0].id, Answer(allow=True))
        await _quiet(ann, 4, pilot)
        ben.messages.send("Perfect, thank you both 🎉")
        await _quiet(ann, 5, pilot)
        room = ann.saved
        await ben.leave()
        await ann.leave()
    return room


async def _quiet(ann: JoinedRoom, messages: int, pilot: Pilot[tuple[ExitReport, ...]]) -> None:
    """Wait until that many messages have their decision and answer, and a reader has read them."""
    await until(lambda: len(ann.state.threads) == messages and not ann.state.running, pilot)
    await pilot.pause(1.0)


async def main() -> None:
    os.environ.setdefault("TERM", "xterm-256color")
    with tempfile.TemporaryDirectory() as name:
        await film(Path(name))


if __name__ == "__main__":
    asyncio.run(main())
