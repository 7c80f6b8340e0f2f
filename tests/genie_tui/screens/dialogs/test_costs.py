from dataclasses import dataclass, field
from typing import Any, cast

from tests.genie_tui.scripted_bench import ScriptedBench
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.widgets import Static

from genie_core.room.engine.controls import Allowance, EngineControls
from genie_core.room.protocol.events import AnswerPosted, DecisionMade, Spending
from genie_core.room.view.costs import CostRow
from genie_core.runtime.agent_options import AgentOptions
from genie_core.runtime.progress import Usage
from genie_tui.screens.dialogs.costs import CostScreen, CostTable, cost_table


@dataclass
class Bench(ScriptedBench):
    """The part of a workbench that is about money."""

    options: AgentOptions = field(default_factory=AgentOptions)
    allowance: Allowance = field(default_factory=lambda: Allowance(0.5, 2.0, 9000, 0))

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        now = self.allowance
        self.allowance = Allowance(now.money, now.money_limit + money, now.tokens, tokens)
        return self.allowance


def spending(agent: str, cost: float | None) -> Spending:
    return Spending(agent, "gpt-4o-mini", 2, 12_000, 300, 100, 3.0, cost)


def lines(widget: Any) -> str:
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


async def test_small_screen_shows_costs() -> None:
    joined = ScriptedJoinedRoom(workbench=cast("EngineControls", Bench()))
    joined.open_room()
    asked = joined.say_here("what is it?")
    joined.feed(
        DecisionMade(asked, "delegate", query="q", spent=(spending("reasoner", 0.01),)),
        AnswerPosted(asked, "that", spent=(spending("system", 0.25), spending("coder:1", None))),
    )
    async with in_room(joined, size=(80, 24)) as (screen, pilot):
        await pilot.press(*"/cost", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, CostScreen))
        table = pilot.app.screen.query_one(CostTable)
        await until(pilot, lambda: "genie" in lines(table))
        shown = lines(table).splitlines()
        assert shown[1].split() == ["ann", "6", "36k", "300", "900", "9.0", "s", "≥$0.26"]
        assert [line.split()[-1] for line in shown[2:]] == ["$0.01", "$0.25", "—"]
        budget = pilot.app.screen.query_one("#costs-budget", Static)
        assert "$0.50 of $2.00 used" in str(budget.content)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press(*"/budget +5", "enter")
        notices = pilot.app._notifications
        await until(pilot, lambda: any("$0.50 of $7.00" in each.message for each in notices))
        await pilot.press(*"/budget +100k", "enter")
        await until(pilot, lambda: any("no token limit" in each.message for each in notices))


def test_narrow_table_keeps_names() -> None:
    usage = Usage("gpt-5-mini", input_tokens=292, output_tokens=25, seconds=0.5, cost=0.01)
    rows = [CostRow("decisions · gpt-5-mini", usage, depth=1)]
    head, row = str(cost_table(rows, 50)).split("\n")
    assert head.split() == ["asked", "in", "out", "money"]
    assert len(head) == len(row) <= 50
    assert row.split()[-4:] == ["1", "292", "25", "$0.01"]
