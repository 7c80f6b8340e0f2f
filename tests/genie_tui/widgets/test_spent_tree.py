from tests.genie_tui.scripted_seat import ScriptedSeat

from genie_core.room.protocol.events import AnswerPosted, DecisionMade, Spending
from genie_tui.widgets.ledger_log import LedgerLog
from genie_tui.widgets.ledger_text import details
from genie_tui.widgets.spent_tree import spent_tree


def test_each_agent_stands_below_the_one_that_asked_it() -> None:
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
    seat, log = ScriptedSeat(), LedgerLog()
    seat.open_room()
    seq = seat.say_here("what is it?")
    decided = Spending("reasoner", "small", 1, 3, seconds=1.0)
    seat.feed(DecisionMade(seq, "delegate", query="?", spent=(decided,)), by="ann")
    agents = Spending("system", "large\x1b", 1, 9, seconds=1.0)
    seat.feed(AnswerPosted(seq, "it is", spent=(agents,)), by="ann")
    for event in seat.events:
        log.apply(event)
    deciding, answering = (dict(details(row)) for row in log.rows)
    assert deciding["agents"] == "reasoner: small, 1 request, 3 tokens, 1.0 s"
    assert answering["agents"] == "genie: large␛, 1 request, 9 tokens, 1.0 s"
