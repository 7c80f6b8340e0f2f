"""`genie-tui eval`: reasoners measured by the labels of several sessions."""

import asyncio
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Dataset
from tests.contract.assisted import KEY, delegates, ignores
from tests.genie_core.sessions.recorded import Recorded
from tests.limits import scaled

from eval_tests.cli.decided_log import LOG as DECIDED
from genie_core.assistant.errors import UnknownTemplate
from genie_core.room.protocol.events import AnyBody, DecisionMade, MessagePosted
from genie_core.sessions.errors import UnknownSession
from genie_core.sessions.export.formats import InTheWay
from genie_core.sessions.labels import Label, Labels
from genie_core.sessions.session import SavedSession
from genie_core.settings.load import SettingsSource
from genie_eval.cli.eval import NothingLabelled, run_eval
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Refuse
from genie_tui.cli.commands import parse
from genie_tui.cli.options import settings_in

pytestmark = pytest.mark.timeout(180)

LOG: tuple[AnyBody, ...] = (
    *DECIDED,
    MessagePosted("d", "I like \x1b[2J roses", handler="ann"),
    DecisionMade(11, "delegate", "eager", "roses?", "ann"),
)


class Shell:
    """Runs the command in this process, on two recorded rooms."""

    def __init__(self, folder: Path) -> None:
        self.recorded = Recorded(folder)
        self.garden = self.recorded.session("Garden", *LOG)
        self.house = self.recorded.session("House", *LOG)
        self.out = self.problems = ""

    def mark(self, saved: SavedSession, seq: int, decision: str) -> None:
        label = Label(seq, "wrong", decision, 1.0, "ann")  # type: ignore[arg-type]
        Labels.read(saved.folder).put(label)

    def run(self, *arguments: str) -> int:
        options = parse(["eval", *arguments])
        locations = self.recorded.locations
        env = {"OPENAI_API_KEY": KEY}
        source = SettingsSource(locations.settings_file, env, settings_in(options))
        out, problems = io.StringIO(), io.StringIO()
        try:
            return run_eval(options, source, locations, env, out, problems)
        finally:
            self.out, self.problems = out.getvalue(), problems.getvalue()

    async def ask(self, server: FakeOpenAI, *arguments: str) -> int:
        way = ("--model", "scripted-1", "--base-url", server.base_url)
        key = ("--api-key-env", "OPENAI_API_KEY")
        async with asyncio.timeout(scaled(120)):
            return await asyncio.to_thread(self.run, *arguments, *way, *key)

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.out)
        return told


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    shell.mark(shell.garden, 9, "ignore")
    shell.mark(shell.garden, 11, "delegate")
    shell.mark(shell.house, 9, "ignore")
    return shell


def test_labels_alone_are_measured_by(shell: Shell) -> None:
    ids = shell.garden.id, shell.house.id
    assert shell.run(*ids, "--reasoner", "general_assist", "--json") == 0
    original = shell.told()
    assert original["score"] == {
        "delegated": 2, "missed": 0, "unwanted": 0, "ignored": 1, "failed": 0
    }  # fmt: skip
    assert (original["precision"], original["recall"], original["total"]) == (1.0, 1.0, 3)
    assert original["sessions"] == list(ids)
    assert [(each["session"], each["should"]) for each in original["cases"]] == [
        (shell.garden.id, "delegate"),
        (shell.garden.id, "ignore"),
        (shell.house.id, "delegate"),
    ]


def test_trusted_recorded_decisions_count(shell: Shell) -> None:
    way = (shell.garden.id, shell.house.id, "--reasoner", "mention_only", "--trust-recorded")
    assert shell.run(*way) == 0
    assert "8 decisions in 2 sessions, unmarked decisions count as right" in shell.out
    rows = [line.split() for line in shell.out.splitlines()[-7:]]
    assert rows[0] == ["DELEGATED", "IGNORED"]
    assert rows[1][-2:] == ["0", "5"]
    assert rows[2][-2:] == ["0", "3"]
    assert rows[-1] == ["as", "recorded", "75.0", "%", "60.0", "%", "5", "of", "8", "0"]
    assert "what is 2+2?" in shell.out
    assert "should be delegated\n    IGNORE" in shell.out
    assert "\x1b" not in shell.out


def test_shares_below_a_minimum_fail(shell: Shell) -> None:
    way = (shell.garden.id, "--reasoner", "mention_only")
    assert shell.run(*way, "--min-recall", "0.5") == 1
    assert "the recall is 0.0 %, and 50.0 % are asked for" in shell.problems
    assert shell.run(*way, "--min-precision", "0.5") == 1
    assert "there is nothing to measure the precision by" in shell.problems
    way = (shell.garden.id, "--reasoner", "general_assist")
    assert shell.run(*way, "--min-recall", "1", "--min-precision", "1") == 0
    assert shell.problems == "asking offline helper about 4 messages of " + shell.garden.id + "\n"
    for wrong in ("90", "-1", "much", "nan"):
        with pytest.raises(SystemExit):
            shell.run(*way, "--min-recall", wrong)


async def test_what_was_decided_is_asked_once(shell: Shell) -> None:
    replies = (ignores("1"), delegates("q", "ann", "2"), delegates("q", "ann", "3"), ignores("4"))
    async with FakeOpenAI(*replies, api_key=KEY) as server:
        way = (shell.garden.id, "--reasoner", "fact_check", "--json")
        assert await shell.ask(server, *way) == 0
        first = shell.told()
        assert await shell.ask(server, *way) == 0
        again = shell.told()
        assert len(server.requests) == 4
    assert (first["asked"], again["asked"]) == (4, 0)
    assert first["spent"][0]["requests"] == 4
    assert {**again, "asked": 4} == first
    assert first["cases"][0]["result"]["after"]["reason"] == "3"


async def test_what_failed_is_asked_again(shell: Shell) -> None:
    refused = [Refuse(400, "no")] * 3
    async with FakeOpenAI(*refused, api_key=KEY) as server:
        way = (shell.house.id, "--reasoner", "fact_check")
        assert await shell.ask(server, *way) == 1
        assert "1 decision of 1 failed or not asked for" in shell.problems
        assert "FAILED" in shell.out
    replies = [delegates("q", "ann", "now")] * 3
    async with FakeOpenAI(*replies, api_key=KEY) as server:
        assert await shell.ask(server, *way, "--min-recall", "1") == 0


def test_what_cant_be_is_said(shell: Shell) -> None:
    with pytest.raises(UnknownSession):
        shell.run("nowhere")
    with pytest.raises(UnknownTemplate):
        shell.run(shell.garden.id, "--reasoner", "general_asist")
    plain = shell.recorded.session("Plain", *LOG[:2])
    with pytest.raises(NothingLabelled, match="mark some with !"):
        shell.run(plain.id)
    empty = shell.recorded.said("Empty", "hi")
    with pytest.raises(NothingLabelled, match="no decision was recorded"):
        shell.run(empty.id, "--trust-recorded")
    assert "has no decision to measure by" in shell.problems


@dataclass
class Inputs:
    sender: str
    owner: str
    messages: list[dict[str, str]]


@pytest.mark.parametrize("name", ["labels.json", "labels.yaml"])
async def test_pydantic_evals_reads_the_dataset(shell: Shell, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert shell.run(shell.garden.id, shell.house.id, "--dataset", str(path)) == 0
    assert f"3 cases written to {path}" in shell.out
    dataset = Dataset[Inputs, str, dict[str, Any]].from_file(path)
    first = dataset.cases[0]
    assert (first.name, first.expected_output) == (f"{shell.garden.id}#9", "delegate")
    assert first.inputs.sender == first.inputs.owner == "ann"
    assert [each["content"] for each in first.inputs.messages] == [
        "good morning",
        "genie, what is 6*7?",
        "42",
        "what is 2+2?",
    ]
    assert first.metadata is not None
    assert first.metadata["reason"] == "nobody asked"
    assert first.metadata["marked"]

    async def always(inputs: Inputs) -> str:
        return "delegate"

    report = await dataset.evaluate(always, progress=False)
    right = [all(each.value for each in case.assertions.values()) for case in report.cases]
    assert right == [True, False, True]
    with pytest.raises(InTheWay):
        shell.run(shell.garden.id, "--dataset", str(path))


def test_dataset_includes_trusted_if_asked(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    assert shell.run(shell.house.id, "--trust-recorded", "--dataset", str(path)) == 0
    told = json.loads(path.read_text())
    assert [each["expected_output"] for each in told["cases"]] == [
        *("ignore", "delegate", "delegate", "delegate")
    ]
    plain = shell.recorded.session("Plain", *LOG[:2])
    with pytest.raises(NothingLabelled):
        shell.run(plain.id, "--dataset", str(tmp_path / "none.json"))
