"""`genie-tui replay --reasoner`, from the command line to the report beside the room."""

import asyncio
import io
import os
import signal
import stat
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.contract.assisted import KEY, delegates, ignores
from tests.genie_core.sessions.recorded import Recorded
from tests.limits import scaled

from eval_tests.cli.decided_log import LOG
from genie_core.assistant.errors import UnknownTemplate, UnreadableTemplate
from genie_core.assistant.what_if.report import Summary, WhatIfReport
from genie_core.assistant.what_if.saved_reports import FOLDER, saved
from genie_core.sessions.errors import UnknownSession
from genie_core.sessions.labels import Label, Labels
from genie_core.sessions.session import SavedSession
from genie_core.settings.load import SettingsSource
from genie_core.settings.model import Settings
from genie_eval.cli.what_if import INTERRUPTED, NothingDecided, what_if
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Refuse, Stall
from genie_tui.cli.commands import parser

pytestmark = pytest.mark.timeout(180)

KEYED = ("--api-key-env", "OPENAI_API_KEY")


class Shell:
    """Runs the command in this process, on one recorded room."""

    def __init__(self, folder: Path) -> None:
        self.recorded = Recorded(folder)
        self.room: SavedSession = self.recorded.session("Garden", *LOG)
        self.out = self.problems = ""

    def run(self, *arguments: str) -> int:
        options = parser().parse_args(["replay", *arguments])
        given = {field: getattr(options, field, None) for field in Settings.__struct_fields__}
        locations = self.recorded.locations
        env = {"OPENAI_API_KEY": KEY}
        source = SettingsSource(locations.settings_file, env, given)
        out, problems = io.StringIO(), io.StringIO()
        try:
            return what_if(options, source, locations, env, out, problems)
        finally:
            self.out, self.problems = out.getvalue(), problems.getvalue()

    def reports(self) -> list[WhatIfReport]:
        return list(saved(self.room.folder))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_offline_helper_decides_by_default(shell: Shell) -> None:
    before = shell.room.log_path.read_bytes()
    assert shell.run(shell.room.id, "--reasoner", "general_assist") == 0
    assert shell.room.log_path.read_bytes() == before
    assert "What if general_assist with offline helper had decided" in shell.out
    assert "ann: what is 2+2?" in shell.out
    assert "good morning" not in shell.out
    assert "asking offline helper about 3 messages" in shell.problems
    (report,) = shell.reports()
    assert (report.session, report.title) == (shell.room.id, "Garden")
    assert report.summary == Summary(agree=2, newly_delegated=1)
    (kept,) = (shell.room.folder / FOLDER).glob("*.md")
    assert str(kept) in shell.out
    assert "6\\*7" not in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_latest_room_is_default(shell: Shell) -> None:
    assert shell.run("--reasoner", "mention_only") == 0
    (report,) = shell.reports()
    assert report.model == "no model"
    assert report.summary == Summary(agree=2, newly_ignored=1)


def test_marks_are_compared_with(shell: Shell) -> None:
    Labels.read(shell.room.folder).put(Label(9, "wrong", "ignore", 1.0, "ann"))
    assert shell.run("--reasoner", "general_assist") == 0
    assert "You marked 1 decision as wrong: 1 would be decided the other way" in shell.out
    assert "you marked it as wrong" in shell.out


def test_a_part_of_the_room_can_be_asked_about(shell: Shell) -> None:
    assert shell.run("--reasoner", "general_assist", "--from", "6", "--to", "7") == 0
    (report,) = shell.reports()
    assert (report.total, report.summary) == (1, Summary(agree=1))


def test_a_prompt_may_be_any_file(shell: Shell, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.md"
    prompt.write_text("You are {owner}'s.")
    assert shell.run("--reasoner", str(prompt)) == 0
    (report,) = shell.reports()
    assert report.template == "mine"
    with pytest.raises(UnreadableTemplate, match="No such file"):
        shell.run("--reasoner", str(tmp_path / "none.md"))


def test_invalid_input_fails_before_asking(shell: Shell) -> None:
    with pytest.raises(UnknownTemplate, match="general_assist"):
        shell.run("--reasoner", "general_asist")
    with pytest.raises(UnknownSession):
        shell.run("nowhere", "--reasoner", "mention_only")
    with pytest.raises(NothingDecided, match="Garden"):
        shell.run("--reasoner", "mention_only", "--from", "10")
    assert shell.reports() == []


async def test_given_model_is_asked_by_client(shell: Shell) -> None:
    replies = (ignores("quiet"), ignores("not mine"), delegates("2+2", "ann", "a sum"))
    async with FakeOpenAI(*replies, api_key=KEY) as server:
        way = ("--model", "scripted-1", "--base-url", server.base_url, *KEYED)
        async with asyncio.timeout(scaled(120)):
            code = await asyncio.to_thread(shell.run, "--reasoner", "fact_check", *way)
        shown = server.requests[-1].texts
    assert code == 0
    (report,) = shell.reports()
    assert (report.template, report.model) == ("fact_check", "scripted-1")
    assert report.summary == Summary(agree=1, newly_delegated=1, newly_ignored=1)
    assert any("2+2" in text for text in shown)
    assert any("42" in text for text in shown)
    assert (report.spent[0].model, report.spent[0].requests) == ("scripted-1", 3)
    assert "tok" in shell.out


async def test_failing_model_exits_1_with_report(shell: Shell) -> None:
    async with FakeOpenAI(*[Refuse(400, "no")] * 9, api_key=KEY) as server:
        way = ("--model", "scripted-1", "--base-url", server.base_url, *KEYED)
        async with asyncio.timeout(scaled(120)):
            code = await asyncio.to_thread(shell.run, "--reasoner", "fact_check", *way)
    assert code == 1
    (report,) = shell.reports()
    assert report.summary == Summary(failed=3)
    assert shell.out.count("FAILED") == 3


async def test_ctrl_c_keeps_what_was_found(shell: Shell, tmp_path: Path) -> None:
    async with FakeOpenAI(delegates("hello", "ann", "polite"), Stall(), api_key=KEY) as server:
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "genie_tui", "replay", "--reasoner", "fact_check"),
            *("--model", "scripted-1", "--base-url", server.base_url, *KEYED),
            env={**os.environ, "GENIE_HOME": str(tmp_path), "OPENAI_API_KEY": KEY},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Where tests run in the background, they and what they start would ignore it.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        try:
            async with asyncio.timeout(scaled(120)):
                await server.reached(2)
                program.send_signal(signal.SIGINT)
                out, problems = await program.communicate()
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
    assert program.returncode == INTERRUPTED, problems.decode()
    assert b"Traceback" not in problems
    assert b"Not complete: it was interrupted; 2 messages not asked about" in out
    (report,) = shell.reports()
    assert report.summary == Summary(newly_delegated=1)
    assert report.changed[0].text == "good morning"
