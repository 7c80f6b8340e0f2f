import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom

from genie_core.room.engine.controls import Allowance
from genie_core.room.protocol.events import AnswerPosted, DecisionMade, Spending
from genie_core.room.state.costs import Costs
from genie_core.room.view.costs import (
    NO_BUDGET,
    NO_ENGINE,
    budget_line,
    cost_rows,
    short_cost,
    spent_tree,
)
from genie_tui.screens.dialogs.costs import cost_table
from genie_tui.widgets.activity.rows import ActivityRows, details


def spending(
    agent: str, tokens: int, cost: float | None = None, model: str = "gpt-x", cached: int = 0
) -> Spending:
    return Spending(agent, model, 1, tokens, tokens // 10, cached, 1.5, cost)


def test_a_row_says_in_few_words_what_was_spent() -> None:
    assert short_cost(()) == ""
    assert (
        short_cost([spending("system", 1000, 0.004), spending("coder:1", 90)]) == "1.2k tok ≥$0.004"
    )
    assert short_cost([spending("system", 100)]) == "110 tok"
    assert short_cost([spending("system", 0)]) == ""


def room() -> Costs:
    costs = Costs()
    costs.add("ann", [spending("reasoner", 500, 0.01, "small")], silent=True)
    costs.add("ann", [spending("reasoner", 300, 0.02, "small")])
    costs.add(
        "ann", [spending("system", 12_000, 0.5, cached=900), spending("coder:1a/web:2b", 700)]
    )
    costs.add("bob\x1b[2J", [spending("system", 2_000_000, 7.25)])
    return costs


@pytest.mark.parametrize("width", [66, 94])
def test_table_sums_by_person_and_agent(width: int) -> None:
    lines = cost_table(cost_rows(room()), width).plain.splitlines()
    assert {len(line) for line in lines} <= {width}
    assert "\x1b" not in "".join(lines)
    cells = [line.split() for line in lines]
    assert cells[0] == ["asked", "in", "cached", "out", "time", "money"]
    names = [line[: width - 47].strip() for line in lines[1:]]
    assert [each.split()[0] for each in names] == [
        "bob␛[2J",
        "genie",
        "ann",
        "decisions",
        "to",
        "to",
        "genie",
        "web",
        "all",
    ]
    assert cells[3][-7:] == ["4", "14k", "900", "1.4k", "6.0", "s", "≥$0.53"]
    assert cells[5][-1] == "$0.01"
    assert cells[6][-1] == "$0.02"
    assert cells[8][-1] == "—"
    assert cells[9][-1] == "≥$7.78"


def test_budget_keeps_its_units() -> None:
    assert budget_line(None) == NO_ENGINE
    assert budget_line(Allowance(1.0, tokens=5)) == NO_BUDGET
    both = Allowance(0.42, 2.0, 12_345, 500_000)
    assert (
        budget_line(both) == "Budget of this session: $0.42 of $2.00 and 12k of 500k tokens used."
    )


def test_agents_stand_below_their_callers() -> None:
    spent = (
        Spending("coder:1a/helper:2b", "small", 1, 10, 5, seconds=1.0),
        Spending("system", "large", 2, 1000, 234, seconds=3.0, cost=0.0123),
        Spending("coder:1a", "small", 1, 1, seconds=0.5),
    )
    assert spent_tree(spent).splitlines() == [
        "genie: large, 2 requests, 1,234 tokens, 3.0 s, $0.0123",
        "└ coder:1a: small, 1 request, 1 token, 0.5 s",
        "  └ helper:2b: small, 1 request, 15 tokens, 1.0 s",
    ]
    assert spent_tree(()) == ""


def test_the_details_of_a_row_have_the_tree() -> None:
    joined, log = ScriptedJoinedRoom(), ActivityRows()
    joined.open_room()
    seq = joined.say_here("what is it?")
    decided = Spending("reasoner", "small", 1, 3, seconds=1.0)
    joined.feed(DecisionMade(seq, "delegate", query="?", spent=(decided,)), by="ann")
    agents = Spending("system", "large\x1b", 1, 9, seconds=1.0)
    joined.feed(AnswerPosted(seq, "it is", spent=(agents,)), by="ann")
    for event in joined.events:
        log.apply(event)
    deciding, answering = (dict(details(row)) for row in log.rows)
    assert deciding["agents"] == "reasoner: small, 1 request, 3 tokens, 1.0 s"
    assert answering["agents"] == "genie: large␛, 1 request, 9 tokens, 1.0 s"
