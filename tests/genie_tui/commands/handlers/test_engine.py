from collections.abc import Sequence

from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until

from genie_core.errors import GenieError
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.engine.controls import AgentSummary, Allowance, ServerInfo, ToolInfo, UndoPlan
from genie_core.runtime.progress import Usage
from genie_tui.commands.handlers.engine import LOADING, models_in_use
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
    allowance = Allowance()
    model = "openai:[big]"

    async def use_model(self, name: str) -> str:
        return name

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        return self.allowance

    async def plan_undo(self, file: str = "", approval: str = "") -> UndoPlan:
        raise NotImplementedError

    async def undo(self, number: int) -> None:
        raise NotImplementedError

    def enter(self, members: object) -> None:
        """Nothing."""

    def begin(self, spent: Usage) -> None:
        """Nothing."""


def order(screen: RoomScreen, text: str) -> None:
    screen.query_one(Composer).post_message(Composer.Submitted(text))


def test_each_agent_stands_with_its_model_in_plain_text() -> None:
    first, second, *_ = models_in_use(Bench()).splitlines()
    assert first == "genie: openai:[big] (pydantic-ai)"
    assert second == "coder: ollama:small␛ (openai-agents)"


async def test_models_are_shown_and_exchanged_by_command() -> None:
    joined = ScriptedJoinedRoom(engine_status=EngineStatus(EngineState.LOADING))
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        order(screen, "/model")
        await until(pilot, lambda: LOADING in notes(pilot))
        joined.workbench = Bench()
        await screen.run_action("screen.command('models')")
        await until(pilot, lambda: "genie: openai:[big]" in notes(pilot))
        order(screen, "/model openai:small")
        await until(pilot, lambda: "Your agent is openai:small now." in notes(pilot))
        joined.model_error = GenieError("model 'x:y' names an unknown provider")
        order(screen, "/model x:y")
        await until(pilot, lambda: "unknown provider" in notes(pilot))
        assert joined.models == ["openai:small", "x:y"]
        order(screen, "/model two words")
        await until(pilot, lambda: "no spaces" in notes(pilot))
        assert len(joined.models) == 2
