import socket
from collections.abc import Sequence

from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until

from genie_core.errors import GenieError
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.commands.engine import (
    LOADING,
    NO_JOBS,
    NO_OPTIONS,
    NOT_STARTED,
    models_in_use,
)
from genie_core.room.engine.controls import (
    AgentSummary,
    Allowance,
    CustomCommand,
    JobInfo,
    PromptInfo,
    ServerInfo,
    ToolInfo,
    UndoPlan,
)
from genie_core.runtime.agent_options import AgentCommand, AgentOption, AgentOptions, Choice
from genie_core.runtime.progress import Usage
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.composer import Composer


class Bench:
    """A workbench with two agents."""

    agents: Sequence[AgentSummary] = (
        AgentSummary("system", "Answers.", "openai:[big]", "pydantic-ai", coordinator=True),
        AgentSummary("coder", "Writes code.", "ollama:small\x1b", "openai-agents"),
    )
    tools: Sequence[ToolInfo] = ()
    servers: Sequence[ServerInfo] = ()
    problems: Sequence[str] = ()
    files: Sequence[str] = ()
    allowance = Allowance()
    model = "openai:[big]"
    model_server = ""
    compacted = False
    options = AgentOptions()
    jobs: Sequence[JobInfo] = ()
    prompts: Sequence[PromptInfo] = ()
    resources: Sequence[str] = ()

    async def prompt(self, server: str, name: str, words: Sequence[str]) -> Sequence[str]:
        raise NotImplementedError

    async def use_model(self, name: str) -> str:
        return name

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        return self.allowance

    async def workspace_files(self) -> Sequence[str]:
        return self.files

    async def custom_commands(self) -> Sequence[CustomCommand]:
        return ()

    def compact(self) -> None:
        self.compacted = True

    async def plan_undo(self, file: str = "", approval: str = "") -> UndoPlan:
        raise NotImplementedError

    async def undo(self, number: int) -> None:
        raise NotImplementedError

    async def stop_job(self, number: int) -> bool:
        raise NotImplementedError

    def enter(self, members: object) -> None:
        """Nothing."""

    def begin(self, spent: Usage) -> None:
        """Nothing."""


def order(screen: RoomScreen, text: str) -> None:
    screen.query_one(Composer).post_message(Composer.Submitted(text))


def test_models_are_listed_as_plain_text() -> None:
    first, second, *_ = models_in_use(Bench()).splitlines()
    assert first == "genie: openai:[big] (pydantic-ai)"
    assert second == "coder: ollama:small␛ (openai-agents)"


def test_the_offline_helper_has_no_library() -> None:
    bench = Bench()
    bench.agents = (AgentSummary("system", "Answers.", "offline helper", ""),)
    assert models_in_use(bench).splitlines()[0] == "genie: offline helper"


async def test_model_command_shows_and_switches() -> None:
    joined = ScriptedJoinedRoom(engine_status=EngineStatus(EngineState.LOADING))
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        order(screen, "/model")
        await until(pilot, lambda: LOADING in notes(pilot))
        joined.workbench = Bench()
        await screen.run_action("screen.command('models')")
        await until(pilot, lambda: "genie: openai:[big]" in notes(pilot))
        order(screen, "/model openai:small")
        await until(pilot, lambda: "Your agent now uses openai:small." in notes(pilot))
        joined.model_error = GenieError("model 'x:y' names an unknown provider")
        order(screen, "/model x:y")
        await until(pilot, lambda: "unknown provider" in notes(pilot))
        assert joined.models == ["openai:small", "x:y"]
        order(screen, "/model two words")
        await until(pilot, lambda: "no spaces" in notes(pilot))
        assert len(joined.models) == 2


async def test_unreachable_model_server_warns() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        bench = joined.workbench = Bench()
        bench.model_server = f"http://127.0.0.1:{port}/v1"
        async with in_room(joined) as (screen, pilot):
            order(screen, "/model ollama:qwen3")
            await until(pilot, lambda: "now uses ollama:qwen3" in notes(pilot))
            assert "No server answers" not in notes(pilot)
            server.close()
            order(screen, "/model ollama:qwen3")
            told = f"No server answers at http://127.0.0.1:{port}/v1 yet."
            await until(pilot, lambda: told in notes(pilot))


def choices(*values: str) -> tuple[Choice, ...]:
    return tuple(Choice(each, each.title()) for each in values)


def program() -> Bench:
    """A workbench whose answering agent is an installed program."""
    bench = Bench()
    bench.agents = (AgentSummary("system", "Answers.", "Codex", "acp"),)
    bench.options = AgentOptions(
        (
            AgentOption("m", "Model", "model", "big", choices("big", "small")),
            AgentOption("mode", "Mode", "mode", "ask", choices("ask", "yolo"), ("ask",)),
            AgentOption("effort", "Effort", "thought_level", "low", choices("low", "hi\x1bgh")),
        ),
        (AgentCommand("review", "Review the changes"),),
    )
    return bench


async def test_program_options_are_listed_and_set() -> None:
    joined = ScriptedJoinedRoom()
    joined.workbench = bench = program()
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        order(screen, "/mode")
        await until(pilot, lambda: "Effort [effort]: low (or hi␛gh)" in notes(pilot))
        assert "Mode: ask (or yolo)" in notes(pilot)
        order(screen, "/mode effort hi\x1bgh")
        await until(pilot, lambda: bench.options.chosen == {"effort": "hi\x1bgh"})
        order(screen, "/mode sideways")
        await until(pilot, lambda: "no mode or option sideways" in notes(pilot))
        order(screen, "/mode effort none")
        await until(pilot, lambda: "none is none of them" in notes(pilot))
        order(screen, "/model SMALL")
        await until(pilot, lambda: bench.options.chosen.get("m") == "small")
        order(screen, "/model tiny")
        await until(pilot, lambda: "tiny is none of them. Model: small (or big)" in notes(pilot))
        assert joined.models == []
        order(screen, "/model openai:small")
        await until(pilot, lambda: "openai:small decides now" in notes(pilot))


async def test_a_mode_that_may_not_ask_is_confirmed() -> None:
    joined = ScriptedJoinedRoom()
    joined.workbench = bench = program()
    joined.open_room()
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        order(screen, "/mode yolo")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        clock.rest()
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert bench.options.chosen == {}
        order(screen, "/mode Yolo")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: bench.options.chosen == {"mode": "yolo"})
        order(screen, "/mode ask")  # which needs no question
        await until(pilot, lambda: bench.options.chosen == {"mode": "ask"})


async def test_mode_needs_running_program() -> None:
    joined = ScriptedJoinedRoom()
    joined.workbench = Bench()
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        order(screen, "/mode")
        await until(pilot, lambda: NO_OPTIONS in notes(pilot))
        bench = program()
        bench.options = AgentOptions()
        joined.workbench = bench
        order(screen, "/mode")
        await until(pilot, lambda: NOT_STARTED in notes(pilot))


async def test_compact_needs_own_conversation() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    program = Bench()
    program.agents = (AgentSummary("system", "", "Codex", "acp"),)
    async with in_room(joined) as (screen, pilot):
        for bench, said in (
            (None, "no agent of your own"),
            (program, "@genie /compact"),
            (Bench(), "before its next answer"),
        ):
            joined.workbench = bench
            order(screen, "/compact")
            await until(
                pilot,
                lambda said=said: any(said in note.message for note in pilot.app._notifications),  # type: ignore[misc] # a lambda's default
            )
            assert bench is None or bench.compacted == (said == "before its next answer")


async def test_jobs_are_listed_and_stopped() -> None:
    bench = Bench()
    stopped = list[int]()

    async def stop_job(number: int) -> bool:
        stopped.append(number)
        return number == 1

    bench.stop_job = stop_job  # type: ignore[method-assign]
    joined = ScriptedJoinedRoom(workbench=bench)
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        order(screen, "/jobs")
        await until(pilot, lambda: NO_JOBS in notes(pilot))
        bench.jobs = [JobInfo(1, "npm \x1b[31mrun dev", 0.0, True, "is running", "[b]ready")]
        order(screen, "/jobs")
        await until(pilot, lambda: "npm ␛[31mrun dev" in notes(pilot))
        assert "is running: [b]ready" in notes(pilot)
        order(screen, "/jobs stop 1")
        await until(pilot, lambda: "Job 1 and all that it started are stopped." in notes(pilot))
        order(screen, "/jobs stop 2")
        await until(pilot, lambda: "No job 2 is running." in notes(pilot))
        order(screen, "/jobs kill 1")
        await until(pilot, lambda: "say stop and the number of a job" in notes(pilot))
        assert stopped == [1, 2]
